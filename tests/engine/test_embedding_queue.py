"""Which inputs share a step, and whose turn it is."""

from __future__ import annotations

import pytest

from engine.embedding_queue import EmbeddingQueue, EmbeddingRequest


@pytest.fixture
def queue() -> EmbeddingQueue:
    return EmbeddingQueue(max_num_inputs=4, max_num_batched_tokens=100, clock_s=lambda: 0.0)


def request(user: str, *lengths: int) -> EmbeddingRequest:
    return EmbeddingRequest(f"{user}{lengths}", tuple([1] * length for length in lengths), user)


def step(queue: EmbeddingQueue) -> list[tuple[str, int]]:
    return [(request.user, len(request.inputs[index])) for request, index in queue.take_step()]


def test_inputs_share_a_step_as_far_as_its_tokens_reach(queue: EmbeddingQueue) -> None:
    queue.add(request("a", 60, 40, 1))
    assert step(queue) == [("a", 60), ("a", 40)]
    assert step(queue) == [("a", 1)]
    assert not queue


def test_and_no_more_of_them_than_a_step_takes(queue: EmbeddingQueue) -> None:
    queue.add(request("a", *[1] * 6))
    assert [len(step(queue)), len(step(queue)), len(step(queue))] == [4, 2, 0]


def test_an_input_longer_than_a_step_has_one_for_itself(queue: EmbeddingQueue) -> None:
    queue.add(request("a", 5, 500, 5))
    assert [step(queue) for _ in range(3)] == [[("a", 5)], [("a", 500)], [("a", 5)]]


def test_users_take_turns(queue: EmbeddingQueue) -> None:
    queue.add(request("busy", *[30] * 20))
    queue.add(request("new", 30))
    assert step(queue) == [("busy", 30), ("new", 30), ("busy", 30)]
    queue.add(request("late", 30, 30))
    assert step(queue) == [("late", 30), ("late", 30), ("busy", 30)]


def test_who_had_a_long_one_waits_until_the_others_had_as_much(queue: EmbeddingQueue) -> None:
    queue.add(request("long", 300, 300))
    queue.add(request("short", *[50] * 8))
    steps = [step(queue) for _ in range(5)]
    assert steps == [
        [("long", 300)], *[[("short", 50)] * 2] * 3, [("long", 300)],
    ]


def test_what_is_removed_is_in_no_step(queue: EmbeddingQueue) -> None:
    first, second = request("a", 10, 20), request("a", 30)
    queue.add(first)
    queue.add(second)
    queue.remove(first)
    assert step(queue) == [("a", 30)]
    queue.remove(second)
    assert not queue
    assert step(queue) == []
