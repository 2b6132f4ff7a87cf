"""The small modules that components import, of folders in assets/scripts, joined: without a request each.

A module is `import {…} from "…";` lines, its own code, and `export const`, `function` or `class`; or lines of
`export {…} from "./…";` alone. Joined, each stands in a function of its own that returns what it exports.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

from ui.delivery.files import ASSETS, MadeFile
from ui.delivery.templates import with_renders

TALK = ASSETS / "scripts" / "talk"              # what messages share
# By the name under which components import them.
FOLDERS = {
    "inglenook-talk": TALK,
    "inglenook-commands": ASSETS / "scripts" / "commands",
    "inglenook-composer": ASSETS / "scripts" / "composer",
}

_IMPORT = re.compile(r'^import \{ ?([^{}]+?) ?\} from "([^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|(?:async )?function|class) (\w+))", re.MULTILINE)
_HANDED_ON = re.compile(r'^export \{ ?([^{}]+?) ?\} from "(\./[^"]+)";$', re.MULTILINE)
_WORKER = "./worker.js?"                        # of the address in follow.js, beside whichever module it ends up in


class OtherForm(ValueError):
    """A module that cannot be joined."""


@dataclass(slots=True)
class _Joiner:
    folder: Path
    others: set[str] = field(default_factory=set)           # modules from elsewhere that they import
    pieces: dict[str, str] = field(default_factory=dict)    # by file name, those that others need first

    def add(self, name: str) -> str:
        """The constant that holds what this module exports."""
        constant = "from_" + re.sub(r"\W", "_", name)
        if name not in self.pieces:
            source = with_renders((self.folder / name).read_text(encoding="utf-8"))
            bindings = [self._bind(names, module) for names, module in _IMPORT.findall(source)]
            handed_on = _HANDED_ON.findall(source)
            bindings += [self._bind(names, module) for names, module in handed_on]
            rest = _HANDED_ON.sub("", _IMPORT.sub("", source))
            exported = [*_EXPORT.findall(rest), *(each.strip() for names, _ in handed_on for each in names.split(","))]
            rest = _EXPORT.sub("", rest)
            if re.search(r"^(?:import|export)\b", rest, re.MULTILINE):
                raise OtherForm(f"{self.folder / name}: an import or export of another form")
            self.pieces[name] = _in_function(constant, [*bindings, rest], exported)
        return constant

    def _bind(self, names: str, module: str) -> str:
        if module.startswith("./"):
            source = self.add(module.removeprefix("./"))
        else:
            self.others.add(module)
            source = alias(module)
        return f'const {{ {names.replace(" as ", ": ")} }} = {source};'


def _in_function(constant: str, lines: list[str], exported: list[str]) -> str:
    body = "\n".join(lines)
    return f'const {constant} = (() => {{\n{body}\nreturn {{ {", ".join(exported)} }};\n}})();'


def alias(module: str) -> str:
    return "from_" + re.sub(r"\W", "_", module)


def joined(name: str, worker: MadeFile) -> tuple[set[str], str]:
    """(Other modules that it imports, the code after which `alias(name)` is what the folder's index.js exports)."""
    folder = FOLDERS[name]
    joiner = _Joiner(folder)
    index = joiner.add("index.js")
    pieces = "\n".join(joiner.pieces.values())
    if pieces.count(_WORKER) != (folder == TALK):
        raise OtherForm(f"{folder}: the worker's address stands there {pieces.count(_WORKER)} times")
    pieces = pieces.replace(_WORKER, f"./{worker.name}?v={worker.version}&")
    return joiner.others, _in_function(alias(name), [pieces], [f"...{index}"])


def shared_worker() -> MadeFile:
    joiner = _Joiner(TALK)
    joiner.add("worker.js")
    source = "\n".join(joiner.pieces.values())
    return MadeFile("line.mjs", "text/javascript", hashlib.sha256(source.encode()).hexdigest()[:10], lambda: source)
