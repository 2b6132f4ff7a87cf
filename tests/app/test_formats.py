"""What ChatGPT and Open WebUI export becomes what its reader saw there: branches, thoughts, models, times."""

from __future__ import annotations

import copy
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.formats.archive import Progress
from app.formats.chatgpt import read_conversation
from app.formats.file_names import attachment, safe_name
from app.formats.open_webui import read_chat
from app.formats.open_webui.setup import write_params
from app.formats.reader import Skipped, read_conversations
from app.formats.values import BadEntry, text, time
from store.imports import IncomingConversation, IncomingMessage, IncomingSetup
from store.tables import MessageRole, MessageStatus
from tests.app.elsewhere import T0, chatgpt_conversation, node, open_webui_chat, said


def by_id(conversation: IncomingConversation) -> dict[str, IncomingMessage]:
    return {message.source_id: message for message in conversation.messages}


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


# --- ChatGPT ---------------------------------------------------------------------------------------------------------


def test_a_chatgpt_conversation_becomes_turns() -> None:
    conversation = read_conversation(chatgpt_conversation())
    messages = by_id(conversation)
    assert [(each.source_id, each.parent_source_id, each.role.value) for each in conversation.messages] == [
        ("ctx", None, "system"), ("q1", "ctx", "user"), ("t1", "q1", "assistant"), ("q2", "t1", "user"),
        ("v1", "q2", "assistant"), ("a2", "q1", "assistant"),
    ]
    assert messages["ctx"].content == "A vet.\n\nBe brief."
    assert messages["q1"].content == "*[Image]*\n\nWhat is this?\n\n*[Attachment: notes.pdf]*"
    assert messages["t1"].content == (
        "````python\nprint('```')\n````\n\n````\n```\n````\n\nA cat ([Cats](https://c.org))."
    )
    assert messages["t1"].reasoning == (
        '**Looking**\n\nFour legs.\n\n```\nsearch("cat")\n```\n\nCats\nu\nMeow.'
    )
    assert messages["q2"].content == "Write it down. 👨‍👩‍👧‍👦 漢字"
    assert messages["v1"].content == "**Cats**\n\nAll about cats.\n\nDone."


def test_its_title_models_times_and_shown_branch_are_kept() -> None:
    conversation = read_conversation(chatgpt_conversation())
    messages = by_id(conversation)
    assert (conversation.source_id, conversation.title, conversation.model_id) == (
        "68a1-cat", "Cats and code", "gpt-5"
    )
    assert (conversation.created_at, conversation.updated_at) == (at(T0), at(T0 + 50))
    assert (messages["q1"].created_at, messages["t1"].created_at) == (at(T0 + 1), at(T0 + 2))
    assert conversation.current_source_id == "v1"
    assert [messages[each].stats.get("model_id") for each in ("t1", "a2", "v1")] == ["o3", "gpt-4o", "o3"]
    assert [messages[each].stats.get("finish_reason") for each in ("t1", "a2")] == ["stop", "length"]


def test_a_row_that_branches_in_its_middle_stays_a_tree() -> None:
    nodes = [
        node("q", None, ["a"], "user", said("?")),
        node("a", "q", ["hidden"], "assistant", said("Well,")),
        node("hidden", "a", ["x", "y"], "assistant", {"content_type": "reasoning_recap", "content": "…"}),
        node("x", "hidden", ["x2"], "assistant", said("yes")),
        node("x2", "x", [], "assistant", said("indeed")),
        node("y", "hidden", [], "assistant", said("no")),
    ]
    conversation = read_conversation({"mapping": {each["id"]: each for each in nodes}, "current_node": "x2"})
    assert [(each.source_id, each.parent_source_id, each.content) for each in conversation.messages] == [
        ("q", None, "?"), ("a", "q", "Well,"), ("x", "a", "yes\n\nindeed"), ("y", "a", "no"),
    ]
    assert conversation.current_source_id == "x"


def test_old_custom_instructions_are_a_system_prompt() -> None:
    data = {"about_user_message": "A vet.", "about_model_message": "Be brief."}
    nodes = [
        node("s", None, ["q"], "system", said(""), metadata={"user_context_message_data": data}),
        node("q", "s", [], "user", said("Hello")),
    ]
    system, _ = read_conversation({"mapping": {each["id"]: each for each in nodes}}).messages
    assert (system.role, system.content) == (MessageRole.SYSTEM, "A vet.\n\nBe brief.")


def test_newest_nodes_lack_metadata_and_are_read_all_the_same() -> None:
    nodes: dict[str, Any] = {
        "q": {"message": {"author": {"role": "user"}, "content": {"parts": ["Hello"]}}, "parent": None},
        "a": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["Hi"]}}, "parent": "q"},
    }
    conversation = read_conversation({"mapping": nodes, "default_model_slug": "gpt-5", "create_time": T0})
    question, answer = conversation.messages
    assert (question.content, answer.content, answer.stats.get("model_id")) == ("Hello", "Hi", "gpt-5")
    assert question.created_at == answer.created_at == at(T0)


# --- Open WebUI ------------------------------------------------------------------------------------------------------


def test_an_open_webui_chat_becomes_our_tree() -> None:
    chat = read_chat(open_webui_chat())
    messages = by_id(chat)
    assert [(each.source_id, each.parent_source_id, each.role.value) for each in chat.messages] == [
        ("u1", None, "user"), ("a1", "u1", "assistant"), ("a2", "u1", "assistant"),
        ("u2", None, "user"), ("a3", "u2", "assistant"),
    ]
    assert (chat.title, chat.model_id, chat.current_source_id) == ("Bread", "qwen3:8b", "a1")
    assert (chat.created_at, chat.updated_at) == (at(1_730_000_000), at(1_730_000_200))
    assert chat.setup == IncomingSetup(system_prompt="You are a baker.")
    assert (messages["a1"].content, messages["a1"].reasoning) == ("Knead.", "Flour & water.\n\nSalt.")
    assert (messages["a1"].stats.get("prompt_tokens"), messages["a1"].stats.get("completion_tokens")) == (12, 3)
    assert (messages["a2"].status, messages["a2"].stats.get("error")) == (MessageStatus.FAILED, "Out of memory.")
    assert messages["a3"].status is MessageStatus.INTERRUPTED
    assert messages["u2"].content == "How do I bake rye?\n\n*[Attachment: rye.txt]*"


def test_its_parameters_are_ours_where_we_have_them() -> None:
    entry = open_webui_chat()
    entry["chat"]["params"] |= {
        "temperature": 0.3, "repeat_penalty": 1.1, "stop": "END, ###,", "think": False, "num_ctx": 9, "seed": None,
    }
    chat = read_chat(entry)
    assert chat.setup.parameters == {
        "temperature": 0.3, "repetition_penalty": 1.1, "stop": ["END", "###"], "reasoning": False,
    }
    assert write_params(chat.setup.parameters, "Bake.") == {
        "temperature": 0.3, "repeat_penalty": 1.1, "stop": "END,###", "think": False, "system": "Bake.",
    }
    assert write_params({"stop": ["a,b"]}, "") == {}        # one text with commas could not tell it


def test_versions_of_the_same_second_stay_in_their_order() -> None:
    messages = by_id(read_chat(open_webui_chat()))
    assert messages["a2"].created_at - messages["a1"].created_at == timedelta(microseconds=1)


def test_older_thoughts_are_not_escaped_and_may_stand_anywhere() -> None:
    entry = open_webui_chat()
    block = '<details type="reasoning" done="true" duration="1">\n<summary>x</summary>\n> a &amp; b\n</details>\n'
    entry["chat"]["history"]["messages"]["a1"]["content"] = f"{block}One.\n{block}Two. {block}"
    answer = by_id(read_chat(entry))["a1"]
    assert (answer.content, answer.reasoning) == (f"One.\n\nTwo. {block}".strip("\n"), "a &amp; b\n\na &amp; b")


def test_the_older_form_and_a_list_without_a_tree_are_read() -> None:
    chat = open_webui_chat()["chat"]
    assert len(read_chat(chat).messages) == 5
    chat["history"] = None
    assert [(each.source_id, each.parent_source_id) for each in read_chat(chat).messages] == [
        ("u1", None), ("a1", "u1"),
    ]


def test_many_blocks_that_never_end_take_no_time() -> None:
    entry = open_webui_chat()
    content = '<details type="reasoning">\n<summary>x</summary>\n' * 100_000
    entry["chat"]["history"]["messages"]["a1"]["content"] = content
    assert by_id(read_chat(entry))["a1"].content == content


# --- trees and values that are broken --------------------------------------------------------------------------------


def _mapping(parents: dict[str, str | None]) -> dict[str, Any]:
    return {"mapping": {key: node(key, parent, [], "user", said(key)) for key, parent in parents.items()}}


@pytest.mark.parametrize(
    ("parents", "tree"),
    [
        ({"a": "gone", "b": "a"}, [("a", None), ("b", "a")]),
        ({"a": "b", "b": "a", "c": "b"}, [("a", None), ("b", "a"), ("c", "b")]),
        ({"a": "a"}, [("a", None)]),
        ({"a": None, "b": None}, [("a", None), ("b", None)]),
        ({"c": "b", "b": "a", "a": None}, [("a", None), ("b", "a"), ("c", "b")]),
    ],
)
def test_a_broken_tree_is_mended(parents: dict[str, str | None], tree: list[tuple[str, str | None]]) -> None:
    messages = read_conversation(_mapping(parents)).messages
    assert [(each.source_id, each.parent_source_id) for each in messages] == tree


def test_a_chain_of_fifty_thousand_is_no_trouble() -> None:
    parents = {str(number): str(number - 1) if number else None for number in range(50_000)}
    assert len(read_conversation(_mapping(parents)).messages) == 50_000


@pytest.mark.parametrize("mapping", [{}, None, 5, [], {"a": None}, {"a": {"message": None}}, {"a": {"message": 3}}])
def test_a_conversation_without_messages_is_a_bad_entry(mapping: Any) -> None:
    with pytest.raises(BadEntry, match="no messages"):
        read_conversation({"mapping": mapping})


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (T0, at(T0)), (1_740_000_000_250, at(T0)), (1_740_000_000_250_000, at(T0)),
        (1_740_000_000_250_000_000, at(T0)), ("2025-02-19T21:20:00.250Z", at(T0)), ("2025-02-19", at(1_739_923_200)),
        (float("nan"), None), (float("inf"), None), (-1, None), (10**400, None), (1e300, None), (True, None),
        (None, None), ("soon", None), ([], None), ("9999-12-31T23:59:59-23:59", None), (5, None),
    ],
)
def test_a_time_is_one_or_none(value: Any, moment: datetime | None) -> None:
    assert time(value) == moment


def test_half_a_surrogate_pair_is_mended() -> None:
    assert text("a\ud83d") == "a\ufffd" and text("\ud83d\ude00") == "😀"


MUTANTS: list[Any] = [
    None, True, -1, 10**30, 1e308, float("nan"), "", "x", "\ud800", "root", "q1", "u1", [], ["x"], [[]], [None], {},
    {"x": {}}, {"parts": None}, [{"content_type": "thoughts"}], "system", "assistant",
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in _places(each, (*path, key)))]


def _mutated(entry: dict[str, Any], place: tuple[Any, ...], mutant: Any) -> Any:
    if not place:
        return mutant
    mutated = copy.deepcopy(entry)
    at_place = mutated
    for key in place[:-1]:
        at_place = at_place[key]
    at_place[place[-1]] = mutant
    return mutated


@pytest.mark.parametrize("make", [chatgpt_conversation, open_webui_chat])
def test_a_wrong_type_at_any_place_is_read_or_refused_in_words(tmp_path: Path, make: Any) -> None:
    """Six of the values for every place, each in an entry of its own, in one file that is read to its end."""
    entry, chance = make(), random.Random(4)
    mutants = [_mutated(entry, place, mutant) for place in _places(entry) for mutant in chance.sample(MUTANTS, 6)]
    path = tmp_path / "mutants.json"
    path.write_text(json.dumps(mutants))
    items = [item for item in read_conversations(path, Progress()) if item is not None]
    assert len(items) == len(mutants) > 600
    for item in items:
        if isinstance(item, Skipped):
            assert item.reason.endswith(".")
            continue
        ids = [message.source_id for message in item.messages]
        assert item.current_source_id in ids and len(ids) == len(set(ids))
        for place, message in enumerate(item.messages):
            assert message.parent_source_id is None or message.parent_source_id in ids[:place]
            (message.content + message.reasoning + item.title + item.source_id).encode()
            assert message.created_at.tzinfo is UTC and message.status is not MessageStatus.STREAMING


# --- names of files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Brot: wie?", "Brot wie"), ("漢字 عربي", "漢字 عربي"), ("../../etc/passwd", "etc passwd"),
        ("a\u202egnp.exe", "a gnp.exe"), ("", "Chat"), ("...", "Chat"), ("CON", "CON chat"),
        ("nul.txt", "nul.txt chat"), ("a\x00\nb", "a b"), ("👨‍👩‍👧", "👨 👩 👧"),
    ],
)
def test_a_title_becomes_a_name_that_any_system_takes(title: str, name: str) -> None:
    assert safe_name(title) == name


def test_a_long_title_is_cut_between_characters() -> None:
    assert len(safe_name("漢" * 300).encode()) <= 120 and set(safe_name("漢" * 300)) == {"漢"}


def test_the_name_is_told_to_browsers_old_and_new() -> None:
    assert attachment('ü "x".md') == "attachment; filename=\"_ _x_.md\"; filename*=UTF-8''%C3%BC%20%22x%22.md"
