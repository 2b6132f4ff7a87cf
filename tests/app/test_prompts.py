"""The prompt library: commands, variables, whose it is, and the way back of what was deleted."""

from __future__ import annotations

import pytest

from app.errors import Conflict, InvalidInput, NotFound
from app.services.container import Services
from app.services.prompts import Variable, command_from, parts_of, variables_of
from tests.app.house import PASSWORD


@pytest.mark.parametrize(
    ("content", "variables"),
    [
        ("Hello", []),
        ("Into {{language}}", [Variable("language")]),
        ("Into {{ language = German }}", [Variable("language", "German")]),
        ("{{tone=warm|formal|short}}", [Variable("tone", "warm", ("warm", "formal", "short"))]),
        ("{{tone=|warm|formal}}", [Variable("tone", "", ("warm", "formal"))]),
        ("{{first name}} and {{First  Name=x}}", [Variable("first name")]),
        ("{{Straße}} {{名前}}", [Variable("Straße"), Variable("名前")]),
        ("{{date}} {{time}}", [Variable("date"), Variable("time")]),
        ("{{}} {{1}} {x} {{ {{ }} {{a{b}} {{2=3}}", []),
    ],
)
def test_variables_of_a_prompt(content: str, variables: list[Variable]) -> None:
    assert variables_of(content) == variables


def test_a_prompt_is_its_words_and_its_variables_in_order() -> None:
    to = Variable("to", "German")
    assert parts_of("{{to=German}}: translate into {{to}}!") == [to, ": translate into ", to, "!"]


def test_a_long_prompt_is_read_in_no_time() -> None:
    assert parts_of("{{a" * 60_000) == ["{{a" * 60_000]


@pytest.mark.parametrize(
    ("text", "command"), [("Sum up!", "sum-up"), ("/translate", "translate"), ("Straße", "strasse"), ("?!", "")]
)
def test_a_command_is_made_of_what_can_be_typed(text: str, command: str) -> None:
    assert command_from(text) == command


async def test_a_prompt_is_made_changed_and_found(services: Services, user_id: str) -> None:
    prompt = await services.prompts.create(user_id, name="Sum up", command="", content="Sum up: {{text}}\n")
    assert (prompt.command, prompt.content) == ("sum-up", "Sum up: {{text}}")
    await services.prompts.change(user_id, prompt.id, name="Sum up", command="/sum", content="In {{n=3}} points")
    [found] = await services.prompts.list(user_id)
    assert (found.command, found.content) == ("sum", "In {{n=3}} points")


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", {"name": " "}),
        ("command", {"name": "?", "command": "/!"}),
        ("content", {"content": "\n"}),
        ("content", {"content": "x" * 200_001}),
    ],
)
async def test_what_a_prompt_lacks_is_told(
    services: Services, user_id: str, field: str, values: dict[str, str]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await services.prompts.create(user_id, **{"name": "Name", "command": "", "content": "Words"} | values)
    assert refused.value.field == field


async def test_a_command_belongs_to_one_prompt(services: Services, user_id: str) -> None:
    first = await services.prompts.create(user_id, name="Sum up", command="sum", content="a")
    with pytest.raises(Conflict, match="/sum is taken by “Sum up”"):
        await services.prompts.create(user_id, name="Other", command="sum", content="b")
    other = await services.prompts.create(user_id, name="Other", command="other", content="b")
    with pytest.raises(Conflict):
        await services.prompts.change(user_id, other.id, name="Other", command="sum", content="b")
    await services.prompts.change(user_id, first.id, name="Sum", command="sum", content="c")
    copy = await services.prompts.duplicate(user_id, first.id, "Copy of Sum")
    assert (copy.command, copy.content) == ("sum-2", "c")


async def test_a_deleted_prompt_comes_back_under_a_free_command(services: Services, user_id: str) -> None:
    first = await services.prompts.create(user_id, name="Sum up", command="sum", content="a")
    await services.prompts.delete(user_id, first.id)
    assert await services.prompts.list(user_id) == []
    await services.prompts.create(user_id, name="Other", command="sum", content="b")
    await services.prompts.restore(user_id, first.id)
    assert {(each.name, each.command) for each in await services.prompts.list(user_id)} == {
        ("Sum up", "sum-2"), ("Other", "sum"),
    }


async def test_prompts_and_presets_of_another_are_not_there(services: Services, user_id: str) -> None:
    ben = (await services.accounts.add_user("Ben", PASSWORD)).id
    prompt = await services.prompts.create(user_id, name="Mine", command="mine", content="Secret")
    await services.prompts.create(ben, name="His", command="mine", content="a command is a person's own")
    for attempt in (
        services.prompts.get(ben, prompt.id), services.prompts.delete(ben, prompt.id),
        services.prompts.restore(ben, prompt.id), services.prompts.duplicate(ben, prompt.id, "x"),
        services.prompts.change(ben, prompt.id, name="x", command="x", content="x"),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert [each.name for each in await services.prompts.list(ben)] == ["His"]
