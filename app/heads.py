"""What a connection may say in the head of a request: not without end, or anybody could keep the event loop busy, and
fill the memory, with a single one; and which other protocol it would like. Used by `app.main`.
"""

from __future__ import annotations

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from app.door.responses import error_response

MAX_HEAD_BYTES = 2**19          # more than two reads of a socket: one may end a body of any length and begin a head


class Heads(HttpToolsProtocol):
    """Offers of any protocol but a websocket are passed over, as HTTP wants it: Java's own client offers HTTP/2 with
    each first request, and the parser would take what follows, the body, for the new protocol's.
    """

    _num_head_bytes = 0         # that came in reads in which no head ended
    _is_in_head = True
    _method = b""

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            if not self._feed(memoryview(data)):
                return
        except HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
            return
        if not self._is_in_head or self.transport.is_closing():
            return
        self._num_head_bytes += len(data)
        if self._num_head_bytes > MAX_HEAD_BYTES:
            self.send_400_response("The headers of this request are too long.")

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._num_head_bytes = 0
        self._method = self.parser.get_method()
        if not self._passes_over():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head = True
        if not self._passes_over():
            super().on_message_complete()

    def _feed(self, data: memoryview) -> bool:
        """Whether the connection still speaks HTTP. Raises HttpParserError."""
        while True:
            try:
                self.parser.feed_data(data)
                return True
            except HttpParserUpgrade as upgrade:
                if self._should_upgrade():
                    self.handle_websocket_upgrade()
                    return False
                if not self._passes_over():
                    return True
                data = data[upgrade.args[0]:]
            self.parser.feed_data(self._head_without_offer())

    def _passes_over(self) -> bool:
        is_offer = self.parser.should_upgrade() and self._method != b"CONNECT"
        return is_offer and not self._should_upgrade()

    def _head_without_offer(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self._method, self.url, version)]
        lines += [b"%b: %b" % pair for pair in self.headers if pair[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])


class Handshakes(WebSocketsSansIOProtocol):
    """What cannot be read as a websocket's handshake gets an answer: uvicorn would leave its sender waiting."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        fault = self.conn.handshake_exc
        if fault is None or self.handshake_initiated or self.transport.is_closing():
            return
        self.handshake_complete = self.close_sent = True
        said = b"".join(self.conn.data_to_send())       # of a line that is too long, say
        self.transport.write(said or _bad_request(f"This cannot open a websocket: {fault.__cause__ or fault}."))
        self.transport.close()


def _bad_request(message: str) -> bytes:
    response = error_response(400, message)
    headers = b"".join(b"%b: %b\r\n" % pair for pair in response.raw_headers)
    return b"HTTP/1.1 400 Bad Request\r\n%bconnection: close\r\n\r\n%b" % (headers, bytes(response.body))
