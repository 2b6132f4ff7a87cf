// The answers of a page that opens are drawn in turn: the last ones at once, for they are what one sees, those before them
// from the end backwards, whenever the browser has nothing better to do. On paper all of them are wanted.
const AT_ONCE = 4;
const ENOUGH_MS = 5; // of a moment's rest that is left over: the next one may take that long
const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(() => work({ timeRemaining: () => 0 })));

const waiting = []; // in the page's order
let isGathering = false;
let isGoingOn = false;

/** Calls `draw` when its turn has come: before the next frame, if it is one of the last. Gives a function that calls it off. */
export function inTurn(draw) {
  waiting.push(draw);
  if (!isGathering) queueMicrotask(begin); // when the whole page has been put together
  isGathering = true;
  return () => {
    const index = waiting.indexOf(draw);
    if (index >= 0) waiting.splice(index, 1);
  };
}

function begin() {
  isGathering = false;
  for (let count = 0; count < AT_ONCE; count++) waiting.pop()?.();
  goOn();
}

function goOn() {
  if (isGoingOn || !waiting.length) return;
  isGoingOn = true;
  whenIdle((deadline) => {
    isGoingOn = false;
    do waiting.pop()?.();
    while (waiting.length && deadline.timeRemaining() > ENOUGH_MS);
    goOn();
  });
}

window.addEventListener("beforeprint", () => {
  while (waiting.length) waiting.pop()();
});
