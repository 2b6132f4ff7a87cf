"""A chat as its page shows it, read from the services. On the event loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import NotFound
from app.schemas import ThreadMessage
from app.services.container import Services
from store.tables import Conversation


@dataclass(frozen=True, slots=True)
class ReadChat:
    conversation: Conversation
    messages: Sequence[ThreadMessage]       # of the branch that is shown
    message_id: str | None                  # where in it to go to


async def read_chat(
    services: Services, user_id: str, conversation_id: str, message_id: str | None = None
) -> ReadChat | None:
    """None where there is no such chat. The branch of `message_id`, if one is given, is brought to the front."""
    if message_id is not None:
        message_id = await _reveal(services, user_id, conversation_id, message_id)
    try:
        conversation = await services.conversations.get(user_id, conversation_id)
        messages = await services.conversations.thread(user_id, conversation_id)
    except NotFound:
        return None
    return ReadChat(conversation, messages, message_id)


async def _reveal(services: Services, user_id: str, conversation_id: str, message_id: str) -> str | None:
    """None where that message is gone: the chat is shown as it is."""
    try:
        await services.conversations.reveal(user_id, conversation_id, message_id)
    except NotFound:
        return None
    return message_id
