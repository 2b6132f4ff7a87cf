"""Many chats at once: into a folder, pinned, archived, tagged, deleted. For `app.services.organise`, on a store thread.

Ids that are not there, or another's, count for nothing; None where that leaves none. What comes back can be put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlmodel import Session, col, func, select

from store.folders import get_folder
from store.tables import Conversation, ConversationTag, Tag, TitleSource, now
from store.undo import Before, Recorder


def move(session: Session, user_id: str, ids: Sequence[str], folder_id: str | None) -> Before | None:
    """Into a folder, or out of any. A pin goes, and so does the archive: they are where one has put them."""
    if folder_id is not None and get_folder(session, user_id, folder_id) is None:
        return None
    recorder = Recorder(session, user_id)
    chats = _chats(session, user_id, ids)
    for chat in chats:
        recorder.change(chat, folder_id=folder_id, pin_position=None, archived_at=None)
    return recorder.before() if chats else None


def pin(session: Session, user_id: str, ids: Sequence[str], *, before_id: str | None = None) -> Before | None:
    """In the order given, in front of the pinned `before_id`, or last. Those that are pinned already move there."""
    chats = _chats(session, user_id, ids)
    if not chats:
        return None
    moving = {chat.id for chat in chats}
    pinned = session.exec(
        select(Conversation)
        .where(Conversation.user_id == user_id, col(Conversation.pin_position).is_not(None))
        .order_by(col(Conversation.pin_position), col(Conversation.id))
    )
    stay = [chat for chat in pinned if chat.id not in moving]
    places = [chat.id for chat in stay]
    at = places.index(before_id) if before_id in places else len(stay)
    recorder = Recorder(session, user_id)
    for position, chat in enumerate([*stay[:at], *chats, *stay[at:]]):
        recorder.change(chat, pin_position=position)
    for chat in chats:
        recorder.change(chat, archived_at=None)
    return recorder.before()


def unpin(session: Session, user_id: str, ids: Sequence[str]) -> Before | None:
    recorder = Recorder(session, user_id)
    chats = _chats(session, user_id, ids)
    for chat in chats:
        recorder.change(chat, pin_position=None)
    return recorder.before() if chats else None


def archive(session: Session, user_id: str, ids: Sequence[str], *, is_archived: bool) -> Before | None:
    """Folder and pin are kept for when it comes back."""
    recorder = Recorder(session, user_id)
    chats, at = _chats(session, user_id, ids), now()
    for chat in chats:
        if (chat.archived_at is not None) is not is_archived:
            recorder.change(chat, archived_at=at if is_archived else None)
    return recorder.before() if chats else None


def delete(session: Session, user_id: str, ids: Sequence[str]) -> Before | None:
    """Out of sight at once, and gone for good when it is purged."""
    recorder = Recorder(session, user_id)
    chats, at = _chats(session, user_id, ids), now()
    for chat in chats:
        recorder.change(chat, deleted_at=at)
    return recorder.before() if chats else None


def rename(session: Session, user_id: str, conversation_id: str, title: str) -> Before | None:
    """By hand: no model ever names it again."""
    recorder = Recorder(session, user_id)
    chats = _chats(session, user_id, [conversation_id])
    for chat in chats:
        recorder.change(chat, title=title, title_source=TitleSource.PERSON)
    return recorder.before() if chats else None


# --- tags ------------------------------------------------------------------------------------------------------------


def list_tags(session: Session, user_id: str) -> list[tuple[Tag, int]]:
    """By name, each with how many chats carry it."""
    counted = (
        select(Tag, func.count(col(Conversation.id)))
        .join(ConversationTag, col(ConversationTag.tag_id) == Tag.id, isouter=True)
        .join(
            Conversation,
            (col(Conversation.id) == ConversationTag.conversation_id) & col(Conversation.deleted_at).is_(None),
            isouter=True,
        )
        .where(Tag.user_id == user_id)
        .group_by(col(Tag.id))
        .order_by(col(Tag.name_key))
    )
    return [(tag, number) for tag, number in session.exec(counted)]


def list_models(session: Session, user_id: str) -> list[str]:
    """That last answered in a chat."""
    models = session.exec(
        select(Conversation.model_id)
        .where(
            Conversation.user_id == user_id, col(Conversation.deleted_at).is_(None),
            col(Conversation.model_id).is_not(None),
        )
        .distinct()
        .order_by(col(Conversation.model_id))
    )
    return [model_id for model_id in models if model_id]


def tag(session: Session, user_id: str, ids: Sequence[str], name: str, name_key: str) -> Before | None:
    """`name_key` is what makes two names one tag. It is made where there is none."""
    chats = _chats(session, user_id, ids)
    if not chats:
        return None
    recorder = Recorder(session, user_id)
    found = session.exec(select(Tag).where(Tag.user_id == user_id, Tag.name_key == name_key)).first()
    if found is None:
        found = Tag(user_id=user_id, name=name, name_key=name_key)
        recorder.add(found)
    tagged = set(session.exec(select(ConversationTag.conversation_id).where(ConversationTag.tag_id == found.id)))
    for chat in chats:
        if chat.id not in tagged:
            recorder.add(ConversationTag(conversation_id=chat.id, tag_id=found.id))
    return recorder.before()


def untag(session: Session, user_id: str, ids: Sequence[str], tag_id: str) -> Before | None:
    """A tag that no chat carries any more goes too."""
    found = session.exec(select(Tag).where(Tag.id == tag_id, Tag.user_id == user_id)).first()
    if found is None:
        return None
    recorder = Recorder(session, user_id)
    wanted = set(ids)
    links = list(session.exec(select(ConversationTag).where(ConversationTag.tag_id == found.id)))
    for link in links:
        if link.conversation_id in wanted:
            recorder.remove(link)
    if wanted.issuperset(link.conversation_id for link in links):
        recorder.remove(found)
    return recorder.before()


def tags_of(session: Session, user_id: str, ids: Iterable[str]) -> dict[str, list[str]]:
    """The names of the tags of each of these chats that has any."""
    rows = session.exec(
        select(ConversationTag.conversation_id, Tag.name)
        .join(Tag, col(Tag.id) == ConversationTag.tag_id)
        .where(Tag.user_id == user_id, col(ConversationTag.conversation_id).in_(list(ids)))
        .order_by(col(Tag.name_key))
    )
    tags: dict[str, list[str]] = {}
    for conversation_id, name in rows:
        tags.setdefault(conversation_id, []).append(name)
    return tags


def _chats(session: Session, user_id: str, ids: Sequence[str]) -> list[Conversation]:
    """Those that are there and this person's, in the order given."""
    wanted = list(dict.fromkeys(ids))
    rows = session.exec(
        select(Conversation).where(
            Conversation.user_id == user_id, col(Conversation.deleted_at).is_(None), col(Conversation.id).in_(wanted)
        )
    )
    found = {row.id: row for row in rows}
    return [found[each] for each in wanted if each in found]
