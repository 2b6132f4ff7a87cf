"""Asks the model hub: search, a model's page, its files with their hashes. On the hub's thread (`app.hub.thread`).

Spoken by ourselves rather than through huggingface_hub: that library repeats what fails for 23 s, so that offline is
not told at once, takes a token from the home folder unasked, and keeps one client for the whole process. The tests hold
our stand-in hub against it, so that both speak alike. No cookie, no identifier and no telemetry leave with a request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Literal
from urllib.parse import quote

import httpx

from app.errors import HubDistrusted, HubError, HubUnreachable, InvalidInput, NotFound
from app.hub.answers import check_answer, check_redirect, same_origin, unreachable
from app.hub.files import RemoteFile, Variant, is_good_name, variants_of
from app.hub.line import Line
from app.language import Said
from engine.remote.handshake import see_to_handshakes

Sort = Literal["downloads", "likes", "lastModified", "createdAt", "trendingScore"]

CONNECT_TIMEOUT_S = 5.0             # a hub that is not reached by then is told as such
READ_TIMEOUT_S = 20.0
MAX_RESULTS = 100
MAX_CARD_BYTES = 512 * 1024
MAX_ANSWER_BYTES = 64 * 2**20       # of any JSON; a repository of 10,000 files has 3 MB
_OF_THE_WIRE = ("content-encoding", "content-length", "transfer-encoding")
_EXPANDED = ("author", "downloads", "gated", "gguf", "lastModified", "likes", "pipeline_tag", "safetensors", "tags")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    repo: str
    downloads: int
    likes: int
    licence: str                    # "apache-2.0"; "" where it is not said
    is_gated: bool
    num_parameters: int | None
    context_tokens: int | None
    modified_at: datetime | None
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPage:
    model: FoundModel
    commit_sha: str                 # what everything below is of
    variants: tuple[Variant, ...]
    files: tuple[RemoteFile, ...]


class HubClient:
    """Every call raises HubError or NotFound with a sentence. `token` is set before each call, and goes to the hub
    only, never to where it sends us.
    """

    def __init__(
        self, endpoint: str, *, is_offline: bool = False, token: str | None = None,
        read_timeout_s: float = READ_TIMEOUT_S,
    ) -> None:
        self.endpoint = endpoint
        self.token = token
        self._is_offline = is_offline
        self._read_timeout_s = read_timeout_s
        self._tls = httpx.create_ssl_context()
        self._tls.set_alpn_protocols(["http/1.1"])
        self.http = httpx.AsyncClient(
            headers=user_agent(),
            verify=self._tls,
            timeout=httpx.Timeout(read_timeout_s, connect=CONNECT_TIMEOUT_S),
            limits=httpx.Limits(max_connections=32, max_keepalive_connections=16),
            follow_redirects=False,
            event_hooks={"request": [see_to_handshakes], "response": [check_redirect]},
        )

    async def close(self) -> None:
        await self.http.aclose()

    async def line_to(self, url: httpx.URL) -> Line:
        """Past all proxies. Raises httpx.TransportError."""
        return await Line.to(
            url, self._tls, connect_timeout_s=CONNECT_TIMEOUT_S, read_timeout_s=self._read_timeout_s
        )

    async def search(
        self, text: str = "", *, file_format: str = "gguf", licence: str = "", parameters: str = "",
        sort: Sort = "downloads", limit: int = 30,
    ) -> list[FoundModel]:
        """`parameters` as the hub has it: "min:1B,max:8B". An empty filter filters nothing."""
        filters = [each for each in (file_format, f"license:{licence}" if licence else "") if each]
        query: dict[str, Any] = {
            "search": text, "filter": filters, "num_parameters": parameters, "sort": sort,
            "limit": str(max(1, min(limit, MAX_RESULTS))), "expand": list(_EXPANDED),
        }
        answer = await self._json("/api/models", {name: value for name, value in query.items() if value})
        if not isinstance(answer, list):
            raise _odd(Said("hub-wanted-list"))
        return [_found(each) for each in answer if isinstance(each, dict) and isinstance(each.get("id"), str)]

    async def page(self, repo: str, revision: str = "main") -> ModelPage:
        check_repo(repo)
        path = f"/api/models/{repo}/revision/{quote(revision, safe='')}"
        answer = await self._json(path, {"blobs": "true"}, of_repo=repo)
        if not isinstance(answer, dict) or not isinstance(answer.get("sha"), str):
            raise _odd(Said("hub-wanted-page", repo=repo))
        commit_sha = answer["sha"]
        if not (commit_sha.isascii() and commit_sha.isalnum() and len(commit_sha) <= 64):
            raise _odd(Said("hub-wanted-commit"))
        files = tuple(_file(each) for each in _list(answer, "siblings") if _is_file(each))
        return ModelPage(
            model=_found({"id": repo} | answer), commit_sha=commit_sha, variants=variants_of(files), files=files
        )

    async def card(self, repo: str, commit_sha: str) -> str:
        """README.md as it is: whoever shows it must clean it. "" where there is none."""
        try:
            response = await self.get(self.url_of(repo, commit_sha, "README.md"), of_repo=repo)
        except NotFound:
            return ""
        return response.content[:MAX_CARD_BYTES].decode("utf-8", "replace")

    def url_of(self, repo: str, commit_sha: str, name: str) -> str:
        return f"{self.endpoint}/{repo}/resolve/{quote(commit_sha, safe='')}/{quote(name)}"

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def check_online(self) -> None:
        if self._is_offline:
            raise HubUnreachable(Said("hub-off"))

    async def get(self, url: str, query: Mapping[str, Any] | None = None, *, of_repo: str = "") -> httpx.Response:
        """Of the hub itself, redirects within it followed: a repository may have been renamed."""
        self.check_online()
        for _ in range(4):
            response = await self._send(httpx.Request("GET", url, params=query, headers=self._all_headers()))
            if not response.is_redirect:
                check_answer(response, of_repo)
                return response
            url, query = self.within_hub(str(response.url), response.headers.get("location", "")), None
        raise HubError(Said("hub-circle"))

    def within_hub(self, url: str, location: str) -> str:
        """Where a redirect leads, on the hub's own host. Raises HubError where it leads elsewhere."""
        target = httpx.URL(url).join(location)
        if not same_origin(target, httpx.URL(self.endpoint)):
            raise HubDistrusted(Said("hub-elsewhere"))
        return str(target)

    def _all_headers(self) -> dict[str, str]:
        return dict(self.http.headers) | self.headers()

    async def _send(self, request: httpx.Request) -> httpx.Response:
        try:
            async with aclosing(await self.http.send(request, stream=True)) as response:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_ANSWER_BYTES:
                        raise HubError(Said("hub-endless"))
        except httpx.HTTPError as error:
            raise unreachable(self.endpoint, error) from error
        plain = [(name, value) for name, value in response.headers.multi_items() if name not in _OF_THE_WIRE]
        return httpx.Response(response.status_code, headers=plain, content=bytes(body), request=request)

    async def _json(self, path: str, query: Mapping[str, Any], *, of_repo: str = "") -> Any:
        response = await self.get(self.endpoint + path, query, of_repo=of_repo)
        try:
            return response.json()
        except (ValueError, RecursionError) as error:       # the latter of lists in lists in lists
            raise _odd(Said("hub-wanted-json")) from error


def user_agent() -> dict[str, str]:
    return {"User-Agent": f"inglenook/{version('inglenook')}", "Accept-Encoding": "gzip"}


def check_repo(repo: str) -> None:
    """Raises InvalidInput. As the hub names repositories: `owner/name`, in ASCII."""
    parts = repo.split("/")
    is_good = len(parts) == 2 and all(
        0 < len(part) <= 96 and part.isascii() and part.strip(".-") and all(c.isalnum() or c in "-_." for c in part)
        for part in parts
    )
    if not is_good or ".." in repo or "--" in repo:
        raise InvalidInput(Said("hub-no-repository", repo=repo[:200]), field="repo")


def _odd(wanted: Said) -> HubError:
    return HubError(Said("hub-odd", wanted=wanted))


def _list(answer: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = answer.get(key)
    return value if isinstance(value, list) else ()


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _found(answer: Mapping[str, Any]) -> FoundModel:
    tags = tuple(tag for tag in _list(answer, "tags") if isinstance(tag, str))
    gguf, safetensors = (
        each if isinstance(each, dict) else {} for each in (answer.get("gguf"), answer.get("safetensors"))
    )
    return FoundModel(
        repo=answer["id"],
        downloads=_number(answer.get("downloads")) or 0,
        likes=_number(answer.get("likes")) or 0,
        licence=next((tag.removeprefix("license:") for tag in tags if tag.startswith("license:")), ""),
        is_gated=answer.get("gated") not in (None, False),
        num_parameters=_number(gguf.get("total")) or _number(safetensors.get("total")),
        context_tokens=_number(gguf.get("context_length")),
        modified_at=_time(answer.get("lastModified")),
        tags=tags,
    )


def _time(value: Any) -> datetime | None:
    try:
        when = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _is_file(sibling: Any) -> bool:
    return (
        isinstance(sibling, dict) and isinstance(sibling.get("rfilename"), str) and is_good_name(sibling["rfilename"])
        and _number(sibling.get("size")) is not None and bool(_hash_of(sibling, 64) or _hash_of(sibling, 40))
    )


def _file(sibling: Mapping[str, Any]) -> RemoteFile:
    sha256 = _hash_of(sibling, 64)
    return RemoteFile(
        name=sibling["rfilename"], size_bytes=sibling["size"], sha256=sha256,
        git_oid="" if sha256 else _hash_of(sibling, 40),
    )


def _hash_of(sibling: Mapping[str, Any], num_digits: int) -> str:
    lfs = sibling.get("lfs")
    text = (lfs.get("sha256") if isinstance(lfs, dict) else "") if num_digits == 64 else sibling.get("blobId")
    is_hash = isinstance(text, str) and len(text) == num_digits and set(text.lower()) <= set("0123456789abcdef")
    return str(text).lower() if is_hash else ""
