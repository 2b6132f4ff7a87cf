// The ember at the end of what is being written.
const HOSTS = new Set([
  "BLOCKQUOTE", "CODE", "DIV", "FIGURE", "H1", "H2", "H3", "H4", "H5", "H6", "LABEL", "LI", "OL", "P", "PRE", "SECTION",
  "TABLE", "TBODY", "TD", "TH", "THEAD", "TR", "UL",
]);

export class Caret {
  constructor() {
    this.element = Object.assign(document.createElement("span"), { className: "nk-caret" });
    this.cut = null; // the element whose last text was cut in two for the caret
  }

  /** In the innermost last element of `block`. */
  put(block) {
    let host = block;
    while (HOSTS.has(host.lastElementChild?.tagName) && !trailingText(host)) host = host.lastElementChild;
    const end = host.lastChild;
    // Whole code ends with a line end, and the caret stands on that line, not below it.
    const isWholeCode = host.matches(".nk-code:not(.nk-growing) code");
    const endsLine = isWholeCode && end?.nodeType === Node.TEXT_NODE && end.data.endsWith("\n");
    this.cut = endsLine ? host : null;
    host.insertBefore(this.element, endsLine ? end.splitText(end.length - 1) : null);
  }

  remove() {
    this.element.remove();
    this.cut?.normalize();
    this.cut = null;
  }
}

function trailingText(host) {
  return host.lastChild.nodeType === Node.TEXT_NODE && host.lastChild.data.trim() !== "";
}
