// The frame around every page: the phone's sidebar, the folded one of the desk, keys, and the browser's back button.
// It works on what the pages mark with data-nk-*, and knows nothing else of them.
const SIDE_KEY = "inglenook.side";

const menu = () => document.getElementById("menu");

// The phone's sidebar lies over the page, which is out of reach meanwhile.
function showMenu(open) {
  if (!menu() || menu().classList.contains("open") === open) return;
  const hadFocus = menu().contains(document.activeElement);
  menu().classList.toggle("open", open);
  document.querySelector(".nk-main").inert = open;
  if (open) menu().querySelector("[data-nk-close-menu]").focus();
  else if (hadFocus) document.querySelector("[data-nk-open-menu]").focus();
}

// Menus by the arrow keys; Enter, Tab and Esc do what they do anywhere.
function walkMenu(event, list) {
  const items = [...list.querySelectorAll("a, button")].filter((item) => !item.hidden);
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: Math.max(at, 0) - 1, Home: 0, End: -1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  items.at(to % items.length).focus();
}

function foldSide(folded) {
  document.body.classList.toggle("nk-side-off", folded);
  localStorage.setItem(SIDE_KEY, folded ? "off" : "on");
}

document.addEventListener("click", (event) => {
  const at = (name) => event.target.closest(`[data-nk-${name}]`);
  if (at("open-menu")) showMenu(true);
  else if (at("close-menu")) showMenu(false);
  else if (at("hide-side")) foldSide(true);
  else if (at("show-side")) foldSide(false);
});

document.addEventListener("keydown", (event) => {
  const list = document.querySelector(".q-menu.nk-menu");
  if (list) walkMenu(event, list);
  else if (event.key === "Escape") showMenu(false);
  const newChat = (event.ctrlKey || event.metaKey) && event.shiftKey && event.code === "KeyO";
  if (!newChat) return;
  event.preventDefault();
  document.querySelector("[data-nk-new-chat]")?.click();
});

let isSigningOut = false;

document.addEventListener("submit", (event) => {
  if (event.target.getAttribute("action") !== "/logout") return;
  isSigningOut = true;
  // What is half written belongs to who wrote it.
  for (const storage of [sessionStorage, localStorage]) {
    for (const key of Object.keys(storage)) if (key.startsWith("inglenook.draft.")) storage.removeItem(key);
  }
});

matchMedia("(min-width: 860px)").addEventListener("change", () => showMenu(false));
window.addEventListener("popstate", () => window.emitEvent?.("nk_location", location.pathname + location.search));

// The line is cut when a session ends. /login shows its form then; to who is still signed in it only leads on.
async function leaveIfSignedOut() {
  const answer = await fetch("/login", { redirect: "manual" }).catch(() => null); // null: the server is away, pages wait for it
  if (answer?.status === 200 && !isSigningOut) location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
}

window.addEventListener("load", () => {
  for (const event of ["disconnect", "connect_error"]) window.socket?.on(event, leaveIfSignedOut);
});
