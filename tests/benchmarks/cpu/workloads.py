"""The six workloads. Each is a coroutine over a running server, and gives figures by name."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from tests.benchmarks.cpu.client import Answer, complete, vanish
from tests.benchmarks.cpu.servers import Running, Shape
from tests.benchmarks.cpu.texts import PARAGRAPHS, QUESTIONS, SWAPS

TOKEN_IDS = range(1000, 40_000)       # plain words of the starter model's vocabulary
SYSTEM = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
SWEEP_CLIENTS = (1, 2, 4, 8, 16, 32)

Figures = dict[str, float]
Run = Callable[[Running, int], Coroutine[None, None, Figures]]      # the repetition seeds the prompts


@dataclass(frozen=True)
class Workload:
    name: str
    shape: Shape
    run: Run


def prompts(seed: str, num_prompts: int, *, num_tokens: int, num_shared: int = 0) -> list[list[int]]:
    """Random words, the first `num_shared` of them common to all."""
    generator = random.Random(seed)
    shared = generator.choices(TOKEN_IDS, k=num_shared)
    return [shared + generator.choices(TOKEN_IDS, k=num_tokens - num_shared) for _ in range(num_prompts)]


async def ask(
    running: Running, prompt: list[int] | str, max_tokens: int, *, person: int = 0, ignore_eos: bool = True
) -> Answer:
    key = running.keys[person]
    return await complete(running.port, key, prompt, max_tokens, model=running.model_id, ignore_eos=ignore_eos)


def as_turn(question: str, history: str = "") -> str:
    """A chat prompt in the starter model's own form."""
    return f"{history or SYSTEM}<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


async def closed_loop(running: Running, todo: list[list[int]], num_clients: int, max_tokens: int) -> Figures:
    """`num_clients` clients, each asking again as soon as it has its answer."""
    waiting = iter(todo)
    answers: list[Answer] = []

    async def client() -> None:
        for prompt in waiting:
            answers.append(await ask(running, prompt, max_tokens))

    started_s = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(num_clients)))
    took_s = time.perf_counter() - started_s
    waits_ms = sorted(answer.time_to_first_token_s * 1e3 for answer in answers)
    return {
        "tok/s": sum(answer.num_tokens for answer in answers) / took_s,
        "ttft p50 ms": statistics.median(waits_ms),
        "ttft p95 ms": waits_ms[min(len(waits_ms) - 1, int(0.95 * len(waits_ms)))],
    }


def sweep(num_clients: int) -> Run:
    async def run(running: Running, repetition: int) -> Figures:
        seed = f"sweep {num_clients} {repetition}"
        todo = prompts(seed, max(4, num_clients), num_tokens=200, num_shared=150)
        figures: Figures = {}
        for heat in ("cold", "warm"):
            measured = await closed_loop(running, todo, num_clients, 64)
            figures |= {f"{heat} {name}": value for name, value in measured.items()}
        return figures

    return run


async def chat(running: Running, repetition: int) -> Figures:
    """8 people, 6 turns each, thinking a little between them: a turn should cost only its new tokens."""
    waits_ms: list[float] = []

    async def person(number: int, paragraph: str) -> None:
        generator = random.Random(f"chat {repetition} {number}")
        history = SYSTEM.replace("<|im_end|>", f" Talk about this text, number {repetition}.\n\n{paragraph}<|im_end|>")
        for question in QUESTIONS:
            history = as_turn(question, history)
            answer = await ask(running, history, 64)
            waits_ms.append(answer.time_to_first_token_s * 1e3)
            history += f"{answer.text}<|im_end|>\n"
            await asyncio.sleep(generator.uniform(0.2, 1.0))                 # thinks

    started_s = time.perf_counter()
    await asyncio.gather(*(person(number, paragraph) for number, paragraph in enumerate(PARAGRAPHS)))
    return {"total s": time.perf_counter() - started_s, "ttft p50 ms": statistics.median(waits_ms)}


async def long_beside_short(running: Running, repetition: int) -> Figures:
    """Three streams go on while a prompt of 6,000 tokens arrives."""
    short = prompts(f"short {repetition}", 3, num_tokens=100)
    [long] = prompts(f"long {repetition}", 1, num_tokens=6000)
    streams = [asyncio.create_task(ask(running, prompt, 300)) for prompt in short]
    await asyncio.sleep(1.5)                                                 # all three are writing
    late = asyncio.create_task(ask(running, long, 8))
    answers = await asyncio.gather(*streams)
    long_answer = await late
    return {
        "longest gap ms": max(answer.longest_gap_s for answer in answers) * 1e3,
        "long ttft ms": long_answer.time_to_first_token_s * 1e3,
    }


async def cancel(running: Running, repetition: int) -> Figures:
    """50 clients vanish 200 ms into a long prompt; then one asks in earnest."""
    gone = prompts(f"gone {repetition}", 50, num_tokens=3000)
    [normal, alone] = prompts(f"stays {repetition}", 2, num_tokens=100)
    by_itself = await ask(running, alone, 8)
    await asyncio.gather(*(
        vanish(running.port, running.keys[0], prompt, 0.2, model=running.model_id) for prompt in gone
    ))
    after = await ask(running, normal, 8)
    return {
        "ttft after ms": after.time_to_first_token_s * 1e3,
        "ttft alone ms": by_itself.time_to_first_token_s * 1e3,
    }


async def edit(running: Running, repetition: int) -> Figures:
    """Texts repeated with one word changed, and summaries: what looks ahead in its own prompt gains here."""
    texts = [f"Draft {repetition}. {paragraph}" for paragraph in PARAGRAPHS]
    edits = [
        f'Repeat this text, with the word "{word}" replaced by "{other}":\n\n{text}'
        for text, (word, other) in zip(texts, SWAPS, strict=True)
    ]
    summaries = [f"Summarise this text in two sentences:\n\n{text}" for text in texts]
    figures: Figures = {}
    for name, questions in (("edits", edits), ("summaries", summaries)):
        answers: list[Answer] = []
        started_s = time.perf_counter()
        for question in questions:
            answers.append(await ask(running, as_turn(question), 128, ignore_eos=False))
        figures[f"{name} tok/s"] = sum(answer.num_tokens for answer in answers) / (time.perf_counter() - started_s)
    return figures


async def fairness(running: Running, repetition: int) -> Figures:
    """One person sends 200 requests, then another sends one."""
    many = prompts(f"many {repetition}", 200, num_tokens=60)
    [alone, late] = prompts(f"late {repetition}", 2, num_tokens=60)
    by_itself = await ask(running, alone, 8, person=1)
    crowd = [asyncio.create_task(ask(running, prompt, 16)) for prompt in many]
    await asyncio.sleep(1.0)
    answer = await ask(running, late, 8, person=1)
    await asyncio.gather(*crowd)
    return {
        "second user's ttft ms": answer.time_to_first_token_s * 1e3,
        "alone ms": by_itself.time_to_first_token_s * 1e3,
    }


WORKLOADS = (
    *(
        Workload(f"sweep, {clients} clients", Shape(num_seqs=max(clients, 2), context_tokens=512), sweep(clients))
        for clients in SWEEP_CLIENTS
    ),
    Workload("chat, 8 clients", Shape(num_seqs=8, context_tokens=1536), chat),
    Workload("long beside short, 4 clients", Shape(num_seqs=4, context_tokens=8192), long_beside_short),
    Workload("cancel, 50 clients", Shape(num_seqs=8, context_tokens=4096), cancel),
    Workload("edit, 1 client", Shape(num_seqs=2, context_tokens=1024), edit),
    Workload("fairness, 200 and 1 clients", Shape(num_seqs=8, context_tokens=512), fairness),
)
