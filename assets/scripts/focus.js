// The focus is never lost: when what had it is taken away, hidden or switched off, what took its place has it, or what had it
// before. Parts of a page that know a better place move it there themselves, at once; this comes a frame later.
(() => {
  const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex]";
  const FIELDS = "input, select, textarea";
  const ROOM = ".nk-app, dialog, .q-dialog, .q-menu"; // what stands outside comes and goes: toasts
  const REMEMBERED = 6;
  const HAS_KEYBOARD = matchMedia("(hover: hover)"); // elsewhere a field would call one up, over the page

  let trail = []; // what had the focus, the last one first: { element, name, path }
  let isDue = false;

  const nameOf = (element) => element.ariaLabel || element.textContent.trim();
  const isUsable = (element) =>
    element.isConnected && !element.disabled && !element.closest("[inert]") && element.checkVisibility({ visibilityProperty: true });
  const isStop = (element) => element.tabIndex >= 0 && isUsable(element) && (HAS_KEYBOARD.matches || !element.matches(FIELDS));

  // Where it stands: of each element around it, the child in which it is. To be read once it is gone.
  function pathOf(element) {
    const path = [];
    for (let node = element; node.parentElement; node = node.parentElement) {
      path.push({ parent: node.parentElement, index: [...node.parentElement.children].indexOf(node) });
    }
    return path;
  }

  function remember({ target }) {
    const others = trail.filter(({ element }) => element !== target);
    trail = [{ element: target, name: nameOf(target), path: pathOf(target) }, ...others].slice(0, REMEMBERED);
  }

  // The nearest there is: of the same name, as where a list was made anew; else the neighbour.
  function inPlaceOf({ element, name, path }) {
    if (isUsable(element)) return element;
    for (const { parent, index } of path) {
      if (!parent.isConnected) continue;
      if (!parent.closest(ROOM)) return null;
      const nearest = [...parent.children].map((child, at) => [Math.abs(at - index), child]).sort(([one], [other]) => one - other);
      const stops = nearest.flatMap(([, child]) => [child, ...child.querySelectorAll(FOCUSABLE)].filter((each) => each.matches(FOCUSABLE) && isStop(each)));
      if (stops.length) return stops.find((stop) => nameOf(stop) === name) ?? stops[0];
    }
    return null;
  }

  // Where all is gone.
  const firstStop = () => [...document.querySelectorAll(FOCUSABLE)].find((each) => each.closest(ROOM) && isStop(each));

  function mend() {
    isDue = false;
    if (document.activeElement !== document.body || !trail.length) return;
    if (isUsable(trail[0].element)) {
      trail = []; // its reader left it, by a click beside it
      return;
    }
    for (const find of [...trail.map((place) => () => inPlaceOf(place)), firstStop]) {
      find()?.focus({ preventScroll: true, focusVisible: HAS_KEYBOARD.matches ? undefined : false });
      if (document.activeElement !== document.body) return;
    }
  }

  function look() {
    if (isDue || !trail.length) return;
    isDue = true;
    requestAnimationFrame(() => setTimeout(mend)); // what is hidden loses the focus when the frame is drawn
  }

  document.addEventListener("focusin", remember);
  document.addEventListener("focusout", look);
  const attributeFilter = ["class", "disabled", "hidden", "inert", "open", "style"];
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributeFilter });
})();
