"""People, their signed-in browsers and their API keys. Called by `app.services.accounts`, on a store thread.

Secrets come in as hashes. A session or key is looked up together with its owner, who must be active.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from store.errors import LastAdmin
from store.tables import ApiKey, LoginSession, User, UserRole, now

# --- people ----------------------------------------------------------------------------------------------------------


def has_admin(session: Session) -> bool:
    return session.exec(select(User.id).where(User.role == UserRole.ADMIN).limit(1)).first() is not None


def list_users(session: Session) -> list[User]:
    return list(session.exec(select(User).order_by(col(User.created_at), col(User.id))))


def get_user(session: Session, user_id: str) -> User | None:
    return session.get(User, user_id)


def find_user(session: Session, name_key: str) -> User | None:
    return session.exec(select(User).where(User.name_key == name_key)).first()


def add_user(session: Session, name: str, name_key: str, password_hash: str, role: UserRole) -> User | None:
    """None if the name is taken. In a writing transaction, so that no other can take it in between."""
    if find_user(session, name_key) is not None:
        return None
    user = User(name=name, name_key=name_key, password_hash=password_hash, role=role)
    session.add(user)
    session.flush()
    return user


def add_first_admin(session: Session, name: str, name_key: str, password_hash: str) -> User | None:
    """None if there is an admin already, or the name is taken."""
    return None if has_admin(session) else add_user(session, name, name_key, password_hash, UserRole.ADMIN)


def set_password(
    session: Session, user_id: str, password_hash: str, *, keep_token_hash: str | None = None
) -> list[str] | None:
    """Also ends the person's sessions, but for one. The token hashes of those; None if there is no such person."""
    user = get_user(session, user_id)
    if user is None:
        return None
    user.password_hash = password_hash
    return end_sessions(session, user_id, keep_token_hash=keep_token_hash)


def set_active(session: Session, user_id: str, is_active: bool) -> list[str] | None:
    """Disabling also ends the person's sessions; their keys sleep meanwhile. Returns as `set_password`. Raises
    LastAdmin.
    """
    user = get_user(session, user_id)
    if user is None:
        return None
    if not is_active:
        _leave_an_admin(session, user_id)
    user.is_active = is_active
    return [] if is_active else end_sessions(session, user_id)


def set_role(session: Session, user_id: str, role: UserRole) -> User | None:
    """None if there is no such person. Raises LastAdmin."""
    user = get_user(session, user_id)
    if user is None:
        return None
    if role is not UserRole.ADMIN:
        _leave_an_admin(session, user_id)
    user.role = role
    return user


def remove_user(session: Session, user_id: str) -> bool:
    """With all that is theirs; False if there is no such person. Raises LastAdmin.

    Chats go faster, and in steps, by `conversations.erase_some` before.
    """
    _leave_an_admin(session, user_id)
    return session.exec(delete(User).where(col(User.id) == user_id)).rowcount == 1


def _leave_an_admin(session: Session, user_id: str) -> None:
    """Raises LastAdmin if nobody else could let people in."""
    active_admins = session.exec(select(User.id).where(User.role == UserRole.ADMIN, col(User.is_active))).all()
    if list(active_admins) == [user_id]:
        raise LastAdmin("This is the only admin. Make another one first.")


def note_seen(session: Session, people: Mapping[str, datetime], keys: Mapping[str, datetime]) -> None:
    """When people were here and keys were used, by their ids. Who is gone by now is left out."""
    for user_id, at in people.items():
        session.exec(update(User).where(col(User.id) == user_id).values(last_seen_at=at))
    for key_id, at in keys.items():
        session.exec(update(ApiKey).where(col(ApiKey.id) == key_id).values(last_used_at=at))


# --- sessions --------------------------------------------------------------------------------------------------------


def add_session(session: Session, user_id: str, token_hash: str, *, user_agent: str, expires_at: datetime) -> bool:
    """False if the person is gone or disabled. Sweeps out everybody's expired sessions."""
    session.exec(delete(LoginSession).where(col(LoginSession.expires_at) <= now()))
    user = get_user(session, user_id)
    if user is None or not user.is_active:
        return False
    session.add(LoginSession(user_id=user_id, token_hash=token_hash, user_agent=user_agent, expires_at=expires_at))
    return True


def user_of_session(session: Session, token_hash: str) -> User | None:
    return session.exec(
        select(User)
        .join(LoginSession, col(LoginSession.user_id) == User.id)
        .where(LoginSession.token_hash == token_hash, LoginSession.expires_at > now(), col(User.is_active))
    ).first()


def end_session(session: Session, token_hash: str) -> str | None:
    """Whose it was."""
    row = session.exec(select(LoginSession).where(LoginSession.token_hash == token_hash)).first()
    if row is None:
        return None
    session.delete(row)
    return row.user_id


def end_sessions(session: Session, user_id: str, *, keep_token_hash: str | None = None) -> list[str]:
    """The token hashes of the sessions that were ended."""
    rows = session.exec(
        select(LoginSession).where(LoginSession.user_id == user_id, LoginSession.token_hash != (keep_token_hash or ""))
    ).all()
    for row in rows:
        session.delete(row)
    return [row.token_hash for row in rows]


# --- keys ------------------------------------------------------------------------------------------------------------


def add_key(session: Session, user_id: str, name: str, key_hash: str, hint: str) -> ApiKey | None:
    """None if there is no such person."""
    if get_user(session, user_id) is None:
        return None
    key = ApiKey(user_id=user_id, name=name, key_hash=key_hash, hint=hint)
    session.add(key)
    session.flush()
    return key


def list_keys(session: Session, user_id: str) -> list[ApiKey]:
    """Those that still work."""
    return list(
        session.exec(
            select(ApiKey)
            .where(ApiKey.user_id == user_id, col(ApiKey.revoked_at).is_(None))
            .order_by(col(ApiKey.created_at), col(ApiKey.id))
        )
    )


def list_everybodys_keys(session: Session) -> list[ApiKey]:
    """Those that have not been revoked, for admins."""
    return list(
        session.exec(
            select(ApiKey).where(col(ApiKey.revoked_at).is_(None)).order_by(col(ApiKey.created_at), col(ApiKey.id))
        )
    )


def revoke_key(session: Session, user_id: str, key_id: str) -> ApiKey | None:
    """None if this person has no such key. Revoking twice keeps the first time."""
    key = session.exec(select(ApiKey).where(ApiKey.id == key_id, ApiKey.user_id == user_id)).first()
    if key is not None:
        key.revoked_at = key.revoked_at or now()
    return key


def user_of_key(session: Session, key_hash: str) -> tuple[User, ApiKey] | None:
    return session.exec(
        select(User, ApiKey)
        .join(ApiKey, col(ApiKey.user_id) == User.id)
        .where(ApiKey.key_hash == key_hash, col(ApiKey.revoked_at).is_(None), col(User.is_active))
    ).first()


def sleeps(session: Session, key_hash: str) -> bool:
    """Whether this key would be good, were its owner not disabled."""
    return session.exec(
        select(ApiKey.id)
        .join(User, col(ApiKey.user_id) == User.id)
        .where(ApiKey.key_hash == key_hash, col(ApiKey.revoked_at).is_(None), col(User.is_active).is_(False))
    ).first() is not None
