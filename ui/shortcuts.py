"""What can be done by a command and by keys: one table, for the list of commands, the sheet of shortcuts and the keys.

`ui.components.commands` sends it to every page; commands.js acts on it. Its words are the catalogue's `command-<name>`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Where(StrEnum):
    """Where the focus may be for the keys to be meant. None of them is typed into a field by somebody who writes."""

    ANYWHERE = "anywhere"
    PAGE = "page"                           # in no field
    EMPTY = "empty"                         # in no field, or in one that is empty
    COMPOSER = "composer"                   # in no field, or in the composer
    EMPTY_COMPOSER = "empty-composer"


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    keys: tuple[str, ...] = ()              # as commands.js spells them; "mod" is ⌘ on a Mac and Ctrl elsewhere
    where: Where = Where.ANYWHERE
    icon: str = ""                          # in the list of commands, which leaves out those without one
    needs: str = ""                         # a selector: possible where the page has it; it is clicked, or focused
    href: str = ""
    is_for_admins: bool = False

    def props(self) -> dict[str, Any]:
        return {
            "name": self.name, "keys": list(self.keys), "where": self.where.value,
            "icon": self.icon, "needs": self.needs, "href": self.href,
        }


ANSWER_BEING_WRITTEN = ".nk-send.stop"
COPY_ANSWER = ".nk-answer .nk-meta .nk-ib:has([href='#nk-copy'])"
UNDO = ".nk-toast button"
LISTED_CHAT = ".nk-side a[href^='/c/']"

COMMANDS = (        # in the order in which they are shown
    Command("new-chat", ("mod+shift+o",), icon="square-pen"),
    Command("commands", ("mod+k",)),
    Command("search", ("mod+shift+f",), icon="search"),
    Command("composer", ("shift+escape",), needs=".nk-composer textarea"),
    Command("stop", ("escape",), Where.COMPOSER, icon="square", needs=ANSWER_BEING_WRITTEN),    # escape.js acts first
    Command("edit", ("arrowup",), Where.EMPTY_COMPOSER, icon="pencil", needs="[data-nk-edit-mine]"),
    Command("copy", ("mod+shift+c",), icon="copy", needs=COPY_ANSWER),
    Command("undo", ("mod+z",), Where.EMPTY, icon="undo-2", needs=UNDO),
    Command("previous", ("alt+arrowup",), Where.EMPTY, needs=LISTED_CHAT),
    Command("next", ("alt+arrowdown",), Where.EMPTY, needs=LISTED_CHAT),
    Command("sidebar", ("mod+shift+s",), icon="panel-left"),
    Command("theme", ("mod+shift+d",), icon="sun-moon"),
    Command("settings", ("mod+,",), icon="settings", href="/settings"),
    Command("models", icon="box", href="/models", is_for_admins=True),
    Command("find-model", icon="download", href="/models/find", is_for_admins=True),
    Command("bench", icon="gauge", href="/models/bench", is_for_admins=True),
    Command("people", icon="users", href="/people", is_for_admins=True),
    Command("library", icon="library-big", href="/library"),
    Command("shortcuts", ("?", "mod+/"), Where.PAGE, icon="keyboard"),
)
