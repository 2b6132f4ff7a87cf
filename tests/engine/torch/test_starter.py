"""The starter model, dequantised: the same greedy text as transformers' `generate`, computed and from the cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import transformers

from app.services.models import find_starter
from engine.engine import ChatMessage, ChatRequest
from engine.load import LoadLimits, ModelSpec, load_engine
from engine.params import SamplingParams
from tests.engine.torch.dequantised import write_dequantised

pytestmark = pytest.mark.slow

QUESTIONS = ("What is the capital of France?", "Name three colours.", "Write one sentence about the sea.")
GREEDY = SamplingParams(temperature=0.0, max_tokens=24)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    starter = find_starter()
    assert starter is not None
    yield write_dequantised(starter, tmp_path_factory.mktemp("starter"))


async def test_it_says_what_generate_says(folder: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    spec = ModelSpec("smollm2", "SmolLM2", folder, "1")
    engine = await load_engine(spec, LoadLimits(context_tokens=1024, max_num_seqs=4, gpu_layers=0))
    try:
        assert engine.info.backend.startswith("torch")
        for question in (*QUESTIONS, QUESTIONS[0]):         # the last is from the cache
            prompt = tokenizer.apply_chat_template(
                [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": question}],
                add_generation_prompt=True, return_tensors="pt", return_dict=True,
            )
            wanted = model.generate(**prompt, max_new_tokens=24, do_sample=False)[0, prompt["input_ids"].shape[1]:]
            request = ChatRequest(messages=(ChatMessage(role="user", content=question),), params=GREEDY, user="ada")
            said = "".join([delta.text async for delta in engine.chat(request)])
            assert said.strip() == tokenizer.decode(wanted, skip_special_tokens=True).strip()
    finally:
        await engine.close()
