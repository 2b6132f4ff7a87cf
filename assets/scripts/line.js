// What a person does reaches the server once, or they are told. What is said into a line that is dying is lost, and nobody is
// told: so each event is kept until the server says that it has it, and all that are kept are said again, in their order, when
// the line is back. Their numbers tell the server which it has had (ui/sockets.py). A page whose server no longer knows it
// loads anew, and what it kept can go nowhere: then the next one says so.
(() => {
  const SLOW_MS = 4000; // without a word from the server, after which the page says that it is out of reach
  const AGAIN_MS = 500;
  const MAX_SENT = 990_000; // characters of a message; NiceGUI says itself that a longer one is not sent
  const UNSURE_KEY = "inglenook.unsure";

  function keepEvents(socket) {
    const name = Math.random().toString(36).slice(2); // of this page, as often as it is loaded
    const emit = socket.emit.bind(socket);
    const popup = document.getElementById("popup");
    let kept = []; // {number, message, at}, the oldest first
    let lastNumber = 0;
    let again = null;

    const isLate = ({ at }) => performance.now() - at >= SLOW_MS;

    function say({ number, message }) {
      emit("event", { ...message, line: name, number }, (isTaken) => {
        if (isTaken) drop(number);
        else again ??= setTimeout(sayAll, AGAIN_MS); // it does not have those before, or does not know this page yet
      });
    }

    function sayAll() {
      clearTimeout(again);
      again = null;
      if (socket.connected) kept.forEach(say);
    }

    function drop(upTo) {
      kept = kept.filter(({ number }) => number > upTo);
      if (!kept.some(isLate) && socket.connected) popup.ariaHidden = true;
    }

    function lookLater() {
      setTimeout(() => {
        if (kept.some(isLate)) popup.ariaHidden = false;
      }, SLOW_MS);
    }

    socket.emit = (event, message, ...rest) => {
      if (event !== "event" || JSON.stringify(message).length > MAX_SENT) return emit(event, message, ...rest);
      lastNumber += 1;
      const each = { number: lastNumber, message, at: performance.now() };
      kept.push(each);
      if (socket.connected) say(each);
      lookLater();
      return socket;
    };
    socket.on("connect", sayAll);
    // Who goes on to another page over a line that works is not told: what was just said arrives.
    window.addEventListener("pagehide", () => {
      if (kept.length && (!socket.connected || kept.some(isLate))) sessionStorage.setItem(UNSURE_KEY, "");
    });
  }

  // Stays until it was read.
  function tellUnsure() {
    if (sessionStorage.getItem(UNSURE_KEY) === null) return;
    sessionStorage.removeItem(UNSURE_KEY);
    const { t } = window.nkWords;
    const note = Object.assign(document.createElement("div"), { className: "nk-banner", role: "alert" });
    const said = Object.assign(document.createElement("span"), { textContent: t("connection-unsure") });
    const close = Object.assign(document.createElement("button"), { type: "button", className: "nk-btn nk-btn-quiet nk-btn-sm", textContent: t("close") });
    close.onclick = () => window.nkBanners.remove(note);
    note.append(said, close);
    window.nkBanners.show(note);
  }

  document.addEventListener("DOMContentLoaded", () => {
    if (window.socket) keepEvents(window.socket);
    tellUnsure();
  });
})();
