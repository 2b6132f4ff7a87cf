"""What a step brought to a sequence, and which of its tokens end it. Made by `Scheduler`, on the engine's thread."""

from __future__ import annotations

from dataclasses import dataclass

from engine.batch import SampledToken
from engine.errors import EngineError
from engine.request import FinishReason, Sequence


@dataclass(slots=True, kw_only=True)
class Progress:
    """What changed for one sequence: tokens, its end, or its place in the queue (None while it runs). Never changed;
    not frozen for the same reason as `SampledToken`.
    """

    sequence: Sequence
    tokens: tuple[SampledToken, ...] = ()
    finish_reason: FinishReason | None = None
    queue_position: int | None = None
    error: EngineError | None = None                           # with the finish reason ERROR


def accept(
    sequence: Sequence, sampled: tuple[SampledToken, ...], *, eog_token_ids: frozenset[int], window: int
) -> Progress:
    """Append tokens up to the first that ends the sequence. One that ends a generation is not part of the text."""
    request, grammar = sequence.request, sequence.grammar
    room = num_more_tokens(sequence, window)
    for index, token in enumerate(sampled):
        if grammar is not None:
            grammar.accept(token.token_id)
            if grammar.failure is not None:
                return Progress(
                    sequence=sequence, tokens=sampled[:index], finish_reason=FinishReason.ERROR, error=grammar.failure
                )
        is_complete = grammar is not None and grammar.is_complete
        if token.token_id in eog_token_ids and (is_complete or not request.params.ignore_eos):
            return Progress(sequence=sequence, tokens=sampled[:index], finish_reason=FinishReason.STOP)
        sequence.token_ids.append(token.token_id)
        if is_complete:
            return Progress(sequence=sequence, tokens=sampled[: index + 1], finish_reason=FinishReason.STOP)
        if index + 1 >= room:
            return Progress(sequence=sequence, tokens=sampled[: index + 1], finish_reason=FinishReason.LENGTH)
    return Progress(sequence=sequence, tokens=sampled)


def num_more_tokens(sequence: Sequence, window: int) -> int:
    """That may still be chosen for it."""
    return min(window - len(sequence.token_ids), sequence.request.max_tokens - sequence.num_output_tokens)
