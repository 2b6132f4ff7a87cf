// Formulas: $...$ and \(...\) in a line, $$...$$ and \[...\] on their own. A price is none: "$5 and $10" stays text.
// They leave here as their source, marks and all; formulas.js sets it.
const MAX_CHARS = 4000; // of one formula, so that a stray mark costs little
const PAIRS = [
  { open: "$$", close: "$$", isDisplay: true },
  { open: "\\[", close: "\\]", isDisplay: true },
  { open: "\\(", close: "\\)", isDisplay: false },
];
const WORDS_IN_A_ROW = /(^|\s)[A-Za-z]{2,}\s+[A-Za-z]{2,}([\s.,;:!?]|$)/;
const NUMBERS = /^\d[\d,\s-]*$/; // "\\[1\\]" is a reference whose brackets were kept from being markdown
const PRICE_AND_WORD = /^\d.*\s[A-Za-z]{2,}/;

export function math(markdown) {
  const { block, inline, renderer, utils } = markdown;
  block.ruler.before("fence", "math", blockRule, { alt: ["paragraph", "reference", "blockquote", "list"] });
  inline.ruler.before("escape", "math", inlineRule);
  renderer.rules.math = (tokens, index) => {
    const { content, meta } = tokens[index];
    return `<span class="${kindOf(meta)}">${utils.escapeHtml(content)}</span>`;
  };
  renderer.rules.math_block = (tokens, index) => {
    const { content, meta } = tokens[index];
    return `<div class="nk-math"><span class="${kindOf(meta)}">${utils.escapeHtml(content)}</span></div>`;
  };
}

function kindOf({ isPending, isDisplay }) {
  if (isPending) return "nk-tex-source";
  return isDisplay ? "nk-tex nk-display" : "nk-tex";
}

function blockRule(state, startLine, endLine, silent) {
  if (state.sCount[startLine] - state.blkIndent >= 4) return false;
  const start = state.bMarks[startLine] + state.tShift[startLine];
  const pair = PAIRS.find(({ open, isDisplay }) => isDisplay && state.src.startsWith(open, start));
  if (!pair) return false;
  let content = "";
  for (let line = startLine; line < endLine && content.length < MAX_CHARS; line++) {
    if (line > startLine && state.sCount[line] < state.blkIndent && !state.isEmpty(line)) return false;
    const text = state.src.slice(line === startLine ? start + 2 : state.bMarks[line] + state.tShift[line], state.eMarks[line]);
    const end = text.indexOf(pair.close);
    if (end >= 0) return !text.slice(end + 2).trim() && push(content + text.slice(0, end), line + 1, false);
    content += `${text}\n`;
  }
  return Boolean(state.env.writing) && content.length < MAX_CHARS && push(content, endLine, true);

  function push(source, nextLine, isPending) {
    if (!source.trim() && !isPending) return false;
    if (silent) return true;
    const token = state.push("math_block", "", 0);
    const content = isPending ? `${pair.open}${source}`.trimEnd() : `${pair.open}${source}${pair.close}`;
    Object.assign(token, { content, map: [startLine, nextLine], meta: { isPending, isDisplay: true } });
    state.line = nextLine;
    return true;
  }
}

function inlineRule(state, silent) {
  const { src, pos, posMax } = state;
  const first = src[pos];
  if (first !== "$" && first !== "\\") return false;
  const pair = PAIRS.find(({ open }) => src.startsWith(open, pos));
  if (!pair) return first === "$" && dollarRule(state, silent);
  const near = src.slice(pos + 2, pos + 4 + MAX_CHARS).indexOf(pair.close); // no further: thousands of marks would each go to the end
  const end = pos + 2 + near;
  const isPending = near < 0 || end + 2 > posMax;
  const content = src.slice(pos + 2, isPending ? posMax : end);
  const isNone = content.length > MAX_CHARS || !content.trim() || (pair.open === "\\[" && NUMBERS.test(content));
  if (isNone || (isPending && !(state.env.writing && first === "\\"))) return first === "$" && skipDollars(state, silent);
  if (isPending) pushSource(state, silent);
  else pushMath(state, silent, pair.isDisplay, end + 2);
  return true;
}

/** As pandoc: no space inside of the marks, no digit behind them; and what reads like prose is none. */
function dollarRule(state, silent) {
  const { src, pos, posMax } = state;
  const end = src.indexOf("$", pos + 1);
  if (end < 0 || end >= posMax || end - pos > MAX_CHARS) return false;
  const content = src.slice(pos + 1, end);
  const isMath =
    content && content === content.trim() && !/[`\n]/.test(content) && !/\\$/.test(content) &&
    !/\w/.test(src[pos - 1] ?? "") && !/[\w$]/.test(src[end + 1] ?? "") &&
    (content.includes("\\") || !(WORDS_IN_A_ROW.test(content) || PRICE_AND_WORD.test(content)));
  if (isMath) pushMath(state, silent, false, end + 1);
  return Boolean(isMath);
}

function pushMath(state, silent, isDisplay, end) {
  const content = state.src.slice(state.pos, end);
  if (!silent) Object.assign(state.push("math", "", 0), { content, meta: { isDisplay } });
  state.pos = end;
}

/** What is still being written stands as it comes until it is a formula. */
function pushSource(state, silent) {
  const content = state.src.slice(state.pos, state.posMax);
  if (!silent) Object.assign(state.push("math", "", 0), { content, meta: { isPending: true } });
  state.pos = state.posMax;
}

/** "$$" that begins nothing: both are text, lest the second begin something else. */
function skipDollars(state, silent) {
  if (!silent) state.pending += "$$";
  state.pos += 2;
  return true;
}
