// Quasar, as much of it as the pages use, under the name that NiceGUI's page looks for: a sixth of the whole. What is not
// in here is still there for whoever comes to use it: the whole of it, NiceGUI's own copy, is fetched with the first such
// component. `window.nkQuasar` says from where, {script, styles: [[address, layer], ...]}; ui/bundle.py writes it.
import QCard from "quasar/src/components/card/QCard.js";
import QDialog from "quasar/src/components/dialog/QDialog.js";
import QInput from "quasar/src/components/input/QInput.js";
import QLayout from "quasar/src/components/layout/QLayout.js";
import QMenu from "quasar/src/components/menu/QMenu.js";
import QPage from "quasar/src/components/page/QPage.js";
import QPageContainer from "quasar/src/components/page/QPageContainer.js";
import QTooltip from "quasar/src/components/tooltip/QTooltip.js";
import ClosePopup from "quasar/src/directives/close-popup/ClosePopup.js";
import installQuasar from "quasar/src/install-quasar.js";
import Dark from "quasar/src/plugins/dark/Dark.js";
import Lang from "quasar/src/plugins/lang/Lang.js";

const components = { QCard, QDialog, QInput, QLayout, QMenu, QPage, QPageContainer, QTooltip };
let whole;

function fetchWhole() {
  whole ??= new Promise((resolve, reject) => {
    const imports = window.nkQuasar.styles.map(([address, layer]) => `@import url("${address}") layer(${layer});`);
    const style = Object.assign(document.createElement("style"), { textContent: imports.join("") });
    const script = Object.assign(document.createElement("script"), { src: window.nkQuasar.script });
    const ours = window.Quasar;
    script.onload = () => {
      resolve(window.Quasar);
      window.Quasar = ours; // which NiceGUI goes on to use
    };
    script.onerror = reject;
    document.head.append(style, script);
  });
  return whole;
}

window.Quasar = {
  version: __QUASAR_VERSION__,
  install(app, options) {
    installQuasar(app, { components, directives: { ClosePopup }, ...options });
    for (const name of __OTHER_COMPONENTS__) {
      app.component(name, window.Vue.defineAsyncComponent(() => fetchWhole().then((quasar) => quasar[name])));
    }
  },
  Dark,
  Lang,
  lang: Lang,
  ...components,
};
