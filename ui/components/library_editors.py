"""The forms over the library page, in which a prompt or a preset is written. They say what is wrong where it stands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from nicegui import ui
from nicegui.element import Element

from app.errors import InvalidInput
from app.services.absent_models import ModelName
from app.services.prompts import variables_of
from app.services.setup import ChatSetup
from store.tables import Model, Preset, Prompt
from ui.components.dialog import show_problem
from ui.components.elements import button, tag
from ui.components.parameters import ParameterForm, setup_with
from ui.components.select import Select
from ui.components.text import live, put
from ui.language import FORESEEN, t, told

Box = TypeVar("Box", ui.input, ui.textarea)

SavePrompt = Callable[[str, str, str], Awaitable[None]]         # name, command, content
SavePreset = Callable[[str, ChatSetup], Awaitable[None]]


def edit_prompt(prompt: Prompt | None, on_save: SavePrompt) -> None:
    """Of a new one, where there is none. The form stays until `on_save` raises nothing."""
    with _form(t("library-edit-prompt" if prompt else "library-new-prompt")) as form:
        name = _line(t("library-name"), prompt.name if prompt else "", form.problem("name"))
        command = _line(t("library-command"), prompt.command if prompt else "", form.problem("command"))
        command.props('prefix="/"')
        tag("p", "nk-hint", t("library-command-about"))
        content = _lines(t("library-content"), prompt.content if prompt else "", form.problem("content"))
        tag("p", "nk-hint", t("library-variables-about"))
        asked = live("p", "nk-hint nk-asked")

    def show_variables() -> None:
        names = ", ".join(variable.name for variable in variables_of(content.value or ""))
        put(asked, t("library-asks-for", names=names) if names else "")

    async def save() -> None:
        await on_save(name.value or "", command.value or "", content.value or "")

    content.on_value_change(show_variables)
    show_variables()
    form.on_submit(save)


def edit_preset(
    preset: Preset | None, models: Sequence[Model], names: Mapping[str, ModelName], on_save: SavePreset, *,
    can_be_told: Callable[[Model], bool],
) -> None:
    """Of a new one, where there is none. `names`: also of models that are gone. The form stays until `on_save` raises
    nothing.
    """
    setup = ChatSetup.of(preset) if preset is not None else ChatSetup()
    known = {model.id: model for model in models}

    def show() -> None:
        model = known.get(chosen.value)
        parameters.show(values["setup"], model, can_be_told=model is None or can_be_told(model))

    with _form(t("library-edit-preset" if preset else "library-new-preset")) as form:
        name = _line(t("library-name"), preset.name if preset else "", form.problem("name"))
        with tag("div", "nk-field"):
            tag("span", "nk-lab", t("library-model"))
            options: dict[str, str] = {"": t("library-any-model")} | {each.id: each.name for each in models}
            if setup.model_id is not None and setup.model_id not in known:      # it may come back
                gone = names.get(setup.model_id)
                options[setup.model_id] = t("library-model-gone", model=gone.name if gone else setup.model_id)
            chosen = Select(t("library-model"), options, setup.model_id or "", show)
        values = {"setup": setup}

        def change(key: str, value: Any) -> None:
            try:
                values["setup"] = setup_with(values["setup"], key, value).checked()
            except InvalidInput as error:
                parameters.refuse(key, told(error))
            else:
                show()

        parameters = ParameterForm(change)

    async def save() -> None:
        base = values["setup"]
        await on_save(
            name.value or "",
            ChatSetup(
                model_id=chosen.value or None, system_prompt=base.system_prompt, parameters=base.parameters,
                when_full=base.when_full,
            ),
        )

    show()
    form.on_submit(save)


class _Form:
    def __init__(self, dialog: ui.dialog, form: Element) -> None:
        self._dialog = dialog
        self._form = form
        self._places: dict[str, Element] = {}

    def problem(self, name: str) -> Callable[[Element], None]:
        """To be told the place where it stands what is wrong with that field."""
        return lambda place: self._places.update({name: place})

    def on_submit(self, save: Callable[[], Awaitable[None]]) -> None:
        async def submit() -> None:
            for place in self._places.values():
                show_problem(place, None)
            try:
                await save()
            except FORESEEN as error:
                field = error.field if isinstance(error, InvalidInput) else "command"
                show_problem(self._places.get(field or "", self._places["name"]), told(error))
                return
            self._dialog.close()

        self._form.on("submit.prevent", submit, args=[])


@contextmanager
def _form(title: str) -> Iterator[_Form]:
    with ui.dialog(value=True) as dialog, tag("form", "nk-dialog nk-editor") as form:
        dialog.props.update({"aria-label": title})
        tag("h2", "", title)
        with tag("div", "nk-editor-in"):
            yield _Form(dialog, form)
        with tag("div", "nk-acts"):
            button(t("composer-cancel"), "nk-btn-ghost").on("click", dialog.close)
            button(t("library-save"), "nk-btn-primary", kind="submit")
    dialog.on("hide", dialog.delete)


def _line(label: str, value: str, place: Callable[[Element], None]) -> ui.input:
    return _field(label, place, lambda: ui.input(value=value).props("outlined autocomplete=off"))


def _lines(label: str, value: str, place: Callable[[Element], None]) -> ui.textarea:
    props = 'outlined autocomplete=off input-style="min-height: 170px"'
    return _field(label, place, lambda: ui.textarea(value=value).props(props))


def _field(label: str, place: Callable[[Element], None], make: Callable[[], Box]) -> Box:
    """`place` is told where to say what is wrong with it."""
    with tag("label", "nk-field"):
        tag("span", "nk-lab", label)
        box = make()
        box.props["aria-label"] = label
        place(tag("span"))
    return box
