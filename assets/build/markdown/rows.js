// A list or a table: only the items or rows that changed are made again.
import { cleanText } from "./clean.js";
import { render } from "./parser.js";

const CONTAINERS = {
  bullet_list_open: { child: "list_item_open", wrap: ["<ul>", "</ul>"] },
  ordered_list_open: { child: "list_item_open", wrap: ["<ul>", "</ul>"] },
  table_open: { child: "tr_open", wrap: ["<table><tbody>", "</tbody></table>"] },
};

export function isContainer(kind) {
  return kind in CONTAINERS;
}

export class Rows {
  constructor(element, kind, dress) {
    this.element = element;
    this.kind = kind;
    this.dress = dress;
    this.shell = null; // the HTML around the rows
    this.shown = []; // {key, html, element}
  }

  show(block) {
    const { shell, rows } = this.split(block);
    if (this.shell !== shell) {
      this.element.replaceChildren(this.dress(cleanText(shell)));
      this.shell = shell;
      this.shown = [];
    }
    this.showRows(block, rows);
    return this.element;
  }

  /** The rows' tokens apart from those around them. The header of a table is part of its shell. */
  split({ tokens, env, lines }) {
    const around = [];
    const rows = [];
    const level = tokens[0].level + (this.kind === "table_open" ? 2 : 1);
    let row = null;
    for (const token of tokens) {
      const isChild = token.level === level && token.type === CONTAINERS[this.kind].child;
      if (isChild && around.at(-1)?.type !== "thead_open") row = { tokens: [], source: lines.slice(...token.map).join("\n") };
      (row?.tokens ?? around).push(token);
      if (row && token.level === level && token.nesting < 0) {
        rows.push(row);
        row = null;
      }
    }
    return { shell: render(around, env), rows };
  }

  showRows({ env, numRowsBefore }, rows) {
    const isLoose = rows.some(({ tokens: [, first] }) => first?.type === "paragraph_open" && !first.hidden);
    const changed = [];
    rows.forEach((row, offset) => {
      const index = numRowsBefore + offset;
      const key = `${isLoose}${row.source}`;
      if (env.writing && this.shown[index]?.key === key) return;
      const html = render(row.tokens, env);
      if (this.shown[index]?.html === html) this.shown[index].key = key;
      else changed.push({ index, key, html });
    });
    this.replace(changed);
    while (this.shown.length > numRowsBefore + rows.length) this.shown.pop().element.remove();
  }

  replace(changed) {
    if (!changed.length) return;
    const [open, close] = CONTAINERS[this.kind].wrap;
    const fragment = this.dress(cleanText(open + changed.map(({ html }) => html).join("") + close));
    const host = this.element.querySelector(this.kind === "table_open" ? "tbody" : "ul, ol");
    const made = [...fragment.querySelector("tbody, ul").children];
    changed.forEach(({ index, key, html }, at) => {
      const old = this.shown[index]?.element;
      if (old) old.replaceWith(made[at]);
      else host.append(made[at]);
      this.shown[index] = { key, html, element: made[at] };
    });
  }
}
