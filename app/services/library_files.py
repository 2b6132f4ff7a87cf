"""A person's prompts and presets as a file, to keep or to hand on: JSON. Called by the library page, on the event loop.

    {"inglenook": "library", "version": 1, "prompts": [{name, command, content}], "presets": [{name, system_prompt, …}]}

A list of prompts as Open WebUI exports them is read too. Nothing that is here is changed, nothing comes in twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.errors import AppError, InvalidInput, said
from app.language import Said
from app.services.presets import PresetService
from app.services.prompts import PromptService, command_from, free_command
from app.services.setup import ChatSetup
from store.tables import Preset, Prompt

MAX_ITEMS = 2000
OPEN_WEBUI_VARIABLES = {
    "{{CLIPBOARD}}": "{{clipboard}}", "{{CURRENT_DATE}}": "{{date}}", "{{CURRENT_TIME}}": "{{time}}",
    "{{CURRENT_DATETIME}}": "{{date}}, {{time}}",
}


@dataclass(slots=True)
class Imported:
    num_prompts: int = 0
    num_presets: int = 0
    num_known: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)        # name, "" for none, and reason


class LibraryFiles:
    def __init__(self, prompts: PromptService, presets: PresetService) -> None:
        self._prompts = prompts
        self._presets = presets

    async def export(self, user_id: str) -> str:
        library = {
            "inglenook": "library",
            "version": 1,
            "prompts": [_prompt_entry(prompt) for prompt in await self._prompts.list(user_id)],
            "presets": [_preset_entry(preset) for preset in await self._presets.list(user_id)],
        }
        return json.dumps(library, ensure_ascii=False, indent=2) + "\n"

    async def read(self, user_id: str, text: str) -> Imported:
        """Take in what a file holds. Raises InvalidInput where it holds no library; one bad entry costs that entry."""
        prompts, presets = _entries(text)
        done = Imported()
        for entry in prompts:
            await self._take(done, entry, self._add_prompt(user_id, entry, done))
        for entry in presets:
            await self._take(done, entry, self._add_preset(user_id, entry, done))
        return done

    async def _take(self, done: Imported, entry: Any, adding: Any) -> None:
        try:
            await adding
        except AppError as error:
            name = entry.get("name") or entry.get("title") if isinstance(entry, Mapping) else None
            done.skipped.append((str(name or "")[:60], said(error)))

    async def _add_prompt(self, user_id: str, entry: Any, done: Imported) -> None:
        entry = _object(entry)
        content = _text(entry, "content")
        for theirs, ours in OPEN_WEBUI_VARIABLES.items():
            content = content.replace(theirs, ours)
        command = command_from(_text(entry, "command"))
        name = _text(entry, "name") or _text(entry, "title") or command
        known = await self._prompts.list(user_id)
        if any((prompt.name, prompt.content) == (name, content.strip()) for prompt in known):
            done.num_known += 1
            return
        command = free_command(command or command_from(name), {prompt.command for prompt in known})
        await self._prompts.create(user_id, name=name, command=command, content=content)
        done.num_prompts += 1

    async def _add_preset(self, user_id: str, entry: Any, done: Imported) -> None:
        entry = _object(entry)
        parameters = entry.get("parameters") or {}
        if not isinstance(parameters, dict):
            raise InvalidInput(Said("error-entry-parameters"))
        model_id = entry.get("model_id")
        setup = ChatSetup(
            model_id=model_id if isinstance(model_id, str) else None,
            system_prompt=_text(entry, "system_prompt"),
            parameters=parameters,
            when_full=entry.get("when_full") or ChatSetup().when_full,
        ).checked()
        name = _text(entry, "name")
        known = [_preset_entry(preset) for preset in await self._presets.list(user_id)]
        if {"name": name, **_entry_of(setup)} in known:
            done.num_known += 1
            return
        await self._presets.create(user_id, name, setup)
        done.num_presets += 1


def _entries(text: str) -> tuple[list[Any], list[Any]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(Said("error-library-not-json")) from error
    prompts: Any = None
    presets: Any = None
    if isinstance(found, list):
        prompts, presets = found, []
    elif isinstance(found, dict) and ("prompts" in found or "presets" in found):
        prompts, presets = found.get("prompts") or [], found.get("presets") or []
    if not isinstance(prompts, list) or not isinstance(presets, list):
        raise InvalidInput(Said("error-library-none"))
    if len(prompts) + len(presets) > MAX_ITEMS:
        raise InvalidInput(Said("error-library-many", count=MAX_ITEMS))
    return prompts, presets


def _prompt_entry(prompt: Prompt) -> dict[str, Any]:
    return {"name": prompt.name, "command": prompt.command, "content": prompt.content}


def _preset_entry(preset: Preset) -> dict[str, Any]:
    return {"name": preset.name, **_entry_of(ChatSetup.of(preset))}


def _entry_of(setup: ChatSetup) -> dict[str, Any]:
    return {
        "model_id": setup.model_id,
        "system_prompt": setup.system_prompt,
        "parameters": dict(setup.parameters),
        "when_full": setup.when_full.value,
    }


def _object(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise InvalidInput(Said("error-entry-object"))
    return entry


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key) or ""
    if not isinstance(value, str):
        raise InvalidInput(Said("error-entry-text", key=key))
    return value
