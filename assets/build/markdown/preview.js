// HTML and SVG that a model wrote, shown on demand in a closed frame: it has no origin, reaches nothing on the network and
// nothing of the page around it. Scripts run there only when its reader asks for that too.
import { cleanPage } from "./clean.js";
import { icon, make } from "./elements.js";
import { WORDS } from "./words.js";

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src data:; " +
  "form-action 'none'; base-uri 'none'";
const HAS_SCRIPT = /<script|\son\w+\s*=|javascript:/i;

export function canPreview(language, code) {
  const kind = language.toLowerCase();
  if (["html", "htm", "xhtml", "svg"].includes(kind)) return true;
  return (kind === "xml" && /^\s*(?:<\?xml[^>]*>\s*)?<svg[\s>]/i.test(code)) || (!kind && /^\s*<!doctype html/i.test(code));
}

export function previewButton() {
  const button = make("button", "nk-code-preview", { type: "button", "data-nk-code": "preview", "aria-pressed": "false" });
  button.append(icon("eye", 16), WORDS.preview);
  return button;
}

export function togglePreview(button, figure) {
  const old = figure.querySelector(".nk-preview");
  if (old) old.remove();
  else figure.append(preview(figure, false));
  figure.classList.toggle("nk-previewed", !old);
  button.setAttribute("aria-pressed", String(!old));
}

export function runScripts(button, figure) {
  figure.querySelector(".nk-preview").replaceWith(preview(figure, true));
  figure.querySelector("iframe").focus();
}

function preview(figure, withScripts) {
  const code = figure.querySelector("code").textContent;
  const holder = make("div", "nk-preview");
  const frame = make("iframe", "", {
    title: WORDS.previewOf(figure.querySelector("figcaption > span").textContent),
    sandbox: withScripts ? "allow-scripts" : "",
    referrerpolicy: "no-referrer",
    srcdoc: page(code, withScripts),
  });
  holder.append(frame);
  if (!withScripts && HAS_SCRIPT.test(code)) {
    const note = make("p", "nk-preview-note");
    const run = make("button", "nk-btn nk-btn-quiet nk-btn-sm", { type: "button", "data-nk-code": "run" });
    run.textContent = WORDS.runScripts;
    note.append(WORDS.scriptsOff, run);
    holder.append(note);
  }
  return holder;
}

/** The policy stands before all that a model wrote, so that it holds for all of it. The page's own holds there as well. */
function page(code, withScripts) {
  const policy = withScripts ? `${POLICY}; script-src 'unsafe-inline'` : POLICY;
  return (
    `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">` +
    '<meta http-equiv="x-dns-prefetch-control" content="off"><meta name="viewport" content="width=device-width">' +
    (withScripts ? code : cleanPage(code))
  );
}
