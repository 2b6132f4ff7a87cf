// The footnotes at the end of a message, in the order of their numbers.
import { cleanText } from "./clean.js";
import { icon, make } from "./elements.js";
import { render } from "./parser.js";
import { WORDS } from "./words.js";

export class Notes {
  constructor(dress) {
    this.dress = dress;
    this.section = null;
    this.shown = new Map(); // label -> {html, number, element}
  }

  /** `blocks` are those of kind "footnote_open", `numbers` those that the text up to now gives them. */
  show(blocks, numbers, root) {
    if (!blocks.length) {
      this.section?.remove();
      this.section = null;
      this.shown.clear();
      return;
    }
    this.section ??= this.makeSection();
    if (root.lastElementChild !== this.section) root.append(this.section);
    const labels = new Set();
    for (const block of blocks) {
      const { label } = block.tokens[0].meta;
      if (labels.has(label)) continue; // the first one holds
      labels.add(label);
      this.showNote(label, block, numbers.get(label) ?? Infinity); // nothing refers to it: it stands behind the others
    }
    for (const [label, { element }] of this.shown) {
      if (labels.has(label)) continue;
      element.remove();
      this.shown.delete(label);
    }
    this.sort();
  }

  makeSection() {
    const section = make("section", "nk-notes", { "aria-label": WORDS.footnotes });
    section.append(make("ol"));
    return section;
  }

  showNote(label, { tokens, env }, number) {
    const { prefix } = env.notes;
    const html = render(tokens.slice(1, -1), env);
    const old = this.shown.get(label);
    if (old?.html === html && old.number === number) return;
    const element = old?.element ?? make("li", "", { tabindex: "-1", dir: "auto" });
    element.replaceChildren(this.dress(cleanText(html)));
    if (number < Infinity) {
      element.id = `${prefix}-note-${number}`;
      const back = make("a", "nk-note-back", { href: `#${prefix}-ref-${number}`, "aria-label": WORDS.backToText });
      back.append(icon("arrow-up", 14));
      (element.lastElementChild?.tagName === "P" ? element.lastElementChild : element).append(" ", back);
    }
    this.shown.set(label, { html, number, element });
  }

  sort() {
    const list = this.section.firstElementChild;
    const wanted = [...this.shown.values()].sort((one, other) => one.number - other.number);
    wanted.forEach(({ element }, index) => {
      if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
    });
  }

  /** The element of the last note, or null. */
  last() {
    return this.section?.querySelector("li:last-child") ?? null;
  }
}
