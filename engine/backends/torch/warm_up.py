"""Steps that are taken when a model was loaded, so that kernels are compiled then, not while the first person waits.
On the engine's thread.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.backends.base import BackendInfo
from engine.batch import Batch, BatchRow, Release, SamplingInput
from engine.params import SamplingParams

NUM_TOKENS = 64                 # of a prompt
_GREEDY, _DRAWN = SamplingParams(temperature=0.0), SamplingParams(temperature=1.0)


def warm_up_batches(info: BackendInfo) -> Iterator[Batch]:
    """Prompts, single tokens in all of the numbers that are computed differently beside a prompt that goes on, and
    single tokens alone. The blocks are nobody's, and nothing of them can be found. None where there is no room.
    """
    num_tokens = min(NUM_TOKENS, info.max_num_batched_tokens // 2, info.max_model_len // 4)
    num_tokens -= num_tokens % info.block_size              # what was there before is then whole blocks
    num_blocks = 2 * num_tokens // info.block_size
    if info.max_num_seqs < 2 or not num_tokens or num_blocks > info.num_blocks:
        return

    def row(slot: int, position: int, number: int, params: SamplingParams = _GREEDY) -> BatchRow:
        sampling = SamplingInput(params=params, seed=0, token_ids=[], num_prompt_tokens=0)
        return BatchRow(
            slot=slot, token_ids=[0] * number, position=position, block_table=list(range(num_blocks)),
            sampling=sampling,
        )

    def leave(number: int) -> Batch:
        return Batch(released=[Release(slot=slot, kept_blocks=[]) for slot in range(number)])

    number = 1
    while number < info.max_num_seqs and number + num_tokens <= info.max_num_batched_tokens:
        singles = [row(slot, num_tokens, 1) for slot in range(number)]
        yield Batch(rows=[*singles, row(number, num_tokens, num_tokens)])
        yield leave(number + 1)
        number *= 2
    for params in (_GREEDY, _DRAWN):
        yield Batch(rows=[row(slot, 0, num_tokens, params) for slot in range(2)])
        yield Batch(rows=[row(slot, num_tokens, 1, params) for slot in range(2)])
        yield Batch(released=[Release(slot=1, kept_blocks=[])], rows=[row(0, num_tokens + 1, 1, params)])
        yield leave(1)
