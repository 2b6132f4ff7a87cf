"""Whether two runs said the same, with room for rounding: kernels sum in another order when a step has another
shape.

Log probabilities are compared within `ROUNDING`, token by token, up to where two tokens are so nearly equal that
rounding may choose. Requests must ask for `logprobs`.
"""

from __future__ import annotations

import pytest

from engine.batch import SampledToken

Said = dict[str, list[SampledToken]]
ROUNDING = 0.03


def assert_same(got: Said, expected: Said) -> None:
    assert got.keys() == expected.keys()
    for request_id, tokens in expected.items():
        assert len(got[request_id]) == len(tokens)
        for position, (here, there) in enumerate(zip(got[request_id], tokens, strict=True)):
            where = f"token {position} of {request_id}"
            here_top, there_top = dict(here.top_logprobs), dict(there.top_logprobs)
            assert here.token_id in there_top, f"{where}: {here} instead of {there}"
            for token_id in here_top.keys() & there_top.keys():
                assert here_top[token_id] == pytest.approx(there_top[token_id], abs=ROUNDING), where
            if here.token_id != there.token_id:
                assert here_top[here.token_id] == pytest.approx(here_top[there.token_id], abs=ROUNDING), where
                break                                    # from here on they are two texts
