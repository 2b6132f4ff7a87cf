// What test_markdown.py does in the page: show markdown by the page's own renderer, whole or as it comes in.
import("inglenook-markdown").then(({ MarkdownView }) => {
  let count = 0;

  function place() {
    const prose = Object.assign(document.createElement("div"), { className: "prose" });
    document.querySelector(".nk-hello-in").append(prose);
    return prose;
  }

  window.markdown = {
    clear() {
      document.querySelectorAll(".nk-hello-in > .prose").forEach((prose) => prose.remove());
    },
    show(text, id = `m${count++}`) {
      const prose = place();
      new MarkdownView(prose, id).update(text, false);
      return prose.innerHTML;
    },
    /** Ends of pieces in, HTML at the end out. `after(view, prose)` sees each step. */
    grow(text, ends, id = `m${count++}`, after = () => {}) {
      const prose = place();
      const view = new MarkdownView(prose, id);
      for (const end of ends) {
        view.update(text.slice(0, end), true);
        after(prose, end);
      }
      view.update(text, false);
      return prose.innerHTML;
    },
    /** HTML as it stands when all has come in, and nobody has said yet that this was all. */
    beforeTheEnd(text, ends, id) {
      let html = "";
      this.grow(text, ends, id, (prose) => {
        const copy = prose.cloneNode(true);
        copy.querySelector(".nk-caret")?.remove();
        copy.normalize();
        html = copy.innerHTML;
      });
      return html;
    },
    /** As on plain http, outside of this computer. */
    takeClipboardAway() {
      Object.defineProperty(navigator.clipboard, "writeText", { value: () => Promise.reject(new Error("not here")) });
    },
    /** {tag, attributes: names, style, inFormula} of all elements that stand here. */
    elements() {
      return [...document.querySelectorAll(".nk-hello-in > .prose *")].map((each) => ({
        tag: each.localName, attributes: each.getAttributeNames(), style: each.getAttribute("style") ?? "",
        inFormula: Boolean(each.closest(".katex")),
      }));
    },
    /** The texts of elements that were on the page at any time while the text came letter by letter. */
    glimpses(text, selector) {
      const seen = new Set();
      const ends = Array.from({ length: text.length + 1 }, (_, end) => end);
      this.grow(text, ends, undefined, (prose) => {
        for (const element of prose.querySelectorAll(selector)) seen.add(element.textContent);
      });
      return [...seen];
    },
    /** How many changes each top-level block saw while the text grew, and which of them are still the same elements. */
    touched(text, step) {
      const prose = place();
      const view = new MarkdownView(prose, `m${count++}`);
      const half = text.length / 2;
      let first = [];
      const changed = new Set();
      const observer = new MutationObserver((records) => {
        for (const { target } of records) changed.add(first.findIndex((block) => block === target || block.contains(target)));
      });
      for (let end = step; end < text.length; end += step) {
        view.update(text.slice(0, end), true);
        if (end < half || first.length) continue;
        first = [...prose.children].slice(0, -1);
        observer.observe(prose, { subtree: true, childList: true, characterData: true, attributes: true });
      }
      for (const { target } of observer.takeRecords()) changed.add(first.findIndex((block) => block === target || block.contains(target)));
      changed.delete(-1);
      return { settled: first.length, changed: changed.size, same: first.every((block) => block.isConnected) };
    },
  };
});
