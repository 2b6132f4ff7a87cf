"""Anna may not see, change or find anything of Ben's: every function that takes a `user_id`, with the other's ids."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from sqlmodel import Session

from store import accounts, conversations, deletions, imports, library, messages, search, settings
from store.tables import Preset, Prompt, User

# What each answers when the person and the things do not belong together.
NOTHING: dict[Callable[..., Any], Any] = {
    accounts.list_keys: [],
    accounts.revoke_key: None,
    conversations.list_recent: [],
    conversations.list_ids: [],
    conversations.get_with_deleted: None,
    conversations.get: None,
    conversations.rename: None,
    conversations.mark_deleted: False,
    conversations.restore: False,
    conversations.set_up: None,
    library.list_items: [],
    library.get_item: None,
    library.find_command: None,
    library.find_default: None,
    library.change_item: None,
    library.set_default: False,
    library.mark_item_deleted: False,
    library.restore_item: None,
    deletions.streaming_under: None,
    deletions.mark_deleted: None,
    deletions.restore: None,
    messages.get: None,
    messages.branch: None,
    messages.tree: None,
    messages.add_turn: None,
    messages.edit_turn: None,
    messages.add_answer: None,
    messages.answer_turn: None,
    messages.edit_answer: None,
    messages.reopen_answer: None,
    messages.show_branch: None,
    search.search: [],
    settings.get_of_user: "default",
}
# These make or change something under the given person only; there is no other's id to give.
MAKE_ONE_S_OWN = {
    accounts.get_user, accounts.set_password, accounts.set_active, accounts.add_session, accounts.end_sessions,
    accounts.add_key, conversations.create, imports.merge, library.add_item, messages.start_conversation,
    settings.set_of_user,
}


def scoped_functions() -> set[Callable[..., Any]]:
    return {
        function
        for module in (accounts, conversations, deletions, imports, library, messages, search, settings)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
        and "user_id" in inspect.signature(function).parameters
    }


@pytest.fixture
def of_ben(session: Session, ben: User) -> dict[str, Any]:
    """Ben's things, by the names of the parameters that take them."""
    turn = messages.start_conversation(session, ben.id, "Secret", "My secret?", model_id=None)
    messages.finish(session, turn.answer.id, turn.user_message.status, content="A secret.")
    key = accounts.add_key(session, ben.id, "laptop", "a hash", "sk-…")
    settings.set_of_user(session, ben.id, "theme", "dark")
    prompt = library.add_item(session, ben.id, Prompt, {"name": "Secret", "command": "secret", "content": "My secret."})
    preset = library.add_item(session, ben.id, Preset, {"name": "Secret", "is_default": True})
    session.flush()
    assert key is not None
    return {
        "conversation_id": turn.conversation.id, "message_id": turn.user_message.id, "answer_id": turn.answer.id,
        "parent_id": turn.answer.id, "leaf_id": turn.answer.id, "key_id": key.id,
        "content": "changed", "title": "changed", "words": "secret", "limit": 10, "before": None, "model_id": None,
        "key": "theme", "default": "default", "kind": Preset, "item_id": preset.id, "command": prompt.command,
        "values": {"name": "changed"},
    }


def test_every_function_over_a_persons_things_is_tried_here() -> None:
    assert scoped_functions() == NOTHING.keys() | MAKE_ONE_S_OWN


@pytest.mark.parametrize("function", NOTHING, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_nothing_of_bens_exists_for_anna(
    session: Session, anna: User, ben: User, of_ben: dict[str, Any], function: Callable[..., Any]
) -> None:
    arguments = {name: of_ben[name] for name in inspect.signature(function).parameters if name in of_ben}
    assert function(session, user_id=anna.id, **arguments) == NOTHING[function]
    session.flush()
    assert _things_of(session, ben) == ("Secret", ["My secret?", "A secret."], 1, "dark", "Secret")


def test_ben_himself_gets_something_from_each(session: Session, ben: User, of_ben: dict[str, Any]) -> None:
    for function, nothing in NOTHING.items():
        arguments = {name: of_ben[name] for name in inspect.signature(function).parameters if name in of_ben}
        undone = session.begin_nested()
        assert function(session, user_id=ben.id, **arguments) != nothing, function
        undone.rollback()


def _things_of(session: Session, user: User) -> tuple[str, list[str], int, str, str]:
    (conversation,) = conversations.list_recent(session, user.id, limit=9)
    branch = messages.branch(session, user.id, conversation.id)
    assert branch is not None
    num_keys = len(accounts.list_keys(session, user.id))
    contents = [message.content for message, _ in branch]
    preset = library.find_default(session, user.id)
    assert preset is not None
    return conversation.title, contents, num_keys, settings.get_of_user(session, user.id, "theme"), preset.name
