// A banner (the word about a lost connection, say) lies over nothing: the page begins below it. Its height follows from the
// width of the window and the reader's size of text, so it is measured. NiceGUI's own are in the page from the start; line.js
// makes another. See app.css.
(() => {
  const BANNERS = ".nk-banner, .nicegui-error-popup";

  function makeRoom() {
    const shown = [...document.querySelectorAll(BANNERS)].filter((each) => getComputedStyle(each).visibility === "visible");
    const height = Math.max(0, ...shown.map((each) => each.offsetHeight));
    document.documentElement.style.setProperty("--banner-h", `${height}px`);
  }

  const sizes = new ResizeObserver(makeRoom);
  const states = new MutationObserver(makeRoom);

  function follow(banner) {
    sizes.observe(banner);
    states.observe(banner, { attributeFilter: ["aria-hidden"] });
    // A lost line is told after two seconds, and a banner goes slowly.
    for (const event of ["transitionstart", "transitionend"]) banner.addEventListener(event, makeRoom);
  }

  window.nkBanners = {
    show(banner) {
      document.body.append(banner);
      follow(banner);
    },
    remove(banner) {
      banner.remove();
      makeRoom();
    },
  };

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll(BANNERS).forEach(follow));
})();
