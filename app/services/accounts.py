"""Who gets in: the first admin, sign-in, sessions, API keys, and the end of each. On the event loop.

Passwords are hashed on two threads of their own, so that a burst of sign-ins takes neither the loop nor the memory.
Sessions and keys are looked up each time: what another process ends, the command line say, is ended here too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any, ParamSpec, TypeVar

from app import security
from app.errors import Conflict, InvalidInput, NotAllowed, NotFound, TooManyAttempts
from app.language import Said
from app.services.changes import Change, Changes
from app.services.endings import Ending, Endings
from app.services.known_keys import KnownKeys
from app.services.sightings import Sightings
from app.services.throttle import Throttle
from app.settings import Settings
from store import accounts, conversations
from store import settings as stored_settings
from store.database import Database
from store.errors import LastAdmin
from store.tables import ApiKey, User, UserRole, now

P = ParamSpec("P")
T = TypeVar("T")

NUM_HASHING_THREADS = 2
MAX_USER_AGENT_CHARS = 300
NUM_CHATS_ERASED_AT_ONCE = 25      # others' writes have their turn in between

AccessEnded = Callable[[str, str | None], None]


class AccountService:
    def __init__(self, db: Database, settings: Settings, changes: Changes) -> None:
        self._db = db
        self._changes = changes
        self._sightings = Sightings(db, changes)
        self._known_keys = KnownKeys(db)
        self._endings = Endings()
        self._session_length = timedelta(days=settings.session_days)
        self._setup_token = security.new_token()
        self._throttle = Throttle()
        # Addresses can be made up behind a proxy, so a name has a limit too: wide, its waits such as people bear.
        self._throttle_of_names = Throttle(num_free_failures=100, max_delay_s=30.0)
        self._hashing = ThreadPoolExecutor(NUM_HASHING_THREADS, thread_name_prefix="password")
        self._access_ended: list[AccessEnded] = []
        self._demoted: list[Callable[[str], None]] = []

    def close(self) -> None:
        self._sightings.close()
        self._hashing.shutdown()

    # --- the first admin ---------------------------------------------------------------------------------------------

    async def needs_setup(self) -> bool:
        return not await self._db.read(accounts.has_admin)

    def setup_token(self) -> str:
        """Made at each start and kept in memory only; whoever can read this process's output may become the admin."""
        return self._setup_token

    async def set_up(self, token: str, name: str, password: str) -> User:
        """Make the first admin. Raises NotAllowed for a wrong token, Conflict once there is an admin, InvalidInput."""
        if not security.same_token(token, self._setup_token):
            raise NotAllowed(Said("error-setup-link"))
        if not await self.needs_setup():
            raise Conflict(Said("error-set-up-already"))
        name = _checked_name(name, security.user_name_problem)
        password_hash = await self._hash(password)
        user = await self._db.run(accounts.add_first_admin, name, security.name_key(name), password_hash)
        if user is not None:
            return user
        if await self.needs_setup():
            raise _name_taken()
        raise Conflict(Said("error-set-up-by-other"))

    # --- sessions ----------------------------------------------------------------------------------------------------

    async def sign_in(self, name: str, password: str, *, user_agent: str = "", client: str = "") -> tuple[User, str]:
        """The person and a new session token. Raises InvalidInput, as late whatever was wrong; TooManyAttempts."""
        name_key = security.name_key(name[: 4 * security.MAX_NAME_CHARS])
        attempt = (name_key, client)
        if wait_s := self._throttle.begin(attempt) or self._throttle_of_names.begin(name_key):
            raise TooManyAttempts(Said("error-too-many-passwords", seconds=wait_s), retry_after_s=wait_s)
        user = await self._db.read(accounts.find_user, name_key)
        if user is None:
            await self._in_hashing_thread(security.waste_time_of_verifying, password)
            raise _wrong_sign_in()
        if not await self._in_hashing_thread(security.verify_password, password, user.password_hash):
            raise _wrong_sign_in()
        if not user.is_active:             # said only to who knows the password
            raise InvalidInput(Said("error-account-disabled"), field="name")
        token = await self.start_session(user, user_agent=user_agent)
        self._throttle.succeeded(attempt)
        self._throttle_of_names.succeeded(name_key)
        return user, token

    async def start_session(self, user: User, *, user_agent: str = "", is_command: bool = False) -> str:
        """A new session's token: 256 random bits, of which only the hash is kept."""
        token = (security.COMMAND_TOKEN_START if is_command else "") + security.new_token()
        started = await self._db.run(
            accounts.add_session,
            user.id,
            security.token_hash(token),
            user_agent=user_agent[:MAX_USER_AGENT_CHARS],
            expires_at=now() + self._session_length,
        )
        if not started:
            raise NotAllowed(Said("error-account-disabled"))
        return token

    async def sign_out(self, token: str) -> None:
        token_hash = security.token_hash(token)
        user_id = await self._db.run(accounts.end_session, token_hash)
        if user_id is not None:
            self._tell_access_ended(user_id, token_hash)

    async def user_of_session(self, token: str) -> User | None:
        user = await self._db.read(accounts.user_of_session, security.token_hash(token))
        if user is not None and not token.startswith(security.COMMAND_TOKEN_START):
            self._sightings.of_person(user.id)
        return user

    def ending_of(self, token: str) -> Ending:
        """Why this session ended, told to whoever has its token: nobody else may hear how it stands with an account."""
        return self._endings.of(security.token_hash(token))

    def on_access_ended(self, callback: AccessEnded) -> None:
        """`callback(user_id, hash)` when a session or key ends: the hash of its token; None: all of the person's do."""
        self._access_ended.append(callback)

    def on_demoted(self, callback: Callable[[str], None]) -> None:
        """`callback(user_id)` when somebody is no longer an admin: what is open of theirs was made for one."""
        self._demoted.append(callback)

    # --- people ------------------------------------------------------------------------------------------------------

    async def list_users(self) -> list[User]:
        return await self._db.read(accounts.list_users)

    async def is_admin(self, user_id: str) -> bool:
        """At this moment: a page may have been made before that changed."""
        user = await self._db.read(accounts.get_user, user_id)
        return user is not None and user.is_active and user.role is UserRole.ADMIN

    async def add_user(self, name: str, password: str, role: UserRole = UserRole.USER) -> User:
        name = _checked_name(name, security.user_name_problem)
        password_hash = await self._hash(password)
        user = await self._db.run(accounts.add_user, name, security.name_key(name), password_hash, role)
        if user is None:
            raise _name_taken()
        self.tell_people_changed()
        return user

    async def change_password(self, user_id: str, old: str, new: str, *, keep_token: str | None = None) -> None:
        """By its owner. Ends the person's other sessions: all but the one of `keep_token`. Raises as `sign_in`."""
        attempt = (user_id, "change_password")
        if wait_s := self._throttle.begin(attempt):
            raise TooManyAttempts(Said("error-too-many-passwords", seconds=wait_s), retry_after_s=wait_s)
        user = _found(await self._db.read(accounts.get_user, user_id))
        if not await self._in_hashing_thread(security.verify_password, old, user.password_hash):
            raise InvalidInput(Said("error-password-present"), field="old")
        self._throttle.succeeded(attempt)
        await self.set_password(user_id, new, keep_token_hash=security.token_hash(keep_token) if keep_token else None)

    async def set_password(self, user_id: str, new: str, *, keep_token_hash: str | None = None) -> None:
        """By an admin or the command line. Ends the person's sessions, but for one. Raises InvalidInput."""
        password_hash = await self._hash(new)
        ended = await self._db.run(accounts.set_password, user_id, password_hash, keep_token_hash=keep_token_hash)
        self._endings.note(user_id, _found(ended), Ending.PASSWORD)
        for token_hash in _found(ended):
            self._tell_access_ended(user_id, token_hash)

    async def set_active(self, user_id: str, is_active: bool) -> None:
        """A disabled person's sessions end at once, and their keys do not work until they are enabled again."""
        if is_active:
            _found(await self._db.run(accounts.set_active, user_id, True))
            self._endings.forget(user_id)
        else:
            await self._shut_out(user_id, Ending.DISABLED)
        self.tell_people_changed()

    async def set_role(self, user_id: str, role: UserRole) -> None:
        """Raises Conflict for the last admin."""
        _found(await self._leaving_an_admin(self._db.run(accounts.set_role, user_id, role)))
        if role is not UserRole.ADMIN:
            for callback in self._demoted:
                callback(user_id)
        else:
            self._changes.announce(user_id, Change("role"))
        self.tell_people_changed()

    async def remove_user(self, user_id: str) -> None:
        """For good, with all that is theirs. Cut short, it leaves them disabled. Raises Conflict for the last admin."""
        await self._shut_out(user_id, Ending.DELETED)
        self.tell_people_changed()
        while await self._db.run(conversations.erase_some, user_id, NUM_CHATS_ERASED_AT_ONCE):
            pass
        await self._leaving_an_admin(self._db.run(accounts.remove_user, user_id))
        self._tell_access_ended(user_id, None)      # an admin may have enabled them meanwhile
        self.tell_people_changed()

    async def _shut_out(self, user_id: str, why: Ending) -> None:
        ended = _found(await self._leaving_an_admin(self._db.run(accounts.set_active, user_id, False)))
        self._endings.note(user_id, ended, why)         # before their pages leave for the sign-in page
        self._tell_access_ended(user_id, None)

    # --- keys --------------------------------------------------------------------------------------------------------

    async def create_key(self, user_id: str, name: str) -> tuple[ApiKey, str]:
        """The row, and the key itself, which cannot be shown again."""
        name = _checked_name(name, security.name_problem)
        key = security.new_api_key()
        row = await self._db.run(accounts.add_key, user_id, name, security.token_hash(key), security.key_hint(key))
        self.tell_people_changed()
        return _found(row), key

    async def list_keys(self, user_id: str) -> list[ApiKey]:
        return await self._db.read(accounts.list_keys, user_id)

    async def revoke_key(self, user_id: str, key_id: str) -> None:
        key = await self._db.run(accounts.revoke_key, user_id, key_id)
        if key is None:
            raise NotFound(Said("error-no-key"))
        self._tell_access_ended(user_id, key.key_hash)
        self.tell_people_changed()

    async def user_of_key(self, key: str) -> User | None:
        found = await self._known_keys.find(security.token_hash(key))
        if found is None:
            return None
        user, row = found
        self._sightings.of_key(row.id)
        return user

    async def sleeps(self, key: str) -> bool:
        """Whether it would be good, were its owner not disabled."""
        return await self._db.read(accounts.sleeps, security.token_hash(key))

    # --- settings ----------------------------------------------------------------------------------------------------

    async def get_setting(self, user_id: str, key: str, default: Any = None) -> Any:
        return await self._db.read(stored_settings.get_of_user, user_id, key, default)

    async def get_settings(self, user_id: str) -> dict[str, Any]:
        """All that this person has set, by key."""
        return await self._db.read(stored_settings.all_of_user, user_id)

    async def set_setting(self, user_id: str, key: str, value: Any) -> None:
        """`value` is anything that JSON holds."""
        await self._db.run(stored_settings.set_of_user, user_id, key, value)

    # --- helpers -----------------------------------------------------------------------------------------------------

    async def _hash(self, password: str) -> str:
        if problem := security.password_problem(password):
            raise InvalidInput(problem, field="password")
        return await self._in_hashing_thread(security.hash_password, password)

    async def _in_hashing_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._hashing, partial(function, *args, **kwargs))

    async def _leaving_an_admin(self, change: Awaitable[T]) -> T:
        try:
            return await change
        except LastAdmin as error:
            raise Conflict(Said("error-last-admin")) from error

    def tell_people_changed(self) -> None:
        """Open pages read people and keys again."""
        self._changes.announce_all(Change("people"))

    def _tell_access_ended(self, user_id: str, token_hash: str | None) -> None:
        for callback in self._access_ended:
            callback(user_id, token_hash)


def _checked_name(name: str, problem_of: Callable[[str], Said | None]) -> str:
    name = security.clean_name(name)
    if problem := problem_of(name):
        raise InvalidInput(problem, field="name")
    return name


def _found(value: T | None) -> T:
    if value is None:
        raise NotFound(Said("error-no-user"))
    return value


def _name_taken() -> Conflict:
    return Conflict(Said("error-name-taken"))


def _wrong_sign_in() -> InvalidInput:
    return InvalidInput(Said("error-sign-in"), field="password")
