"""How a command is told a model of the hub: as owner/name, with a quantisation or a file, or by its address."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote, urlsplit

import typer

_HUB_HOSTS = ("huggingface.co", "www.huggingface.co", "hf.co")

Target = Annotated[
    str, typer.Argument(metavar="REPO[:QUANT]", help="As owner/name, owner/name:Q4_K_M or owner/name/file.gguf.")
]


def parse_target(text: str) -> tuple[str, str]:
    """(repository, quantisation or file or ""), also of an address as a browser shows it."""
    text = text.strip().removeprefix("hf.co/").removeprefix("huggingface.co/")
    if text.startswith(("https://", "http://")):
        url = urlsplit(text)
        if url.hostname not in _HUB_HOSTS:
            raise typer.BadParameter(f"{url.hostname} is not the hub. Write the model as owner/name.")
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        if parts[2:3] and parts[2] in ("blob", "resolve", "tree"):
            parts[2:4] = []             # and the branch
        text = "/".join(parts)
    owner, _, rest = text.partition("/")
    name, slash, file = rest.partition("/")
    name, colon, quantisation = name.partition(":")
    if not owner or not name or (slash and colon):
        raise typer.BadParameter(f"'{text}' is no model. Write it as owner/name, owner/name:QUANT or owner/name/FILE")
    return f"{owner}/{name}", file or quantisation
