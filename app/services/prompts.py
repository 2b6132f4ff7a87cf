"""A person's prompts: words that are said often, called up by /command, with {{variables}}. On the event loop.

    {{name}}                asked for
    {{name=German}}         asked for, and this stands there already
    {{name=warm|formal}}    one of these; the first stands there already
    {{date}} {{time}}       of the reader's clock
    {{clipboard}} {{selection}}     what was copied, or marked in the chat; asked for, where the browser cannot tell
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlmodel import Session

from app.errors import Conflict, InvalidInput, NotFound
from app.language import Said
from app.names import clean_label
from app.services.changes import Change, Changes
from store import library
from store.database import Database
from store.sqlite import storable
from store.tables import Prompt

MAX_NAME_CHARS = 80
MAX_COMMAND_CHARS = 40
MAX_CONTENT_CHARS = 200_000

_VARIABLE = re.compile(r"\{\{\s*([^\W\d][\w \-]{0,39}?)\s*(?:=([^{}]{0,2000}))?\}\}")
_NOT_IN_COMMAND = re.compile(r"[^\w-]+")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    default: str = ""
    choices: tuple[str, ...] = ()


def parts_of(content: str) -> list[str | Variable]:
    """The words of a prompt, and between them its variables. What is set where one stands first counts for all."""
    parts: list[str | Variable] = []
    known: dict[str, Variable] = {}
    at = 0
    for match in _VARIABLE.finditer(content):
        name = " ".join(match[1].split())
        variable = known.setdefault(name.casefold(), _variable(name, match[2]))
        parts += [content[at : match.start()], variable]
        at = match.end()
    parts.append(content[at:])
    return [part for part in parts if part != ""]


def variables_of(content: str) -> list[Variable]:
    """Each once, in the order of the text."""
    return list(dict.fromkeys(part for part in parts_of(content) if isinstance(part, Variable)))


def command_from(text: str) -> str:
    """What can be typed after the slash: "Sum up!" becomes "sum-up"."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _NOT_IN_COMMAND.sub("-", plain).strip("-_")[:MAX_COMMAND_CHARS].rstrip("-_")


class PromptService:
    """Whatever belongs to somebody else does not exist here: NotFound."""

    def __init__(self, db: Database, changes: Changes) -> None:
        self._db = db
        self._changes = changes

    async def list(self, user_id: str) -> list[Prompt]:
        return await self._db.read(library.list_items, user_id, Prompt)

    async def get(self, user_id: str, prompt_id: str) -> Prompt:
        return _found(await self._db.read(library.get_item, user_id, Prompt, prompt_id))

    async def create(self, user_id: str, *, name: str, command: str, content: str) -> Prompt:
        """Without a command, it is made of the name. Raises InvalidInput, or Conflict where that is taken."""
        prompt = await self._db.run(_add, user_id, _values(name, command, content))
        self._announce(user_id)
        return prompt

    async def change(self, user_id: str, prompt_id: str, *, name: str, command: str, content: str) -> Prompt:
        prompt = _found(await self._db.run(_change, user_id, prompt_id, _values(name, command, content)))
        self._announce(user_id)
        return prompt

    async def duplicate(self, user_id: str, prompt_id: str, name: str) -> Prompt:
        original = await self.get(user_id, prompt_id)
        command = free_command(original.command, {prompt.command for prompt in await self.list(user_id)})
        return await self.create(user_id, name=name, command=command, content=original.content)

    async def delete(self, user_id: str, prompt_id: str) -> None:
        """Out of sight at once; `restore` brings it back until it is purged."""
        _must(await self._db.run(library.mark_item_deleted, user_id, Prompt, prompt_id))
        self._announce(user_id)

    async def restore(self, user_id: str, prompt_id: str) -> None:
        """Under another command, where its own was taken meanwhile."""
        _found(await self._db.run(_restore, user_id, prompt_id))
        self._announce(user_id)

    def _announce(self, user_id: str) -> None:
        self._changes.announce(user_id, Change("library"))


def free_command(wanted: str, taken: set[str]) -> str:
    number, command = 1, wanted
    while command in taken:
        number += 1
        command = f"{wanted[:MAX_COMMAND_CHARS - 4]}-{number}"
    return command


def _variable(name: str, given: str | None) -> Variable:
    choices = tuple(dict.fromkeys(choice.strip() for choice in (given or "").split("|")))
    if len(choices) < 2:
        return Variable(name, choices[0])
    return Variable(name, choices[0], tuple(filter(None, choices)))


def _values(name: str, command: str, content: str) -> dict[str, Any]:
    name, content = clean_label(name, max_chars=MAX_NAME_CHARS), content.strip()
    if not name:
        raise InvalidInput(Said("error-prompt-name"), field="name")
    command = command_from(command or name)
    if not command:
        raise InvalidInput(Said("error-prompt-command"), field="command")
    if not content:
        raise InvalidInput(Said("error-prompt-empty"), field="content")
    if len(content) > MAX_CONTENT_CHARS:
        raise InvalidInput(Said("error-prompt-long", count=MAX_CONTENT_CHARS), field="content")
    return {"name": name, "command": command, "content": storable(content)}


def _add(session: Session, user_id: str, values: dict[str, Any]) -> Prompt:
    _claim(session, user_id, values["command"], None)
    return library.add_item(session, user_id, Prompt, values)


def _change(session: Session, user_id: str, prompt_id: str, values: dict[str, Any]) -> Prompt | None:
    _claim(session, user_id, values["command"], prompt_id)
    return library.change_item(session, user_id, Prompt, prompt_id, values)


def _restore(session: Session, user_id: str, prompt_id: str) -> Prompt | None:
    taken = {prompt.command for prompt in library.list_items(session, user_id, Prompt) if prompt.id != prompt_id}
    prompt = library.restore_item(session, user_id, Prompt, prompt_id)
    if prompt is not None:
        prompt.command = free_command(prompt.command, taken)
    return prompt


def _claim(session: Session, user_id: str, command: str, prompt_id: str | None) -> None:
    holder = library.find_command(session, user_id, command)
    if holder is not None and holder.id != prompt_id:
        raise Conflict(Said("error-command-taken", command=command, name=holder.name))


def _found(value: T | None) -> T:
    if value is None:
        raise NotFound(Said("error-no-prompt"))
    return value


def _must(done: bool) -> None:
    _found(done or None)
