"""One installed model's page, the search for more, a model's page at the hub, and what they are made of."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from nicegui.element import Element
from nicegui.testing import User

from app.services.container import Services
from app.services.download_status import DownloadStatus
from app.services.model_settings import ModelSettings
from app.services.model_speeds import Rate
from app.services.models import STARTER_ID
from app.services.setup import ChatSetup
from app.services.starters import recommended, starters
from app.settings import Settings
from engine.fit import Fit, Verdict
from engine.hardware import NativeDevice
from engine.template_doctor import SENTENCES, Code, Finding, Level, TemplateReport
from store.tables import DownloadState, UserRole
from tests.app.hub import TOKEN, Hub
from tests.app.shop import REPO, tiny_model
from tests.ui.conftest import Home, Person, home_with
from tests.ui.using import click, elements, told, trigger, until
from ui.models import settings_form
from ui.models.doctor import doctor_card
from ui.models.downloads import parts_of
from ui.models.fit_line import fit_in_words
from ui.models.get_button import Wanted
from ui.models.model_card import readable
from ui.models.names import repo_name
from ui.models.settings_form import number_in
from ui.pages.models import NUM_SHOWN
from ui.words import long_time, rate

GIB = 2**30


def _texts(tab: User) -> list[str]:
    return [text for element in elements(tab, Element) if element.visible and (text := getattr(element, "text", None))]


def _says(tab: User, text: str) -> bool:
    return any(text in each for each in _texts(tab))


def _field(tab: User, label: str) -> Element:
    """The input or area under this label."""
    name = next(
        each.props["for"] for each in elements(tab, Element)
        if each.tag == "label" and getattr(each, "text", None) == label
    )
    return next(each for each in elements(tab, Element) if each.props.get("id") == name)


def _submit(tab: User, inside: str) -> None:
    trigger(next(each for each in elements(tab, Element) if each.tag == "form" and inside in each.classes), "submit")


# --- one installed model ----------------------------------------------------------------------------------------------


class TestOneModel:
    async def test_it_says_what_the_model_takes_how_it_talks_and_where_it_lies(self, ada: Person) -> None:
        tab = await ada.at(f"/models/installed/{STARTER_ID}")
        titles = ("SmolLM2 135M Instruct", "Memory", "How it talks", "Files and versions")
        for text in (*titles, "Weights", "GGUF · llama"):
            assert text in _texts(tab), text
        assert _says(tab, "It has no place for tools")
        await until(lambda: "Speed of an answer" in _texts(tab))
        assert any(re.fullmatch(r"About [\d,.]+ tok/s\.", each) for each in _texts(tab))

    async def test_one_that_is_not_there_is_not_found(self, ada: Person) -> None:
        async with ada.http() as browser:
            assert (await browser.get("/models/installed/nobody")).status_code == 404

    async def test_why_a_gpu_takes_nothing_is_told(
        self, home: Home, ada: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def find() -> tuple[NativeDevice, ...]:
            return (NativeDevice("CUDA0", "gpu", "A card", GIB, GIB // 2),)

        monkeypatch.setattr("engine.load.find_gpus", find)
        await home.services.engines.unload(STARTER_ID)
        tab = await ada.at(f"/models/installed/{STARTER_ID}")
        await until(lambda: _says(tab, "0 layers"))
        assert _says(tab, "Not even one layer fits on CUDA0: that needs")

    async def test_settings_are_kept_and_what_is_wrong_is_said_at_its_field(self, home: Home, ada: Person) -> None:
        tab = await ada.at(f"/models/installed/{STARTER_ID}")
        trigger(_field(tab, "Context"), "change", "lots")
        _submit(tab, "nk-settings")
        await until(lambda: _says(tab, "give a whole number of 256"))
        trigger(_field(tab, "Context"), "change", "2k")
        trigger(_field(tab, "Minutes in memory after use"), "change", "1.5")
        trigger(_field(tab, "Other names"), "change", "small, tiny")
        click(tab, "q8_0")
        _submit(tab, "nk-settings")
        await until(lambda: _says(tab, "Saved. Applies at the next load."))
        assert not _says(tab, "give a whole number of 256")
        assert await home.services.model_settings.of(STARTER_ID) == ModelSettings(
            context_tokens=2048, keep_alive_s=90, aliases=("small", "tiny"), kv_type="q8_0"
        )
        click(tab, "Load again now")
        await until(lambda: _says(tab, "Loaded with the new settings."))
        await home.services.engines.unload(STARTER_ID)
        tab = await ada.at(f"/models/installed/{STARTER_ID}")
        assert any(text.endswith(", q8_0") for text in _texts(tab)), "what the next load takes"

    async def test_what_changes_nothing_of_a_load_applies_at_once(self, home: Home, ada: Person) -> None:
        tab = await ada.at(f"/models/installed/{STARTER_ID}")
        (pinned, _) = (each for each in elements(tab, Element) if each.props.get("role") == "switch")
        trigger(pinned, "click")
        assert pinned.props["aria-checked"] == "true"
        _submit(tab, "nk-settings")
        await until(lambda: "Saved." in _texts(tab))
        await until(lambda: "Stays in memory" in _texts(tab))
        assert "Load again now" not in [
            text for each in elements(tab, Element) if (text := getattr(each, "text", "")) and _is_shown(each)
        ]

    async def test_the_preset_of_its_new_chats_is_chosen_and_taken_back(self, home: Home, ada: Person) -> None:
        preset = await home.services.presets.create(ada.id, "Pirate", ChatSetup(system_prompt="Arr."))
        tab = await ada.at(f"/models/installed/{STARTER_ID}")
        trigger(_chooser(tab, "Pirate"), "change", preset.id)
        _submit(tab, "nk-settings")
        await until(lambda: "Saved." in _texts(tab))
        assert (await home.services.model_settings.of(STARTER_ID)).preset_id == preset.id
        tab = await ada.at(f"/models/installed/{STARTER_ID}")
        (option,) = (each for each in _chooser(tab, "Pirate").descendants() if each.props.get("selected"))
        assert option.props["value"] == preset.id
        trigger(_chooser(tab, "Pirate"), "change", "")
        _submit(tab, "nk-settings")
        await until(lambda: "Saved." in _texts(tab))
        assert (await home.services.model_settings.of(STARTER_ID)).preset_id is None

    async def test_what_is_not_touched_stays_as_others_have_set_it_meanwhile(self, home: Home, ada: Person) -> None:
        change = home.services.model_settings.change
        await change(STARTER_ID, {"keep_alive_s": 100})
        tab = await ada.at(f"/models/installed/{STARTER_ID}")
        await change(STARTER_ID, {"aliases": ["small"], "is_pinned": True})
        trigger(_field(tab, "Context"), "change", "2k")
        _submit(tab, "nk-settings")
        await until(lambda: "Saved. Applies at the next load." in _texts(tab))
        assert await home.services.model_settings.of(STARTER_ID) == ModelSettings(
            context_tokens=2048, keep_alive_s=100, aliases=("small",), is_pinned=True
        )

    async def test_of_several_gpus_each_can_be_chosen(
        self, home: Home, ada: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def two() -> tuple[NativeDevice, ...]:
            return tuple(NativeDevice(f"CUDA{at}", "gpu", f"Big {at}", 80 * GIB, 80 * GIB) for at in range(2))

        monkeypatch.setattr(settings_form, "find_gpus", two)
        tab = await ada.at(f"/models/installed/{STARTER_ID}")
        click(tab, "GPU 1: Big 1")
        trigger(_field(tab, "Layers on the GPU"), "change", "12")
        _submit(tab, "nk-settings")
        await until(lambda: "Saved. Applies at the next load." in _texts(tab))
        assert await home.services.model_settings.of(STARTER_ID) == ModelSettings(device="gpu1", layers=12)
        monkeypatch.undo()
        tab = await ada.at(f"/models/installed/{STARTER_ID}")
        assert "GPU1" in _texts(tab)            # it is set, though it is gone

    async def test_removed_in_another_tab_it_is_left(self, home: Home, ada: Person) -> None:
        await home.shelf.put(home.services, "parrot", "Hello")
        tab = await ada.at("/models/installed/parrot")
        await home.services.models.remove("parrot")
        await until(lambda: told(tab, "/models"))

    def test_numbers_are_read_as_people_write_them(self) -> None:
        written = {
            "": None, "32k": 32768, "8 192": 8192, "8.192": 8192, "8,192": 8192, "0": 0, "1.5": 1.5, "1,5": 1.5,
            "0.125": 0.125, "1.66667": 1.66667,
        }
        assert {text: number_in(text) for text in written} == written
        assert number_in("lots ") == "lots"


def _chooser(tab: User, name: str) -> Element:
    """The list of the browser's that offers this."""
    return next(
        each for each in elements(tab, Element)
        if each.tag == "select" and any(getattr(option, "text", "") == name for option in each.descendants())
    )


def _is_shown(element: Element) -> bool:
    return element.visible and all(each.visible for each in element.ancestors())


class TestDoctor:
    @pytest.mark.parametrize("code", list(Code))
    def test_each_finding_has_words_that_say_what_the_engine_says(self, code: Code) -> None:
        from ui.language import t

        sentence = t(f"doctor-{code.value}", detail="<|x|>").replace("’", "'").replace("“", "'").replace("”", "'")
        assert sentence == SENTENCES[code].format(detail="<|x|>")

    async def test_the_worst_comes_first(self, ada: Person) -> None:
        tab = await ada.at("/settings")
        assert tab.client is not None
        findings = (Finding(Code.NO_TOOLS, Level.NOTE), Finding(Code.BROKEN, Level.FAULT, "no end"))
        with tab.client.content:
            doctor_card(TemplateReport(family="hermes", thinks="always", findings=findings))
        texts = _texts(tab)
        assert "Its chat template has faults. Answers may be bad, or fail." in texts
        assert texts.index("It cannot be used: no end") < texts.index(SENTENCES[Code.NO_TOOLS])


# --- downloads --------------------------------------------------------------------------------------------------------


def _status(state: DownloadState, **values: object) -> DownloadStatus:
    whole = {
        "id": "1", "repo": "Qwen/Qwen3-14B-GGUF", "commit_sha": "c", "label": "Q4_K_M", "reason": "",
        "done_bytes": round(5.2 * GIB), "total_bytes": 9 * GIB,
    }
    return DownloadStatus(state=state, **whole | values)     # type: ignore[arg-type]


class TestDownloads:
    def test_a_download_tells_how_far_how_fast_and_how_long(self) -> None:
        going = _status(DownloadState.DOWNLOADING, bytes_per_s=38 * 2**20, remaining_s=102.2)
        assert parts_of(going) == ["5.2 of 9.0 GiB", "38 MiB/s", "1 min 42 s left", "Continues after a restart"]
        assert parts_of(_status(DownloadState.QUEUED, reason="Waits.")) == ["In line", "5.2 of 9.0 GiB", "Waits."]
        assert parts_of(_status(DownloadState.VERIFYING, done_bytes=9 * GIB // 2)) == ["Checking the download, 50 %"]
        assert parts_of(_status(DownloadState.PAUSED)) == ["Paused", "5.2 of 9.0 GiB"]

    def test_times_and_rates_are_told_in_two_units_at_most(self) -> None:
        assert [long_time(each) for each in (8.4, 102, 7500)] == ["8 s", "1 min 42 s", "2 h 5 min"]
        assert [rate(each) for each in (40 * 2**20, 1.5 * 2**20, 2000)] == ["40 MiB/s", "1.5 MiB/s", "2 KiB/s"]


# --- finding ----------------------------------------------------------------------------------------------------------


class TestWords:
    def test_a_verdict_is_told_before_its_numbers(self) -> None:
        fits = Fit(verdict=Verdict.FITS, context_tokens=32768, num_users=4, num_layers=33, gpu_layers=33)
        assert fit_in_words(fits) == "Fits: 32k context for 4 chats at once, on the GPU."
        split = Fit(verdict=Verdict.TIGHT, context_tokens=4096, num_users=1, num_layers=32, gpu_layers=16)
        in_words = "Tight: 4k context for 1 chat at once, 50 % on the GPU, the rest on the processor."
        assert fit_in_words(split) == in_words
        big = Fit(verdict=Verdict.TOO_BIG, needed_bytes=44 * GIB, has_bytes=22 * GIB)
        assert fit_in_words(big) == "Too big: needs 44.0 GiB, this computer has 22.0 GiB."

    def test_repositories_are_called_as_people_call_them(self) -> None:
        assert repo_name("Qwen/Qwen3-8B-GGUF") == "Qwen3 8B"
        assert repo_name("a/GGUF") == "a/GGUF"

    def test_a_model_of_the_hub_is_told_again_among_the_installed(self) -> None:
        wanted = Wanted("a/b", "m-Q4_0.gguf", "Q4_0", "m-Q4_0.gguf")
        assert wanted.is_download(_status(DownloadState.QUEUED, repo="a/b", label="Q4_0"))
        assert not wanted.is_download(_status(DownloadState.QUEUED, repo="a/b", label="Q8_0"))


class TestStarters:
    def test_the_table_is_sound(self) -> None:
        from ui.language import t

        known = starters()
        assert [each.size_bytes for each in known] == sorted(each.size_bytes for each in known)
        assert len({each.id for each in known}) == len(known)
        for each in known:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+-GGUF", each.repo)
            assert each.active <= each.parameters
            assert each.licence in ("apache-2.0", "mit")
            assert t(f"starter-{each.id}")
            assert all(t(f"does-{what}") for what in each.does)

    def test_the_largest_that_fit_and_write_briskly_come_first(self) -> None:
        fits, too_big = Fit(verdict=Verdict.FITS), Fit(verdict=Verdict.TOO_BIG)
        on_gpu = Fit(verdict=Verdict.FITS, gpu_layers=33, num_layers=33)

        def best(limit_bytes: int, good: Fit) -> list[str]:
            judged = [(each, good if each.size_bytes < limit_bytes else too_big) for each in starters()]
            return [starter.name for starter, _ in recommended(judged, {})]

        assert best(7 * GIB, fits) == ["Qwen3 4B", "SmolLM3 3B", "Granite 3.3 2B"]      # 8B is slow on a processor
        assert best(7 * GIB, on_gpu)[0] == "Qwen3 8B"
        assert best(0, fits) == ["Qwen3 0.6B"]

    def test_the_best_one_is_one_that_this_machine_writes_with_as_quickly_as_people_read(self) -> None:
        fits = Fit(verdict=Verdict.FITS)

        def best(bandwidth_bytes_per_s: float, num_cores: int = 2) -> list[str]:
            rate = Rate(bandwidth_bytes_per_s, num_cores)
            judged = [(each, fits) for each in starters()]
            speeds = {each.id: rate.speed(each.rough.bytes_per_token) for each in starters()}
            return [starter.name for starter, _ in recommended(judged, speeds)]

        assert best(5.6e9) == ["Qwen3 0.6B"]                # gpt-oss, of which a token reads 2.1 GB, writes 3 a second
        assert best(1e9) == ["Qwen3 0.6B"]                  # which is too slow, too, but the fastest
        assert best(30e9, num_cores=4) == ["Qwen3 30B A3B", "gpt-oss 20B", "Qwen3 4B"]      # 8B writes 6 a second

    def test_of_a_mixture_the_parameters_that_are_read_count(self) -> None:
        mixture = next(each for each in starters() if each.id == "gpt-oss-20b")
        assert mixture.rough.bytes_per_token == pytest.approx(12.1e9 * 3.6 / 20.9, rel=0.01)


class TestCard:
    def test_what_was_written_for_a_web_page_is_readable(self) -> None:
        card = (
            "---\nlicense: mit\n---\n<div align='center'><img src='https://x/y.png' alt='logo'></div>\n"
            "<h1>Parrot</h1>\n[![badge](https://x/b.svg)](https://x)\n![pic](https://x/z.png)\n"
            "See [the licence](LICENSE), <a href='https://x/blog'>our blog</a> and [there](./docs/a.md#b).\n"
            "<script>alert(1)</script><!-- hidden -->x < y and <br> z\n```html\n<b>stays</b>\n```\n`<think>`"
        )
        assert readable(card, "a/b", "https://hub", "c0") == (
            "# Parrot\n\nSee [the licence](https://hub/a/b/blob/c0/LICENSE), [our blog](https://x/blog) and "
            "[there](https://hub/a/b/blob/c0/docs/a.md#b).\nx < y and \n z\n```html\n<b>stays</b>\n```\n`<think>`"
        )

    def test_a_hostile_card_costs_little(self) -> None:
        for hostile in ("<a href='" * 20_000, "<script>" * 20_000, "[" * 50_000, "`" * 50_000, "<div " * 50_000):
            assert isinstance(readable(hostile, "a/b", "https://hub", "c"), str)


@pytest.fixture
def hub() -> Iterator[Hub]:
    stand_in = Hub()
    gguf = {"total": 8_000_000_000, "context_length": 4096}
    stand_in.add(
        REPO, {"README.md": b"# Parrot", "parrot-F32.gguf": tiny_model()}, tags=["gguf", "license:mit"], gguf=gguf
    )
    yield stand_in
    stand_in.close()


@pytest_asyncio.fixture
async def home(tmp_path: Path, new_database_file: Path, hub: Hub) -> AsyncIterator[Home]:
    settings = Settings.model_validate({"data_dir": tmp_path / "data", "hub_endpoint": hub.url})
    async with home_with(settings, new_database_file) as made:
        yield made


@pytest_asyncio.fixture
async def ada(home: Home) -> Person:
    return await home.person("Ada Lovelace", UserRole.ADMIN)


class TestFinding:
    async def test_results_are_judged_and_an_answer_that_comes_late_is_dropped(self, ada: Person, hub: Hub) -> None:
        tab = await ada.at("/models/find")
        await until(lambda: "Parrot" in _texts(tab))
        assert _says(tab, "Good to begin with")
        assert any(each in _texts(tab) for each in ("Fits:", "Tight:", "Too big:"))
        assert any(re.fullmatch(r" About [\d,.]+ tok/s\.", each) for each in _texts(tab)), "of what to begin with"
        box = next(each for each in elements(tab, Element) if each.props.get("type") == "search")
        trigger(box, "input", "nobody")
        trigger(box, "input", "parr")
        await until(lambda: "Results" in _texts(tab) and "Parrot" in _texts(tab))
        trigger(box, "input", "nobody")
        await until(lambda: "Nothing found" in _texts(tab))

    async def test_without_a_network_it_says_so_and_offers_what_it_knows(self, ada: Person, hub: Hub) -> None:
        hub.close()
        tab = await ada.at("/models/find")
        await until(lambda: _says(tab, "cannot be reached"))
        assert _says(tab, "Good to begin with")
        assert "Try again" in _texts(tab)

    async def test_a_file_is_judged_from_its_header_and_fetched(self, home: Home, ada: Person) -> None:
        tab = await ada.at(f"/models/find/{REPO}")
        await until(lambda: _says(tab, " 4k context") or _says(tab, " context for"))
        assert any(re.fullmatch(r" About [\d,.]+ tok/s\.", each) for each in _texts(tab))
        assert _says(tab, "Estimated from the weights read for each token")
        click(tab, "Get")
        await until(lambda: len(_models(home.services)) == 1)
        await until(lambda: "Installed" in [
            text for each in elements(tab, Element) if (text := getattr(each, "text", "")) and _is_shown(each)
        ])

    async def test_the_hub_is_asked_for_a_newer_version_which_comes_beside(
        self, home: Home, ada: Person, hub: Hub
    ) -> None:
        tab = await ada.at(f"/models/find/{REPO}")
        await until(lambda: _says(tab, " context for"))
        click(tab, "Get")
        await until(lambda: len(_models(home.services)) == 1)
        tab = await ada.at("/models/installed/parrot-f32")
        await until(lambda: _says(tab, "Nobody has asked the hub yet."))
        click(tab, "Ask the hub")
        await until(lambda: "This is the newest version" in _texts(tab))
        commit = hub.change(REPO, "parrot-F32.gguf", tiny_model(2))
        click(tab, "Ask the hub")
        await until(lambda: "The hub has a newer version" in _texts(tab))
        assert _says(tab, f"commit {commit[:8]} · ")
        click(tab, "Get it beside this one")
        await until(lambda: commit in _texts(tab) and "In use" in _texts(tab))
        hub.faults.api_status = 500
        click(tab, "Ask the hub")
        await until(lambda: _says(tab, "answers with an error (500)"))

    async def test_a_gated_model_asks_for_a_token_which_is_never_shown(
        self, home: Home, ada: Person, hub: Hub
    ) -> None:
        hub.faults.wants_token = True
        tab = await ada.at(f"/models/find/{REPO}")
        await until(lambda: "Its makers want to know who uses it" in _texts(tab))
        trigger(_field(tab, "Token"), "change", TOKEN)
        _submit(tab, "nk-gated-form")
        await until(lambda: "Kept." in _texts(tab))
        assert await home.services.hub.tokens.get() == TOKEN
        assert not any(TOKEN in str(each.props) for each in elements(await ada.at(f"/models/find/{REPO}"), Element))

    async def test_what_is_no_repository_is_told(self, ada: Person) -> None:
        tab = await ada.at("/models/find/a--b/c")
        await until(lambda: _says(tab, "is no repository"))


def _models(services: Services) -> list[DownloadStatus]:
    return [each for each in services.downloads.list() if each.state is DownloadState.ON_DISK]


async def test_of_many_models_some_are_shown_until_all_are_asked_for(home: Home, ada: Person) -> None:
    for number in range(NUM_SHOWN + 5):
        await home.shelf.put(home.services, f"parrot-{number}", "Hello")
    tab = await ada.at("/models")

    def rows() -> list[Element]:
        return [each for each in elements(tab, Element) if "nk-mrow" in each.classes]

    assert len(rows()) == NUM_SHOWN + 1
    click(tab, f"Show all {NUM_SHOWN + 6}")
    await until(lambda: len(rows()) == NUM_SHOWN + 6)
