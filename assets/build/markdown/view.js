// Shows markdown that is still being written: only the blocks whose source changed are made again. answer.js has one each.
import { Blocks } from "./blocks.js";
import { Caret } from "./caret.js";
import { cleanText } from "./clean.js";
import { actOnCode } from "./code_actions.js";
import { CodeBlock, dressCode } from "./code_block.js";
import { make } from "./elements.js";
import { setFormulas } from "./formulas.js";
import { dressLinks, followNote } from "./links.js";
import { Notes } from "./notes.js";
import { isClosed, render } from "./parser.js";
import { isContainer, Rows } from "./rows.js";

function dress(fragment) {
  dressLinks(fragment);
  dressCode(fragment);
  for (const wide of fragment.querySelectorAll(".nk-table, .nk-math")) wide.tabIndex = 0; // keyboards scroll it sideways
  setFormulas(fragment);
  return fragment;
}

export class MarkdownView {
  /** `id` is the message's: footnotes of two messages must not be mistaken for one another. */
  constructor(root, id) {
    this.root = root;
    this.blocks = new Blocks(`nk-${id}`);
    this.shown = []; // one a block: {block, kind, html, element, code, rows}
    this.notes = new Notes(dress);
    this.caret = new Caret();
    root.addEventListener("click", (event) => followNote(event) || actOnCode(event));
  }

  /** `text` from its beginning. Lines end as they do in the store, or the caller's offsets would not fit. */
  update(text, writing) {
    const source = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    this.caret.remove();
    const { first, blocks, numbers } = writing ? this.blocks.grow(source) : this.blocks.whole(source);
    blocks.forEach((block, index) => this.show(block, first + index));
    while (this.shown.length > first + blocks.length) this.shown.pop().element.remove();
    const notes = this.shown.filter(({ kind }) => kind === "footnote_open").map(({ block }) => block);
    this.notes.show(notes, numbers, this.root);
    if (writing && this.shown.length) this.caret.put(this.lastElement());
    setFormulas(this.root);
  }

  /** What is read aloud once it is whole: the words, without buttons and without a formula's drawing. */
  spoken() {
    const copy = this.root.cloneNode(true);
    for (const silent of copy.querySelectorAll("figcaption, [aria-hidden=true], annotation, .nk-note-back")) silent.remove();
    return [...copy.children].map(({ textContent }) => textContent).join("\n");
  }

  show(block, index) {
    const { writing } = block.env;
    let entry = this.shown[index];
    if (entry && writing && entry.block.key === block.key) return;
    const goesOn = entry?.kind === block.kind && (!entry.code || fits(entry.code, block, writing));
    if (!goesOn) entry = this.replace(entry, block, index);
    entry.block = block;
    if (entry.code) showCode(entry, block, writing);
    else if (entry.rows) entry.rows.show(block);
    else if (block.kind !== "footnote_open") showText(entry, block);
  }

  replace(old, { kind, tokens }, index) {
    const entry = { kind, html: null, element: make("div", "", { dir: "auto" }) };
    if (kind === "fence" || kind === "code_block") {
      entry.code = new CodeBlock(tokens[0].info);
      entry.element.append(entry.code.element);
    } else if (isContainer(kind)) entry.rows = new Rows(entry.element, kind, dress);
    else if (kind === "footnote_open") entry.element.hidden = true; // it stands at the end
    if (old) old.element.replaceWith(entry.element);
    else this.root.insertBefore(entry.element, this.notes.section);
    this.shown[index] = entry;
    return entry;
  }

  lastElement() {
    const last = this.shown.at(-1);
    return (last.kind === "footnote_open" && this.notes.last()) || last.element;
  }
}

/** Whether this block of code may go on: what is whole is not touched again, unless it says something else now. */
function fits(code, { tokens }, writing) {
  const isGrowing = !code.isWhole || (!writing && code.code.textContent === tokens[0].content);
  return isGrowing && code.info === tokens[0].info;
}

function showCode({ code }, { tokens }, writing) {
  const [token] = tokens;
  if (writing && !isClosed(token)) code.grow(token.content);
  else if (!code.isWhole) code.finish(token.content);
}

function showText(entry, { tokens, env }) {
  const html = render(tokens, env);
  if (entry.html === html) return;
  entry.html = html;
  entry.element.replaceChildren(dress(cleanText(html)));
}
