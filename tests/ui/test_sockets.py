"""What comes in over a page's websocket is text that every parser reads."""

from __future__ import annotations

import json

import orjson
import pytest

from tests.ui.conftest import Person
from ui.sockets import once, readable


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


async def test_an_event_that_is_said_again_happens_once_and_in_its_turn(ada: Person) -> None:
    page = (await ada.at("/")).client
    assert page is not None
    happened: list[int] = []
    say = once(lambda _socket_id, message: happened.append(message["id"]))

    def said(event: int, number: int, line: str = "first") -> bool:
        happens: bool = say("socket", {"client_id": page.id, "id": event, "line": line, "number": number})
        return happens

    assert said(1, number=1) and said(2, number=2)
    assert said(2, number=2) and said(1, number=1)      # what came back was lost
    assert not said(4, number=4)                        # the one before it is still on its way
    assert said(3, number=3) and said(4, number=4)
    assert said(5, number=1, line="the page was loaded again")
    assert happened == [1, 2, 3, 4, 5]


async def test_what_nobody_could_hear_is_not_told_to_be_taken(ada: Person) -> None:
    page = (await ada.at("/")).client
    assert page is not None
    happened: list[int] = []
    say = once(lambda _socket_id, message: happened.append(message["id"]))
    message = {"client_id": page.id, "id": 1, "line": "first", "number": 1}
    assert not say("socket", message | {"client_id": "a page that is gone"})
    tab_id, page.tab_id = page.tab_id, None             # between two lines
    assert not say("socket", message)
    page.tab_id = tab_id
    assert say("socket", message) and happened == [1]
