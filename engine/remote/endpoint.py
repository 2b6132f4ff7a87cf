"""A server elsewhere that answers for a model: its address, what it is, and what was found out of it. Values.

`app.services` makes endpoints of what the store has; `engine.remote.engine` asks them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address
from types import MappingProxyType
from urllib.parse import urlsplit, urlunsplit

MAX_URL_CHARS = 500
MAX_HEADERS = 20
MAX_HEADER_CHARS = 8192
LEAST_SECRET_CHARS = 8          # of a word within a header's value
MAX_DIGITS = 18                 # of a number that a stranger writes as text
SESSION_HEADER = "X-Session-ID"         # where an admin names no other

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,80}")
_HOST_LABEL = re.compile(r"[A-Za-z0-9_-]{1,63}")
KEY_HEADER = "authorization"        # which a key is sent as, unless it was entered as a header

_OURS = frozenset({             # headers that the connection itself decides
    "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie", "expect",
    "host", "te", "trailer", "transfer-encoding", "upgrade", "via",
})


class ServerKind(StrEnum):
    """Whose server it is, for what differs between them. ANY speaks OpenAI's API, and more is not known."""

    ANY = "any"
    VLLM = "vllm"
    SGLANG = "sglang"
    TENSORRT_LLM = "tensorrt_llm"
    LLAMA_CPP = "llama_cpp"
    OLLAMA = "ollama"
    LM_STUDIO = "lm_studio"
    INGLENOOK = "inglenook"


SERVER_NAMES: Mapping[ServerKind, str] = MappingProxyType({
    ServerKind.ANY: "OpenAI API", ServerKind.VLLM: "vLLM", ServerKind.SGLANG: "SGLang",
    ServerKind.TENSORRT_LLM: "TensorRT-LLM", ServerKind.LLAMA_CPP: "llama-server", ServerKind.OLLAMA: "Ollama",
    ServerKind.LM_STUDIO: "LM Studio", ServerKind.INGLENOOK: "Inglenook",
})


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a connection leads, and what opens it. Its secrets are in no `repr`."""

    name: str                                       # the connection's, as an admin called it
    base_url: str                                   # without a slash at its end: "http://gpu.lan:8000/v1"
    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    session_header: str = SESSION_HEADER            # "": none is sent
    is_locked: bool = False                         # its secrets cannot be read any more: it is not asked

    @property
    def root(self) -> str:
        """Of the server: routes that are no part of OpenAI's API stand there."""
        return self.base_url.removesuffix("/v1")

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc

    def without_secrets(self, text: str) -> str:
        """A server's own words may repeat what it was sent, or the longer words of it: of "Bearer KEY" the key."""
        sent = (self.key, *self.headers.values())
        secrets = {each for each in sent if len(each) > 3} | {
            word for each in sent for word in each.split() if len(word) >= LEAST_SECRET_CHARS
        }
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, "…")
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One server's way to one model. Several of the same model stand in for each other."""

    connection_id: str
    address: Address
    kind: ServerKind
    remote_id: str                                  # what that server calls the model
    has_tokenizer: bool = False                     # a route that counts tokens
    calls_tools: bool | None = None                 # as it says itself; None: it does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    """What a server says of one of its models; what it does not say is 0, "" or None."""

    remote_id: str
    window: int = 0                                 # in tokens
    embeds: bool = False
    quantisation: str = ""
    calls_tools: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What a server was found to be."""

    base_url: str                                   # as it answered: with the /v1 that was left out, say
    kind: ServerKind
    models: tuple[FoundModel, ...]
    has_tokenizer: bool
    latency_s: float                                # of the list of its models
    num_left_out: int = 0                           # of that list: nobody could ask for them, or they are too many


def checked_url(text: str) -> str | None:
    """An address as it is kept; None for what is none, or holds a name and password, a query or a fragment."""
    text = text.strip()
    if len(text) > MAX_URL_CHARS or not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        return None
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        is_good = parts.scheme in ("http", "https") and _is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        return None
    if not is_good or parts.username is not None or parts.query or parts.fragment:
        return None
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _is_host(name: str) -> bool:
    """One that can be looked up. Raises ValueError for some that cannot."""
    if ":" in name:
        return ip_address(name).version == 6
    labels = name.removesuffix(".").split(".")
    return all(_HOST_LABEL.fullmatch(each) is not None for each in labels)


def number_in(text: str) -> int | None:
    """Of digits; None for anything else, and for more than any count has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None


def is_good_header(name: str, value: str) -> bool:
    """One that may be sent with each request, beside those that the connection itself decides."""
    is_name = _HEADER_NAME.fullmatch(name) is not None and name.lower() not in _OURS
    return is_name and value.isascii() and value.isprintable() and len(value) <= MAX_HEADER_CHARS


def is_good_key(key: str) -> bool:
    return key.isascii() and key.isprintable() and len(key) <= MAX_HEADER_CHARS and " " not in key
