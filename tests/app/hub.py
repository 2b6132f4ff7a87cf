"""A model hub on this machine, for tests: the API as huggingface_hub 2.4 calls it, and a second host that serves files.

`Hub` is a real HTTP server over real files; `Faults` are switched on by tests. It keeps what it was asked, and counts
the bytes that it sent.
"""

from __future__ import annotations

import hashlib
import json
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.app.repeating import Content, digest, short_of

TOKEN = "hf_a_token_of_the_tests"
CHUNK_BYTES = 1 << 16


@dataclass
class Faults:
    """All off. A count is how many more times it happens."""

    flips_byte_at: int | None = None        # of every file, in what is sent; sizes and hashes stay
    cuts_at: float | None = None            # a share of each body, after which the line is cut
    num_cuts: int = 10**9
    ignores_range: bool = False             # 200 and the whole file
    wrong_offset: bool = False              # 206 from elsewhere, and it says so
    lying_offset: bool = False              # 206 from elsewhere, and it says what was asked for
    status: int | None = None               # in place of files
    num_statuses: int = 10**9
    api_status: int | None = None           # in place of the API's answers
    retry_after: str = ""
    wants_token: bool = False               # gated
    compresses: bool = False                # claims so
    sends_chunks: bool = False              # a body whose length is not said
    num_too_many: int = 0                   # bytes at the end of each part of a file, and its length says so
    content_range: str = ""                 # in place of the right one
    closes_between: bool = False            # the line, without a word, after each body
    bytes_per_s: int | None = None          # of all connections together
    location: str = ""                      # to which it sends for large files, in place of the other host
    expires_addresses: int = 0              # of the file host: so many requests are refused


@dataclass
class Repo:
    files: dict[str, Content] = field(default_factory=dict)
    commit: str = ""
    tags: list[str] = field(default_factory=list)
    downloads: int = 0
    likes: int = 0
    gguf: dict[str, Any] | None = None
    last_modified: str = "2026-05-01T10:00:00.000Z"

    def put(self, name: str, content: Content) -> None:
        self.files[name] = content
        text = "".join(f"{name}:{sha256(body)};" for name, body in sorted(self.files.items()))
        self.commit = hashlib.sha1(text.encode()).hexdigest()


@dataclass(frozen=True)
class Asked:
    host: str               # "hub" or "files"
    method: str
    path: str
    headers: dict[str, str]


class Hub:
    """Files over 1 kB, or called .gguf or .safetensors, lie in large-file storage: served by the other host.

    `tls`: what both hosts speak, if not plain HTTP.
    """

    def __init__(self, *, has_file_host: bool = True, tls: ssl.SSLContext | None = None) -> None:
        self.faults = Faults()
        self.repos: dict[str, Repo] = {}
        self.old: dict[tuple[str, str], dict[str, Content]] = {}    # by repository and commit
        self.asked: list[Asked] = []
        self.sent_bytes: Counter[str] = Counter()                   # by file's name
        self.on_sent: Callable[[str, int], None] = lambda _name, _total: None
        self._hold: tuple[str, int, Callable[[], object]] | None = None
        self._released = threading.Event()
        self.lock = threading.Lock()
        self.began_s = monotonic()
        self._api = _serve(self, _ApiHandler, tls)
        self._files = _serve(self, _FileHandler, tls) if has_file_host else None
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._api.server_address[1]}"
        self.files_url = f"{scheme}://localhost:{self._files.server_address[1]}" if self._files else ""

    def hold(self, name: str = "", num_bytes: int = 0, then: Callable[[], object] = lambda: None) -> None:
        """Once so many bytes of a file have been sent in all ("": of any file), no more are until `release`."""
        self._released = threading.Event()
        self._hold = (name, num_bytes, then)

    def release(self) -> None:
        """Lines that were held are cut."""
        self._hold = None
        self._released.set()

    def hold_if_due(self, name: str) -> None:
        if (hold := self._hold) is not None and hold[0] in ("", name) and self.sent_bytes[name] >= hold[1]:
            hold[2]()
            self._released.wait()
            raise ConnectionResetError

    def close(self) -> None:
        self.release()
        for server in filter(None, (self._api, self._files)):
            server.shutdown()
            server.server_close()

    def add(self, repo: str, files: Mapping[str, Content], **about: Any) -> Repo:
        added = self.repos[repo] = Repo(**about)
        for name, content in files.items():
            added.put(name, content)
        self.old[repo, added.commit] = dict(added.files)
        return added

    def change(self, repo: str, name: str, content: Content) -> str:
        """A new commit. The old one is still there under its name."""
        changed = self.repos[repo]
        changed.put(name, content)
        self.old[repo, changed.commit] = dict(changed.files)
        return changed.commit

    def change_in_place(self, repo: str, name: str, content: Content) -> None:
        """As no hub should: the commit stays, its file is another."""
        self.repos[repo].files[name] = content
        self.old[repo, self.repos[repo].commit][name] = content

    def at(self, repo: str, revision: str) -> tuple[str, dict[str, Content]] | None:
        found = self.repos.get(repo)
        if found is None:
            return None
        commit = found.commit if revision == "main" else revision
        files = self.old.get((repo, commit))
        return None if files is None else (commit, files)

    def took(self, kind: str) -> bool:
        """Whether a fault that is counted happens once more."""
        with self.lock:
            left = getattr(self.faults, kind)
            setattr(self.faults, kind, max(0, left - 1))
            return bool(left > 0)

    def heard(self, host: str, path_part: str = "") -> list[Asked]:
        return [each for each in self.asked if each.host == host and path_part in each.path]


@lru_cache
def md5(content: Content) -> str:
    return digest("md5", short_of(content))


@lru_cache
def sha256(content: Content) -> str:
    return digest("sha256", content)


@lru_cache
def git_oid(content: Content) -> str:
    return digest("sha1", short_of(content), b"blob %d\0" % len(content))


def _is_large(name: str, content: Content) -> bool:
    return len(content) > 1024 or name.endswith((".gguf", ".safetensors"))


def _serve(hub: Hub, handler: type[_Handler], tls: ssl.SSLContext | None) -> ThreadingHTTPServer:
    class _Bound(handler):      # type: ignore[valid-type, misc]
        pass

    _Bound.hub = hub
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Bound)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub
    host = ""

    def log_message(self, *_arguments: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        headers = {name.lower(): ", ".join(self.headers.get_all(name, ())) for name in self.headers}
        self.hub.asked.append(Asked(self.host, self.command, self.path, headers))
        try:
            self.answer()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self) -> None:
        raise NotImplementedError

    def say(self, status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def say_error(self, status: int, code: str = "", message: str = "") -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": message} if code else {}
        if self.hub.faults.retry_after:
            headers["Retry-After"] = self.hub.faults.retry_after
        self.say(status, headers, json.dumps({"error": message or code}).encode())

    def say_file(self, name: str, content: Content, etag: str, headers: dict[str, str]) -> None:
        """With ranges, and with whatever faults are switched on."""
        faults, size = self.hub.faults, len(content)
        if faults.status is not None and self.command == "GET" and self.hub.took("num_statuses"):
            self.say_error(faults.status)
            return
        headers = headers | {"ETag": f'"{etag}"', "Accept-Ranges": "bytes", "Last-Modified": formatdate(0, usegmt=True)}
        if faults.compresses:
            headers["Content-Encoding"] = "gzip"
        start, end, status = 0, size, 200
        asked = self.headers.get("Range", "")
        condition = self.headers.get("If-Range", f'"{etag}"')
        if asked and not faults.ignores_range and condition == f'"{etag}"':
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, end, status = int(first), min(int(last or size - 1), size - 1) + 1, 206
            if start >= size:
                self.say(416, {"Content-Range": f"bytes */{size}"})
                return
            claimed = start
            if faults.wrong_offset or faults.lying_offset:
                shift = min(start, 1000) or -min(1000, size - end)
                start, end = start - shift, end - shift
                claimed = start if faults.wrong_offset else claimed
            headers["Content-Range"] = faults.content_range or f"bytes {claimed}-{claimed + end - start - 1}/{size}"
        body = bytearray(content[start:end])
        if status == 206:
            body += bytes(faults.num_too_many)
        if faults.flips_byte_at is not None and start <= faults.flips_byte_at < end:
            body[faults.flips_byte_at - start] ^= 1
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header, value)
        if faults.sends_chunks:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self._send_body(name, bytes(body))
            self.close_connection |= faults.closes_between

    def _send_body(self, name: str, body: bytes) -> None:
        faults = self.hub.faults
        is_cut = faults.cuts_at is not None and self.hub.took("num_cuts")
        until = int(len(body) * (faults.cuts_at or 0)) if is_cut else len(body)
        for at in range(0, until, CHUNK_BYTES):
            piece = body[at: min(at + CHUNK_BYTES, until)]
            if faults.bytes_per_s:
                self._drip(len(piece), faults.bytes_per_s)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if faults.sends_chunks else piece)
            with self.hub.lock:
                self.hub.sent_bytes[name] += len(piece)
            self.hub.on_sent(name, self.hub.sent_bytes[name])
            self.hub.hold_if_due(name)
        if faults.sends_chunks and not is_cut:
            self.wfile.write(b"0\r\n\r\n")
        if is_cut:
            self.wfile.flush()
            self.close_connection = True

    def _drip(self, num_bytes: int, bytes_per_s: int) -> None:
        with self.hub.lock:
            self.hub.began_s = max(self.hub.began_s, monotonic() - 0.05) + num_bytes / bytes_per_s
            wait_s = self.hub.began_s - monotonic()
        if wait_s > 0:
            threading.Event().wait(wait_s)


class _ApiHandler(_Handler):
    host = "hub"

    def answer(self) -> None:
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        if parts[:2] == ["api", "models"]:
            if self.hub.faults.api_status is not None:
                self.say_error(self.hub.faults.api_status)
            elif len(parts) == 2:
                self._search(parse_qs(url.query))
            else:
                revision = parts[5] if parts[4:5] == ["revision"] else "main"
                self._info("/".join(parts[2:4]), revision, parse_qs(url.query, keep_blank_values=True))
        elif len(parts) >= 5 and parts[2] == "resolve":
            self._resolve("/".join(parts[:2]), parts[3], "/".join(parts[4:]))
        else:
            self.say_error(404, "RepoNotFound", "Repository not found")

    def _search(self, query: dict[str, list[str]]) -> None:
        text = query.get("search", [""])[0].lower()
        filters = query.get("filter", [])
        sort = {"likes": "likes", "lastModified": "last_modified"}.get(query.get("sort", [""])[0], "downloads")
        found = [
            (name, repo) for name, repo in self.hub.repos.items()
            if text in name.lower() and all(each in repo.tags for each in filters)
        ]
        found.sort(key=lambda each: getattr(each[1], sort), reverse=True)
        limit = int(query.get("limit", ["1000"])[0])
        self._say_json([self._about(name, repo) for name, repo in found[:limit]])

    def _info(self, name: str, revision: str, query: dict[str, list[str]]) -> None:
        at = self.hub.at(name, revision)
        if name not in self.hub.repos:
            self.say_error(401, "RepoNotFound", "Repository not found")
            return
        if at is None:
            self.say_error(404, "RevisionNotFound", "Revision not found")
            return
        commit, files = at
        siblings: list[dict[str, Any]] = []
        for file, content in files.items():
            sibling: dict[str, Any] = {"rfilename": file}
            if "blobs" in query:
                sibling |= {"size": len(content), "blobId": git_oid(content)}
                if _is_large(file, content):
                    sibling["lfs"] = {"sha256": sha256(content), "size": len(content), "pointerSize": 134}
            siblings.append(sibling)
        self._say_json(self._about(name, self.hub.repos[name]) | {"sha": commit, "siblings": siblings})

    def _about(self, name: str, repo: Repo) -> dict[str, Any]:
        return {
            "id": name, "author": name.partition("/")[0], "downloads": repo.downloads, "likes": repo.likes,
            "tags": repo.tags, "gated": "manual" if self.hub.faults.wants_token else False, "private": False,
            "lastModified": repo.last_modified, "pipeline_tag": "text-generation",
        } | ({"gguf": repo.gguf} if repo.gguf else {})

    def _say_json(self, answer: Any) -> None:
        self.say(200, {"Content-Type": "application/json; charset=utf-8"}, json.dumps(answer).encode())

    def _resolve(self, name: str, revision: str, file: str) -> None:
        at = self.hub.at(name, revision)
        if at is None or file not in at[1]:
            self.say_error(404, "EntryNotFound" if at else "RepoNotFound", "Entry not found")
            return
        if self.hub.faults.wants_token and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.say_error(401, "GatedRepo", "Access to model is restricted.")
            return
        commit, content = at[0], at[1][file]
        if not _is_large(file, content) or not self.hub.files_url:
            etag = sha256(content) if _is_large(file, content) else git_oid(content)
            self.say_file(file, content, etag, {"X-Repo-Commit": commit})
            return
        where = f"{self.hub.files_url}/{quote(name)}/{commit}/{quote(file)}?Signature=abc"
        self.say(302, {
            "X-Repo-Commit": commit, "X-Linked-Etag": f'"{sha256(content)}"', "X-Linked-Size": str(len(content)),
            "Location": self.hub.faults.location or where,
        })


class _FileHandler(_Handler):
    host = "files"

    def answer(self) -> None:
        owner, repo, commit, file = unquote(urlsplit(self.path).path).lstrip("/").split("/", 3)
        if self.hub.took("expires_addresses"):
            self.say_error(403, "", "Request has expired")
            return
        at = self.hub.at(f"{owner}/{repo}", commit)
        if at is None or file not in at[1]:
            self.say_error(404)
            return
        content = at[1][file]
        self.say_file(file, content, md5(content), {})
