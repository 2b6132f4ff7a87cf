// What is put into a text field does not hold the page. Chromium lays a field out while it takes a text in, before a page hears
// of it: 100,000 marks on one letter take it half a minute, and where the direction of a megabyte is to be found, each key
// takes seconds. So both are seen to before. On every page.
(() => {
  const LONG = 10_000; // characters: more than a field ever shows, and too many to be gone through at each key
  // Their time grows with their square. No script has more than a dozen on one letter; what comes after these stands on a
  // circle, as browsers show a mark without a letter.
  const MANY = /\p{M}{50}(?=\p{M})/gu;
  const BROKEN = /(\p{M}{50})\u25cc(?=\p{M})/gu;
  const PERHAPS = /[\u0300-\uffff]{50}/; // tells most texts apart in a sixth of the time: an answer is shown anew at each word

  const short = (text) => (PERHAPS.test(text) ? text.replace(MANY, "$&\u25cc") : text);
  const whole = (text) => (PERHAPS.test(text) ? text.replace(BROKEN, "$1") : text);

  // As high as its text, as far as its style sheet lets it. What is long is higher than that, without being measured.
  function fit(box) {
    const isLong = box.value.length > LONG;
    if (!isLong) box.style.height = "auto";
    box.style.height = isLong ? "100vh" : `${box.scrollHeight}px`;
  }

  window.nkFields = { LONG, fit, short, whole };

  document.addEventListener("beforeinput", (event) => {
    const { target, data } = event;
    if (!data || event.isComposing || !target.matches("input, textarea")) return;
    if (target.value.length + data.length > LONG) target.removeAttribute("dir");
    const shown = short(data);
    if (shown === data) return;
    event.preventDefault();
    document.execCommand("insertText", false, shown); // as if it was typed: it can be undone
  }, true);
})();
