"""How a chat is answered, in Open WebUI's `params` and in words of our own. Pure functions; what is read is not checked
here, but where it is taken in (`app.services.imports`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.formats.open_webui.notation import OURS
from app.formats.values import mapping, name, text
from store.imports import IncomingSetup
from store.tables import Conversation, WhenFull

_THEIRS = {         # our parameters, as they are called there
    **{each: each for each in ("temperature", "top_p", "top_k", "min_p", "max_tokens", "seed", "stop")},
    "repetition_penalty": "repeat_penalty",
    "reasoning": "think",
}


def write_params(parameters: Mapping[str, Any], system_prompt: str) -> dict[str, Any]:
    """What Open WebUI has a place for. Its pages keep stop strings as one text with commas."""
    written = {theirs: parameters[ours] for ours, theirs in _THEIRS.items() if ours in parameters}
    if "stop" in written:
        stops = written.pop("stop")
        written |= {"stop": ",".join(stops)} if not any("," in stop for stop in stops) else {}
    return written | ({"system": system_prompt} if system_prompt else {})


def write_setup(conversation: Conversation, preset_name: str) -> dict[str, Any]:
    """All of it: what comes home is taken from here."""
    return {
        "system_prompt": conversation.system_prompt,
        "parameters": dict(conversation.parameters),
        "when_full": conversation.when_full.value,
        "preset": preset_name or None,
    }


def read_setup(chat: Mapping[str, Any]) -> IncomingSetup:
    """Of an export of ours that tells of a first message what `params` hold, nothing of that."""
    own = mapping(chat.get(OURS))
    if isinstance(own.get("setup"), dict):
        setup = own["setup"]
        return IncomingSetup(
            system_prompt=text(setup.get("system_prompt")),
            parameters=mapping(setup.get("parameters")),
            when_full=next((each for each in WhenFull if each == setup.get("when_full")), WhenFull.LEAVE_OUT),
            preset_name=name(setup.get("preset")) or "",
        )
    if own.get("system"):
        return IncomingSetup()
    params = mapping(chat.get("params"))
    parameters = {ours: params[theirs] for ours, theirs in _THEIRS.items() if params.get(theirs) is not None}
    if isinstance(stop := parameters.get("stop"), str):
        parameters["stop"] = [each for part in stop.split(",") if (each := part.strip())]
    return IncomingSetup(system_prompt=text(params.get("system")) or text(chat.get("system")), parameters=parameters)
