// A block of code: a bar with its language and what can be done with it, and the code, coloured. See code_actions.js.
import { iconButton, make } from "./elements.js";
import { fileName, languageOf } from "./files.js";
import { GrowingCode, highlighted } from "./highlight.js";
import { canPreview, previewButton } from "./preview.js";
import { WORDS } from "./words.js";

export class CodeBlock {
  constructor(info) {
    this.info = info;
    this.language = languageOf(info);
    this.isWhole = false;
    this.element = make("figure", "nk-code", { dir: "ltr" }); // code is, whatever its comments are written in
    const bar = make("figcaption");
    const name = make("span");
    name.textContent = this.language || WORDS.plainText;
    this.actions = make("span", "nk-code-acts");
    this.actions.append(
      iconButton("text-wrap", WORDS.wrap, "wrap"),
      iconButton("download", WORDS.download(fileName(info, "")), "download"),
      iconButton("copy", WORDS.copyCode, "copy"),
    );
    this.actions.querySelector("[data-nk-code=wrap]").setAttribute("aria-pressed", "false");
    bar.append(name, this.actions);
    const scroller = make("pre", "", { tabindex: "0" }); // keyboards scroll it sideways
    this.code = scroller.appendChild(make("code"));
    this.element.append(bar, scroller);
    this.growing = new GrowingCode(this.code, this.language);
  }

  /** The line that is being written has no end yet. */
  grow(code) {
    this.element.classList.add("nk-growing");
    this.growing.show(code.replace(/\n$/, ""));
  }

  finish(code) {
    this.isWhole = true;
    this.element.classList.remove("nk-growing");
    this.code.replaceChildren(highlighted(code, this.language));
    this.element.dataset.name = fileName(this.info, code);
    const download = this.actions.querySelector("[data-nk-code=download]");
    download.title = WORDS.download(this.element.dataset.name);
    download.setAttribute("aria-label", download.title);
    if (canPreview(this.language, code)) this.actions.lastChild.before(previewButton());
  }
}

/** Puts figures in the place of the bare code that parser.js made inside of lists and quotes. */
export function dressCode(root) {
  for (const bare of root.querySelectorAll("pre")) {
    const block = new CodeBlock(bare.title);
    const code = bare.textContent;
    if (!bare.classList.contains("nk-open")) block.finish(code);
    else block.grow(code);
    bare.replaceWith(block.element);
  }
}
