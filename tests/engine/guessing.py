"""A proposer for tests: sure of itself, right as often as its `guess` is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from engine.request import Sequence

Guess = Callable[[list[int]], int | None]           # (prompt and output so far): the next token, or none


class Guesser:
    def __init__(self, guess: Guess) -> None:
        self.followed: set[Sequence] = set()
        self._guess = guess

    def chance(self, sequence: Sequence) -> float:
        self.followed.add(sequence)
        return 0.999

    def propose(self, wanted: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        return {sequence: self._propose(sequence.token_ids, num_tokens) for sequence, num_tokens in wanted.items()}

    def forget(self, sequence: Sequence) -> None:
        self.followed.discard(sequence)

    def _propose(self, token_ids: list[int], num_tokens: int) -> list[int]:
        token_ids = list(token_ids)
        start = len(token_ids)
        while len(token_ids) < start + num_tokens:
            token_id = self._guess(token_ids)
            if token_id is None:
                break
            token_ids.append(token_id)
        return token_ids[start:]


def knowing(texts: Iterable[list[int]], *, wrong_every: int = 0) -> Guesser:
    """Knows how these texts go on, but is wrong at each place that `wrong_every` divides."""
    known = list(texts)

    def guess(token_ids: list[int]) -> int | None:
        place = len(token_ids)
        for text in known:
            if len(text) > place and text[:place] == token_ids:
                return ord("#") if wrong_every and place % wrong_every == 0 else text[place]
        return None

    return Guesser(guess)
