"""Whether two runs said the same, with room for rounding: kernels sum in another order when a step has another
shape.

Log probabilities are compared within `ROUNDING`, token by token, up to where two tokens are so nearly equal that
rounding may choose. Requests must ask for `logprobs`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.backends.base import Backend
from engine.batch import SampledToken
from engine.params import SamplingParams
from engine.request import Request
from tests.engine.driving import Driver, request

Said = dict[str, list[SampledToken]]
ROUNDING = 0.03
ENDLESS = SamplingParams(temperature=0.0, ignore_eos=True, logprobs=4)
STORY = "Once upon a time there was a fire that never went out, and people came to sit by it. "


def ask(request_id: str, prompt: str, *, max_tokens: int = 12, params: SamplingParams = ENDLESS) -> Request:
    return request(request_id, prompt, max_tokens=max_tokens, params=params)


def alone(make: Callable[[], Backend], *requests: Request) -> Said:
    """What each says in a back end of its own."""
    said: Said = {}
    for each in requests:
        drive = Driver(make())
        drive.run(each)
        said |= drive.tokens
    return said


def assert_same(got: Said, expected: Said) -> None:
    assert got.keys() == expected.keys()
    for request_id, tokens in expected.items():
        assert len(got[request_id]) == len(tokens)
        for position, (here, there) in enumerate(zip(got[request_id], tokens, strict=True)):
            where = f"token {position} of {request_id}"
            here_top, there_top = dict(here.top_logprobs), dict(there.top_logprobs)
            is_same = here.token_id == there.token_id           # a bias may choose it from far below the top
            assert is_same or here.token_id in there_top, f"{where}: {here} instead of {there}"
            for token_id in here_top.keys() & there_top.keys():
                assert here_top[token_id] == pytest.approx(there_top[token_id], abs=ROUNDING), where
            if not is_same:
                assert here_top[here.token_id] == pytest.approx(here_top[there.token_id], abs=ROUNDING), where
                break                                    # from here on they are two texts
