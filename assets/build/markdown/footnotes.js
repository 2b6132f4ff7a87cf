// Footnotes: "[^1]" in the text, "[^1]: what it says" on a line of its own. They are numbered in the order of the text.
//
// env.notes carries them through one message: {numbers: label -> number, defined: labels, prefix: of the elements' ids}.
import { WORDS } from "./words.js";

const REFERENCE = /\[\^([\w-]{1,40})\]/y;
const DEFINITION = /\[\^([\w-]{1,40})\]:[ \t]*/y;

export function newNotes(prefix) {
  return { numbers: new Map(), defined: new Set(), prefix };
}

export function copyNotes({ numbers, defined, prefix }) {
  return { numbers: new Map(numbers), defined: new Set(defined), prefix };
}

export function footnotes(markdown) {
  const { block, core, inline, renderer } = markdown;
  block.ruler.before("reference", "footnote", definitionRule, { alt: ["paragraph", "reference"] });
  inline.ruler.before("link", "footnote_reference", referenceRule);
  core.ruler.push("footnote_numbers", number);
  renderer.rules.footnote_reference = (tokens, index, options, env) => {
    const { label, isFirst } = tokens[index].meta;
    const { prefix, defined, numbers } = env.notes;
    const shown = numbers.get(label);
    if (!defined.has(label)) return isComing(label, env) ? `<sup class="nk-ref">${shown}</sup>` : `[^${label}]`;
    const id = isFirst ? ` id="${prefix}-ref-${shown}"` : "";
    const name = WORDS.footnote(shown);
    return `<sup class="nk-ref"><a href="#${prefix}-note-${shown}"${id} aria-label="${name}">${shown}</a></sup>`;
  };
}

/** While the text grows its notes are still to come; what only looks like one, "[^abc]" say, stays text. */
function isComing(label, env) {
  return env.writing && /^\d+$/.test(label);
}

function definitionRule(state, startLine, endLine, silent) {
  if (state.level > 0 || state.sCount[startLine] - state.blkIndent >= 4) return false;
  const start = state.bMarks[startLine] + state.tShift[startLine];
  DEFINITION.lastIndex = start;
  const found = DEFINITION.exec(state.src);
  if (!found || found.index + found[0].length > state.eMarks[startLine]) return false;
  if (silent) return true;
  state.env.notes.defined.add(found[1]);
  const open = state.push("footnote_open", "", 1);
  open.meta = { label: found[1] };
  const nextLine = contents(state, startLine, endLine, start + found[0].length);
  open.map = [startLine, nextLine];
  state.push("footnote_close", "", -1);
  state.line = nextLine;
  return true;
}

/** Tokenises the note's own blocks: the rest of its line, and the lines below that are indented. Gives the line behind. */
function contents(state, startLine, endLine, contentStart) {
  const { blkIndent, parentType } = state;
  const { [startLine]: begin } = state.bMarks;
  const { [startLine]: shift } = state.tShift;
  const { [startLine]: indent } = state.sCount;
  let nextLine = startLine + 1;
  while (nextLine < endLine && (state.isEmpty(nextLine) || state.sCount[nextLine] >= blkIndent + 2)) nextLine++;
  while (state.isEmpty(nextLine - 1) && nextLine - 1 > startLine) nextLine--;
  state.bMarks[startLine] = contentStart;
  state.tShift[startLine] = 0;
  state.sCount[startLine] = blkIndent + 2;
  state.blkIndent += 2;
  state.parentType = "footnote";
  state.md.block.tokenize(state, startLine, nextLine);
  Object.assign(state, { blkIndent, parentType });
  state.bMarks[startLine] = begin;
  state.tShift[startLine] = shift;
  state.sCount[startLine] = indent;
  return nextLine;
}

function referenceRule(state, silent) {
  if (state.src[state.pos] !== "[") return false;
  REFERENCE.lastIndex = state.pos;
  const found = REFERENCE.exec(state.src);
  if (!found || state.src[REFERENCE.lastIndex] === "(") return false;
  if (!silent) state.push("footnote_reference", "", 0).meta = { label: found[1], isFirst: false };
  state.pos += found[0].length;
  return true;
}

function number({ tokens, env }) {
  const { numbers } = env.notes;
  for (const { type, children } of tokens) {
    if (type !== "inline") continue;
    for (const { type: kind, meta } of children) {
      if (kind !== "footnote_reference" || numbers.has(meta.label)) continue;
      meta.isFirst = true;
      numbers.set(meta.label, numbers.size + 1);
    }
  }
}
