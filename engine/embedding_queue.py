"""Inputs that wait for their vectors, and which of them share the next step: users take turns, input by input.

Owned by `EmbeddingWorker`, on the engine's thread.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from engine.waiting import Consumption


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingRequest:
    """What was asked: tokens of each input, none of them empty or longer than the model takes."""

    request_id: str
    inputs: tuple[list[int], ...]
    user: str = ""

    @property
    def num_tokens(self) -> int:
        return sum(map(len, self.inputs))


Place = tuple[EmbeddingRequest, int]               # one input of a request


class EmbeddingQueue:
    """A user's inputs come in the order in which they were asked for; of users, who lately had least is the first."""

    def __init__(
        self, *, max_num_inputs: int, max_num_batched_tokens: int, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_num_inputs = max_num_inputs
        self._max_num_batched_tokens = max_num_batched_tokens
        self._consumption = Consumption(clock_s)
        self._by_user: dict[str, deque[Place]] = {}      # none of them empty

    def __bool__(self) -> bool:
        return bool(self._by_user)

    def add(self, request: EmbeddingRequest) -> None:
        self._consumption.forget_faded()
        places = self._by_user.setdefault(request.user, deque())
        places.extend((request, index) for index in range(len(request.inputs)))

    def remove(self, request: EmbeddingRequest) -> None:
        """What is left of it."""
        left = deque(place for place in self._by_user.get(request.user, ()) if place[0] is not request)
        self._put_back(request.user, left)

    def take_step(self) -> list[Place]:
        """The inputs of the next step. The first is taken however long it is: nobody is passed over for ever."""
        step: list[Place] = []
        room = self._max_num_batched_tokens
        users = list(self._by_user)
        while users and len(step) < self._max_num_inputs:
            user = min(users, key=self._consumption.of)
            places = self._by_user[user]
            request, index = places[0]
            num_tokens = len(request.inputs[index])
            if step and num_tokens > room:
                users.remove(user)                       # in the next step, perhaps with the first place in it
                continue
            step.append(places.popleft())
            room -= num_tokens
            self._consumption.charge(user, num_tokens)
            if not places:
                users.remove(user)
                self._put_back(user, places)
        return step

    def _put_back(self, user: str, places: deque[Place]) -> None:
        if places:
            self._by_user[user] = places
        else:
            self._by_user.pop(user, None)
