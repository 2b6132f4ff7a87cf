// The frame around every page: the phone's sidebar, the folded one of the desk, menus by key, and the browser's back button.
// It works on what the pages mark with data-nk-*, and knows nothing else of them.
const SIDE_KEY = "inglenook.side";
const PHONE = matchMedia("(max-width: 53.6875em)"); // as in the style sheets

// What is kept free for a scrollbar at either side of a conversation: the composer under it, which does not scroll, keeps to
// the same edges.
function measureGutter() {
  const probe = document.createElement("div");
  Object.assign(probe.style, { position: "fixed", visibility: "hidden", width: "100px", overflowY: "auto", scrollbarWidth: "thin", scrollbarGutter: "stable both-edges" });
  document.documentElement.append(probe);
  document.documentElement.style.setProperty("--gutter", `${(100 - probe.clientWidth) / 2}px`);
  probe.remove();
}
measureGutter();

const menu = () => document.getElementById("menu");

// The phone's sidebar lies over the page, which is out of reach meanwhile.
function showMenu(open) {
  if (!menu() || menu().classList.contains("open") === open) return;
  const hadFocus = menu().contains(document.activeElement) || document.activeElement === document.body;
  menu().classList.toggle("open", open);
  if (open) window.nkEscape.opened(menu(), () => showMenu(false));
  else window.nkEscape.closed(menu());
  document.querySelector(".nk-main").inert = open;
  if (open) menu().querySelector("[data-nk-close-menu]").focus();
  else if (hadFocus) document.querySelector("[data-nk-open-menu]").focus();
}

// Menus by the arrow keys; Enter, Tab and Esc do what they do anywhere.
function walkMenu(event, list) {
  if (event.target.matches("input") && ["Home", "End"].includes(event.key)) return; // within what is typed
  const items = [...list.querySelectorAll("a, button")].filter((item) => !item.hidden);
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: Math.max(at, 0) - 1, Home: 0, End: -1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  items.at(to % items.length).focus();
}

// Choices of which one holds: the arrows choose, and run as the lines do.
function walkRadios(event, group) {
  const isRtl = getComputedStyle(group).direction === "rtl";
  const forward = { ArrowDown: 1, ArrowUp: -1, [isRtl ? "ArrowLeft" : "ArrowRight"]: 1, [isRtl ? "ArrowRight" : "ArrowLeft"]: -1 }[event.key];
  if (!forward) return;
  event.preventDefault();
  const radios = [...group.querySelectorAll("[role=radio]")];
  const next = radios.at((radios.indexOf(document.activeElement) + forward) % radios.length);
  next.focus();
  next.click();
}

function foldSide(folded) {
  const hadFocus = document.activeElement?.closest(folded ? "#menu" : "[data-nk-show-side]");
  document.body.classList.toggle("nk-side-off", folded);
  localStorage.setItem(SIDE_KEY, folded ? "off" : "on");
  if (hadFocus) document.querySelector(folded ? "[data-nk-show-side]" : "[data-nk-hide-side]")?.focus();
}

window.nkFrame = {
  // For ui/components/commands.js. On a phone it lies over the page, on a desk it stands beside it.
  toggleSide() {
    if (PHONE.matches) showMenu(!menu().classList.contains("open"));
    else foldSide(!document.body.classList.contains("nk-side-off"));
  },
};

document.addEventListener("click", (event) => {
  const at = (name) => event.target.closest(`[data-nk-${name}]`);
  if (at("open-menu")) showMenu(true);
  else if (at("close-menu")) showMenu(false);
  else if (at("hide-side")) foldSide(true);
  else if (at("show-side")) foldSide(false);
});

document.addEventListener("keydown", (event) => {
  const list = document.querySelector(".q-menu.nk-menu");
  const radios = event.target.closest("[role=radiogroup]");
  if (list) walkMenu(event, list);
  else if (radios) walkRadios(event, radios);
});

// A menu or a form that has just opened: its first item has the focus, so that a screen reader says what it is.
document.addEventListener("focusin", ({ target }) => {
  if (!target.matches(".q-menu.nk-menu, .q-dialog__inner")) return;
  const items = [...target.querySelectorAll("input, textarea, a, button:enabled")];
  items.find((item) => item.checkVisibility())?.focus({ preventScroll: true }); // a name for password managers is hidden
});

// Buttons act when Enter goes down. Quasar's menus open at its release as well: of the very key that has just closed them.
document.addEventListener("keyup", (event) => {
  if (event.key === "Enter" && event.target.closest("button")) event.stopPropagation();
}, true);

// What is half written belongs to who wrote it: signing out takes it along, in every tab of this browser, and what a tab
// was about to keep.
const HALF_WRITTEN = /^inglenook\.(draft\.|edit\.|temporary$)/;
const signOut = new BroadcastChannel("inglenook sign-out");
let isSigningOut = false;

function forgetWritten() {
  for (const storage of [sessionStorage, localStorage]) {
    for (const key of Object.keys(storage)) if (HALF_WRITTEN.test(key)) storage.removeItem(key);
  }
}
function signedOut() {
  forgetWritten();
  window.addEventListener("pagehide", forgetWritten);
}

signOut.onmessage = signedOut;
document.addEventListener("submit", (event) => {
  if (event.target.getAttribute("action") !== "/logout") return;
  isSigningOut = true;
  signOut.postMessage("");
  signedOut();
});

PHONE.addEventListener("change", () => showMenu(false));
window.addEventListener("popstate", () => window.emitEvent?.("nk_location", location.pathname + location.search));

// The line is cut when a session ends. /login shows its form then, and says why; to who is still signed in it only leads on.
async function leaveIfSignedOut() {
  const answer = await fetch("/login", { redirect: "manual" }).catch(() => null); // null: the server is away, pages wait for it
  if (answer?.status === 200 && !isSigningOut) location.assign(`/login?ended&next=${encodeURIComponent(location.pathname)}`);
}

window.addEventListener("load", () => {
  for (const event of ["disconnect", "connect_error"]) window.socket?.on(event, leaveIfSignedOut);
});
