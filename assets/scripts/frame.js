// The frame around every page: the phone's sidebar, the folded one of the desk, keys, and the browser's back button.
// It works on what the pages mark with data-nk-*, and knows nothing else of them.
const SIDE_KEY = "inglenook.side";

const menu = () => document.getElementById("menu");

function openMenu() {
  menu().classList.add("open");
  menu().querySelector("[data-nk-close-menu]").focus();
}

function foldSide(folded) {
  document.body.classList.toggle("nk-side-off", folded);
  localStorage.setItem(SIDE_KEY, folded ? "off" : "on");
}

document.addEventListener("click", (event) => {
  const at = (name) => event.target.closest(`[data-nk-${name}]`);
  if (at("open-menu")) openMenu();
  else if (at("close-menu")) menu().classList.remove("open");
  else if (at("hide-side")) foldSide(true);
  else if (at("show-side")) foldSide(false);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") menu()?.classList.remove("open");
  const newChat = (event.ctrlKey || event.metaKey) && event.shiftKey && event.code === "KeyO";
  if (!newChat) return;
  event.preventDefault();
  document.querySelector("[data-nk-new-chat]")?.click();
});

document.addEventListener("submit", (event) => {
  // What is half written belongs to who wrote it.
  if (event.target.getAttribute("action") !== "/logout") return;
  for (const key of Object.keys(sessionStorage)) if (key.startsWith("inglenook.draft.")) sessionStorage.removeItem(key);
});

window.addEventListener("popstate", () => window.emitEvent?.("nk_location", location.pathname));

// The line is cut when a session ends. /login shows its form then; to who is still signed in it only leads on.
async function leaveIfSignedOut() {
  const answer = await fetch("/login", { redirect: "manual" }).catch(() => null); // null: the server is away, pages wait for it
  if (answer?.status === 200) location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
}

window.addEventListener("load", () => {
  for (const event of ["disconnect", "connect_error"]) window.socket?.on(event, leaveIfSignedOut);
});
