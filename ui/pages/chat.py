"""The chat: an empty page with a greeting, or one conversation. One `ChatPage` an open browser tab, on the event loop.

The page never carries an answer's text while it is written: answer.js reads that from ui/stream.py. What else changes,
here or in another tab, arrives by `Changes`, and the page reads the services again and shows what differs.
Its rooms are in ui/chat: the list of chats, the bar on top, and the conversation or the chat that is about to begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fastapi import Request
from nicegui import Client, ui

from app.schemas import ThreadMessage
from app.services.changes import Change
from app.services.container import Services
from store.tables import Conversation, User
from ui.chat.address import Address, chat_at
from ui.chat.chats import ChatList, PageActions
from ui.chat.chosen import ChosenModel
from ui.chat.conversation import TalkActions
from ui.chat.head import ChatHead, HeadActions
from ui.chat.new_chat import NewChatActions
from ui.chat.reading import read_chat
from ui.chat.setup import SetupActions, SetupRoom, thinks_first
from ui.chat.talk import TalkRoom
from ui.components.absent import AbsentActions
from ui.components.elements import tag
from ui.components.frame import Frame
from ui.language import t
from ui.refreshing import Refreshing, on_gone


async def chat_page(
    services: Services, request: Request, conversation_id: str | None, message_id: str | None = None
) -> None:
    """`message_id`: where in the chat to go to."""
    model_id = request.query_params.get("model")
    page = ChatPage(services, await Frame.make(services, request), ui.context.client, model_id)
    if not await page.build(conversation_id, message_id, is_mac="Mac OS" in request.headers.get("user-agent", "")):
        ui.context.client.status_code = 404


class ChatPage:
    def __init__(self, services: Services, frame: Frame, client: Client, model_id: str | None) -> None:
        self._services = services
        self._frame = frame
        self._client = client
        self._user: User = frame.user
        self._conversation: Conversation | None = None
        self._wanted_id: str | None = None          # the chat that was asked for last; shown as soon as it is read
        self._filled_id: str | None = None          # the chat that the page was last filled with, found or not
        self._is_late = False                       # the wanted chat changed while it was being read
        self._chosen = ChosenModel(services, model_id)
        self._address = Address(client)
        self._temporary_id: str | None = None       # of the chat that is shown, or just went, if it is stored nowhere
        self._begun_id: str | None = None           # of that which began here, and ends with this page
        self._refreshing = Refreshing(client, "refresh chat page", self._refresh)
        self._chats = ChatList(services, self._user.id, PageActions(
            open=self._open, new_chat=self._new_chat, print=self._print,
            shown=lambda: self._wanted_id,
        ))
        self._setup = SetupRoom(services, self._user.id, SetupActions(
            changed=self._show_setup, forget_model=self._chosen.forget, refuse=self._refuse
        ))
        self._head = ChatHead(self._user, HeadActions(
            choose_model=self._choose_model, choose_preset=self._setup.choose_preset, set_temporary=self._set_temporary,
            new_chat=self._new_chat, when_full=partial(self._setup.change, "when_full"),
        ))
        self._room = TalkRoom(
            services, self._user, self._setup,
            TalkActions(
                changed=lambda: self._mark_stale("thread"), model_id=lambda: self._chosen.model_id, think=self._think
            ),
            NewChatActions(begun=self._begun, model_id=lambda: self._chosen.model_id, think=self._think),
            AbsentActions(self._choose_model, self._head.open_models, look_again=lambda: self._mark_stale("models")),
        )

    async def build(self, conversation_id: str | None, message_id: str | None, *, is_mac: bool) -> bool:
        """False where there is no such chat; the page then says so."""
        with self._frame.around(label=t("chats"), sidebar=lambda: self._chats.build(is_mac=is_mac)):
            with tag("header", "nk-head"):
                self._head.build()
            self._room.build()
            self._setup.build()
        commands = self._frame.commands
        commands.open_chat, commands.begin_chat, commands.use_model = self._open, self._begin_with, self._choose_model
        self._chats.build_toast()
        ui.on("nk_location", lambda event: self._follow_location(event.args))
        on_gone(self._client, self._services.changes.watch(self._user.id, self._on_change))
        self._client.on_delete(self._end_temporary)
        await self._chosen.read()
        await self._chats.read(is_first=True)
        await self._setup.read_presets()
        is_found = await self._show(conversation_id, message_id)
        self._frame.on_role.append(self._show_models)       # who may see all of them finds the way there
        return is_found

    # --- which chat is shown ------------------------------------------------------------------------------------------

    async def _show(self, conversation_id: str | None, message_id: str | None = None) -> bool:
        """Fill the main column anew. Reading takes a while, and people click quickly: what they want last is shown."""
        self._wanted_id = conversation_id
        read = None
        if conversation_id is not None:
            read = await read_chat(self._services, self._user.id, conversation_id, message_id)
        is_found = conversation_id is None or read is not None
        if self._wanted_id != conversation_id:
            return is_found
        if self._conversation is None or self._conversation.id != conversation_id:
            await self._end_temporary()
        was_temporary = conversation_id is not None and self._temporary_id == conversation_id
        self._temporary_id = conversation_id if self._services.temporary.holds(conversation_id) else None
        self._conversation = read.conversation if read else None
        if read is not None:
            self._chosen.forget()       # each chat has its own
        self._setup.begin(self._conversation)
        self._filled_id = conversation_id
        self._room.fill(self._conversation, is_found=is_found, was_temporary=was_temporary)
        with self._room.body:   # not in the slot of what was clicked: that may be gone, and words know their page by it
            self._show_head()
            self._show_messages(read.messages if read else ())
            self._show_models()
            self._show_list()
            self._head.show_context(None)
            self._mark_stale("thread" if self._is_late else "context")
            self._is_late = False
            if self._room.talk is not None and read is not None and read.message_id is not None:
                self._room.talk.reveal(read.message_id)
        return is_found

    def _show_head(self) -> None:
        self._head.show_chat(self._conversation, is_new=self._room.is_new, is_temporary=self._is_temporary)

    @property
    def _is_temporary(self) -> bool:
        """The chat that is shown, or about to begin, is stored nowhere."""
        if self._conversation is None:
            return self._room.begins_temporary
        return self._services.temporary.holds(self._conversation.id)

    def _set_temporary(self, is_temporary: bool) -> None:
        """Of a chat that has not begun."""
        self._room.set_temporary(is_temporary)
        self._show_head()

    async def _end_temporary(self) -> None:
        """It is left: nothing of it stays."""
        begun_id, self._begun_id = self._begun_id, None
        if begun_id is not None:
            await self._services.temporary.end(self._user.id, begun_id)

    async def _open(self, conversation_id: str, message_id: str | None = None) -> None:
        if self._wanted_id != conversation_id or message_id is not None:
            self._address.show(conversation_id, message_id)
            await self._show(conversation_id, message_id)

    async def _new_chat(self) -> None:
        if self._wanted_id is not None:
            self._address.show(None)
            await self._show(None)

    async def _begin_with(self, text: str) -> None:
        """A new chat, with this in its composer."""
        await self._new_chat()
        if text:
            self._room.write(text)

    async def _follow_location(self, address: str) -> None:
        """The browser's back and forward."""
        wanted, message_id = chat_at(address)
        if wanted != self._wanted_id or message_id is not None:
            await self._show(wanted, message_id)

    # --- what a person does outside of a conversation -----------------------------------------------------------------

    async def _begun(self, conversation_id: str) -> None:
        """A new chat has begun, on this page. One that is not kept has no address."""
        if not self._services.temporary.holds(conversation_id):
            self._address.show(conversation_id, instead=True)
            await self._show(conversation_id)
            return
        await self._show(conversation_id)
        self._begun_id = conversation_id

    async def _print(self, conversation_id: str) -> None:
        """All of it: a long chat is shown from its beginning first."""
        await self._open(conversation_id)
        if self._room.talk is not None and self._wanted_id == conversation_id:
            self._room.talk.print_all()

    async def _choose_model(self, model_id: str) -> None:
        self._chosen.model_id = model_id
        self._show_models()
        self._mark_stale("context")

    async def _think(self, first: bool) -> None:
        await self._setup.change("reasoning", first)

    def _refuse(self, error: Exception) -> None:
        self._room.refuse(error)

    # --- bringing the page up to date ---------------------------------------------------------------------------------

    def _on_change(self, change: Change) -> None:
        if change.kind in ("downloads", "benchmarks", "people", "role"):        # nothing here shows it but the frame
            return
        is_here = self._wanted_id is not None and (change.kind == "import" or self._wanted_id == change.conversation_id)
        is_general = change.kind in ("models", "library")
        self._mark_stale(change.kind if is_general else "thread" if is_here else "list")

    def _mark_stale(self, kind: str) -> None:
        """Many changes in a moment are shown at once."""
        self._refreshing.mark(kind, self._room.body)

    async def _refresh(self, stale: set[str]) -> None:
        if "models" in stale:
            await self._chosen.read()
        if stale & {"models", "library"}:
            await self._setup.read_presets()
            self._show_models()
        if "thread" in stale and self._wanted_id is not None:
            await self._refresh_thread(self._wanted_id)
        if stale - {"models", "library", "context"}:
            await self._chats.read()
            self._show_list()
        if stale - {"list"}:
            await self._show_context()

    async def _refresh_thread(self, conversation_id: str) -> None:
        read = await read_chat(self._services, self._user.id, conversation_id)
        is_shown = self._conversation is not None and self._conversation.id == conversation_id
        if read is None:
            if is_shown:
                await self._show(conversation_id)   # deleted in another tab
        elif is_shown:
            self._conversation = read.conversation
            self._setup.update(read.conversation)
            self._show_messages(read.messages)
            self._show_models()
        elif self._filled_id == conversation_id:
            await self._show(conversation_id)       # its deletion was undone
        elif self._wanted_id == conversation_id:
            self._is_late = True                    # it is about to be shown as it was read: once, or the focus is lost

    def _show_messages(self, messages: Sequence[ThreadMessage]) -> None:
        if self._room.talk is not None and self._conversation is not None:
            self._room.talk.show(self._conversation, messages, self._chosen.names)

    def _show_setup(self) -> None:
        """It changed: so may what fits."""
        self._show_models()
        self._mark_stale("context")

    def _show_models(self) -> None:
        with self._room.body:   # for its language: what was clicked may be gone by now
            self._show_chosen()

    def _show_chosen(self) -> None:
        choice = self._chosen.of(self._setup.setup)
        self._setup.show(choice.entry)
        self._head.show_models(self._chosen.listed, choice, self._setup, self._chosen.speeds)
        thinks = thinks_first(self._setup.setup, choice.entry)
        self._room.show_model(self._chosen.listed, self._chosen.names, choice, thinks)

    async def _show_context(self) -> None:
        """How full the chosen model's window is with this chat."""
        talk, chosen = self._room.talk, self._chosen.of(self._setup.setup).entry
        if talk is None or chosen is None:
            return
        use = await talk.context_use(chosen.model)
        if talk is self._room.talk:     # else its reader has gone on to another chat meanwhile
            self._head.show_context(use)

    def _show_list(self) -> None:
        self._chats.show(self._conversation.id if self._conversation else None)
        with self._room.body:
            here = self._title()
            self._head.show_heading("" if self._room.is_new else here)
            if self._room.talk is not None:
                self._room.talk.show_title(here)
            ui.page_title(t("page-title", page=here))

    def _title(self) -> str:
        """Of a temporary chat no word: browsers remember titles."""
        if self._is_temporary:
            return t("temporary-title")
        if self._conversation is not None:
            return self._conversation.title
        return t("hello-new-chat" if self._room.is_new else "hello-not-here-title")
