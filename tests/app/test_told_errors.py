"""Every error of the services and the hub is a message of the catalogue, so that pages can say it in any language."""

from __future__ import annotations

import ast
import copy
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import get_type_hints

import pytest

from app import errors
from app.errors import AppError, said_by_engine
from app.language import Said, in_language, kept, languages, said_again
from engine import errors as engine_errors
from engine.errors import OutOfMemory
from engine.gguf_vocabulary import SpecialTokens
from engine.sentences import SENTENCES
from engine.template_doctor import TemplateReport, examine
from engine.told import Told
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
        return not (isinstance(node.func, ast.Name) and node.func.id in ("Said", "said", "said_by_engine"))
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


@pytest.mark.parametrize("code", list(SENTENCES))
def test_each_sentence_of_the_engine_is_a_message_of_the_same_words(code: str) -> None:
    names = [name for _, name, _, _ in Formatter().parse(SENTENCES[code]) if name]
    told = Told(code, **{name: f"⟨{name}⟩" for name in names})
    assert said_by_engine(told) == str(told)
    german = in_language(said_by_engine(told), languages()["de"])
    assert german != told
    assert set(re.findall("⟨.*?⟩", german)) <= set(re.findall("⟨.*?⟩", told))


def test_a_refusal_of_the_engine_is_told_whole_in_the_reader_s_language() -> None:
    error = OutOfMemory(Told(
        "needs-memory", model="Llama 8B", needed="4.9 GiB", chats=1, context=1024, weights="4.6 GiB", usable="4.0 GiB",
        total="8.0 GiB", advice=Told("advice-smaller", largest="3.7 GiB"),
    ))
    assert errors.said(error) == str(error)
    german = in_language(said_again(kept(errors.said(error))), languages()["de"])
    assert german == (
        "Llama 8B braucht 4.9 GiB für 1 x 1024 Token Kontext (4.6 GiB davon sind Gewichte); von 8.0 GiB sind jetzt "
        "4.0 GiB nutzbar. Bitte andere Programme schließen, ein anderes Modell entladen oder eines nehmen, "
        "dessen Datei höchstens 3.7 GiB groß ist."
    )


def test_why_a_chat_template_is_refused_is_told_in_the_reader_s_language_also_when_it_comes_from_the_store() -> None:
    report = examine("{% if %}", SpecialTokens())
    for each in (report, TemplateReport.from_values(json.loads(json.dumps(report.to_values())))):
        [finding] = each.findings
        refusal = Said("error-template-unfit", detail=errors.said_of_template(finding))
        assert str(finding) in refusal
        assert in_language(refusal, languages()["de"]).startswith(
            "Diese Chat-Vorlage wird nicht angenommen. Sie ist nicht verwendbar: "
            "Die Chat-Vorlage des Modells ist in Zeile 1 fehlerhaft: "
        )


def test_the_engine_says_nothing_of_files_and_memory_past_its_sentences() -> None:
    """What people see most: a model that is added, found or loaded."""
    engine = APP.parent / "engine"
    names = (
        "select", "memory", "gguf_reader", "chat_template", "template_limits", "lora", "load", "judge",
        *(f"backends/torch/{name}" for name in ("folder", "config", "tokenizer", "weights")),
    )
    plain = [
        f"{name}.py:{node.lineno}" for name in names
        for node in ast.walk(ast.parse((engine / f"{name}.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args
        if isinstance(node.exc.func, ast.Name) and node.exc.func.id in vars(engine_errors)
        if isinstance(node.exc.args[0], (ast.Constant, ast.JoinedStr, ast.BinOp))
    ]
    assert plain == []


def test_why_a_model_cannot_be_loaded_is_told_in_the_reader_s_language() -> None:
    """All of the engine, children included: whoever adds or loads a model reads it on a page."""
    engine = APP.parent / "engine"
    kinds = {
        name for name, kind in vars(engine_errors).items()
        if isinstance(kind, type) and issubclass(kind, engine_errors.ModelLoadError)
    }
    plain = [
        f"{file.relative_to(engine)}:{node.lineno}"
        for file in sorted(engine.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds
        if any(isinstance(each, (ast.Constant, ast.JoinedStr, ast.BinOp)) for each in _choices(node.args[0]))
    ]
    assert plain == []
    hints = get_type_hints(engine_errors.ModelLoadError.__init__)
    assert hints["sentence"] is Told        # the type checker holds the rest to it


def _choices(node: ast.expr) -> list[ast.expr]:
    return node.values if isinstance(node, ast.BoolOp) else [node]


def test_a_message_within_a_message_is_said_in_the_same_language_also_when_it_comes_back_from_the_store() -> None:
    told = Said("hub-next-attempt", reason=Said("hub-busy-for", seconds=9), seconds=30)
    assert told == "The model hub has too much to do. It asks to wait 9 s. (Next attempt in 30 s.)"
    german = "Der Modell-Hub ist überlastet. Er bittet, 9 s zu warten. (Nächster Versuch in 30 s.)"
    assert in_language(told, languages()["de"]) == german
    assert in_language(said_again(kept(told)), languages()["de"]) == german
    assert in_language(copy.deepcopy(told), languages()["de"]) == german
