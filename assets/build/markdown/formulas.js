// Sets the formulas that math.js left as their source. KaTeX and its style sheet are fetched once, for the first of them.
import { cleanFormula } from "./clean.js";
import { WORDS } from "./words.js";

const MAX_KEPT = 500; // formulas set before, so that a paragraph that grows does not set them all again
const kept = new Map();

let katex = null;
let coming = null;

/** All formulas within `root`, now or as soon as KaTeX is here. */
export function setFormulas(root) {
  const formulas = root.querySelectorAll(".nk-tex");
  if (!formulas.length) return;
  if (katex) formulas.forEach(set);
  else coming ??= fetchKatex();
}

async function fetchKatex() {
  try {
    const loaded = await import("./katex.js");
    await addStyles(loaded.styles);
    katex = loaded;
    setFormulas(document);
  } catch (error) {
    console.warn("Formulas are shown as their source:", error);
  } finally {
    coming = null; // where it failed, the next formula tries again
  }
}

function addStyles(href) {
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
  return new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = () => {
      link.remove();
      reject(new Error("the style sheet of KaTeX did not come"));
    };
    document.head.append(link);
  });
}

function set(element) {
  const source = element.textContent;
  const isDisplay = element.classList.contains("nk-display");
  if (!kept.has(source)) keep(source, typeset(withoutMarks(source), isDisplay));
  const formula = kept.get(source);
  element.classList.remove("nk-tex");
  if (formula) element.replaceChildren(formula.cloneNode(true));
  else {
    element.classList.add("nk-tex-source");
    element.title = WORDS.formulaBroken;
  }
}

function withoutMarks(source) {
  const length = /^\$(?!\$)/.test(source) ? 1 : 2;
  return source.slice(length, -length);
}

/** Null where the source cannot be read: it is shown as it is. */
function typeset(source, isDisplay) {
  try {
    return cleanFormula(katex.toHtml(source, isDisplay));
  } catch {
    return null; // KaTeX's own errors, and a stack that ran out
  }
}

function keep(source, formula) {
  if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value);
  kept.set(source, formula);
}
