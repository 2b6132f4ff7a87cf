from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.stop import StopChecker


def shown(pieces: list[str], *stops: str) -> list[str]:
    """What each piece lets out, and last what the end lets out."""
    checker = StopChecker(stops)
    out = []
    for piece in pieces:
        out.append(checker.push(piece))
        if checker.matched is not None:
            return out
    return [*out, checker.flush()]


@pytest.mark.parametrize(
    "pieces", [["The quick brown fox"], list("The quick brown fox"), ["The quick br", "own", " f", "ox jumps"]]
)
def test_a_stop_string_and_what_follows_are_left_out(pieces: list[str]) -> None:
    assert "".join(shown(pieces, "own fox")) == "The quick br"


def test_no_beginning_of_a_stop_string_leaks() -> None:
    assert shown(list("brown fox"), "own fox") == ["b", "r", "", "", "", "", "", "", ""]


def test_held_text_comes_when_it_turns_out_harmless() -> None:
    assert shown(["own", " ", "goal"], "own fox") == ["", "", "own goal", ""]


def test_held_text_comes_at_the_end() -> None:
    assert shown(["UNO ", "DUE ", "TRE"], "TRE\nAAAAAAAA") == ["UNO ", "DUE ", "", "TRE"]


def test_only_as_much_is_held_as_could_be_a_beginning() -> None:
    assert shown(["aaab"], "abc") == ["aa", "ab"]


def test_one_piece_may_hold_text_the_stop_and_more() -> None:
    assert shown(["one STOP two STOP"], "STOP") == ["one "]


def test_without_stop_strings_everything_passes() -> None:
    assert shown(["a", "b"]) == ["a", "b", ""]


def test_the_earliest_of_overlapping_stops_wins() -> None:
    stops = ("cde", "bcd", "abcdef", "d")
    assert "".join(shown(["xxabcd", "eg"], *stops)) == "xxa"
    assert "".join(shown(["xxabcd", "ef"], *stops)) == "xx"
    assert "".join(shown(list("xxabcdef"), *stops)) == "xx"


def test_the_longest_of_those_that_begin_together_is_named() -> None:
    checker = StopChecker(("ab", "abc"))
    assert checker.push("xabc") == "x"
    assert checker.matched == "abc"


def test_a_match_that_waits_for_an_earlier_one_counts_at_the_end() -> None:
    checker = StopChecker(("abcd", "bc"))
    assert checker.push("xabc") == "x"
    assert checker.matched is None
    assert checker.flush() == "a"
    assert checker.matched == "bc"


def test_a_stop_may_hold_characters_of_many_bytes() -> None:
    assert "".join(shown(["naïve ", "漢", "字", "!"], "漢字")) == "naïve "


@given(
    text=st.text("abc", max_size=30),
    stops=st.lists(st.text("abc", min_size=1, max_size=5), max_size=4),
    cuts=st.lists(st.integers(0, 30), max_size=10),
)
@settings(derandomize=True)
def test_the_pieces_join_to_the_text_before_the_first_stop_however_it_is_cut(
    text: str, stops: list[str], cuts: list[int]
) -> None:
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[start:end] for start, end in pairwise(edges)]
    first = min((place for stop in stops if (place := text.find(stop)) >= 0), default=len(text))
    assert "".join(shown(pieces, *stops)) == text[:first]
