"""Every word of a page is in the catalogue: nothing in ui/ speaks past it, and each message that is asked for is there.

What looks like words is found by its shape: two words in a row in a string, or any letter where a person reads. Where
that is wrong, the string belongs into TECHNICAL.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.language import LOCALES, languages
from ui.theme import ASSETS

ROOT = ASSETS.parent
UI = ROOT / "ui"
PYTHON = sorted(path for path in UI.rglob("*.py") if path.parent.name != "delivery")      # that is for machines only
SCRIPTS = sorted([*UI.rglob("*.js"), *(ASSETS / "scripts").glob("*.js"), *(ASSETS / "build" / "markdown").glob("*.js")])
TEMPLATES = sorted(UI.rglob("*.html"))

TECHNICAL = frozenset({"Inglenook", "Esc", "JSON", "Markdown", "Mac OS"})      # names, and what is on keys
WORDS = re.compile(r"[^\W\d_]{2,}[,.:;!?]? [^\W\d_]{2,}")
LETTERS = re.compile(r"[^\W\d_]")
TO_MACHINES = {"t", "Said", "props", "classes", "style", "on", "run_javascript", "compile", "TypeVar", "create"}
READ_KEYWORDS = {"text", "label", "title", "placeholder", "aria_label", "action", "detail", "subject", "note"}
READ_ARGUMENTS = {      # of these calls, which argument people read
    "tag": 2, "button": 0, "menu_item": 0, "menu_link": 0, "icon_button": 1, "field": 0, "hint_bad": 0,
    "narrow_head": 0, "page_title": 0, "label": 0, "notify": 0,
}
# Classes, attributes, events, selectors, and what Quasar and browsers are told in their own words
MACHINE = re.compile(r"nk-|[=<>{}#@\[\]]|^/\w|:var\(|^(bottom|top) (left|right|start|end)$|^refresh |^figures of ")
READ_ATTRIBUTES = re.compile(r"""(?<![:\w-])(?:aria-label|title|placeholder|alt)=(["'])(.*?)\1""", re.DOTALL)
ASKED = re.compile(r"""\b(?:t|say|Said|language)\(\s*f?["']([a-z][a-z0-9-]*)["']""")


def _id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", list(PYTHON), ids=_id)
def test_a_page_says_nothing_past_the_catalogue(path: Path) -> None:
    assert sorted(set(_words_in_python(ast.parse(path.read_text(encoding="utf-8"))))) == []


@pytest.mark.parametrize("path", list(SCRIPTS), ids=_id)
def test_a_script_says_nothing_past_the_catalogue(path: Path) -> None:
    assert sorted(set(_words_in_script(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=_id)
def test_a_template_says_nothing_past_the_catalogue(path: Path) -> None:
    html = re.sub(r"<script>.*?</script>|<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for name in re.findall(r"""\{[{%].*?(?<![\w-])["']([A-Z][^"']*)["']""", html):
        assert name in TECHNICAL, name
    assert sorted(set(_words_in_html(re.sub(r"\{[{%#].*?[}%#]\}", "", html, flags=re.DOTALL)))) == []


def test_every_message_that_is_asked_for_is_there() -> None:
    known = set(re.findall(r"^([a-z][\w-]*) =", "\n".join(
        file.read_text(encoding="utf-8") for file in (LOCALES / "en").glob("*.ftl")
    ), re.MULTILINE))
    sources = [*PYTHON, *SCRIPTS, *TEMPLATES, *(ROOT / "app" / "services").rglob("*.py")]
    for path in sources:
        for message_id in ASKED.findall(path.read_text(encoding="utf-8")):
            if not message_id.endswith("-"):        # the rest of it is put together
                assert message_id in known, f"{_id(path)} asks for {message_id}"


@pytest.mark.parametrize(("code", "other_words"), [
    ("en", r"account (is|was) switched|[Tt]okens?/s"),             # accounts are disabled and enabled; and tok/s
    ("de", r"Konto (ist|wurde) (ab|aus)geschaltet|freigeben|hereinlassen|Tok/s|Tokens"),        # gesperrt; Token/s
    ("de", r"Vorlage (neuer|für neue) Chats"),                  # a prompt is a Vorlage, a preset a Voreinstellung
])
def test_one_thing_has_one_word(code: str, other_words: str) -> None:
    lines = [line for file in (LOCALES / code).glob("*.ftl") for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if re.search(other_words, line)] == []


def test_english_is_in_the_order_of_english() -> None:
    odd = r"bytes says\.|\d\w? say\.|With it they|, and that is told|holds at once|stay their own|\b(Of|By) which "
    lines = [line for file in (LOCALES / "en").glob("*.ftl") for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if re.search(odd, line)] == []


@pytest.mark.parametrize(
    ("code", "condition"), [("en", "if the server still runs"), ("de", "falls der Server noch läuft")]
)
def test_a_page_without_a_connection_claims_nothing_of_the_server(code: str, condition: str) -> None:
    assert condition in languages()[code]("connection-again")


def test_the_command_line_has_the_same_words() -> None:
    for path in (ROOT / "app").glob("*.py"):
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):      # docstrings, too: --help has them
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                assert not re.search("(?i)tokens?/s", each.value), f"{_id(path)}:{each.lineno}"


@pytest.mark.parametrize(("source", "words"), [
    ('tag("b", "nk-ell", "Ready")', ["Ready"]),
    ('tag("b", "nk-ell on", aria_label="Copy")', ["Copy"]),
    ('button("Load", "nk-btn nk-btn-sm")', ["Load"]),
    ('button(t("load"), "nk-btn nk-btn-sm")', []),
    ('problem = f"There is no {name} here"', ["There is no "]),
    ('"""A docstring of several words."""', []),
    ('PILLS = {1: ("ok", "Did not load")}', ["Did not load"]),
])
def test_words_in_python_are_found(source: str, words: list[str]) -> None:
    assert list(_words_in_python(ast.parse(source))) == words


@pytest.mark.parametrize(("source", "words"), [
    ("template: `<p>Thought first</p>`", ["Thought first"]),
    ('template: `<button aria-label="Copy" class="nk-ib on">{{ t("copy") }}</button>`', ["Copy"]),
    ('template: `<b>{{ over ? "Let go" : "Drop it" }}</b>`', ["Drop it", "Let go"]),
    ("""template: `<b :title="copied ? 'Copied' : 'Copy'"></b>`""", ["Copied", "Copy"]),
    ('this.problem = "That file is too large.";', ["That file is too large."]),
    ('// A comment of several words\nconst a = "nk-a nk-b";', []),
    ('document.querySelector(".nk-side .nk-nav")', []),
])
def test_words_in_scripts_are_found(source: str, words: list[str]) -> None:
    assert sorted(_words_in_script(source)) == words


def _words_in_python(tree: ast.AST) -> Iterator[str]:
    silent = _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in TO_MACHINES:
                silent |= {id(each) for each in ast.walk(node) if isinstance(each, ast.Constant)}
            read = [each.value for each in node.keywords if each.arg in READ_KEYWORDS]
            if (at := READ_ARGUMENTS.get(name)) is not None and len(node.args) > at:
                read.append(node.args[at])
            for each in read:
                yield from _strings(each, LETTERS, silent)
        elif isinstance(node, ast.Constant) and id(node) not in silent:
            yield from _strings(node, WORDS, silent)


def _strings(node: ast.AST, shape: re.Pattern[str], silent: set[int]) -> Iterator[str]:
    """The constant strings that this is, or is put together from."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    if isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and id(part) not in silent:
            silent.add(id(part))
            if shape.search(part.value) and not MACHINE.search(part.value) and part.value.strip() not in TECHNICAL:
                yield part.value


def _docstrings(tree: ast.AST) -> set[int]:
    """A string that stands alone explains what is around it."""
    return {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def _words_in_script(source: str) -> Iterator[str]:
    source = re.sub(r"(?<![:\"'`])//[^\n]*|/\*.*?\*/|console\.\w+\([^\n]*", "", source, flags=re.DOTALL)
    code = source
    for template in re.findall(r"template: `(.*?)`,?\n|template: `(.*?)`", source, re.DOTALL):
        html = "".join(template)
        code = code.replace(html, "")
        for expression in (*re.findall(r"\{\{(.*?)\}\}", html, re.DOTALL), *re.findall(r'[:@][\w.-]+="(.*?)"', html)):
            for _, string in re.findall(r"""(["'])(.*?)\1""", expression):
                if re.match(r"[A-Z][a-z]|[a-z]+ [a-z]+[. ]", string) and not MACHINE.search(string):
                    yield string
        yield from _words_in_html(re.sub(r"\{\{.*?\}\}", "", html, flags=re.DOTALL))
    for _, string in re.findall(r"""(["`'])((?:(?!\1)[^\\\n]|\\.)*)\1""", code):
        if WORDS.search(string) and re.match(r"\W*[A-Z]", string) and not MACHINE.search(string):
            yield string


def _words_in_html(html: str) -> Iterator[str]:
    for _, value in READ_ATTRIBUTES.findall(html):
        if LETTERS.search(value):
            yield value
    for part in re.findall(r">([^<>]*)<", re.sub(r"""=("[^"]*"|'[^']*')""", "", html)):
        text = part.strip("·&; \n")
        if LETTERS.search(text) and text not in TECHNICAL and text != "nbsp":
            yield text
