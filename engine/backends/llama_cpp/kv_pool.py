"""KV of idle prefixes in host memory: blocks by block id, each held once. The engine's thread.

Which ids exist and when one is dropped is the block manager's business: this is only where the bytes lie. Memory is
taken block by block, so an unused budget costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.backends.llama_cpp.kv_state import Piece


class KvPool:
    def __init__(self) -> None:
        self._blocks: dict[int, Piece] = {}

    def __contains__(self, block_id: int) -> bool:
        return block_id in self._blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def put(self, block_id: int, piece: Piece) -> None:
        self._blocks[block_id] = piece

    def get(self, block_id: int) -> Piece:
        return self._blocks[block_id]

    def forget(self, block_ids: Iterable[int]) -> None:
        """Ids that were never parked are fine: their KV never left its stream."""
        for block_id in block_ids:
            self._blocks.pop(block_id, None)

    def clear(self) -> None:
        self._blocks.clear()
