"""Chats as other programs export them, in small: every kind of node and field that their readers know."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

T0 = 1_740_000_000.25       # 2025-02-19 21:20:00.25 UTC


def node(
    node_id: str, parent: str | None, children: list[str], role: str = "", content: dict[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """As in ChatGPT's `mapping`. Without a role it is a root, which has no message."""
    message = None
    if role:
        message = {
            "id": node_id,
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": None,
            "update_time": None,
            "content": content,
            "status": "finished_successfully",
            "end_turn": None,
            "weight": 1.0,
            "metadata": {},
            "recipient": "all",
            "channel": None,
        } | fields
    return {"id": node_id, "message": message, "parent": parent, "children": children}


def said(*parts: Any) -> dict[str, Any]:
    kind = "text" if all(isinstance(part, str) for part in parts) else "multimodal_text"
    return {"content_type": kind, "parts": list(parts)}


HIDDEN = {"is_visually_hidden_from_conversation": True}
IMAGE = {
    "content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1", "size_bytes": 9, "width": 2,
    "height": 3, "fovea": None, "metadata": {"dalle": None},
}


def chatgpt_conversation(conversation_id: str = "68a1-cat", title: str = "Cats and code") -> dict[str, Any]:
    """A question with a picture, an answer with thoughts, code and citations, another beside it, and a canvas."""
    nodes = [
        node("root", None, ["sys"]),
        node("sys", "root", ["ctx"], "system", said(""), metadata=HIDDEN),
        node(
            "ctx", "sys", ["q1"], "user",
            {"content_type": "user_editable_context", "user_profile": "A vet.", "user_instructions": "Be brief."},
            metadata=HIDDEN | {"is_user_system_message": True},
        ),
        node(
            "q1", "ctx", ["t1", "a2"], "user", said(IMAGE, "What is this?"), create_time=T0 + 1,
            metadata={"attachments": [
                {"name": "cat.png", "mime_type": "image/png"}, {"name": "notes.pdf", "mime_type": "application/pdf"},
            ]},
        ),
        node(
            "t1", "q1", ["r1"], "assistant",
            {"content_type": "thoughts", "thoughts": [
                {"summary": "Looking", "content": "Four legs.", "chunks": [], "finished": True},
            ], "source_analysis_msg_id": "x"},
            create_time=T0 + 2, metadata={"model_slug": "o3"},
        ),
        node("r1", "t1", ["w1"], "assistant", {"content_type": "reasoning_recap", "content": "Thought for 8s"}),
        node(
            "w1", "r1", ["w2"], "assistant", {"content_type": "code", "language": "unknown", "text": 'search("cat")'},
            recipient="web.run",
        ),
        node(
            "w2", "w1", ["c1"], "tool", {"content_type": "tether_quote", "title": "Cats", "url": "u", "text": "Meow."}
        ),
        node(
            "c1", "w2", ["c2"], "assistant", {"content_type": "code", "language": "python", "text": "print('```')"},
            recipient="python",
        ),
        node("c2", "c1", ["a1"], "tool", {"content_type": "execution_output", "text": "```"}),
        node(
            "a1", "c2", ["q2"], "assistant", said("A cat \ue200cite\ue202turn0\ue201\ue200gone\ue201."),
            create_time=T0 + 9, end_turn=True,
            metadata={
                "model_slug": "o3", "finish_details": {"type": "stop"},
                "content_references": [{"matched_text": "\ue200cite\ue202turn0\ue201", "alt": "([Cats](https://c.org))"}],
            },
        ),
        node("a2", "q1", [], "assistant", said("A dog?"), create_time=T0 + 20,
             metadata={"model_slug": "gpt-4o", "finish_details": {"type": "max_tokens"}}),
        node("q2", "a1", ["v1"], "user", said("Write it down. 👨‍👩‍👧‍👦 漢字"), create_time=T0 + 30),
        node(
            "v1", "q2", ["v2"], "assistant",
            {"content_type": "code", "language": "json",
             "text": json.dumps({"name": "Cats", "type": "document", "content": "All about cats."})},
            recipient="canmore.create_textdoc", create_time=T0 + 31, metadata={"model_slug": "o3"},
        ),
        node("v2", "v1", ["a3"], "tool", said("Successfully created."), metadata=HIDDEN),
        node("a3", "v2", [], "assistant", said("Done."), create_time=T0 + 40, metadata={}),
    ]
    return {
        "id": conversation_id, "conversation_id": conversation_id, "title": title, "create_time": T0,
        "update_time": T0 + 50, "mapping": {each["id"]: each for each in nodes}, "current_node": "a3",
        "moderation_results": [], "plugin_ids": None, "gizmo_id": None, "default_model_slug": "gpt-5",
        "is_archived": False, "safe_urls": [],
    }


def open_webui_chat(chat_id: str = "5f0c-bread", title: str = "Bread") -> dict[str, Any]:
    """A system prompt, a question said in two ways, thoughts in both notations, a failed and a cut answer."""
    thought = (
        '<details type="reasoning" done="true" duration="4">\n<summary>Thought for 4 seconds</summary>\n'
        "&gt; Flour &amp; water.\n&gt; \n&gt; Salt.\n</details>\n"
    )
    messages: list[dict[str, Any]] = [
        {"id": "u1", "parentId": None, "childrenIds": ["a1", "a2"], "role": "user", "content": "How do I bake?",
         "timestamp": 1_730_000_000, "models": ["qwen3:8b"]},
        {"id": "a1", "parentId": "u1", "childrenIds": [], "role": "assistant", "content": thought + "Knead.",
         "model": "qwen3:8b", "modelName": "Qwen3", "done": True, "timestamp": 1_730_000_005,
         "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}},
        {"id": "a2", "parentId": "u1", "childrenIds": [], "role": "assistant", "content": "", "model": "big",
         "error": {"content": "Out of memory."}, "done": True, "timestamp": 1_730_000_005},
        {"id": "u2", "parentId": None, "childrenIds": ["a3"], "role": "user", "content": "How do I bake rye?",
         "timestamp": 1_730_000_100, "files": [{"type": "file", "name": "rye.txt", "url": "u"}]},
        {"id": "a3", "parentId": "u2", "childrenIds": [], "role": "assistant", "content": "Sour", "model": "qwen3:8b",
         "done": False, "timestamp": 1_730_000_110},
    ]
    return {
        "id": chat_id, "user_id": "u", "title": title,
        "chat": {
            "id": "", "title": title, "models": ["qwen3:8b"], "params": {"system": "You are a baker."},
            "history": {"messages": {str(each["id"]): each for each in messages}, "currentId": "a1"},
            "messages": messages[:2], "tags": [], "timestamp": 1_730_000_000_123, "files": [],
        },
        "updated_at": 1_730_000_200, "created_at": 1_730_000_000, "share_id": None, "archived": False,
        "pinned": True, "meta": {"tags": ["food"]}, "folder_id": None,
    }


def write_json(path: Path, entries: Any) -> Path:
    path.write_text(json.dumps(entries), encoding="utf-8")
    return path


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def newest_zip(*conversations: Mapping[str, Any]) -> bytes:
    """As it came in 2026: one list a file, in a folder, with much beside them."""
    half = len(conversations) // 2
    return zipped({
        "export/chat.html": "<html></html>",
        "export/conversations-000.json": json.dumps(conversations[:half]),
        "export/conversations-001.json": json.dumps(conversations[half:]),
        "__MACOSX/export/._conversations-000.json": b"\x00\x05\x16\x07",
        "export/user.json": "{}",
        "export/shared_conversations.json": "[{}]",
        "export/file-abc-cat.png": b"\x89PNG",
    })
