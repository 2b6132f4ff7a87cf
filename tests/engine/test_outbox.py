"""What many sequences' steps brought goes to the loop together; what somebody waits for goes at once."""

from engine.batch import SampledToken
from engine.outbox import CoreOutput, Outbox
from engine.params import SamplingParams
from engine.progress import Progress
from engine.request import FinishReason, Request, Sequence

MANY = 64


class Told:
    """An outbox, what it told, and the time."""

    def __init__(self) -> None:
        self.outputs: list[CoreOutput] = []
        self.now_s = 100.0
        self.outbox = Outbox(self.outputs.extend, lambda: self.now_s)

    def step(self, *progress: Progress, num_running: int = MANY) -> list[tuple[str, list[int]]]:
        """What was told of it: (request, token ids)."""
        self.outputs.clear()
        self.outbox.add(progress)
        self.outbox.send(num_running)
        return [(each.request_id, [token.token_id for token in each.tokens]) for each in self.outputs]


def writing(name: str) -> Sequence:
    request = Request(
        request_id=name, prompt_token_ids=(1, 2), params=SamplingParams(), seed=0, max_tokens=100, arrival_s=0.0
    )
    return Sequence.of(request)


def token(sequence: Sequence, token_id: int, end: FinishReason | None = None) -> Progress:
    sequence.token_ids.append(token_id)
    return Progress(sequence=sequence, tokens=(SampledToken(token_id),), finish_reason=end)


def test_first_tokens_and_ends_go_at_once_and_the_rest_together_when_it_is_time() -> None:
    told, one, other = Told(), writing("one"), writing("other")
    assert told.step(token(one, 5)) == [("one", [5])]
    assert told.step(token(one, 6)) == []
    assert told.step(token(one, 7), token(other, 8)) == [("other", [8])]
    assert told.step(token(one, 9), token(other, 3)) == []
    assert told.step(token(one, 4, FinishReason.LENGTH), token(other, 2)) == [("one", [6, 7, 9, 4])]
    assert told.outputs[0].finish_reason is FinishReason.LENGTH
    told.now_s += 1.0
    assert told.step(token(other, 1)) == [("other", [3, 2, 1])]


def test_few_hear_of_every_token_as_it_comes() -> None:
    told, one = Told(), writing("one")
    for token_id in range(5):
        assert told.step(token(one, token_id), num_running=8) == [("one", [token_id])]


def test_places_in_the_queue_do_not_wait_and_bring_along_what_did() -> None:
    told, one = Told(), writing("one")
    told.step(token(one, 5))
    assert told.step(token(one, 6)) == []
    assert told.step(Progress(sequence=one, queue_position=3)) == [("one", [6])]
    assert told.outputs[0].queue_position == 3


def test_everything_goes_before_what_takes_long() -> None:
    told, one = Told(), writing("one")
    told.step(token(one, 5))
    assert told.step(token(one, 6)) == []
    told.outbox.send(MANY, everything=True)
    assert [each.tokens for each in told.outputs] == [(SampledToken(6),)]
    told.outputs.clear()
    told.outbox.send(MANY, everything=True)
    assert told.outputs == []
