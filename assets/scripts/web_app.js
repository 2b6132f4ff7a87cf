// On every page: the colour of the browser's own bar, and the service worker (worker.js), once the page has long been there.
const REGISTER_AFTER_MS = 4000;

function paintBar() {
  const colour = getComputedStyle(document.body).getPropertyValue("--bg").trim();
  for (const meta of document.querySelectorAll('meta[name="theme-color"]')) meta.content = colour;
}

window.addEventListener("load", () => {
  paintBar();
  const themes = new MutationObserver(paintBar);
  themes.observe(document.body, { attributeFilter: ["class"] });
  themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintBar);

  if (!("serviceWorker" in navigator)) return; // a plain address in the network: browsers want localhost or TLS for it
  const address = `/sw.js?lang=${window.nkWords?.language ?? document.documentElement.lang}`;
  setTimeout(() => navigator.serviceWorker.register(address).catch(() => {}), REGISTER_AFTER_MS); // a convenience: where it is forbidden, nothing is lost
});
