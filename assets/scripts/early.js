// The page's line to its server, opened by the first words of the page: it stands by the time that socket.io is here, which is
// handed it then (ahead.js). Stands in the page itself; `nkOpenEarly` is called there, with what NiceGUI asks of a line.
function nkOpenEarly(query, prefix) {
  const { WebSocket } = window;
  if (!query.implicit_handshake || document.prerendering) return; // a page that is only prepared waits until it is looked at
  Object.assign(query, { document_id: newId(), ...tabIds() });
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const asked = new URLSearchParams({ ...query, EIO: 4, transport: "websocket" });
  let early = new WebSocket(`${scheme}://${location.host}${prefix}/_nicegui_ws/socket.io/?${asked}`);
  const heard = [];
  early.onmessage = ({ data }) => {
    heard.push({ data });
    if (heard.length === 1) early.send("40"); // as socket.io answers the first word of its server
  };

  // In the place of WebSocket until socket.io has looked for it.
  function Handed(...address) {
    const socket = early;
    early = null;
    if (!socket || socket.readyState > WebSocket.OPEN) return new WebSocket(...address);
    socket.onmessage = null;
    let hasAnswered = heard.length > 0;
    socket.send = (data) => {
      if (hasAnswered && data === "40") hasAnswered = false;
      else WebSocket.prototype.send.call(socket, data);
    };
    if (socket.readyState === WebSocket.OPEN) queueMicrotask(() => {
      socket.onopen?.({});
      for (const each of heard) socket.onmessage?.(each);
    });
    return socket;
  }
  Handed.prototype = WebSocket.prototype;
  window.WebSocket = Handed;
  window.nkEarly = { query, restore: () => (window.WebSocket = WebSocket) };

  // As nicegui.js finds them out: it will find these.
  function tabIds() {
    const isCopy = sessionStorage.__nicegui_tab_closed === "false"; // of another tab, with what that one kept
    const oldId = isCopy ? sessionStorage.__nicegui_tab_id : null;
    if (isCopy || !sessionStorage.__nicegui_tab_id) sessionStorage.__nicegui_tab_id = newId();
    sessionStorage.__nicegui_tab_closed = "true";
    return { tab_id: sessionStorage.__nicegui_tab_id, old_tab_id: oldId };
  }

  function newId() {
    if (crypto.randomUUID) return crypto.randomUUID(); // not on a plain address in the network
    const digits = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0"));
    return digits.join("").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }
}
