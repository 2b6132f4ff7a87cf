"""The chat: an empty page with a greeting, or one conversation. One `ChatPage` an open browser tab, on the event loop.

The page never carries an answer's text while it is written: answer.js reads that from ui/stream.py. What else changes,
here or in another tab, arrives by `Changes`, and the page reads the services again and shows what differs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from fastapi import Request
from nicegui import Client, background_tasks, ui

from app.errors import AppError, NotFound
from app.schemas import ThreadMessage
from app.services.changes import Change
from app.services.container import Services
from app.services.models import ModelEntry
from engine.errors import EngineError
from store.tables import Conversation, User
from ui.components.composer import Composer
from ui.components.elements import icon, icon_button, menu, menu_item, menu_link, privacy_line, tag
from ui.components.frame import Frame, open_menu_buttons
from ui.components.hello import Hello, chat_not_found
from ui.components.model_picker import ModelPicker
from ui.components.sidebar import ConversationList, SidebarActions, chat_sidebar
from ui.components.thread import AnswerActions, Thread
from ui.components.toast import Toast
from ui.place import nothing_leaves_line, stays_line

NUM_LISTED = 100        # chats in the sidebar, and as many more each time they are asked for


async def chat_page(services: Services, request: Request, conversation_id: str | None) -> None:
    page = ChatPage(services, await Frame.make(services, request), ui.context.client)
    if not await page.build(conversation_id, is_mac="Mac OS" in request.headers.get("user-agent", "")):
        ui.context.client.status_code = 404


class ChatPage:
    def __init__(self, services: Services, frame: Frame, client: Client) -> None:
        self._services = services
        self._frame = frame
        self._client = client
        self._user: User = frame.user
        self._conversation: Conversation | None = None
        self._wanted_id: str | None = None          # the chat that was asked for last; shown as soon as it is read
        self._deleted_here: str | None = None       # the chat that was shown when it was deleted
        self._models: list[ModelEntry] = []
        self._model_id: str | None = None           # chosen here; None: the chat's own, or the default
        self._num_listed = NUM_LISTED
        self._thread: Thread | None = None
        self._composer: Composer | None = None
        self._hello: Hello | None = None
        self._stale: set[str] = set()               # kinds of changes that are not shown yet
        self._is_refreshing = False

    async def build(self, conversation_id: str | None, *, is_mac: bool) -> bool:
        """False where there is no such chat; the page then says so."""
        actions = SidebarActions(
            new_chat=self._new_chat, open=self._open, rename=self._rename, delete=self._delete,
            print=self._print, more=self._list_more,
        )
        with self._frame.around(label="Chats", sidebar=lambda: self._make_sidebar(actions, is_mac)):
            with tag("header", "nk-head"):
                self._make_head()
            self._body = tag("div", "nk-talk")
        self._toast = Toast(on_act=self._undo_delete)
        ui.on("nk_location", lambda event: self._follow_location(event.args))
        self._client.on_delete(self._services.changes.watch(self._user.id, self._on_change))
        self._models = await self._services.models.list()
        return await self._show(conversation_id)

    # --- what the page is made of -------------------------------------------------------------------------------------

    def _make_sidebar(self, actions: SidebarActions, is_mac: bool) -> None:
        self._list: ConversationList = chat_sidebar(actions, "⌘ ⇧ O" if is_mac else "Ctrl ⇧ O")

    def _make_head(self) -> None:
        open_menu_buttons()
        self._heading = tag("div", "nk-sr")
        self._picker = ModelPicker(self._choose_model)
        tag("span", "nk-grow")
        with icon_button("ellipsis", "Chat menu", "nk-not-sm") as self._chat_menu, menu("bottom right", "top right"):
            menu_item("Rename", "pencil").on("click", self._rename_this)
            self._export_links = {
                form: menu_link(f"Export as {name}", icon_name)
                for form, name, icon_name in (("json", "JSON", "download"), ("markdown", "Markdown", "file-text"))
            }
            menu_item("Print", "printer").on("click", self._print_this)
            tag("hr")
            menu_item("Delete", "trash-2", classes="danger").on("click", self._delete_this)
        with tag("a", "nk-ib nk-only-sm", href="/", aria_label="New chat").on("click.prevent", self._new_chat, args=[]):
            icon("square-pen", 20)

    def _make_hello(self) -> None:
        self._hello = Hello(self._user.name, lambda: self._make_composer("Ask anything. It stays here.", draft="new"))
        self._composer = self._hello.composer
        privacy_line(nothing_leaves_line(self._services.settings))
        tag("div", "nk-hearth")

    def _make_conversation(self) -> None:
        self._thread = Thread(AnswerActions(again=self._again, go_on=self._continue, branch=self._show_branch))
        with self._thread.dock():
            self._composer = self._make_composer("Reply", draft=self._conversation.id if self._conversation else "")
            privacy_line(stays_line(self._services.settings))

    def _make_composer(self, placeholder: str, draft: str) -> Composer:
        key = f"{self._user.id}.{draft}"
        return Composer(placeholder=placeholder, draft=key, on_send=self._send, on_stop=self._stop)

    # --- which chat is shown ------------------------------------------------------------------------------------------

    async def _show(self, conversation_id: str | None) -> bool:
        """Fill the main column anew. Reading takes a while, and people click quickly: what they want last is shown."""
        self._wanted_id = conversation_id
        conversation: Conversation | None = None
        messages: Sequence[ThreadMessage] = ()
        is_found = True
        if conversation_id is not None:
            try:
                conversation = await self._services.conversations.get(self._user.id, conversation_id)
                messages = await self._services.conversations.thread(self._user.id, conversation_id)
            except NotFound:
                is_found = False
        if self._wanted_id != conversation_id:
            return is_found
        self._conversation = conversation if is_found else None
        self._thread = self._composer = self._hello = None
        self._body.clear()
        with self._body:
            if self._conversation is not None:
                self._make_conversation()
            elif is_found:
                self._make_hello()
            else:
                chat_not_found()
        self._chat_menu.set_visibility(self._conversation is not None)
        if self._conversation is not None:
            for form, link in self._export_links.items():
                link.props["href"] = f"/chats/{self._conversation.id}/export?form={form}"
        self._show_messages(messages)
        self._show_models()
        await self._show_list()
        return is_found

    async def _open(self, conversation_id: str) -> None:
        if self._wanted_id != conversation_id:
            self._go_to(f"/c/{conversation_id}")
            await self._show(conversation_id)

    async def _new_chat(self) -> None:
        if self._wanted_id is not None:
            self._go_to("/")
            await self._show(None)

    def _go_to(self, path: str, how: str = "pushState") -> None:
        """Only the address. Through the client, since the element that the caller was called by may be gone by then."""
        self._client.run_javascript(f'history.{how}({{}}, "", "{path}")')

    async def _follow_location(self, path: str) -> None:
        """The browser's back and forward."""
        wanted = path.removeprefix("/c/") if path.startswith("/c/") else None
        if wanted != self._wanted_id:
            await self._show(wanted)

    # --- what a person does -------------------------------------------------------------------------------------------

    async def _send(self, text: str) -> None:
        composer, conversation = self._composer, self._conversation
        try:
            sent = await self._services.chat.send(
                self._user.id, conversation.id if conversation else None, text, model_id=self._model_id
            )
        except (AppError, EngineError) as error:
            self._refuse(error, composer)
            return
        if composer is not self._composer:
            return      # its reader has gone on to another chat meanwhile
        if conversation is None:
            self._go_to(f"/c/{sent.conversation_id}", "replaceState")
            await self._show(sent.conversation_id)
            return
        if composer is not None:
            composer.accept()
        if self._thread is not None:
            self._thread.to_end()
        self._mark_stale("thread")

    async def _stop(self) -> None:
        if self._thread is not None and (answer_id := self._thread.writing):
            await self._try(self._services.chat.stop(self._user.id, answer_id))

    async def _again(self, answer_id: str) -> None:
        await self._try(self._services.chat.regenerate(self._user.id, answer_id, model_id=self._model_id))

    async def _continue(self, answer_id: str) -> None:
        await self._try(self._services.chat.continue_answer(self._user.id, answer_id))

    async def _show_branch(self, item: ThreadMessage, step: int) -> None:
        index = item.sibling_index + step
        if 0 <= index < len(item.sibling_ids):
            await self._try(self._services.conversations.select_branch(self._user.id, item.sibling_ids[index]))

    async def _rename(self, conversation_id: str, title: str) -> None:
        await self._try(self._services.conversations.rename(self._user.id, conversation_id, title))

    async def _delete(self, conversation_id: str) -> None:
        """No question beforehand: it can be undone."""
        if not await self._try(self._services.conversations.delete(self._user.id, conversation_id)):
            return
        if self._wanted_id == conversation_id:
            self._deleted_here = conversation_id
            await self._new_chat()
        self._toast.show("Chat deleted", action="Undo", subject=conversation_id)

    async def _undo_delete(self, conversation_id: str) -> None:
        is_back = await self._try(self._services.conversations.restore(self._user.id, conversation_id))
        if is_back and self._deleted_here == conversation_id and self._wanted_id is None:
            await self._open(conversation_id)

    def _rename_this(self) -> None:
        if self._conversation is not None:
            self._list.run_method("startRename", {"id": self._conversation.id, "title": self._conversation.title})

    async def _delete_this(self) -> None:
        if self._conversation is not None:
            await self._delete(self._conversation.id)

    async def _print(self, conversation_id: str) -> None:
        """All of it: a long chat is shown from its beginning first."""
        await self._open(conversation_id)
        if self._thread is not None and self._wanted_id == conversation_id:
            self._thread.print_all()

    async def _print_this(self) -> None:
        if self._conversation is not None:
            await self._print(self._conversation.id)

    async def _choose_model(self, model_id: str) -> None:
        self._model_id = model_id
        self._show_models()

    async def _list_more(self) -> None:
        self._num_listed += NUM_LISTED
        await self._show_list()

    async def _try(self, action: Awaitable[object]) -> bool:
        """Whether it could be done; if not, the page says why."""
        try:
            await action
            return True
        except (AppError, EngineError) as error:
            self._refuse(error, self._composer)
            return False
        finally:
            self._mark_stale("thread")

    def _refuse(self, error: Exception, composer: Composer | None) -> None:
        """Errors stand where the next thing is done."""
        if composer is not None:
            composer.refuse(str(error))

    # --- bringing the page up to date ---------------------------------------------------------------------------------

    def _on_change(self, change: Change) -> None:
        is_here = self._wanted_id is not None and self._wanted_id == change.conversation_id
        self._mark_stale("models" if change.kind == "models" else "thread" if is_here else "list")

    def _mark_stale(self, kind: str) -> None:
        """Many changes in a moment are shown at once."""
        self._stale.add(kind)
        if not self._is_refreshing and not self._client.is_deleted:
            self._is_refreshing = True
            background_tasks.create(self._refresh(), name="refresh chat page", context=self._body)

    async def _refresh(self) -> None:
        try:
            while self._stale and not self._client.is_deleted:
                stale, self._stale = self._stale, set()
                if "models" in stale:
                    self._models = await self._services.models.list()
                    self._show_models()
                if "thread" in stale and self._wanted_id is not None:
                    await self._refresh_thread(self._wanted_id)
                if stale - {"models"}:
                    await self._show_list()
        finally:
            self._is_refreshing = False

    async def _refresh_thread(self, conversation_id: str) -> None:
        try:
            conversation = await self._services.conversations.get(self._user.id, conversation_id)
            messages = await self._services.conversations.thread(self._user.id, conversation_id)
        except NotFound:
            if self._conversation is not None and self._conversation.id == conversation_id:
                await self._show(conversation_id)   # deleted in another tab
            return
        if self._conversation is not None and self._conversation.id == conversation_id:
            self._conversation = conversation
            self._show_messages(messages)
            self._show_models()
        elif self._wanted_id == conversation_id:
            await self._show(conversation_id)       # its deletion was undone

    def _show_messages(self, messages: Sequence[ThreadMessage]) -> None:
        if self._thread is not None:
            self._thread.show(messages, {entry.model.id: entry.model for entry in self._models})
            if self._composer is not None:
                self._composer.show(writing=self._thread.writing is not None)

    def _show_models(self) -> None:
        model = self._chosen_model()
        self._picker.show(self._models, model.model.id if model else None)
        if self._thread is not None and self._composer is not None and model is not None:
            self._composer.show(placeholder=f"Reply to {model.model.name}")
        if self._hello is not None:
            self._hello.show_model(model)

    def _show_heading(self, text: str) -> None:
        """For who finds their way by headings. The greeting of an empty page is one itself."""
        self._heading.clear()
        if text:
            with self._heading:
                tag("h1", "", text)

    def _chosen_model(self) -> ModelEntry | None:
        """As `ChatService` will choose."""
        known = {entry.model.id: entry for entry in self._models}
        for model_id in (self._model_id, self._conversation.model_id if self._conversation else None):
            if model_id in known:
                return known[model_id]
        return next((entry for entry in self._models if entry.model.is_default), None)

    async def _show_list(self) -> None:
        conversations = await self._services.conversations.list_recent(self._user.id, limit=self._num_listed + 1)
        self._list.show(
            conversations[:self._num_listed],
            active=self._conversation.id if self._conversation else None,
            writing=self._services.generations.conversations_being_written(self._user.id),
            more=len(conversations) > self._num_listed,
        )
        here = self._conversation.title if self._conversation else "New chat" if self._hello else "Not here"
        self._show_heading("" if self._hello else here)
        if self._thread is not None:
            self._thread.show_title(here)
        with self._body:
            ui.page_title(f"{here} · Inglenook")
