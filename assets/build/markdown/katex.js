// KaTeX, a file of its own: fetched with its style sheet when the first formula appears (formulas.js).
import katex from "katex";

export const styles = new URL("katex.css", import.meta.url).href;

const OPTIONS = { throwOnError: true, trust: false, strict: "ignore", output: "htmlAndMathml", maxSize: 40 };
const DEFINES = /\\(?:[gex]?def|let|futurelet|(?:re|provide)?newcommand|global|long)\b/;
const MAX_EXPAND = 1000; // KaTeX's own macros are short
const MAX_OWN_TOKENS = 20_000; // a macro of the writer's own may be as long as the source, each time

/** HTML and MathML of a formula. Raises where KaTeX cannot read it, or where it would grow out of measure. */
export function toHtml(source, displayMode) {
  const maxExpand = DEFINES.test(source) ? Math.min(MAX_EXPAND, MAX_OWN_TOKENS / source.length) : MAX_EXPAND;
  return katex.renderToString(source, { ...OPTIONS, displayMode, maxExpand });
}
