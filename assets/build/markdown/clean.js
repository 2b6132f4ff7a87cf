// Nothing that a model writes is trusted: whatever becomes an element of the page has passed one of these three lists.
// The parser makes no element of HTML in the source, so what is removed here was our mistake, and does no harm.
import DOMPurify from "dompurify";

const ADDRESS = /^(?:(?:https?|mailto|tel):|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i;
const TEXT = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS: [
    "a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img", "input", "label",
    "li", "ol", "p", "pre", "s", "span", "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["align", "alt", "aria-label", "checked", "class", "disabled", "href", "id", "src", "start", "title", "type"],
  ALLOWED_URI_REGEXP: ADDRESS,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};
const CODE = { RETURN_DOM_FRAGMENT: true, ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], ALLOW_DATA_ATTR: false };
const FORMULA = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS: [
    "annotation", "line", "math", "menclose", "mfrac", "mi", "mlabeledtr", "mmultiscripts", "mn", "mo", "mover", "mpadded",
    "mphantom", "mprescripts", "mroot", "mrow", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd",
    "mtext", "mtr", "munder", "munderover", "none", "path", "semantics", "span", "svg",
  ],
  ALLOWED_ATTR: [
    "accent", "accentunder", "aria-hidden", "class", "columnalign", "columnlines", "columnspacing", "d", "depth", "display",
    "displaystyle", "encoding", "fence", "height", "linebreak", "linethickness", "lspace", "mathbackground", "mathcolor",
    "mathsize", "mathvariant", "maxsize", "minsize", "movablelimits", "notation", "preserveaspectratio", "rowlines",
    "rowspacing", "rspace", "scriptlevel", "separator", "stretchy", "style", "symmetric", "viewbox", "voffset", "width",
    "x1", "x2", "xmlns", "y1", "y2",
  ],
  ADD_TAGS: ["annotation", "semantics"],
  ALLOW_DATA_ATTR: false,
};
// A formula's own measures and colours; nothing that could lie over the page or ask for anything.
const PROPERTIES = new Set([
  "background-color", "border-bottom-width", "border-color", "border-right-style", "border-right-width", "border-style",
  "border-top-width", "border-width", "bottom", "color", "height", "left", "margin-left", "margin-right", "margin-top",
  "min-width", "padding-left", "position", "right", "top", "vertical-align", "width",
]);
const VALUE = /^(?!fixed|absolute|sticky)[\w#.%+ -]+$/;

const formulas = DOMPurify(window);
formulas.addHook("uponSanitizeAttribute", (element, data) => {
  if (data.attrName === "style" && !isOwnStyle(data.attrValue)) data.keepAttr = false;
});
const texts = DOMPurify(window);
texts.addHook("uponSanitizeElement", (element, { tagName }) => {
  if (tagName === "input" && !(element.type === "checkbox" && element.disabled)) element.remove();
});

function isOwnStyle(style) {
  return style.split(";").every((declaration) => {
    const [property, value = "", ...more] = declaration.split(":").map((part) => part.trim());
    return !declaration.trim() || (PROPERTIES.has(property) && VALUE.test(value) && !more.length);
  });
}

/** Each takes HTML and gives a fragment. */
export const cleanText = (html) => texts.sanitize(html, TEXT);
export const cleanCode = (html) => DOMPurify.sanitize(html, CODE);
export const cleanFormula = (html) => formulas.sanitize(html, FORMULA);

/** A whole document for the closed frame: its look, without anything that runs or asks. Gives HTML. */
export function cleanPage(html) {
  return DOMPurify.sanitize(html, {
    WHOLE_DOCUMENT: true,
    ADD_TAGS: ["body", "head", "html", "style", "title"],
    FORBID_TAGS: ["base", "embed", "frame", "iframe", "link", "meta", "object", "script"],
    FORBID_ATTR: ["action", "formaction", "ping", "srcset"],
    FORCE_BODY: true,
  });
}
