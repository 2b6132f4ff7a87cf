// The browser's half of the catalogue. It runs in the page's head, before any component: window.nkWords.t("id", { count: 3 }).
// ui/language.py puts the messages of the page's language behind it; see assets/locales.
import { FluentBundle, FluentResource } from "@fluent/bundle";

globalThis.nkStartWords = (code, source) => {
  const bundle = new FluentBundle(code, { useIsolating: false }); // as on the server: no marks in what people copy
  bundle.addResource(new FluentResource(source));
  const t = (id, variables) => {
    const message = bundle.getMessage(id);
    if (!message?.value) throw new Error(`no message ${id} in the catalogue`);
    return bundle.formatPattern(message.value, variables);
  };
  window.nkWords = { t, language: code };
};
