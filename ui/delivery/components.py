"""Our Vue components, and those of NiceGUI that we use, as two modules instead of a request each; and a worker's.

A component's file is `import {…} from "…";` lines, its own constants and functions, and one `export default {…}`.
Joined, each stands in a function of its own that returns it, under its name. A file of another form keeps its own
request. What shows answers is apart, since it brings the markdown with it, which the first page can do without.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from nicegui.dependencies import JsComponent, js_components

from ui.delivery.files import COMPILED_WHOLE, MadeFile
from ui.delivery.modules import FOLDERS, alias, joined, shared_worker
from ui.delivery.templates import with_renders

OURS = Path(__file__).resolve().parent.parent / "components"
OF_NICEGUI = frozenset({"dark_mode.js", "input.js", "timer.js"})
MARKDOWN = "inglenook-markdown"

_IMPORT = re.compile(r'^import \{ ?([^{}]+?),? ?\} from "([^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export default (?=\{)", re.MULTILINE)
_OTHER_FORM = re.compile(r"^(?:import|export)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    key: str                        # NiceGUI's, the end of its address there
    name: str
    imports: tuple[str, ...]
    body: str

    @classmethod
    def of(cls, component: JsComponent) -> Part | None:
        """None for a file that cannot be joined."""
        source = with_renders(component.path.read_text(encoding="utf-8"))
        imports = _IMPORT.findall(source)
        bindings = [f'const {{ {names.replace(" as ", ": ")} }} = {alias(module)};' for names, module in imports]
        rest, num_exports = _EXPORT.subn("return ", _IMPORT.sub("", source))
        if num_exports != 1 or _OTHER_FORM.search(rest) or any(module.startswith(".") for _, module in imports):
            return None
        return cls(component.key, component.name, tuple(module for _, module in imports), "\n".join([*bindings, rest]))


@dataclass(frozen=True, slots=True)
class Joined:
    """The modules, and in which of them a component is."""

    files: tuple[MadeFile, ...]                     # of the first page, of answers, and of the worker that tabs share
    by_key: dict[str, tuple[str, MadeFile]]         # the component's name there, and the file
    imports: dict[str, frozenset[str]]              # by file name: the names of the modules that it imports

    @classmethod
    def of(cls, components: Iterable[JsComponent]) -> Joined:
        wanted = sorted((each for each in components if _is_wanted(each.path)), key=lambda each: each.name)
        parts = [part for each in wanted if (part := Part.of(each))]
        worker = shared_worker()
        files: list[MadeFile] = []
        by_key: dict[str, tuple[str, MadeFile]] = {}
        imports: dict[str, frozenset[str]] = {}
        for name, has_markdown in (("page.mjs", False), ("answers.mjs", True)):
            ours = [part for part in parts if (MARKDOWN in part.imports) is has_markdown]
            source = _module(ours, worker)
            version = hashlib.sha256(source.encode()).hexdigest()[:10]
            file = MadeFile(name, "text/javascript", version, _always(source))
            files.append(file)
            by_key |= {part.key: (part.name, file) for part in ours}
            imports[name] = frozenset(module for part in ours for module in part.imports)
        return cls((*files, worker), by_key, imports)

    def stub(self, key: str) -> str | None:
        """The module at the component's own address: the very same component, should it be asked for by itself."""
        if key not in self.by_key:
            return None
        name, file = self.by_key[key]
        return f'export {{ {name} as default }} from "{file.address}";'


def join_components() -> Joined:
    """Once all pages are imported: NiceGUI knows their components by then. Its own it imports at first use."""
    for name in OF_NICEGUI:
        import_module(f"nicegui.elements.{name.removesuffix('.js')}")
    return Joined.of(js_components.values())


def _is_wanted(path: Path) -> bool:
    return path.parent == OURS or path.name in OF_NICEGUI


def _module(parts: Sequence[Part], worker: MadeFile) -> str:
    modules = {module for part in parts for module in part.imports}
    shared: list[str] = []
    for name in sorted(modules & FOLDERS.keys()):
        others, code = joined(name, worker)
        modules = modules - {name} | others
        shared.append(code)
    return COMPILED_WHOLE + "\n".join([
        *(f'import * as {alias(module)} from "{module}";' for module in sorted(modules)),
        *shared,
        *(f"export const {part.name} = (() => {{\n{part.body}\n}})();" for part in parts),
    ])


def _always(text: str) -> Callable[[], str]:
    return lambda: text
