// All that the renderer says to people, beside what a model wrote; from the catalogue, in the page's language.
const t = (...asked) => window.nkWords.t(...asked);

export const WORDS = {
  get backToText() { return t("markdown-back-to-text"); },
  get code() { return t("markdown-code"); },
  get copied() { return t("markdown-copied"); },
  get copyCode() { return t("markdown-copy-code"); },
  download: (name) => t("markdown-download", { name }),
  footnote: (number) => t("markdown-footnote", { number }),
  get footnotes() { return t("markdown-footnotes"); },
  get formulaBroken() { return t("markdown-formula-broken"); },
  get notCopied() { return t("markdown-not-copied"); },
  opensElsewhere: (host) => t("markdown-opens-elsewhere", { host }),
  get picture() { return t("markdown-picture"); },
  get plainText() { return t("markdown-plain-text"); },
  get preview() { return t("markdown-preview"); },
  previewOf: (language) => t("markdown-preview-of", { language }),
  get runScripts() { return t("markdown-run-scripts"); },
  get scriptsOff() { return t("markdown-scripts-off"); },
  get wrap() { return t("markdown-wrap"); },
};
