// The end of a text that is still being written: what the next letters may turn into something else is held back for that
// moment, and what is open is closed, so that nothing on the page changes its kind under its reader's eyes.

// A mark alone on the last line: of a list, a heading, a rule, a block of code. "Words\n-" would be a heading.
const MARK =
  /(^|\n)[ \t>]*(?:[-*+][ \t]+)?(?:[-*+_=#]+|\d{1,9}[.)]?|`{1,2}|~{1,2}|\${1,2}|\[\^?[\w-]*\]?:?|[-*+] \[[ xX]?\]?)[ \t]*$/;
const FENCE_LINE = /(^|\n)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:`{3,}[^`\n]*|~{3,}[^\n]*)$/;
const TABLE_HEAD = /(^|\n) {0,3}\|[^\n]*(?:\n[ \t|:-]*)?$/;
const REFERENCE = /\[(?:\^[\w-]*)?$/;
const PICTURE = /!\[[^\]\n]*(?:\](?:\([^)\s]*)?)?$/;
const LINK = /\[([^[\]\n]*)\]\([^)\n]*$/;
const MARK_AT_END = /(?:\\|\${1,2}|[*_~]{1,3}|(?<=^|\s)!)$/;
const FENCE = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})([^\n]*)/gm;
const HALF_FENCE = /(^|\n)[ \t>]*(?:`{1,2}|~{1,2})$/;

/** `source` begins where its last block does, at the latest. Gives what may be shown of it now. */
export function shown(source) {
  const whole = holdBack(source, FENCE_LINE);
  if (isInCode(whole)) return holdBack(whole, HALF_FENCE);
  if (whole !== source) return whole;
  let text = holdBack(source, MARK);
  if (!isInTable(text)) text = holdBack(text, TABLE_HEAD);
  for (const held of [REFERENCE, PICTURE]) text = text.replace(held, "");
  text = text.replace(LINK, "$1").replace(MARK_AT_END, "");
  return closeSpans(text);
}

function holdBack(text, pattern) {
  const found = pattern.exec(text);
  return found ? text.slice(0, found.index + found[1].length) : text;
}

function isInCode(text) {
  let open = "";
  for (const [, marks, rest] of text.matchAll(FENCE)) {
    if (!open) open = marks;
    else if (marks.startsWith(open) && !rest.trim()) open = "";
  }
  return open !== "";
}

/** Whether the line before the last one or two is a row too. */
function isInTable(text) {
  const found = TABLE_HEAD.exec(text);
  if (!found) return true;
  const before = text.slice(0, found.index);
  return /(^|\n) {0,3}\|[^\n]*$/.test(before);
}

/** Code and bold in the last line end where the text does. */
function closeSpans(text) {
  const last = text.slice(text.lastIndexOf("\n") + 1);
  if (!last.trim()) return text;
  const ticks = last.split("`").length - 1;
  if (ticks % 2) return /`$/.test(last) ? text.slice(0, -1) : `${text}\``;
  const stars = last.replace(/`[^`]*`/g, "").split("**").length - 1;
  return stars % 2 && /\*\*\S/.test(last) ? `${text.trimEnd()}**` : text;
}
