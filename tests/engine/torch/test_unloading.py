"""Of a model that torch runs every tensor is given back as it goes, by counting references alone: our decoder's, and
those of transformers' own code.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from engine.engine import ChatMessage, ChatRequest
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.params import SamplingParams
from tests.engine.torch.tiny_folder import write_tiny_folder

HI = ChatRequest(messages=(ChatMessage(role="user", content="Hello"),), params=SamplingParams(max_tokens=4))


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(("family", "more"), [("llama", {}), ("mixtral", {"num_local_experts": 4})])
async def test_no_tensor_waits_for_the_collector(
    tmp_path: Path, family: str, more: dict[str, int], no_collector: None
) -> None:
    folder = write_tiny_folder(tmp_path / "tiny", family=family, **more)
    gc.collect()
    before = {id(each) for each in _tensors()}
    engine = await load_engine(ModelSpec("tiny", "Tiny", folder, "1"), LoadLimits(context_tokens=256, max_num_seqs=2))
    assert [delta async for delta in engine.chat(HI)][-1].finish_reason is not None
    lives = [weakref.ref(each) for each in _tensors() if id(each) not in before]
    assert len(lives) > 10
    await engine.close()
    del engine
    assert not [each for each in lives if each() is not None]


def _tensors() -> list[torch.Tensor]:
    gc.unfreeze()           # of what is frozen nothing is listed
    return [each for each in gc.get_objects() if type(each) in (torch.Tensor, torch.nn.Parameter)]
