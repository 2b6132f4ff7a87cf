"""How an answer was made, as its reader is told it: a line, and all of it."""

from __future__ import annotations

import pytest

from app.language import languages
from store.tables import Message, MessageRole, Model
from ui.figures import answer_figures, answer_stats
from ui.language import speak_in_request

MODEL = Model(id="m", name="Qwen3 8B", path="", file_format="gguf", quantisation="Q4_K_M", size_bytes=1, modified_ns=1)
ANSWER = Message(
    conversation_id="c", role=MessageRole.ASSISTANT, model_id="m", model_version="q.gguf, 5000 bytes, 0",
    completion_tokens=461, prompt_tokens=1200, cached_tokens=1000, time_to_first_token_s=1.9, reasoning_s=8.04,
    duration_s=11.9, num_left_out=8,
)


@pytest.fixture(autouse=True)
def english() -> None:
    speak_in_request(languages()["en"])


def test_an_answers_line_says_only_what_is_known() -> None:
    assert answer_stats(ANSWER, MODEL) == ["Qwen3 8B, Q4_K_M", "46 tok/s", "461 tokens", "11.9 s"]
    assert answer_stats(ANSWER, None)[0] == "m"
    one_token = ANSWER.model_copy(update={"completion_tokens": 1, "duration_s": 1.9})
    assert answer_stats(one_token, MODEL) == ["Qwen3 8B, Q4_K_M", "1 token", "1.9 s"]
    assert answer_stats(Message(conversation_id="c", role=MessageRole.ASSISTANT), None) == []


def test_the_figures_say_how_it_was_made_and_by_which_file() -> None:
    assert answer_figures(ANSWER, MODEL) == [
        ["Model", "Qwen3 8B, Q4_K_M"],
        ["Version", "q.gguf, 5,000 bytes, changed 1970-01-01 00:00:00 UTC"],
        ["Speed", "46 tokens a second"],
        ["First token after", "1.9 s"],
        ["Length", "461 tokens"],
        ["Read", "1,200 tokens, 1,000 of them known from before"],
        ["Thought for", "8 s"],
        ["In all", "11.9 s"],
        ["Not seen", "the oldest 8 messages"],
    ]
    by_commit = ANSWER.model_copy(update={"model_version": "4f2a91"})
    assert answer_figures(by_commit, MODEL)[1] == ["Version", "4f2a91"]


def test_numbers_are_written_as_their_reader_writes_them() -> None:
    speak_in_request(languages()["de"])
    assert answer_stats(ANSWER, MODEL)[3] == "11,9 s"
    assert dict(answer_figures(ANSWER, MODEL))["Gelesen"] == "1.200 Token, davon 1.000 noch bekannt"
