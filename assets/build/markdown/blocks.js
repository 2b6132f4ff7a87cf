// A text that grows, as blocks. What can no longer change is settled and not read again: with each addition only the end
// is parsed, from the beginning of its last block, or from the last row where that is a table.
import { copyNotes, newNotes } from "./footnotes.js";
import { parse } from "./parser.js";
import { shown } from "./unfinished.js";

const MIN_ROWS = 8; // of a table, before it is worth settling them

/**
 * A block is {kind, tokens, env, first, lines, key, numRowsBefore}: `kind` is the type of its first token, `first` its first
 * line among `lines`, and `key` what it was made of. Two with the same key are the same.
 */
export class Blocks {
  constructor(prefix) {
    this.prefix = prefix; // of the ids of footnotes
    this.reset();
  }

  reset() {
    this.text = "";
    this.numSettled = 0; // blocks
    this.settledTo = 0; // offset in the text
    this.head = ""; // of a table whose first rows are settled
    this.numRows = 0; // settled ones
    this.env = { references: {}, notes: newNotes(this.prefix) };
  }

  /** All blocks of a text that grows no more, as `grow` gives them. */
  whole(text) {
    this.reset();
    const env = { references: {}, notes: newNotes(this.prefix) };
    return { first: 0, blocks: split(parse(text, env), text, env), numbers: env.notes.numbers };
  }

  /** The blocks of a text that grows, from the first that may have changed, and the numbers of its footnotes by label. */
  grow(text) {
    if (!text.startsWith(this.text)) this.reset();
    this.text = text;
    const source = shown(this.head + text.slice(this.settledTo));
    const env = {
      references: Object.create(this.env.references), notes: copyNotes(this.env.notes), writing: true,
    };
    const blocks = split(parse(source, env), source, env);
    if (blocks.length && this.head) {
      blocks[0].numRowsBefore = this.numRows;
      blocks[0].key += this.numRows;
    }
    const first = this.numSettled;
    this.settle(blocks, source);
    return { first, blocks, numbers: env.notes.numbers };
  }

  /** A block is settled as soon as another has begun below, on a line that is whole. */
  settle(blocks, source) {
    const numLines = source.split("\n").length - 1; // whole ones
    const last = blocks.findLastIndex(({ first }) => first < numLines);
    if (last > 0) {
      this.leave(source, blocks[last].first);
      Object.assign(this, { numSettled: this.numSettled + last, head: "", numRows: 0 });
    } else if (blocks.length === 1 && blocks[0].kind === "table_open") this.settleRows(blocks[0], source, numLines);
  }

  settleRows({ tokens, first }, source, numLines) {
    const rows = tokens.filter(({ type, map }) => type === "tr_open" && map[0] > first && map[0] < numLines);
    if (rows.length < MIN_ROWS) return;
    const lines = source.split("\n", first + 2);
    this.leave(source, rows.at(-1).map[0]);
    this.numRows += rows.length - 1;
    this.head = `${lines.slice(first).join("\n")}\n`;
  }

  /** Settle the lines before `line`, with what they define for the rest of the text. */
  leave(source, line) {
    const end = startOf(line, source);
    parse(source.slice(0, end), this.env);
    this.settledTo += end - this.head.length;
  }
}

function startOf(line, text) {
  let at = 0;
  for (; line > 0; line--) at = text.indexOf("\n", at) + 1;
  return at;
}

function split(tokens, text, env) {
  const lines = text.split("\n");
  const blocks = [];
  let group = [];
  let [first, last, depth] = [0, 0, 0];
  for (const token of tokens) {
    if (!group.length) [first, last] = token.map ?? [last, last];
    if (token.map) last = Math.max(last, token.map[1]);
    group.push(token);
    depth += token.nesting;
    if (depth > 0) continue;
    const source = lines.slice(first, last).join("\n");
    blocks.push({ kind: group[0].type, tokens: group, env, first, lines, key: `${group[0].type}${source}`, numRowsBefore: 0 });
    group = [];
  }
  return blocks;
}
