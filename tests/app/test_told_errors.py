"""Every error of the services and the hub is a message of the catalogue, so that pages can say it in any language."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import errors
from app.errors import AppError
from app.language import Said, in_language, kept, languages, said_again
from store.errors import DatabaseTooNew, DatabaseUnusable, LastAdmin, MigrationFailed

APP = Path(inspect.getfile(errors)).parent
FOLDERS = ("services", "hub", "found", "api")


def _classes() -> dict[str, list[str]]:
    """Names of classes that derive from another of the house, by that one's name."""
    children: dict[str, list[str]] = {}
    for file in APP.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                for base in node.bases:
                    if isinstance(base, ast.Name):
                        children.setdefault(base.id, []).append(node.name)
    return children


def _kinds(name: str, children: dict[str, list[str]]) -> Iterator[str]:
    yield name
    for child in children.get(name, ()):
        yield from _kinds(child, children)


def _is_text_of_its_own(node: ast.expr) -> bool:
    """A sentence written or formatted on the spot. What has a name is held to `Said` by its type."""
    if isinstance(node, ast.IfExp):
        return _is_text_of_its_own(node.body) or _is_text_of_its_own(node.orelse)
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and node.func.id in ("Said", "said"))
    return not isinstance(node, (ast.Name, ast.Attribute))


def test_what_the_services_and_the_hub_raise_is_said() -> None:
    kinds = set(_kinds(AppError.__name__, _classes()))
    assert {"NotFound", "HubError", "NoRoom", "SourceChanged"} <= kinds
    plain = [
        f"{file.relative_to(APP)}:{node.lineno}"
        for folder in FOLDERS for file in sorted((APP / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds
        if not node.args or _is_text_of_its_own(node.args[0])
    ]
    assert not plain


def test_the_type_of_an_error_s_message_is_said_for_all_of_them() -> None:
    kinds = set(_kinds(AppError.__name__, _classes()))
    for file in APP.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name in kinds:
                for method in node.body:
                    if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                        annotation = method.args.args[1].annotation
                        assert annotation is not None
                        assert ast.unparse(annotation) == "Said", f"{file.name}: {node.name}"


@pytest.mark.parametrize(("error", "german"), [
    (LastAdmin("This is the only admin."), "Dies ist der einzige Admin. Bitte zuerst jemand anderen zum Admin machen."),
    (DatabaseTooNew("Start that."), "Die Datenbank stammt von einem neueren Inglenook: Start that."),
    (MigrationFailed("No."), "Die Datenbank ließ sich nicht erneuern: No."),
    (DatabaseUnusable("The disk is full."), "Die Datenbank macht nicht mit: The disk is full."),
])
def test_errors_of_the_store_are_said_by_their_kind(error: Exception, german: str) -> None:
    assert in_language(errors.said(error), languages()["de"]) == german
    assert in_language(errors.said(error), languages()["en"]) == errors.said(error)


def test_a_message_within_a_message_is_said_in_the_same_language_also_when_it_comes_back_from_the_store() -> None:
    told = Said("hub-next-attempt", reason=Said("hub-busy-for", seconds=9), seconds=30)
    assert told == "The model hub has too much to do. It asks to wait 9 s. (Next attempt in 30 s.)"
    german = "Der Modell-Hub ist überlastet. Er bittet, 9 s zu warten. (Nächster Versuch in 30 s.)"
    assert in_language(told, languages()["de"]) == german
    assert in_language(said_again(kept(told)), languages()["de"]) == german
    assert in_language(copy.deepcopy(told), languages()["de"]) == german
