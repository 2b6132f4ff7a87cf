"""A person's folders, one inside another at most. Called by `app.services.organise`, on a store thread.

Every change is recorded by a `Recorder`, so that it can be taken back. None stands for what is not there, or another's.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session, col, select

from store.tables import Conversation, Folder
from store.undo import Before, Recorder


def list_folders(session: Session, user_id: str) -> list[Folder]:
    """Each after its parent, as they stand in the sidebar."""
    folders = _all(session, user_id)
    tops = [folder for folder in folders if folder.parent_id is None]
    return [
        each for top in tops for each in (top, *(folder for folder in folders if folder.parent_id == top.id))
    ]


def get_folder(session: Session, user_id: str, folder_id: str) -> Folder | None:
    return session.exec(select(Folder).where(Folder.id == folder_id, Folder.user_id == user_id)).first()


def create_folder(
    session: Session, user_id: str, name: str, *, parent_id: str | None = None
) -> tuple[Folder, Before] | None:
    """Last among its siblings. Inside a folder that is itself inside one, it comes to stand beside that."""
    parent = get_folder(session, user_id, parent_id) if parent_id is not None else None
    if parent_id is not None and parent is None:
        return None
    above_id = (parent.parent_id or parent.id) if parent is not None else None
    recorder = Recorder(session, user_id)
    folder = Folder(
        user_id=user_id, name=name, parent_id=above_id, position=len(_siblings(session, user_id, above_id))
    )
    recorder.add(folder)
    return folder, recorder.before()


def rename_folder(session: Session, user_id: str, folder_id: str, name: str) -> Before | None:
    folder = get_folder(session, user_id, folder_id)
    if folder is None:
        return None
    recorder = Recorder(session, user_id)
    recorder.change(folder, name=name)
    return recorder.before()


def delete_folder(session: Session, user_id: str, folder_id: str) -> Before | None:
    """Its chats and folders stay: they come to stand where it stood."""
    folder = get_folder(session, user_id, folder_id)
    if folder is None:
        return None
    recorder = Recorder(session, user_id)
    for inner in _siblings(session, user_id, folder.id):
        recorder.change(inner, parent_id=None, position=folder.position)
    chats = select(Conversation).where(Conversation.user_id == user_id, Conversation.folder_id == folder.id)
    for conversation in session.exec(chats):
        recorder.change(conversation, folder_id=folder.parent_id)
    session.flush()
    recorder.remove(folder)
    return recorder.before()


def place_folder(
    session: Session, user_id: str, folder_id: str, *, parent_id: str | None, before_id: str | None = None
) -> Before | None:
    """Among the folders of `parent_id`, in front of `before_id`, or last. One that holds folders cannot go into one."""
    folder = get_folder(session, user_id, folder_id)
    parent = get_folder(session, user_id, parent_id) if parent_id is not None else None
    if folder is None or parent is folder or (parent_id is not None and parent is None):
        return None
    if parent is not None and (parent.parent_id is not None or _siblings(session, user_id, folder.id)):
        return None
    recorder = Recorder(session, user_id)
    recorder.change(folder, parent_id=parent_id)
    siblings = [each for each in _siblings(session, user_id, parent_id) if each.id != folder.id]
    places = [each.id for each in siblings]
    siblings.insert(places.index(before_id) if before_id in places else len(siblings), folder)
    _number(recorder, siblings)
    return recorder.before()


def _number(recorder: Recorder, siblings: Sequence[Folder]) -> None:
    for position, folder in enumerate(siblings):
        recorder.change(folder, position=position)


def _all(session: Session, user_id: str) -> list[Folder]:
    statement = select(Folder).where(Folder.user_id == user_id)
    return list(session.exec(statement.order_by(col(Folder.position), col(Folder.created_at), col(Folder.id))))


def _siblings(session: Session, user_id: str, parent_id: str | None) -> list[Folder]:
    return [folder for folder in _all(session, user_id) if folder.parent_id == parent_id]
