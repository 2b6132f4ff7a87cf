"""Anna may not see, change or find anything of Ben's: every function that takes a `user_id`, with the other's ids."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from sqlmodel import Session

from store import (
    accounts,
    answers,
    belongings,
    chat_places,
    conversations,
    deletions,
    folders,
    imports,
    library,
    messages,
    organise,
    search,
    settings,
    sidebar,
    undo,
)
from store.tables import Preset, Prompt, User, now

# What each answers when the person and the things do not belong together.
NOTHING: dict[Callable[..., Any], Any] = {
    accounts.list_keys: [],
    accounts.revoke_key: None,
    belongings.belongings: belongings.Belongings(0, 0, 0, 0),
    conversations.list_recent: [],
    conversations.list_ids: [],
    conversations.get_with_deleted: None,
    conversations.get: None,
    conversations.name_by_model: False,
    folders.list_folders: [],
    folders.get_folder: None,
    folders.create_folder: None,
    folders.rename_folder: None,
    folders.delete_folder: None,
    folders.place_folder: None,
    organise.move: None,
    organise.pin: None,
    organise.unpin: None,
    organise.archive: None,
    organise.delete: None,
    organise.rename: None,
    organise.list_tags: [],
    organise.list_models: [],
    organise.tag: None,
    organise.untag: None,
    organise.tags_of: {},
    sidebar.counts: sidebar.Counts(0, 0, {}, 0, (0,)),
    sidebar.page: [],
    sidebar.standing: None,
    undo.put_back: False,
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
    settings.all_of_user: {},
}
# These make or change something under the given person only; there is no other's id to give.
MAKE_ONE_S_OWN = {
    accounts.get_user, accounts.set_password, accounts.set_active, accounts.set_role, accounts.remove_user,
    accounts.add_session, accounts.end_sessions, accounts.add_key, conversations.create, conversations.erase_some,
    imports.merge, library.add_item, messages.start_conversation, settings.set_of_user,
}


MODULES = (
    accounts, belongings, chat_places, conversations, deletions, folders, imports, library, messages, organise, search,
    settings, sidebar, undo,
)


def scoped_functions() -> set[Callable[..., Any]]:
    return {
        function
        for module in MODULES
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
        and "user_id" in inspect.signature(function).parameters
    }


@pytest.fixture
def of_ben(session: Session, ben: User) -> dict[str, Any]:
    """Ben's things, by the names of the parameters that take them."""
    turn = messages.start_conversation(session, ben.id, "Secret", "My secret?", model_id="of-ben")
    answers.finish(session, turn.answer.id, turn.user_message.status, content="A secret.")
    key = accounts.add_key(session, ben.id, "laptop", "a hash", "sk-…")
    settings.set_of_user(session, ben.id, "theme", "dark")
    made = folders.create_folder(session, ben.id, "Private")
    assert made is not None and key is not None
    before = organise.move(session, ben.id, [turn.conversation.id], made[0].id)
    organise.tag(session, ben.id, [turn.conversation.id], "secret", "secret")
    (tag, _), = organise.list_tags(session, ben.id)
    prompt = library.add_item(session, ben.id, Prompt, {"name": "Secret", "command": "secret", "content": "My secret."})
    preset = library.add_item(session, ben.id, Preset, {"name": "Secret", "is_default": True})
    session.flush()
    return {
        "ids": [turn.conversation.id], "folder_id": made[0].id, "tag_id": tag.id, "before_id": None,
        "is_archived": True, "name": "changed", "name_key": "changed", "offset": 0, "moments": [now()],
        "place": sidebar.Place("folder", made[0].id), "before": before,
        "conversation_id": turn.conversation.id, "message_id": turn.user_message.id, "answer_id": turn.answer.id,
        "parent_id": turn.answer.id, "leaf_id": turn.answer.id, "key_id": key.id,
        "content": "changed", "title": "changed", "words": "secret", "limit": 10, "model_id": None,
        "key": "theme", "default": "default", "kind": Preset, "item_id": preset.id, "command": prompt.command,
        "values": {"name": "changed"},
    }


def test_every_function_over_a_persons_things_is_tried_here() -> None:
    assert scoped_functions() == NOTHING.keys() | MAKE_ONE_S_OWN


@pytest.mark.parametrize("function", NOTHING, ids=lambda function: f"{function.__module__}.{function.__name__}")
def test_nothing_of_bens_exists_for_anna(
    session: Session, anna: User, ben: User, of_ben: dict[str, Any], function: Callable[..., Any]
) -> None:
    arguments = _arguments(function, of_ben)
    assert function(session, user_id=anna.id, **arguments) == NOTHING[function]
    session.flush()
    assert _things_of(session, ben) == ("Secret", ["My secret?", "A secret."], 1, "dark", "Secret")


def test_ben_himself_gets_something_from_each(session: Session, ben: User, of_ben: dict[str, Any]) -> None:
    for function, nothing in NOTHING.items():
        arguments = _arguments(function, of_ben)
        undone = session.begin_nested()
        assert function(session, user_id=ben.id, **arguments) != nothing, function
        undone.rollback()


def _arguments(function: Callable[..., Any], of_ben: dict[str, Any]) -> dict[str, Any]:
    """Where a name means something else to one function, that one's own."""
    others = {
        conversations.list_recent: {"before": None},
        folders.create_folder: {"parent_id": of_ben["folder_id"]},
        folders.place_folder: {"parent_id": None},
    }
    of_it = of_ben | others.get(function, {})
    return {name: of_it[name] for name in inspect.signature(function).parameters if name in of_it}


def _things_of(session: Session, user: User) -> tuple[str, list[str], int, str, str]:
    (conversation,) = conversations.list_recent(session, user.id, limit=9)
    assert [folder.name for folder in folders.list_folders(session, user.id)] == ["Private"]
    assert organise.tags_of(session, user.id, [conversation.id]) == {conversation.id: ["secret"]}
    branch = messages.branch(session, user.id, conversation.id)
    assert branch is not None
    num_keys = len(accounts.list_keys(session, user.id))
    contents = [message.content for message, _ in branch]
    preset = library.find_default(session, user.id)
    assert preset is not None
    return conversation.title, contents, num_keys, settings.get_of_user(session, user.id, "theme"), preset.name
