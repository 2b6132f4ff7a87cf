from hypothesis import given, settings
from hypothesis import strategies as st

from engine.backends.scripted_tokenizer import ByteTokenizer
from engine.detokenizer import Detokenizer

FAMILY = "👨‍👩‍👧‍👦 漢字 ñ"


def pieces_of(data: bytes) -> list[str]:
    detokenizer = Detokenizer(ByteTokenizer())
    return [detokenizer.push(byte) for byte in data]


def test_a_character_comes_with_its_last_byte() -> None:
    assert pieces_of("ñ".encode()) == ["", "ñ"]
    assert pieces_of("👨".encode()) == ["", "", "", "👨"]


def test_text_of_single_byte_tokens_is_whole() -> None:
    pieces = pieces_of(FAMILY.encode())
    assert "".join(pieces) == FAMILY
    assert not any("\ufffd" in piece for piece in pieces)


def test_a_token_may_end_one_character_and_begin_the_next() -> None:
    tokenizer = ByteTokenizer(pieces=["漢".encode()[:2], "漢".encode()[2:] + "字".encode()[:1], "字".encode()[1:]])
    detokenizer = Detokenizer(tokenizer)
    assert [detokenizer.push(259 + index) for index in range(3)] == ["", "漢", "字"]


def test_an_answer_cut_in_mid_character_has_no_broken_end() -> None:
    assert "".join(pieces_of("Hi 👨".encode()[:-1])) == "Hi "


def test_bytes_that_can_be_no_character_are_replaced_once_that_is_certain() -> None:
    assert pieces_of(b"\xf0\x9fA") == ["", "", "\ufffdA"]
    assert pieces_of(b"\xffA") == ["\ufffd", "A"]
    assert pieces_of(b"\xc3\xc3\xb1") == ["", "\ufffd", "ñ"]


def test_surrogates_cannot_come_out() -> None:
    assert "".join(pieces_of(b"\xed\xa0\xbd")) == "\ufffd\ufffd\ufffd"


def test_control_tokens_have_no_text() -> None:
    detokenizer = Detokenizer(ByteTokenizer())
    assert detokenizer.push(ByteTokenizer().end_of_turn_id) == ""


@given(st.text(st.characters(codec="utf-8")))
@settings(derandomize=True, deadline=None)
def test_pieces_join_to_the_text(text: str) -> None:
    assert "".join(pieces_of(text.encode())) == text


@given(st.binary())
@settings(derandomize=True)
def test_pieces_of_any_bytes_are_what_the_whole_decodes_to_but_for_an_unfinished_end(data: bytes) -> None:
    text = "".join(pieces_of(data))
    assert data.decode(errors="replace") in (text, text + "\ufffd")
    text.encode()


@given(st.binary(max_size=40), st.integers(0, 40))
def test_tokens_that_come_together_have_the_text_that_they_have_one_by_one(data: bytes, cut: int) -> None:
    detokenizer = Detokenizer(ByteTokenizer())
    assert detokenizer.push(*data[:cut]) + detokenizer.push(*data[cut:]) == "".join(pieces_of(data))
