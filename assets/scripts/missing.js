// A page some of whose files do not come says so, and how to go on, where else nothing at all would be seen: its session ended
// in between, its server is away, or a file was lost. Stands in the page itself, before all that may fail (ui/delivery); it is
// called there with words in the page's language.
function nkWatch(words) {
  const SLOW_MS = 15_000;
  const LOOK_MS = 4000;
  const ANSWER_MS = 8000; // then the server counts as away
  const AGAIN_KEY = "inglenook.again"; // the page that this tab has loaded once more by itself

  let isLost = false;
  let note = null;
  let looking = 0;

  const isMade = () => document.getElementById("app")?.childElementCount > 0;
  const isNeeded = (element) => element instanceof HTMLScriptElement || (element instanceof HTMLLinkElement && element.rel === "stylesheet");

  function failed({ target }) {
    if (isNeeded(target)) goOn();
  }

  async function goOn() {
    if (isLost) return;
    isLost = true;
    const answer = await ask("/login"); // it leads on who is signed in
    if (answer?.status === 200) {
      location.replace(`/login?ended&next=${encodeURIComponent(location.pathname + location.search)}`);
    } else if (answer?.type === "opaqueredirect") {
      loadOnceMore();
    } else {
      show(words.away);
      looking = setInterval(look, LOOK_MS);
      addEventListener("online", look);
    }
  }

  const ask = (path) => fetch(path, { redirect: "manual", cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null);

  async function look() {
    if (!(await ask("/healthz"))?.ok) return;
    clearInterval(looking);
    removeEventListener("online", look);
    loadOnceMore();
  }

  function loadOnceMore() {
    if (hasLoadedAgain()) show(words.lost);
    else location.reload();
  }

  // Where this may keep nothing, it does not know, and does not risk to go round in circles.
  function hasLoadedAgain() {
    if (sessionStorage.getItem(AGAIN_KEY) === location.href) return true;
    sessionStorage.setItem(AGAIN_KEY, location.href);
    return window.nkForgets("sessionStorage", AGAIN_KEY);
  }

  function show({ title, about }) {
    note?.remove();
    note = document.createElement("main");
    note.className = "nk-gate";
    const arch = Object.assign(document.createElement("div"), { className: "nk-arch" });
    arch.setAttribute("role", "alert");
    arch.innerHTML = `<svg class="nk-mark" width="44" height="44" viewBox="0 0 24 24" aria-hidden="true"><path fill="currentColor" fill-rule="evenodd" d="${words.mark}"/></svg>`;
    const again = Object.assign(document.createElement("button"), { type: "button", className: "nk-btn nk-btn-primary nk-btn-lg nk-btn-block", textContent: words.again });
    again.onclick = () => location.reload();
    arch.append(
      Object.assign(document.createElement("h1"), { textContent: title }),
      Object.assign(document.createElement("p"), { className: "nk-sub", textContent: about }),
      again,
    );
    note.append(arch);
    const hasStyles = getComputedStyle(document.documentElement).getPropertyValue("--bg");
    if (!hasStyles) note.style.cssText = "font: 1rem/1.5 system-ui, sans-serif; max-width: 26rem; margin: 20vh auto; padding: 0 20px; text-align: center";
    if (isLost) document.body?.replaceChildren();
    (document.body ?? document.documentElement).prepend(note);
  }

  function arrived() {
    clearTimeout(slow);
    removeEventListener("error", failed, true);
    if (!isMade()) goOn();
    if (isLost) return;
    note?.remove();
    sessionStorage.removeItem(AGAIN_KEY);
  }

  // NiceGUI tells whoever waits a second that their browser is too old.
  const isOld = !("noModule" in HTMLScriptElement.prototype);
  if (!isOld) document.head.append(Object.assign(document.createElement("style"), { textContent: "#esm-fallback { display: none !important }" }));
  const slow = setTimeout(() => isLost || isMade() || show(words.slow), SLOW_MS);
  addEventListener("error", failed, true);
  addEventListener("load", arrived);
}
