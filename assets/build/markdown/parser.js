// Markdown to tokens to HTML: GitHub's dialect with formulas and footnotes. HTML in the source stays text.
import MarkdownIt from "markdown-it";
import { footnotes } from "./footnotes.js";
import { images } from "./images.js";
import { math } from "./math.js";
import { tasks } from "./tasks.js";

export const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true });
markdown.use(math).use(footnotes).use(tasks).use(images);
// Addresses are links; names of files are not, though many end like a country ("main.rs", "notes.md").
const { linkify } = markdown;
linkify.add("ftp:", null).add("//", null);
linkify.add("www.", {
  validate: (text, at) => Math.max(0, linkify.testSchemaAt(`//${text.slice(at)}`, "http:", 0) - 2),
  normalize: (match) => {
    match.url = `http://${match.url}`;
  },
});

const { renderer, utils } = markdown;
const { rules } = renderer;

rules.table_open = () => '<div class="nk-table"><table>';
rules.table_close = () => "</table></div>";
rules.th_open = rules.td_open = (tokens, index) => {
  const align = tokens[index].attrGet("style")?.replace("text-align:", "");
  return `<${tokens[index].tag}${align ? ` align="${align}"` : ""}>`;
};
// Code inside of lists and quotes: code_block.js puts the figure that people see in its place.
rules.fence = rules.code_block = (tokens, index, options, env) => {
  const { content, info } = tokens[index];
  const open = env.writing && !isClosed(tokens[index]) ? ' class="nk-open"' : "";
  return `<pre${open} title="${utils.escapeHtml(info)}"><code>${utils.escapeHtml(content)}</code></pre>`;
};

export function parse(text, env) {
  return markdown.parse(text, env);
}

export function render(tokens, env) {
  return renderer.render(tokens, markdown.options, env);
}

/** Whether the closing marks of a block of code have been written. */
export function isClosed(token) {
  if (token.type !== "fence") return true;
  const numLines = token.content.replace(/\n$/, "").split("\n").length;
  return token.map[1] - token.map[0] - 1 > (token.content ? numLines : 0);
}
