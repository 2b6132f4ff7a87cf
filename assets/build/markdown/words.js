// All that the renderer says to people, beside what a model wrote; from the catalogue, in the page's language.
const t = (id, variables) => window.nkWords.t(id, variables);
const known = new Map(); // a page has one language, and a long answer many buttons
const say = (id) => known.get(id) ?? known.set(id, t(id)).get(id);

export const WORDS = {
  get backToText() { return say("markdown-back-to-text"); },
  get code() { return say("markdown-code"); },
  get copied() { return say("markdown-copied"); },
  get copyCode() { return say("markdown-copy-code"); },
  download: (name) => t("markdown-download", { name }),
  footnote: (number) => t("markdown-footnote", { number }),
  get footnotes() { return say("markdown-footnotes"); },
  get formulaBroken() { return say("markdown-formula-broken"); },
  get notCopied() { return say("markdown-not-copied"); },
  opensElsewhere: (host) => t("markdown-opens-elsewhere", { host }),
  get picture() { return say("markdown-picture"); },
  get plainText() { return say("markdown-plain-text"); },
  get preview() { return say("markdown-preview"); },
  previewOf: (language) => t("markdown-preview-of", { language }),
  get runScripts() { return say("markdown-run-scripts"); },
  get scriptsOff() { return say("markdown-scripts-off"); },
  get wrap() { return say("markdown-wrap"); },
};
