"""What a connection may send before a request's headers have ended: without a bound anybody could keep the event loop
busy, and fill the memory, with a single one. Used by `app.main`.
"""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 2**19          # more than two reads of a socket: one may end a body of any length and begin a head


class BoundedHeads(HttpToolsProtocol):
    _num_head_bytes = 0         # that came in reads in which no head ended
    _is_in_head = True

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_in_head or self.transport.is_closing():
            return
        self._num_head_bytes += len(data)
        if self._num_head_bytes > MAX_HEAD_BYTES:
            self.send_400_response("The headers of this request are too long.")

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._num_head_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head = True
        super().on_message_complete()
