"""The sentences that the engine tells people, by their codes: see `engine.told`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.model_sentences import MODEL_SENTENCES

SENTENCES: Final[Mapping[str, str]] = {
    **MODEL_SENTENCES,
    # chat templates
    "template-refuses": "The model's chat template refuses these messages: {detail}",
    "template-broken": "The model's chat template is broken in line {line}: {detail}",
    "template-deep": "The model's chat template is nested too deeply.",
    "template-failed": "The model's chat template failed on these messages: {detail}",
    "template-long": "The model's chat template is longer than {count} characters: not used.",
    "template-stopped": (
        "The model's chat template was stopped, because it {deed}. Use a model with another template."
    ),
    "deed-slow": "worked for more than {seconds} s",
    "deed-namespace": "prints or nests a namespace",
    "deed-text": "builds a text of more than {count} characters",
    "deed-items": "builds a value of more than {count} items",
    "deed-number": "computes a number of more than {count} bits",
    "deed-pads": "pads a text to thousands of characters",
    "deed-calls": "calls {name}, which is not for templates",
    "template-drops-last": "The model's chat template leaves the last message out, so it cannot be continued.",
    "continues-nothing": "Only an assistant message can be continued, as the last one.",
    "template-none": (
        "{model} has no chat template, so it cannot answer messages. Send it a raw prompt at /v1/completions, or "
        "choose a model made for chat."
    ),
    # while it answers
    "unloaded": "{model} has been unloaded. Load it again, or choose another model.",
    "unloaded-midway":
        "{model} was unloaded, or Inglenook ended, before the answer was complete. Ask again once it is there.",
    "gone": "The model was unloaded. Load it again.",
    "stopped": "{model} stopped: {detail}. Load it again; if that does not help, choose another model.",
    "stopped-by": "{model} stopped: {detail}",
    "no-number": (
        "The model computed no usable number for the next token: its file is damaged, or its number format "
        "overflows on this device. Download the model again, or take another quantisation."
    ),
    "step-failed": "llama.cpp failed in a step (code {number}: {detail}). Load the model again.",
    "answer-stopped": "The request was stopped before its answer was complete. Ask again.",
    "unreadable-answer": "{model} could not read what the model said. Ask again.",
    # servers elsewhere
    "elsewhere-unreachable": (
        "{connection} cannot be reached at {host} ({detail}). See that its server runs, and that the address is right."
    ),
    "elsewhere-certificate-unknown": (
        "{connection} is not asked: nobody whom this machine trusts has signed the certificate of {host}. If it is "
        "yours, give it, or that of its authority, by SSL_CERT_FILE and start Inglenook anew; else somebody stands "
        "in between."
    ),
    "elsewhere-certificate-date": (
        "{connection} is not asked: the certificate of {host} is not valid today. See that this machine's date is "
        "right; if it is, whoever keeps that server must renew it."
    ),
    "elsewhere-certificate-name": (
        "{connection} is not asked: {host} shows a certificate of another host. Enter the address for which it was "
        "made; if it is right, somebody stands in between."
    ),
    "elsewhere-certificate": (
        "{connection} is not asked: the certificate of {host} cannot be accepted ({detail}). Whoever keeps that "
        "server must replace it."
    ),
    "elsewhere-slow": (
        "{connection} sent nothing for {seconds} s. Its server may be loading the model, or have too much to do: try "
        "again later."
    ),
    "elsewhere-wordless": (
        "{connection} took the question and sent no word of an answer for {seconds} s. Its server may have too much to "
        "do: try again later, or ask something shorter."
    ),
    "elsewhere-cut": "{connection} broke off before its answer was whole. Ask again.",
    "elsewhere-garbage": (
        "{connection} sent what is no answer of OpenAI's API: {detail}. See that its address is that of the API; "
        "mostly it ends in /v1."
    ),
    "elsewhere-huge": "{connection} sent more than {size} in one answer, so it was given up. Ask for less.",
    "elsewhere-key": (
        "{connection} does not take the key (HTTP {status}). An admin can enter another on the page Models. It says: "
        "{detail}"
    ),
    "elsewhere-no-key": (
        "{connection} asks for a key (HTTP {status}). An admin can enter one on the page Models, or give it by "
        "--key-stdin. It says: {detail}"
    ),
    "elsewhere-busy": "{connection} has too much to do (HTTP {status}). Try again in {seconds} s.",
    "elsewhere-locked": (
        "The key or the headers of {connection} cannot be read any more, because secrets.key in the data folder is "
        "gone or another. Put that file back, or remove the connection and add it anew."
    ),
    "elsewhere-redirect": (
        "{connection} sends requests on to {target}, where nothing was sent. If that is right, enter that address."
    ),
    "elsewhere-refused": "{connection} refused the request: {detail}",
    "elsewhere-status": "{connection} answered with HTTP {status}: {detail}",
    "elsewhere-said": "{connection} gave up its answer: {detail}",
    "elsewhere-switched-off": "{connection} was switched off meanwhile, so no more is asked of it.",
    "elsewhere-no-endpoint":
        "No connection leads to {model} now. An admin can switch one on, on the page Models or with `inglenook "
        "connections on NAME`.",
    "elsewhere-no-continue": (
        "{connection} cannot go on with an answer that was begun. Ask for another answer instead."
    ),
    "elsewhere-no-tools":
        "{model} at {connection} does not support tools: it was tried, and called none. Leave them out, or choose "
        "another model.",
    "elsewhere-no-form": (
        "{model} at {connection} was tried and did not keep to a form. Leave {param} out, or choose another model."
    ),
    "elsewhere-no-grammar": "{connection} does not take {param}. Give a JSON schema, or choose another model.",
}
