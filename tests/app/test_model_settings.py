"""How one model is run: each setting, its check in words, and that it reaches the loader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import pytest

from app.errors import InvalidInput, ModelNotFound
from app.services.container import Services
from app.services.model_facts import spec_from
from app.services.model_settings import ModelSettings
from engine.backends.scripted_tokenizer import CHATML_TEMPLATE, HERMES_TEMPLATE
from engine.load import load_engine
from engine.memory import LoadLimits
from tests.app.house import Shelf
from tests.engine.tiny_gguf import write_tiny_gguf


@pytest.fixture
async def tiny(services: Services, tmp_path: Path) -> str:
    return (await services.models.add(write_tiny_gguf(tmp_path / "tiny.gguf"))).id


async def test_only_what_is_named_changes_and_none_takes_it_back(services: Services) -> None:
    change = services.model_settings.change
    await change("parrot", {"context_tokens": 2048, "layers": 0})
    await change("parrot", {"users": 3, "aliases": ["gpt-4", "gpt-4"]})
    assert await services.model_settings.of("parrot") == ModelSettings(
        context_tokens=2048, layers=0, users=3, aliases=("gpt-4",)
    )
    await change("parrot", {"context_tokens": None, "aliases": None})
    model = await services.models.find("parrot")
    assert model.settings == {"layers": 0, "users": 3}
    with pytest.raises(ModelNotFound):
        await change("dodo", {})


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "a context for nobody": ({"context_tokens": 10}, "context_tokens", "a whole number of 256 to"),
    "a context that is a text": ({"context_tokens": "4096"}, "context_tokens", "a whole number"),
    "a context beyond its training": ({"context_tokens": 8192}, "context_tokens", r"trained for 4,096 tokens"),
    "no users": ({"users": 0}, "users", "1 to 256"),
    "users who are true": ({"users": True}, "users", "1 to 256"),
    "an unknown type": ({"kv_type": "q2"}, "kv_type", "one of f16, q8_0"),
    "an unknown format of weights": ({"weight_format": "int3"}, "weight_format", "one of fp8, int8, int4"),
    "weights of a GGUF file": ({"weight_format": "int8"}, "weight_format", "whose format is fixed"),
    "an unknown device": ({"device": "tpu"}, "device", "cpu, gpu, or gpu0"),
    "layers on no GPU": ({"device": "cpu", "layers": 5}, "layers", "no layers are on a GPU"),
    "negative threads": ({"threads": -1}, "threads", "1 to 1,024"),
    "no time": ({"keep_alive_s": -1}, "keep_alive_s", "Seconds to keep it"),
    "half a pin": ({"is_pinned": 0.5}, "is_pinned", "yes or no"),
    "an alias with a space": ({"aliases": ["a b"]}, "aliases", "is no alias"),
    "an alias with a line": ({"aliases": ["a\nb"]}, "aliases", "is no alias"),
    "an alias that is taken": ({"aliases": ["parrot"]}, "aliases", "the name of Parrot already"),
    "its own id": ({"aliases": ["tiny"]}, "aliases", "the name of Tiny 0 already"),
    "too many aliases": ({"aliases": [f"a{n}" for n in range(21)]}, "aliases", "20 aliases"),
    "a broken template": ({"chat_template": "{% if %}"}, "chat_template", "not taken. It cannot be used"),
    "a template that says nothing": ({"chat_template": "Hello"}, "chat_template", "It drops what a person says"),
    "a template that is a number": ({"chat_template": 5}, "chat_template", "is a text"),
    "what there is not": ({"colour": "red"}, "colour", "no setting 'colour'"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_refused_in_words(services: Services, tiny: str, name: str) -> None:
    changes, field, words = WRONG[name]
    with pytest.raises(InvalidInput, match=words) as refused:
        await services.model_settings.change(tiny, changes)
    assert refused.value.field == field
    assert await services.model_settings.of(tiny) == ModelSettings()


async def test_a_model_that_embeds_has_no_users(services: Services, tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "vectors.gguf", pooling=gguf.PoolingType.MEAN)
    model = await services.models.add(path)
    with pytest.raises(InvalidInput, match="makes embeddings"):
        await services.model_settings.change(model.id, {"users": 3})
    await services.model_settings.change(model.id, {"context_tokens": 512})


async def test_they_reach_the_loader(services: Services, tiny: str) -> None:
    await services.model_settings.change(
        tiny, {"context_tokens": 512, "users": 3, "kv_type": "q8_0", "device": "gpu1", "layers": 7, "threads": 2}
    )
    own = spec_from(await services.models.find(tiny)).own_limits.over(LoadLimits(context_tokens=4096, cache_bytes=5))
    assert (own.context_tokens, own.max_num_seqs, own.kv_type, own.main_gpu, own.gpu_layers, own.threads) == (
        512, 3, "q8_0", 1, 7, 2
    )
    assert own.cache_bytes == 5
    await services.model_settings.change(tiny, {"device": "cpu", "layers": None})
    assert spec_from(await services.models.find(tiny)).own_limits.gpu_layers == 0


@pytest.mark.slow
async def test_they_apply_at_the_next_load(services: Services, tiny: str, tmp_path: Path) -> None:
    services.engines.loader = load_engine
    await services.engines.load(tiny)
    await services.model_settings.change(
        tiny, {"context_tokens": 512, "users": 3, "chat_template": CHATML_TEMPLATE + "{# </think> #}"}
    )
    info = services.engines.status(tiny).info
    assert info is not None
    assert info.max_model_len == 4096
    await services.engines.unload(tiny)
    await services.engines.load(tiny)
    info = services.engines.status(tiny).info
    assert info is not None
    assert (info.max_model_len, info.max_num_seqs) == (512, 3)
    assert info.version.endswith("; a chat template of its own")
    assert (await services.models.template(tiny)).thinks == "maybe"


async def test_another_template_is_looked_over_and_can_be_taken_back(services: Services, tiny: str) -> None:
    assert not (await services.models.template(tiny)).calls_tools
    await services.model_settings.change(tiny, {"chat_template": HERMES_TEMPLATE})
    assert (await services.models.template(tiny)).calls_tools
    assert spec_from(await services.models.find(tiny)).chat_template == HERMES_TEMPLATE
    await services.model_settings.change(tiny, {"chat_template": None})
    assert not (await services.models.template(tiny)).calls_tools


async def test_an_alias_names_the_model_everywhere(services: Services, shelf: Shelf) -> None:
    await shelf.put(services, "second", "Second.")
    await services.model_settings.change("second", {"aliases": ["gpt-4o", "org/second:latest"]})
    assert await services.models.known_id("gpt-4o") == "second"
    assert (await services.models.find("org/second:latest")).id == "second"
    with pytest.raises(InvalidInput, match="the name of Second already"):
        await services.model_settings.change("parrot", {"aliases": ["gpt-4o"]})
    with pytest.raises(ModelNotFound):
        await services.models.known_id("gpt-5")


async def test_a_new_model_takes_no_others_alias(services: Services, tmp_path: Path) -> None:
    await services.model_settings.change("parrot", {"aliases": ["tiny"]})
    assert (await services.models.add(write_tiny_gguf(tmp_path / "tiny.gguf"))).id == "tiny-2"


async def test_what_a_later_version_has_stored_does_no_harm(services: Services) -> None:
    model = await services.models.find("parrot")
    model.settings = {"users": 4, "colour": "red"}
    assert ModelSettings.of(model) == ModelSettings(users=4)
