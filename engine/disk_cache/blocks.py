"""A model's blocks on disk, as its engine's thread sees them: what is there, what is wanted from there, and what is not
there yet. The block manager asks it, and the back end gives it KV to write.

It never waits for the disk, but in `wait`, when there is nothing else to do. What the disk's thread tells comes by a
queue, and is heard between the planning of one step and of the next.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from queue import Empty, SimpleQueue

from engine.batch import SavedBlock
from engine.disk_cache.allowance import Allowance
from engine.disk_cache.cache import DiskCache, Order
from engine.disk_cache.folder import used_s
from engine.disk_cache.ledger import Scope
from engine.errors import EngineFailed
from engine.prefix_index import BlockContent, PrefixIndex

PATIENCE_S = 3.0                    # with a disk that gives no sign of life: then its blocks are computed
WAIT_S = 0.1                        # at a time, so that commands are heard
MAX_BLOCKS_A_STEP = 64              # given to the disk's thread: half a millisecond
MAX_PENDING_BYTES = 64 << 20        # being written: more waits where it is
RETRY_S = 0.25                      # while so much is being written
PORTION_BYTES = 32 << 20            # read at a time
CLOSE_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """Read from disk, and verified."""

    content: BlockContent
    num_tokens: int                 # of it that are wanted: the first
    data: memoryview


@dataclass(slots=True)
class _Unsaved:
    content: BlockContent
    used_s: float
    due_s: float


class DiskBlocks:
    """All of it belongs to the engine's thread."""

    def __init__(
        self, cache: DiskCache, scope: Scope, *, block_size: int, token_bytes: int,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cache = cache
        self._block_size = block_size
        self._token_bytes = token_bytes
        self._settle_s = cache.settle_s
        self._clock_s = clock_s
        self._index = PrefixIndex(block_size)                       # by name, also of those that are not full
        self._unsaved: OrderedDict[int, _Unsaved] = OrderedDict()   # by block id, the next that is due first
        self._pending: dict[int, int] = {}                          # bytes that are being written, by name
        self._allowance = Allowance(clock_s)
        self._news: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._is_open = self._is_reading = False
        self._arrived: dict[int, memoryview] = {}                   # by name; kept while somebody asks for it
        self._is_asked = self._is_awaited = False                   # for what arrived, or will: in this step's planning
        self._awaited_since_s: float | None = None                  # without news
        self._folder = cache.open(
            scope, block_size=block_size, token_bytes=token_bytes,
            on_open=lambda contents: self._news.put(partial(self._on_open, contents)),
            on_gone=lambda name: self._news.put(partial(self._on_gone, name)),
        )

    # -- from disk -----------------------------------------------------------------------------------------------------

    def match(
        self, names: Sequence[int], parent_of: Callable[[int], int | None], token_ids: Sequence[int], start: int, *,
        more_than: int,
    ) -> tuple[StoredBlock, ...] | None:
        """What is here of `token_ids` from `start` on: full blocks by `names`, and of the block behind them, with its
        index in the text, a part that goes on from `parent_of(index)`.
        Empty where there are no more than `more_than` tokens, None where they are being read: ask in the next step.
        """
        if self._is_stuck:
            return ()
        if not self._is_open:
            self._await()
            return None
        wanted = self._wanted(names, parent_of, token_ids, start)
        if _num_tokens(wanted) <= more_than:
            return ()
        if self._is_reading:
            self._await()
            return None
        here = list(takewhile(lambda each: each[0] in self._arrived, wanted))
        if not here:
            text_used_s, depth = time.time(), start // self._block_size
            self._read([(name, used_s(text_used_s, depth + n)) for n, (name, _) in enumerate(wanted)])
            self._await()
            return None
        self._is_asked = True
        if _num_tokens(here) <= more_than:
            return ()
        return tuple(StoredBlock(self._index[name], num_tokens, self._arrived[name]) for name, num_tokens in here)

    def wait(self) -> bool:
        """Whether somebody was told to ask again. Then sleep until there is news, WAIT_S at the most."""
        if self._is_awaited:
            self._hear(WAIT_S)
        return self._is_awaited

    # -- to disk -------------------------------------------------------------------------------------------------------

    def offer(self, blocks: Sequence[tuple[int, int, BlockContent]]) -> None:
        """(index in its text, block id, content) of what a text leaves behind, and what of it is on disk is in use."""
        known: list[tuple[int, float]] = []
        due_s = self._clock_s() + self._settle_s
        text_used_s = time.time()
        for index, block, content in blocks:
            if content.name in self._index:
                known.append((content.name, used_s(text_used_s, index)))
            else:
                self._unsaved.pop(block, None)
                self._unsaved[block] = _Unsaved(content, used_s(text_used_s, index), due_s)
        if known:
            self._cache.submit(Order.WRITE, partial(self._folder.touch, known))

    def withdraw(self, block: int) -> None:
        """It holds something else from now on."""
        self._unsaved.pop(block, None)

    def save_due_in_s(self) -> float | None:
        """0: now. None: there is nothing to save."""
        self._hear()
        if not self._unsaved:
            return None
        due_in_s = next(iter(self._unsaved.values())).due_s - self._clock_s()
        if self._room_bytes <= 0:
            due_in_s = max(due_in_s, RETRY_S)
        return max(due_in_s, self._allowance.wait_s, 0.0)

    def collect_saves(self, *, everything: bool = False) -> list[SavedBlock]:
        """Blocks for `write`, in the order of their texts. Ends the planning of a step.

        One that is not written is named again later.
        """
        self._end_planning()
        now_s = self._clock_s()
        room_bytes = 0 if self._allowance.wait_s else self._room_bytes
        saves: list[SavedBlock] = []
        for block, unsaved in list(islice(self._unsaved.items(), None if everything else MAX_BLOCKS_A_STEP)):
            if not everything and (unsaved.due_s > now_s or room_bytes <= 0):
                break
            if unsaved.content.name in self._index:
                del self._unsaved[block]
                continue
            unsaved.due_s = now_s + self._settle_s
            self._unsaved.move_to_end(block)
            if unsaved.content.name not in self._pending:
                saves.append(SavedBlock(block, len(unsaved.content.token_ids)))
                room_bytes -= self._bytes_of(unsaved.content)
        return saves

    def write(self, block: int, buffers: Sequence[memoryview]) -> None:
        """KV of a block that `collect_saves` named. The memory must not change any more."""
        unsaved = self._unsaved.pop(block)
        content, num_bytes = unsaved.content, sum(len(buffer) for buffer in buffers)
        if num_bytes != self._bytes_of(content):
            raise EngineFailed(f"{num_bytes} bytes of KV were to be saved as {len(content.token_ids)} tokens.")
        self._pending[content.name] = num_bytes
        self._allowance.use(num_bytes)

        def write() -> None:
            is_written = False
            try:
                is_written = self._folder.write(content, unsaved.used_s, buffers)
            finally:
                self._news.put(partial(self._on_written, content, is_written=is_written))

        self._cache.submit(Order.WRITE, write)

    def close(self) -> None:
        """Returns when all is written, or is given up."""
        self._cache.finish(self._folder, CLOSE_TIMEOUT_S)
        self._folder.on_gone = _unheard             # what is not heard any more holds this, and what has arrived here
        self._arrived, self._news = {}, SimpleQueue()

    def check_integrity(self, cached: PrefixIndex) -> None:
        self._index.check_integrity()
        if any(block not in cached or cached[block] != each.content for block, each in self._unsaved.items()):
            raise EngineFailed("A block is to be saved that holds something else by now.")

    # -- planning ------------------------------------------------------------------------------------------------------

    @property
    def _is_stuck(self) -> bool:
        return self._awaited_since_s is not None and self._clock_s() - self._awaited_since_s > PATIENCE_S

    @property
    def _room_bytes(self) -> int:
        return MAX_PENDING_BYTES - sum(self._pending.values())

    def _bytes_of(self, content: BlockContent) -> int:
        return len(content.token_ids) * self._token_bytes

    def _wanted(
        self, names: Sequence[int], parent_of: Callable[[int], int | None], token_ids: Sequence[int], start: int
    ) -> list[tuple[int, int]]:
        """(name, tokens of it) of blocks on disk. The last token is not wanted: one is computed, for logits."""
        wanted = [(name, self._block_size) for name in takewhile(self._index.__contains__, names)]
        start += len(wanted) * self._block_size
        child, num_tokens = self._index.best_child(
            parent_of(start // self._block_size), token_ids[start : min(start + self._block_size, len(token_ids) - 1)]
        )
        return [*wanted, (child, num_tokens)] if num_tokens else wanted

    def _await(self) -> None:
        self._is_awaited = True
        if self._awaited_since_s is None:
            self._awaited_since_s = self._clock_s()

    def _read(self, uses: list[tuple[int, float]]) -> None:
        """In portions: each is a sign of life."""
        self._is_reading = True
        self._arrived = {}
        num_blocks = max(1, PORTION_BYTES // (self._block_size * self._token_bytes))
        portions = [uses[start : start + num_blocks] for start in range(0, len(uses), num_blocks)]
        for portion in portions:
            self._cache.submit(Order.READ, partial(self._read_portion, portion, is_last=portion is portions[-1]))

    def _end_planning(self) -> None:
        self._hear()
        if not (self._is_asked or self._is_awaited):
            self._arrived = {}
        self._is_asked = self._is_awaited = False

    # -- news ----------------------------------------------------------------------------------------------------------

    def _read_portion(self, uses: list[tuple[int, float]], *, is_last: bool) -> None:
        """On the disk's thread."""
        names = [name for name, _ in uses]
        found: dict[int, memoryview] = {}
        try:
            found = self._folder.read(uses)
        finally:
            self._news.put(partial(self._on_arrived, names, found, is_last=is_last))
        self._folder.drop([name for name in names if name not in found])

    def _hear(self, timeout_s: float = 0.0) -> None:
        with suppress(Empty):
            self._news.get(timeout_s > 0, timeout_s)()
            while True:
                self._news.get_nowait()()

    def _on_open(self, contents: list[BlockContent]) -> None:
        self._is_open = True
        self._awaited_since_s = None
        for content in contents:
            self._index.add(content.name, content)

    def _on_arrived(self, names: list[int], found: dict[int, memoryview], *, is_last: bool) -> None:
        self._awaited_since_s = None
        self._is_reading = not is_last
        self._arrived |= found
        for name in names:
            if name not in found:
                self._on_gone(name)

    def _on_written(self, content: BlockContent, *, is_written: bool) -> None:
        del self._pending[content.name]
        if not is_written or content.name in self._index:
            return
        superseded = self._index.beginnings_of(content)
        for name in superseded:
            self._on_gone(name)
        if superseded:
            self._cache.submit(Order.WRITE, partial(self._folder.drop, superseded))
        self._index.add(content.name, content)

    def _on_gone(self, name: int) -> None:
        if name in self._index:
            self._index.remove(name)


def _unheard(_name: int) -> None:
    """For a folder whose model has gone."""


def _num_tokens(wanted: Sequence[tuple[int, int]]) -> int:
    return sum(num_tokens for _, num_tokens in wanted)
