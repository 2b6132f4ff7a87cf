// Pictures. One elsewhere would tell its host that, and when, this chat is read: it becomes a link that names the host.
import { WORDS } from "./words.js";

export function images(markdown) {
  const { escapeHtml } = markdown.utils;
  markdown.renderer.rules.image = (tokens, index, options, env, self) => {
    const source = tokens[index].attrGet("src");
    const text = self.renderInlineAsText(tokens[index].children, options, env);
    const host = foreignHost(source);
    if (host === null) return `<img src="${escapeHtml(source)}" alt="${escapeHtml(text)}">`;
    const name = `${escapeHtml(text || WORDS.picture)} (${escapeHtml(host)})`;
    if (isInLink(tokens, index)) return name; // which leads where its writer meant it to
    return `<a class="nk-picture" href="${escapeHtml(source)}">${name}</a>`;
  };
}

/** Null for a picture of ours: in the text itself, or from this server. */
function foreignHost(source) {
  let url;
  try {
    url = new URL(source, document.baseURI);
  } catch {
    return source; // no address at all: its link leads nowhere either
  }
  return url.protocol === "data:" || url.origin === location.origin ? null : url.host || source;
}

function isInLink(tokens, index) {
  let depth = 0;
  for (const { type } of tokens.slice(0, index)) depth += (type === "link_open") - (type === "link_close");
  return depth > 0;
}
