// The browser's half of the catalogue. It runs in the page's head, before any component: window.nkWords.t("id", { count: 3 }).
// ui/language.py puts the messages of the page's language behind it; see assets/locales.
import { FluentBundle, FluentResource } from "@fluent/bundle";

const ENTRY = /^(?=-?[a-z][\w-]* *=)/im; // where a message or a term begins
const NAME = /^-?[\w-]+/;
const REFERENCE = /\{\s*(-?[a-z][\w-]*)/gi; // to another, in a message

globalThis.nkStartWords = (code, source) => {
  const bundle = new FluentBundle(code, { useIsolating: false }); // as on the server: no marks in what people copy
  const unread = new Map(source.split(ENTRY).map((entry) => [NAME.exec(entry)?.[0], entry]));

  // Of hundreds a page says some: each is read when it is first said, and what it refers to.
  function read(id) {
    const entry = unread.get(id);
    if (!entry) return;
    unread.delete(id);
    bundle.addResource(new FluentResource(entry));
    for (const [, other] of entry.matchAll(REFERENCE)) read(other);
  }

  const t = (id, variables) => {
    read(id);
    const message = bundle.getMessage(id);
    if (!message?.value) throw new Error(`no message ${id} in the catalogue`);
    return bundle.formatPattern(message.value, variables);
  };
  window.nkWords = { t, language: code };
};
