"""A server elsewhere on this machine, for tests: OpenAI's API as several servers speak it, and all that can go wrong.

`Upstream` is a real HTTP server in threads of its own. It keeps what it was asked; `fault` is what it does in place of
a chat's answer.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-a-key-of-the-tests"
WORDS = "The answer from elsewhere."


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]         # names in small letters
    body: Any


@dataclass
class Upstream:
    words: str = WORDS
    models: tuple[str, ...] = ("big",)
    owner: str = "vllm"
    about: dict[str, Any] = field(default_factory=dict)         # what each model's entry holds beside
    routes: dict[str, Any] = field(default_factory=dict)        # JSON at other paths
    raw_routes: dict[str, bytes] = field(default_factory=dict)  # what is called JSON, as it is
    fault: str = ""
    refuses: tuple[str, ...] = ()                               # parameters
    retry_after: str = "7"
    location: str = "http://127.0.0.2:9/v1/chat/completions"
    keeps_forms: bool = True
    calls_tools: bool = True
    wants_key: bool = False
    holds: str = ""                                             # a path that is answered once `released`
    thinks: str = ""
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.released = threading.Event()
        self.arrived = threading.Event()        # a request for what it holds
        self.gone = threading.Event()           # a client let go in the midst of an answer

        class Handler(_Handler):
            upstream = self

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.url = f"{self.root}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def chats(self) -> list[Asked]:
        return [each for each in self.asked if each.path.endswith("/chat/completions")]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream: Upstream

    def log_message(self, *_arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve(None)

    def do_POST(self) -> None:
        self._serve(json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null"))

    def _serve(self, body: Any) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        up = self.upstream
        up.asked.append(Asked(self.command, self.path, headers, body))
        if up.holds == self.path:
            up.arrived.set()
            up.released.wait()
        if up.wants_key and headers.get("authorization") != f"Bearer {KEY}":
            self._json(401, {"error": {"message": f"Incorrect key: {headers.get('authorization')}"}})
        elif self.path in up.raw_routes:
            self._raw(200, up.raw_routes[self.path])
        elif self.path in up.routes:
            self._json(200, up.routes[self.path])
        elif self.path == "/v1/models":
            rows = [{"id": each, "object": "model", "owned_by": up.owner} | up.about for each in up.models]
            self._json(200, {"object": "list", "data": rows})
        elif self.path in ("/v1/chat/completions", "/v1/completions"):
            try:
                self._answer(body)
            except (BrokenPipeError, ConnectionResetError):
                up.gone.set()
                self.close_connection = True
        else:
            self._json(404, {"error": {"message": "no such route"}})

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self._raw(status, json.dumps(body).encode(), headers)

    def _raw(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _answer(self, body: dict[str, Any]) -> None:
        up = self.upstream
        if refused := [name for name in up.refuses if name in body]:
            complaint = _REFUSALS.get(refused[0], "Unsupported parameter: '{}'.").format(refused[0])
            self._json(400, {"error": {"message": complaint, "param": refused[0]}})
        elif not body.get("stream"):
            self._json(200, {"choices": [{"index": 0, "message": self._trial(body), "finish_reason": "stop"}]})
        elif up.fault in _STATUSES:
            status, answer = _STATUSES[up.fault]
            self._json(status, answer, {"Retry-After": up.retry_after} if status in (429, 503) else None)
        elif up.fault == "redirect":
            self._json(307, {}, {"Location": up.location})
        elif up.fault == "slow":
            up.released.wait()
        elif up.fault == "whole":
            usage = {"prompt_tokens": 3, "completion_tokens": 5}
            message = {"role": "assistant", "content": up.words}
            self._json(200, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
        else:
            self._stream(body)

    def _trial(self, body: dict[str, Any]) -> dict[str, Any]:
        if "tools" in body and self.upstream.calls_tools:
            function = {"name": body["tools"][0]["function"]["name"], "arguments": "{}"}
            call = {"id": "call_1", "type": "function", "function": function}
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        if "response_format" in body and self.upstream.keeps_forms:
            return {"role": "assistant", "content": '{"inglenook": "7f3a"}'}
        return {"role": "assistant", "content": "OK"}

    def _stream(self, body: dict[str, Any]) -> None:
        up = self.upstream
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if up.fault == "page" else "text/event-stream")
        if up.fault == "packed":
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in self._events(body):
            self.wfile.write(event if isinstance(event, bytes) else f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

    def _events(self, body: dict[str, Any]) -> Iterator[dict[str, Any] | bytes]:
        up = self.upstream
        is_chat = "messages" in body
        words = up.words.split(" ")
        pieces = [word if index == 0 else f" {word}" for index, word in enumerate(words)]
        if up.fault in _BEFORE:
            yield _BEFORE[up.fault]
            return
        if up.fault == "silent":
            self.upstream.released.wait()
            return
        while up.fault in _FOR_EVER and not up.released.wait(0.02):
            yield _FOR_EVER[up.fault]
        yield b": ping\n\n"
        yield _chunk({"role": "assistant", "content": ""})
        if up.thinks:
            yield _chunk({"reasoning_content": up.thinks})
        if body.get("tools") and up.fault != "no calls":
            function = {"name": body["tools"][0]["function"]["name"], "arguments": ""}
            yield _chunk({"tool_calls": [{"index": 0, "id": "call_7", "type": "function", "function": function}]})
            for piece in ('{"town": ', '"Oslo"}'):
                more = {"index": 0, "function": {"name": "", "arguments": piece}}
                yield _chunk({"tool_calls": [more]})
            yield _chunk({}, "tool_calls")
            yield b"data: [DONE]\n\n"
            return
        for index, piece in enumerate(pieces):
            if up.fault == "cut" and index == len(pieces) // 2:
                reset = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                return
            if up.fault == "ends early" and index == len(pieces) // 2:
                return
            if up.fault == "error event" and index == len(pieces) // 2:
                yield {"error": {"message": "the graphics card is on fire", "code": 500}}
                return
            if up.fault == "held" and index == 1:
                while not up.released.wait(0.02):
                    yield b": ping\n\n"
            yield _chunk({"content": piece}) if is_chat else {"choices": [{"index": 0, "text": piece}]}
        while up.fault == "endless":
            yield _chunk({"content": "x" * 60_000})
        yield _chunk({}, "stop")
        if (body.get("stream_options") or {}).get("include_usage"):
            usage = {"prompt_tokens": 11, "completion_tokens": len(pieces), "total_tokens": 11 + len(pieces),
                     "prompt_tokens_details": {"cached_tokens": 4}}
            yield {"choices": [], "usage": usage}
        yield b"data: [DONE]\n\n"


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [
        {"index": 0, "delta": delta, "finish_reason": finish_reason}
    ]}


_REFUSALS = {"max_tokens": "Unsupported parameter: '{}'. Use 'max_completion_tokens' instead."}
_STATUSES: dict[str, tuple[int, Any]] = {
    "busy": (429, {"error": {"message": "Rate limit"}}),
    "loading": (503, {"error": {"message": "Loading model"}}),
    "broken": (500, {"error": {"message": "Internal server error"}}),
    "gone": (404, {"error": {"message": "The model does not exist"}}),
    "too long": (400, {"error": {"message": (
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages."
    )}}),
    "wrong": (422, {"detail": [{"msg": "messages: Field required"}]}),
}
_FOR_EVER: dict[str, bytes] = {            # each keeps its line open, and says nothing
    "pings": b": ping\n\n",
    "no deltas": b'data: {"choices": [{"delta": {"content": ""}}]}\n\n',
}
_BEFORE: dict[str, bytes] = {
    "garbage": b"\x00\x01\x02 not a stream at all\n\n",
    "no json": b"data: {not json}\n\n",
    "null": b"data: null\n\n",
    "list": b"data: [1, 2]\n\n",
    "deep": b"data: " + b"[" * 100_000 + b"\n\n",
    "no utf-8": b'data: {"choices": [{"delta": {"content": "\xff\xfe"}}]}\n\n',
    "half a character": b'data: {"choices": [{"delta": {"content": "\\ud83d"}}]}\n\n',
    "nan": b'data: {"choices": NaN}\n\n',
    "huge line": b"data: " + b"x" * (3 * 2**20),
    "empty": b"",
    "no words": b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n',
    "empty done": b"data: [DONE]\n\n",
    "page": b"<!doctype html><title>Sign in</title>",
    "packed": b"\x1f\x8b",
}
