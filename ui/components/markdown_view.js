// Shows markdown that is still being written: only the blocks whose source changed are rendered again.
// Used by answer.js. Nothing a model writes is trusted: no HTML in, and what comes out is cleaned.
import { DOMPurify, hljs, MarkdownIt } from "inglenook-markdown";

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true });
const { rules } = markdown.renderer;
const escape = markdown.utils.escapeHtml;

rules.fence = (tokens, index) => codeBlock(tokens[index].content, tokens[index].info.trim().split(/\s+/)[0]);
rules.code_block = (tokens, index) => codeBlock(tokens[index].content, "");
rules.table_open = () => '<div class="nk-table"><table>';
rules.table_close = () => "</table></div>";
rules.image = (tokens, index) => {
  // A picture elsewhere would tell its host that, and when, this chat is read: it becomes a link.
  const source = tokens[index].attrGet("src");
  const name = escape(tokens[index].content || source);
  if (source.startsWith("data:image/")) return `<img src="${escape(source)}" alt="${name}">`;
  return `<a href="${escape(source)}">${name}</a>`;
};

const CLEAN = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS: [
    "a", "blockquote", "br", "code", "del", "div", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
    "img", "li", "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["alt", "class", "href", "src", "start", "style", "title"],
};
const BLOCKS = new Set([
  "BLOCKQUOTE", "CODE", "DIV", "FIGURE", "H1", "H2", "H3", "H4", "H5", "H6", "LI", "OL", "P", "PRE", "TABLE", "TBODY", "TD",
  "TH", "THEAD", "TR", "UL",
]);

export class MarkdownView {
  constructor(root) {
    this.root = root;
    this.shown = []; // one a block: {source, html, element}
    this.caret = Object.assign(document.createElement("span"), { className: "nk-caret" });
  }

  update(text, writing) {
    this.caret.remove();
    const blocks = split(text);
    blocks.forEach((block, index) => this.show(block, index, writing));
    while (this.shown.length > blocks.length) this.shown.pop().element.remove();
    if (writing && this.shown.length) putCaret(this.shown.at(-1).element, this.caret);
  }

  show(block, index, writing) {
    const old = this.shown[index];
    if (writing && old?.source === block.source) return;
    // Once all is written every block is compared by its result: a link's target may stand below the link.
    const html = markdown.renderer.render(block.tokens, markdown.options, block.env);
    if (old) old.source = block.source;
    if (old?.html === html) return;
    const element = old?.element ?? this.root.appendChild(Object.assign(document.createElement("div"), { dir: "auto" }));
    element.replaceChildren(dress(DOMPurify.sanitize(html, CLEAN)));
    this.shown[index] = { source: block.source, html, element };
  }
}

function split(text) {
  const env = {};
  const lines = text.split("\n");
  const blocks = [];
  let tokens = [];
  let [first, last, depth] = [0, 0, 0];
  for (const token of markdown.parse(text, env)) {
    if (!tokens.length) [first, last] = token.map ?? [last, last];
    if (token.map) last = Math.max(last, token.map[1]);
    tokens.push(token);
    depth += token.nesting;
    if (depth > 0) continue;
    blocks.push({ tokens, env, source: tokens[0].type + lines.slice(first, last).join("\n") });
    tokens = [];
  }
  return blocks;
}

function codeBlock(code, language) {
  const known = language && hljs.getLanguage(language);
  const body = known ? hljs.highlight(code, { language, ignoreIllegals: true }).value : escape(code);
  return `<figure class="nk-code"><figcaption><span>${escape(language || "text")}</span></figcaption><pre><code>${body}</code></pre></figure>`;
}

function dress(fragment) {
  for (const link of fragment.querySelectorAll("a[href]")) {
    if (!link.hasChildNodes()) link.remove(); // it held a picture, whose own link stands beside it
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const wide of fragment.querySelectorAll(".nk-table, pre")) wide.tabIndex = 0; // keyboards scroll it sideways
  for (const caption of fragment.querySelectorAll("figure.nk-code > figcaption")) {
    caption.parentElement.dir = "ltr"; // code is, whatever its comments are written in
    const button = Object.assign(document.createElement("button"), { type: "button", className: "nk-ib nk-ib-sm" });
    button.setAttribute("aria-label", "Copy code");
    button.dataset.copyCode = "";
    button.innerHTML = icon("copy", 16);
    caption.append(button);
  }
  return fragment;
}

function putCaret(block, caret) {
  let host = block;
  while (BLOCKS.has(host.lastElementChild?.tagName) && !trailingText(host)) host = host.lastElementChild;
  const end = host.lastChild;
  const endsLine = host.tagName === "CODE" && end?.nodeType === Node.TEXT_NODE && end.data.endsWith("\n");
  host.insertBefore(caret, endsLine ? end.splitText(end.length - 1) : null); // on the line, not below it
}

function trailingText(host) {
  return host.lastChild.nodeType === Node.TEXT_NODE && host.lastChild.data.trim() !== "";
}

export function icon(name, size) {
  return `<svg class="nk-i nk-i-${size}" aria-hidden="true"><use href="#nk-${name}"/></svg>`;
}

export async function copyText(text) {
  try {
    return await navigator.clipboard.writeText(text);
  } catch {
    // Browsers keep the clipboard from plain http, as in an office's own network: the old way does there.
  }
  const box = Object.assign(document.createElement("textarea"), { value: text, className: "nk-sr" });
  const before = document.activeElement;
  document.body.append(box);
  box.select();
  document.execCommand("copy");
  box.remove();
  before.focus();
}
