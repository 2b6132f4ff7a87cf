"""One node of a ChatGPT conversation as text, by its `content_type`: what its page showed, and what it kept to itself.

Used by `app.formats.chatgpt`. Unknown types give whatever text they hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.formats.values import mapping, sequence, text

# Citations: U+E200 kind U+E202 source U+E201. Where the export says what stood there, that takes their place.
_CITATION = re.compile("\ue200[^\ue200\ue201]{0,2000}\ue201")
_CANVAS = "canmore.create_textdoc"
_MAX_REFERENCES = 2_000
_FENCE = re.compile("`{3,}")


@dataclass(frozen=True, slots=True)
class Piece:
    content: str = ""
    reasoning: str = ""
    is_system: bool = False


def piece_of(message: Mapping[str, Any]) -> Piece | None:
    """None for what its page did not show: empty roots, the application's own instructions, what tools were given."""
    content, metadata = mapping(message.get("content")), mapping(message.get("metadata"))
    kind = text(content.get("content_type"))
    role = text(mapping(message.get("author")).get("role"))
    instructions = _instructions(kind, content, metadata)
    if instructions:
        return Piece(instructions, is_system=True)
    if metadata.get("is_visually_hidden_from_conversation") is True or kind == "model_editable_context":
        return None
    if kind == "thoughts":
        piece = Piece(reasoning=_thoughts(content))
    elif kind == "reasoning_recap":
        return None                                 # "Thought for 8 seconds"
    else:
        piece = _said(role, text(message.get("recipient")) or "all", kind, content, metadata)
    return piece if piece.content or piece.reasoning else None


def _said(
    role: str, recipient: str, kind: str, content: Mapping[str, Any], metadata: Mapping[str, Any]
) -> Piece:
    """To the person it is text. Between the model and its tools it is thought; but code, results and canvases show."""
    shown = _TEXT_OF.get(kind, _parts)(content)
    if role in ("user", "system"):
        return Piece("\n\n".join(filter(None, [shown, *_attachments(content, metadata)])))
    if role == "tool":
        is_shown = kind in ("execution_output", "multimodal_text")
        return Piece(content=shown) if is_shown else Piece(reasoning=shown)
    if recipient == "all":
        return Piece(_cited(shown, metadata))
    if recipient == _CANVAS:
        return Piece(_canvas(text(content.get("text")) or _parts(content)))
    return Piece(shown) if recipient == "python" else Piece(reasoning=shown)


def _instructions(kind: str, content: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """The person's custom instructions: a node of their own, or, in old exports, hidden in an empty system message."""
    if kind == "user_editable_context":
        told = [content.get("user_profile"), content.get("user_instructions")]
    else:
        data = mapping(metadata.get("user_context_message_data"))
        told = [data.get("about_user_message"), data.get("about_model_message")]
    return "\n\n".join(filter(None, (text(each).strip() for each in told)))


def _thoughts(content: Mapping[str, Any]) -> str:
    thoughts = []
    for each in map(mapping, sequence(content.get("thoughts"))):
        summary, thought = text(each.get("summary")).strip(), text(each.get("content")).strip()
        thoughts.append("\n\n".join(filter(None, [f"**{summary}**" if summary else "", thought])))
    return "\n\n".join(filter(None, thoughts))


def _parts(content: Mapping[str, Any]) -> str:
    parts = [_part(part) for part in sequence(content.get("parts"))]
    return "\n\n".join(filter(None, parts)) or text(content.get("text")) or text(content.get("result"))


def _part(part: Any) -> str:
    if isinstance(part, str):
        return text(part)
    part = mapping(part)
    match part.get("content_type"):
        case "image_asset_pointer":
            return "*[Image]*"
        case "audio_transcription":
            return text(part.get("text"))
        case "audio_asset_pointer" | "video_container_asset_pointer" | "real_time_user_audio_video_asset_pointer":
            return ""                               # the transcription stands beside it
    return text(part.get("text"))


def _attachments(content: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[str]:
    """Files are beside the export, not in it; that there were some is kept. Images have their place among the parts."""
    has_images = content.get("content_type") == "multimodal_text"
    files = [mapping(file) for file in sequence(metadata.get("attachments"))]
    return [
        f"*[Attachment: {text(file.get('name')) or 'file'}]*"
        for file in files
        if not (has_images and text(file.get("mime_type") or file.get("mimeType")).startswith("image/"))
    ]


def _code(content: Mapping[str, Any]) -> str:
    language = text(content.get("language"))
    return _fenced(text(content.get("text")) or _parts(content), language if language.isalnum() else "")


def _output(content: Mapping[str, Any]) -> str:
    return _fenced(text(content.get("text")), "")


def _quote(content: Mapping[str, Any]) -> str:
    return "\n".join(filter(None, (text(content.get(key)) for key in ("title", "url", "text"))))


def _error(content: Mapping[str, Any]) -> str:
    return ": ".join(filter(None, (text(content.get(key)) for key in ("name", "text"))))


_TEXT_OF: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "code": _code, "execution_output": _output, "tether_quote": _quote, "system_error": _error,
}


def _fenced(code: str, language: str) -> str:
    """With a fence longer than any in it."""
    if not code:
        return ""
    longest = max((len(fence) for fence in _FENCE.findall(code)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language if language != 'unknown' else ''}\n{code}\n{fence}"


def _canvas(call: str) -> str:
    """A document of the canvas: its name, then its text, or its code."""
    try:
        document = mapping(json.loads(call))
    except (ValueError, RecursionError):
        return call
    title, body = text(document.get("name")), text(document.get("content"))
    kind, _, language = text(document.get("type")).partition("/")
    shown = _fenced(body, language if language.isalnum() else "") if kind == "code" else body
    return "\n\n".join(filter(None, [f"**{title}**" if title else "", shown]))


def _cited(shown: str, metadata: Mapping[str, Any]) -> str:
    if "\ue200" not in shown:
        return shown
    instead: dict[str, str] = {}
    for reference in map(mapping, sequence(metadata.get("content_references"))[:_MAX_REFERENCES]):
        instead[text(reference.get("matched_text"))] = text(reference.get("alt"))
    return _CITATION.sub(lambda found: instead.get(found.group(), ""), shown)
