// What Escape leaves, wherever the focus is: what lies over the page, and its modes (a search, a selection, an answer being
// written). Each is there from `opened` to `closed`; the nearest to the focus is left first, of those as near the last opened.
// Menus and dialogs come before them: Quasar's and the browser's own have Escape themselves.
(() => {
  const OWN_ESCAPE = ".q-menu:not([class*='leave']), .q-dialog, dialog[open]";

  const places = []; // { element, leave }, the last one opened last

  function opened(element, leave) {
    places.push({ element, leave });
  }
  function closed(element) {
    const at = places.findIndex((place) => place.element === element);
    if (at >= 0) places.splice(at, 1);
  }

  // By what keeps all keys for itself.
  const isCovered = () => document.querySelector(OWN_ESCAPE) !== null;

  // Elements from the focus up to what it shares with the place.
  function distance({ element }) {
    let steps = 0;
    for (let node = document.activeElement ?? document.body; !node.contains(element); node = node.parentElement) steps += 1;
    return steps;
  }

  function press(event) {
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing || event.keyCode === 229) return;
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey || isCovered()) return;
    const there = places.filter(({ element }) => element.isConnected && !element.closest("[inert]"));
    const [nearest] = there.reverse().sort((one, other) => distance(one) - distance(other));
    if (!nearest) return;
    event.preventDefault();
    nearest.leave();
  }

  document.addEventListener("keydown", press);
  // In a component's template: `v-escape="leave"` on what is there as long as it can be left.
  const directive = { mounted: (element, { value }) => opened(element, value), unmounted: closed };
  window.nkEscape = { opened, closed, directive, isCovered };
})();
