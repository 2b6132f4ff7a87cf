// The answers of a page that opens are drawn in turn: the last ones at once, as many as fill a screen, for they are what one
// sees; those before them from the end backwards, whenever the browser has nothing better to do. On paper all are wanted.
const AT_ONCE = 4; // at most, and
const SCREENFUL = 2000; // characters that they have together, at least
const ENOUGH_MS = 5; // of a moment's rest that is left over: the next one may take that long
const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(() => work({ timeRemaining: () => 0 })));

const waiting = []; // { draw, length }, in the page's order
let isGathering = false;
let isGoingOn = false;

/**
 * Calls `draw` when its turn has come: before the next frame, if it is one of the last. Gives a function that calls it off.
 * `length`: of what is drawn, in characters.
 */
export function inTurn(draw, length) {
  const one = { draw, length };
  waiting.push(one);
  if (!isGathering) queueMicrotask(begin); // when the whole page has been put together
  isGathering = true;
  return () => {
    const index = waiting.indexOf(one);
    if (index >= 0) waiting.splice(index, 1);
  };
}

function begin() {
  isGathering = false;
  let drawn = 0;
  for (let count = 0; count < AT_ONCE && drawn < SCREENFUL && waiting.length; count++) drawn += drawLast();
  goOn();
}

function drawLast() {
  const { draw, length } = waiting.pop();
  draw();
  return length;
}

function goOn() {
  if (isGoingOn || !waiting.length) return;
  isGoingOn = true;
  whenIdle((deadline) => {
    isGoingOn = false;
    if (!waiting.length) return; // called off
    do drawLast();
    while (waiting.length && deadline.timeRemaining() > ENOUGH_MS);
    goOn();
  });
}

window.addEventListener("beforeprint", () => {
  while (waiting.length) drawLast();
});
