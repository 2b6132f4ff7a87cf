"""What comes in over a page's websocket is text that every parser reads."""

from __future__ import annotations

import json

import orjson
import pytest

from ui.sockets import readable


@pytest.mark.parametrize(("typed", "read"), [
    ("half \ud83d of a pair", "half \ufffd of a pair"),
    ("the other \ude00 half", "the other \ufffd half"),
    ("\U0001f600 whole, \\ud83d spelled out", "\U0001f600 whole, \\ud83d spelled out"),
])
def test_half_of_a_surrogate_pair_becomes_a_mark(typed: str, read: str) -> None:
    """As browsers send it: halves escaped, the rest as it is."""
    as_sent = json.dumps({"text": typed})
    message = readable({"id": 7, "args": [as_sent, None]})
    assert [orjson.loads(arg) for arg in message["args"] if arg] == [{"text": read}]
    assert message["id"] == 7


@pytest.mark.parametrize(
    "args", [["{\\ud83d"], ["[" * 100_000 + "\\ud83d"], "\\ud83d", None, ["plain"], [7, "\\ud83d"]]
)
def test_what_is_no_json_is_left_for_its_reader_to_refuse(args: object) -> None:
    assert readable({"args": args}) == {"args": args}
