// Colours for code. While a block grows only its end is gone over again, from the last line at which nothing was open.
import { cleanCode } from "./clean.js";
import { hljs, knows } from "./languages.js";

const MAX_CHARS = 200_000; // longer code is shown in one colour
const MAX_LINE_CHARS = 10_000; // so is code with a longer line: thousands of colours in one line take a browser seconds to lay out
const STEP_CHARS = 1500; // so much is gone over again before a part of it is left behind
const MAX_OPEN_CHARS = 12_000; // a comment as long as this: what follows waits for its colours until the block is whole

/** A fragment of coloured code. */
export function highlighted(code, language) {
  if (!language || !knows(language) || code.length > MAX_CHARS || hasLongLine(code)) return plain(code);
  return cleanCode(hljs.highlight(code, { language, ignoreIllegals: true }).value);
}

function plain(code) {
  const fragment = document.createDocumentFragment();
  fragment.append(code);
  return fragment;
}

function hasLongLine(code) {
  return code.length > MAX_LINE_CHARS && code.split("\n").some((line) => line.length > MAX_LINE_CHARS);
}

/** Code that grows inside `element`. */
export class GrowingCode {
  constructor(element, language) {
    this.element = element;
    this.language = language;
    this.numDone = 0; // characters whose colours are settled
    this.open = []; // the nodes behind those
  }

  show(code) {
    const rest = code.slice(this.numDone);
    for (const node of this.open) node.remove();
    const fragment = rest.length > MAX_OPEN_CHARS ? plain(rest) : highlighted(rest, this.language);
    this.open = [...fragment.childNodes];
    this.element.append(fragment);
    if (rest.length > STEP_CHARS && rest.length <= MAX_OPEN_CHARS) this.settle();
  }

  /** Leave behind all up to the last line end that is in no coloured part: no string or comment goes on there. */
  settle() {
    let last = this.open.length - 1;
    const isLineEnd = (node) => node.nodeType === Node.TEXT_NODE && node.data.includes("\n");
    while (last >= 0 && !isLineEnd(this.open[last])) last--;
    if (last < 0) return;
    const end = this.open[last];
    const cut = end.data.lastIndexOf("\n") + 1;
    const behind = cut < end.length ? [end.splitText(cut)] : [];
    // A block of its own: the browser need not lay out these lines again when others come below.
    const done = Object.assign(document.createElement("span"), { className: "nk-lines" });
    this.open[0].before(done);
    done.append(...this.open.slice(0, last + 1));
    this.numDone += done.textContent.length;
    this.open = [...behind, ...this.open.slice(last + 1)];
  }
}
