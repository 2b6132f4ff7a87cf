"""What the doctor finds in chat templates: each fault in words, and none where there is none."""

from __future__ import annotations

import time
from pathlib import Path

import gguf
import pytest

from engine.backends.scripted_tokenizer import CHATML_TEMPLATE, HERMES_TEMPLATE, MARKERS, THINKING_TEMPLATE
from engine.gguf import read_header
from engine.gguf_vocabulary import SpecialTokens, read_special_tokens
from engine.template_doctor import SENTENCES, Code, Level, TemplateReport, examine
from engine.template_limits import MAX_CPU_S
from tests.engine.test_gguf import ARRAY, BASICS, TEXT, file_of, key, tensor, text
from tests.engine.tiny_gguf import write_tiny_gguf
from tests.pace import seconds_of

CHATML = SpecialTokens(spellings=frozenset(MARKERS), bos="<|endoftext|>", eos="<|im_end|>")
QWEN_HERMES = HERMES_TEMPLATE.replace(
    "{{ message.content }}", "{% if message.content %}{{ message.content }}{% endif %}"
)


def codes(report: TemplateReport) -> list[Code]:
    return [finding.code for finding in report.findings]


def found(source: str, tokens: SpecialTokens = CHATML) -> list[Code]:
    return codes(examine(source, tokens))


def test_a_good_template_has_nothing_but_its_limits() -> None:
    report = examine(CHATML_TEMPLATE, CHATML)
    assert [str(finding) for finding in report.findings] == ["It has no place for tools: the model cannot call any."]
    assert report.is_fit_for_chat
    assert (report.family, report.calls_tools, report.takes_images, report.thinks) == ("", False, False, "")


def test_tools_thoughts_and_images_are_told() -> None:
    report = examine(QWEN_HERMES, CHATML)
    assert (report.family, report.calls_tools, report.findings) == ("hermes", True, ())
    assert examine(THINKING_TEMPLATE, CHATML).thinks == "always"
    assert examine(CHATML_TEMPLATE + "{# </think> #}", CHATML).thinks == "maybe"
    eyes = CHATML_TEMPLATE.replace(
        "{{ message.content }}",
        "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
        "{% if part.type == 'image' %}<|endoftext|>{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}",
    )
    assert examine(eyes, CHATML).takes_images


@pytest.mark.parametrize("source", [None, "", "  \n"])
def test_no_template_is_a_base_model(source: str | None) -> None:
    report = examine(source, CHATML)
    assert [str(each) for each in report.findings] == [
        "It has no chat template: it is a base model, for completion only."
    ]
    assert not report.is_fit_for_chat


USERS_ONLY = "{% for m in messages if m.role == 'user' %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}go"
ALTERNATING = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate') }}{% endif %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}go"
)
FAULTS = {
    "is broken": ("{% for %}", Code.BROKEN),
    "refuses everything": ("{{ raise_exception('Never') }}", Code.BROKEN),
    "never ends": ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", Code.BROKEN),
    "looks for Python": ("{{ ''.__class__.__mro__ }}{{ messages[0].content }}", Code.BROKEN),
    "is too long": ("x" * 70_000, Code.BROKEN),
    "says something else": ("Hello", Code.LOSES_QUESTION),
    "drops the system prompt": (USERS_ONLY, Code.LOSES_SYSTEM),
    "drops answers": (USERS_ONLY, Code.LOSES_ANSWERS),
    "refuses a system prompt": (ALTERNATING, Code.REFUSES_SYSTEM),
    "wants turns to alternate": (ALTERNATING, Code.REFUSES_TWO_IN_A_ROW),
    "begins no answer": ("{% for m in messages %}<|im_start|>{{ m.content }}{% endfor %}", Code.NO_ANSWER_BEGUN),
    "ends no answer": ("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:", Code.NO_END),
    "is another model's": (
        "{% for m in messages %}<|start_header_id|>user<|end_header_id|>{{ m.content }}<|im_end|>{% endfor %}go",
        Code.FOREIGN_MARKERS,
    ),
    "is Gemma's": (
        "{% for m in messages %}<start_of_turn>{{ m.content }}<end_of_turn><|im_end|>{% endfor %}go",
        Code.FOREIGN_MARKERS,
    ),
    "writes None": (HERMES_TEMPLATE, Code.WRITES_NONE),
    "fails on nothing": (
        CHATML_TEMPLATE.replace("{{ message.content }}", "{% if not message.content %}{{ 1 / 0 }}{% endif %}"
                                                         "{{ message.content }}"),
        Code.FAILS_ON_EMPTY,
    ),
    "calls tools as text": ("{{ tools | tojson }}" + CHATML_TEMPLATE, Code.CALLS_AS_TEXT),
    "drops tools": (QWEN_HERMES.replace("{{ tool | tojson }}", "a tool"), Code.LOSES_TOOLS),
    "refuses tools": (
        "{% if tools %}{{ raise_exception('No tools') }}{% endif %}" + QWEN_HERMES, Code.REFUSES_TOOLS
    ),
    "drops results": (
        QWEN_HERMES.replace("{% if message.content %}", "{% if message.content and message.role != 'tool' %}"),
        Code.LOSES_RESULTS,
    ),
    "refuses results": (
        QWEN_HERMES.replace(
            "{% if message.content %}",
            "{% if message.role == 'tool' %}{{ raise_exception('What tool?') }}{% endif %}{% if message.content %}",
        ),
        Code.REFUSES_RESULTS,
    ),
    "thinks in a way of its own": (
        CHATML_TEMPLATE.replace("assistant\n{%", "assistant\n<seed:think>{%"), Code.UNREAD_THOUGHT
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_template_that(fault: str) -> None:
    source, code = FAULTS[fault]
    assert code in found(source)


def test_the_tokenizers_start_is_missed_where_it_wants_one() -> None:
    wants_start = SpecialTokens(spellings=CHATML.spellings, bos="<|endoftext|>", eos="<|im_end|>", adds_bos=True)
    report = examine(CHATML_TEMPLATE, wants_start)
    assert str(report.findings[0]) == "It leaves out <|endoftext|>, with which the tokenizer begins each text."
    assert Code.NO_START not in found("{{ bos_token }}" + CHATML_TEMPLATE, wants_start)


def test_what_is_foreign_is_named() -> None:
    mistral = SpecialTokens(spellings=frozenset({"<s>", "</s>"}), bos="<s>", eos="</s>")
    report = examine(CHATML_TEMPLATE, mistral)
    assert str(next(each for each in report.findings if each.code is Code.FOREIGN_MARKERS)) == (
        "It writes <|im_start|>, <|im_end|>, which this model's tokenizer reads as letters: it is another model's."
    )


def test_with_an_unknown_tokenizer_nothing_is_said_of_it() -> None:
    assert found(CHATML_TEMPLATE, SpecialTokens()) == [Code.NO_TOOLS]


def test_a_template_that_is_slow_but_ends_is_not_waited_for_long() -> None:
    slow = "{% for i in range(60000) %}{% set x = [i, i, i] | join %}{% endfor %}" + QWEN_HERMES
    began_s = time.thread_time()
    report = examine(slow, CHATML)
    assert time.thread_time() - began_s < 2 * MAX_CPU_S + seconds_of(50)
    assert codes(report)[-1] in (Code.SLOW, Code.BROKEN)


def test_each_finding_has_a_sentence_and_survives_the_store() -> None:
    assert set(SENTENCES) == set(Code)
    report = examine(HERMES_TEMPLATE, CHATML)
    values = report.to_values()
    assert TemplateReport.from_values(values) == report
    values["findings"].append(["of-the-future", Level.NOTE.value, ""])
    assert TemplateReport.from_values(values) == report
    assert TemplateReport.from_values({}) == TemplateReport()


class TestSpecialTokens:
    def test_are_those_of_the_vocabulary(self, tmp_path: Path) -> None:
        tokens = read_special_tokens(read_header(write_tiny_gguf(tmp_path / "tiny.gguf")))
        assert tokens == SpecialTokens(
            spellings=frozenset(MARKERS), bos="<|endoftext|>", eos="<|im_end|>", adds_bos=False
        )

    def test_are_found_behind_long_ones(self, tmp_path: Path) -> None:
        words = ["<s>", "x" * 300, "y" * (3 << 20), "</s>", "z" * 70_000, "<|odd|>"]
        kinds = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
        keys = (
            key("tokenizer.ggml.tokens", ARRAY, b"\x08\0\0\0" + len(words).to_bytes(8, "little") + b"".join(
                map(text, words)
            )),
            key("tokenizer.ggml.token_type", ARRAY, b"\x05\0\0\0" + len(words).to_bytes(8, "little") + b"".join(
                kinds[word[0] != "<"].to_bytes(4, "little") for word in words
            )),
            key("tokenizer.ggml.eos_token_id", 4, (3).to_bytes(4, "little")),
            key("tokenizer.ggml.model", TEXT, text("gpt2")),
        )
        path = tmp_path / "m.gguf"
        path.write_bytes(file_of(*BASICS, *keys, tensors=(tensor("t", (32,)),), data=b"\0" * 128))
        tokens = read_special_tokens(read_header(path))
        assert (tokens.spellings, tokens.bos, tokens.eos) == (frozenset({"<s>", "</s>", "<|odd|>"}), "", "</s>")

    def test_of_a_file_without_a_vocabulary_are_not_known(self, tmp_path: Path) -> None:
        header = read_header(write_tiny_gguf(tmp_path / "tiny.gguf", vocabulary=False))
        assert read_special_tokens(header) == SpecialTokens()
