"""What of a name is seen, and that nothing is called what nobody can see: wherever a name is taken."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from app import security
from app.errors import InvalidInput
from app.names import can_be_seen, clean_label, in_plain
from app.services.connections import Entered
from app.services.container import Services
from app.services.setup import ChatSetup
from tests.app.house import PASSWORD
from tests.engine.upstream import Upstream

ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
UNSEEN = (
    "\u3164", "\u2800", "\u200b\u200d", "\u202e\u2066", "\u115f\u1160\uffa0", "\ufe0f", "\U000e0041", "\u034f\u17b4",
    "\xad\ufeff",
)


@pytest.mark.parametrize(("written", "label"), [
    ("\u202egnp.exe\u2069 bill", "gnp.exe bill"),                     # would turn the rest of the page around
    ("\u200b\u200f \u2060", ""),                                     # nothing of it is seen
    ("می\u200cخواهم 👨\u200d👩\u200d👧", "می\u200cخواهم 👨\u200d👩\u200d👧"),   # joined and parted as they were written
    ("half \ud83d of it\x00", "half of it"),
    ("\u3164Work\u200b", "Work"),                                    # else two would look the same
    ("❤\ufe0f", "❤\ufe0f"),
    (ENGLAND, ENGLAND),
    *((unseen, "") for unseen in UNSEEN),
    ("\u3164" * 300 + "late", "late"),
    ("x" * 300, "x" * 200),
])
def test_a_label_is_seen_and_turns_nothing_around(written: str, label: str) -> None:
    assert clean_label(written) == label
    assert can_be_seen(written) is bool(label)


@pytest.mark.parametrize("name", [
    "\u3164", "An\u2800na", "Anna\u3164", "\ufe0f", "\u1160", "\u034fAnna", "Anna\ufe0f",
])
def test_nobody_is_called_what_looks_like_another_or_nothing(name: str) -> None:
    problem = security.name_problem(security.clean_name(name))
    assert problem == "Choose a name without control characters or invisible ones."


@pytest.mark.parametrize("name", [
    "\u0410nna", "Ann\u0430", "Anna \u0421\u043e\u0445", "\u0391nna", "\u054fim", "Ｐ\u0435ter", "\U0001d400\u0430",
])
def test_nobody_has_letters_of_two_scripts_that_look_alike(name: str) -> None:
    problem = security.user_name_problem(security.clean_name(name))
    assert problem is not None and problem.startswith("Choose a name in one script.")
    assert security.name_problem(security.clean_name(name)) is None       # a key may be called so: it is nobody


@pytest.mark.parametrize("name", [
    "A\u0301\u0301nna", "Z\u0300\u0301\u0302\u0303\u0304oe", "ก" + "\u0e47" * 20, "Anna\u0338\u0335\u0336\u0337\u20dd",
])
def test_nobody_piles_marks_on_a_letter(name: str) -> None:
    problem = security.user_name_problem(security.clean_name(name))
    assert problem == "Choose a name with fewer marks above and below its letters."


@pytest.mark.parametrize("name", [
    "Алёна", "Ђорђе", "Ελένη", "ᾅδης", "Nguyễn Thị Huệ", "Ọlọ́run", "שָׁלוֹם", "مُحَمَّد", "श्रीमती", "ស្រីនាថ", "ညွှန့်", "น้ำผึ้ง",
    "བསྒྲུབས", "田中 Ken", "김 Ken", "Кабинет №5", "Anna ❤\ufe0f", "Անի", "გიორგი", "İbrahim",
])
def test_names_of_every_script_are_fine(name: str) -> None:
    assert security.user_name_problem(security.clean_name(name)) is None


@pytest.mark.parametrize("unseen", UNSEEN)
async def test_whatever_takes_a_name_refuses_one_that_cannot_be_seen(
    services: Services, user_id: str, unseen: str
) -> None:
    chat = await services.conversations.create(user_id, title="Heating")
    folder, _ = await services.organise.create_folder(user_id, "Work")
    setup = ChatSetup()
    preset = await services.presets.create(user_id, "Brief", setup)
    takers: dict[str, Callable[[str], Awaitable[object]]] = {
        "people": lambda name: services.accounts.add_user(name, PASSWORD),
        "keys": lambda name: services.accounts.create_key(user_id, name),
        "chats": lambda name: services.organise.rename(user_id, chat.id, name),
        "folders": lambda name: services.organise.create_folder(user_id, name),
        "folders, renamed": lambda name: services.organise.rename_folder(user_id, folder.id, name),
        "tags": lambda name: services.organise.tag(user_id, [chat.id], name),
        "tags, written as such": lambda name: services.organise.tag(user_id, [chat.id], f"#{name}"),
        "presets": lambda name: services.presets.create(user_id, name, setup),
        "presets, renamed": lambda name: services.presets.change(user_id, preset.id, name, setup),
        "prompts": lambda name: services.prompts.create(user_id, name=name, command="x", content="Hello"),
    }
    for what, take in takers.items():
        with pytest.raises(InvalidInput) as refused:
            await take(unseen)
        assert refused.value.field in ("name", "title"), what


@pytest.mark.parametrize("unseen", UNSEEN)
async def test_a_connection_that_nobody_could_see_is_called_as_its_host(services: Services, unseen: str) -> None:
    server = Upstream(models=("big", unseen), about={"max_model_len": 8192})
    try:
        await services.connections.set_allowed(True)
        entry = await services.connections.add(Entered(name=unseen, base_url=server.url, key="sk-office-key"))
        assert entry.connection.name == server.url.removeprefix("http://").partition("/")[0]
        assert [each.remote_id for each in entry.models] == ["big"]
    finally:
        server.close()


def test_a_line_for_a_terminal_spells_out_what_would_steer_it() -> None:
    assert in_plain("/models/a\x1b[31m\n\u202eb \x9b é 漢\t.gguf") == r"/models/a\x1b[31m\n\u202eb \x9b é 漢\t.gguf"
