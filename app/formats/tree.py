"""From loose nodes that name their parents to a tree that holds: every node once, after its parent.

Used by the readers of this folder. A parent that is missing makes a root; a ring is cut where the file first names it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from app.formats.values import TICK, sequence
from store.imports import IncomingMessage


@dataclass(slots=True)
class Forest:
    """`parents`: of each node, None for roots. `order`: all nodes, each after its parent, older versions first."""

    parents: dict[str, str | None]
    order: list[str]

    def num_children(self) -> Counter[str | None]:
        return Counter(self.parents.values())


def forest_of(nodes: Mapping[str, Mapping[str, Any]], *, parent: str, children: str) -> Forest:
    """`parent` and `children` name the fields in which a node names its kin. Where they disagree the child is right."""
    claimed: dict[str, str] = {}
    for node_id, node in nodes.items():
        for child_id in sequence(node.get(children)):
            if isinstance(child_id, str) and child_id in nodes:
                claimed.setdefault(child_id, node_id)
    wanted: dict[str, str | None] = {}
    for node_id, node in nodes.items():
        named = node.get(parent)
        wanted[node_id] = named if isinstance(named, str) and named in nodes else claimed.get(node_id)
    kin: dict[str | None, list[str]] = defaultdict(list)
    for node_id, parent_id in wanted.items():
        kin[parent_id].append(node_id)
    for elder_id, children_ids in kin.items():
        if elder_id is not None:
            _sort_as_listed(children_ids, sequence(nodes[elder_id].get(children)))
    forest = Forest({}, [])
    for start_id in [*kin[None], *nodes]:       # then whatever no root leads to: rings
        if start_id not in forest.parents:
            _walk(forest, start_id, kin)
    return forest


def _sort_as_listed(children_ids: list[str], listed: Any) -> None:
    places = {child_id: place for place, child_id in enumerate(listed) if isinstance(child_id, str)}
    children_ids.sort(key=lambda child_id: places.get(child_id, len(places)))


def _walk(forest: Forest, start_id: str, kin: Mapping[str | None, list[str]]) -> None:
    waiting: list[tuple[str, str | None]] = [(start_id, None)]
    while waiting:
        node_id, parent_id = waiting.pop()
        if node_id in forest.parents:
            continue
        forest.parents[node_id] = parent_id
        forest.order.append(node_id)
        waiting.extend((child_id, node_id) for child_id in reversed(kin.get(node_id, ())))


def in_order_of_time(messages: list[IncomingMessage]) -> tuple[IncomingMessage, ...]:
    """Siblings of the same second stay in their order: each is made a microsecond later than the one before."""
    num_taken: dict[tuple[str | None, datetime], int] = defaultdict(int)
    ordered = []
    for message in messages:
        moment = (message.parent_source_id, message.created_at)
        ordered.append(replace(message, created_at=message.created_at + TICK * num_taken[moment]))
        num_taken[moment] += 1
    return tuple(ordered)


def newest_leaf(messages: list[IncomingMessage]) -> str:
    has_children = {message.parent_source_id for message in messages}
    leaves = [message for message in messages if message.source_id not in has_children]
    return max(leaves, key=lambda message: message.created_at).source_id

