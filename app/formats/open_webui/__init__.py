"""The JSON that Open WebUI exports and imports, and that is our own: a list of chats, each with a tree of messages.

    {id, title, created_at, updated_at, chat: {title, models, params: {system, top_k, …}, history:
        {currentId, messages: {id:
        {id, parentId, childrenIds, role, content, timestamp, model, done}}}}}

Thoughts stand in `content`, as a block that Open WebUI folds. What it has no place for stands under "inglenook",
so that an export comes home byte by byte. Times are seconds since 1970; Open WebUI wants whole ones for a chat.

A system prompt is the chat's own set-up, for which `params` has a place; older chats of ours that have it as their
first message have it there too, and say so.
"""

from app.formats.open_webui.reader import is_chat as is_chat
from app.formats.open_webui.reader import read_chat as read_chat
from app.formats.open_webui.writer import write_chat as write_chat
