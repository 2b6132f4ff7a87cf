"""A model's default preset: an admin's, a copy of which everybody's new chats with that model begin with."""

from __future__ import annotations

import pytest

from app.errors import InvalidInput
from app.services.container import Services
from app.services.setup import ChatSetup
from store import accounts
from store.tables import UserRole
from tests.app.house import until

PIRATE = ChatSetup(system_prompt="Speak like a pirate.", parameters={"temperature": 0.1}, model_id="elsewhere")


@pytest.fixture
async def admin_id(services: Services) -> str:
    row = await services.db.run(
        lambda session: accounts.add_user(session, "Root", "root", password_hash="", role=UserRole.ADMIN)
    )
    assert row is not None
    return row.id


async def setup_of_new_chat(services: Services, user_id: str) -> ChatSetup:
    sent = await services.chat.send(user_id, None, "Hi", model_id="parrot")
    await until(lambda: services.generations.num_running == 0)
    return ChatSetup.of(await services.conversations.get(user_id, sent.conversation_id))


async def test_what_it_says_goes_to_everybody_and_its_name_to_its_owner(
    services: Services, user_id: str, admin_id: str
) -> None:
    preset = await services.presets.create(admin_id, "Pirate", PIRATE)
    await services.model_settings.change("parrot", {"preset_id": preset.id})
    for person_id, preset_id in ((user_id, None), (admin_id, preset.id)):
        assert await setup_of_new_chat(services, person_id) == ChatSetup(
            preset_id=preset_id, model_id="parrot", system_prompt=PIRATE.system_prompt, parameters=PIRATE.parameters
        )


async def test_a_default_of_one_s_own_comes_first(services: Services, user_id: str, admin_id: str) -> None:
    preset = await services.presets.create(admin_id, "Pirate", PIRATE)
    await services.model_settings.change("parrot", {"preset_id": preset.id})
    own = await services.presets.create(user_id, "Brief", ChatSetup(system_prompt="Be brief."))
    await services.presets.set_default(user_id, own.id)
    assert (await setup_of_new_chat(services, user_id)).system_prompt == "Be brief."


async def test_only_an_admin_s_can_be_chosen_and_one_that_was_deleted_counts_no_more(
    services: Services, user_id: str, admin_id: str
) -> None:
    own = await services.presets.create(user_id, "Mine", PIRATE)
    for preset_id in (own.id, "nothing", 5):
        with pytest.raises(InvalidInput, match="no such preset of an admin") as refused:
            await services.model_settings.change("parrot", {"preset_id": preset_id})
        assert refused.value.field == "preset_id"
    preset = await services.presets.create(admin_id, "Pirate", PIRATE)
    await services.model_settings.change("parrot", {"preset_id": preset.id})
    await services.presets.delete(admin_id, preset.id)
    assert (await setup_of_new_chat(services, user_id)).is_plain
    await services.model_settings.change("parrot", {"users": 2})         # what else is changed does not mind
