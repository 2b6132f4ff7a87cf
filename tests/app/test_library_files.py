"""The library as a file: out and in again, Open WebUI's prompts, what is known, and what is no library."""

from __future__ import annotations

import json

import pytest

from app.errors import InvalidInput
from app.services.container import Services
from app.services.setup import ChatSetup
from tests.app.house import PASSWORD

PIRATE = ChatSetup(model_id="parrot", system_prompt="Arr.", parameters={"temperature": 0.1, "stop": ["END"]})


async def test_what_goes_out_comes_in_again_once(services: Services, user_id: str) -> None:
    await services.prompts.create(user_id, name="Übersetzen", command="", content="Nach {{sprache=Deutsch}}:\n{{text}}")
    await services.presets.create(user_id, "Pirate", PIRATE)
    text = await services.library_files.export(user_id)
    ben = (await services.accounts.add_user("Ben", PASSWORD)).id
    done = await services.library_files.read(ben, text)
    assert (done.num_prompts, done.num_presets, done.num_known, done.skipped) == (1, 1, 0, [])
    assert await services.library_files.export(ben) == text
    again = await services.library_files.read(ben, text)
    assert (again.num_prompts, again.num_presets, again.num_known) == (0, 0, 2)


async def test_prompts_of_open_webui_come_in(services: Services, user_id: str) -> None:
    theirs = [
        {"command": "/sum", "title": "Sum up", "content": "Sum up {{CLIPBOARD}} of {{CURRENT_DATE}}"},
        {"command": "sum", "name": "Another", "content": "Sum up: {{text}}"},
    ]
    done = await services.library_files.read(user_id, json.dumps(theirs))
    assert done.num_prompts == 2
    assert {(prompt.command, prompt.content) for prompt in await services.prompts.list(user_id)} == {
        ("sum", "Sum up {{clipboard}} of {{date}}"), ("sum-2", "Sum up: {{text}}"),
    }


async def test_a_bad_entry_costs_that_entry(services: Services, user_id: str) -> None:
    library = {
        "prompts": [7, {"name": "No words"}, {"name": "Good", "content": "Good"}, {"name": 1, "content": "x"}],
        "presets": [
            {"name": "Hot", "parameters": {"temperature": 9}}, {"name": "Odd", "parameters": [1]},
            {"name": "Good", "parameters": {"temperature": 1}}, {"name": "Odder", "when_full": "explode"},
        ],
    }
    done = await services.library_files.read(user_id, json.dumps(library))
    assert (done.num_prompts, done.num_presets, len(done.skipped)) == (1, 1, 6)
    assert ("Hot", "Give a number from 0 to 2.") in done.skipped


@pytest.mark.parametrize("text", ["", "hello", "{}", "7", '{"prompts": 7}', "[" * 100_000, json.dumps([{}] * 2001)])
async def test_what_is_no_library_is_told(services: Services, user_id: str, text: str) -> None:
    with pytest.raises(InvalidInput):
        await services.library_files.read(user_id, text)
    assert await services.prompts.list(user_id) == []
