// Hands NiceGUI the line that was opened by the page's first words (early.js), or one that is opened now, while the page is
// still being made: NiceGUI opens its own when all is mounted. Runs right after nicegui.js, whose `createApp`, `TAB_ID` and
// others it uses; socket.io has looked for WebSocket by then.
(() => {
  const { createApp, io, nkEarly } = window;
  nkEarly?.restore();

  window.createApp = (elements, options) => {
    if (!document.prerendering) openAhead(options); // a page that is only prepared waits until it is looked at
    return createApp(elements, options);
  };

  // As createApp's `mounted` does. The server knows a page by its document_id: it stays the one that was told first.
  function openAhead({ prefix, query, extraHeaders, transports }) {
    const documentId = nkEarly?.query.document_id ?? createRandomUUID();
    Object.assign(query, { document_id: documentId, tab_id: TAB_ID, old_tab_id: OLD_TAB_ID });
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const path = `${prefix}/_nicegui_ws/socket.io`;
    const socket = io(`${scheme}://${location.host}`, { path, query, extraHeaders, transports: [...transports], tryAllTransports: true });
    window.io = () => {
      window.io = io;
      window.documentId = query.document_id = documentId;
      return socket;
    };
  }
})();
