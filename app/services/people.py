"""What an admin sees and does of everybody's accounts; used by the page of people, on the event loop.

Each call names the admin first, who must be one at that moment: a page may have been opened before that ended. Nobody
shuts out, demotes or removes themselves here, so an admin is always left, and a password of one's own is changed where
the present one is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

from app import security
from app.errors import Conflict, InvalidInput, NotAllowed, NotFound
from app.language import Said
from app.services.accounts import AccountService
from store import accounts
from store.belongings import Belongings, belongings
from store.database import Database
from store.tables import ApiKey, User, UserRole


@dataclass(frozen=True, slots=True)
class Everybody:
    people: list[User]          # in the order in which they came
    keys: list[ApiKey]          # that have not been revoked; those of who is disabled sleep


class PeopleService:
    """All of it raises NotAllowed where `admin_id` is no admin's, and NotFound where the person is gone."""

    def __init__(self, db: Database, accounts: AccountService) -> None:
        self._db = db
        self._accounts = accounts

    async def everybody(self, admin_id: str) -> Everybody:
        await self._check(admin_id)
        return Everybody(await self._accounts.list_users(), await self._db.read(accounts.list_everybodys_keys))

    async def add(self, admin_id: str, name: str, password: str, role: UserRole) -> tuple[User, str]:
        """The person, and the password: one is made up where none is given. Raises InvalidInput, Conflict."""
        await self._check(admin_id)
        password = password or security.new_password()
        return await self._accounts.add_user(name, password, role), password

    async def set_password(self, admin_id: str, user_id: str, password: str) -> str:
        """Ends all of the person's sessions. Returns the password, as `add`. Raises InvalidInput."""
        await self._check(admin_id, user_id)
        password = password or security.new_password()
        await self._accounts.set_password(user_id, password)
        return password

    async def set_role(self, admin_id: str, user_id: str, role: UserRole) -> None:
        """Pages that an admin has open are loaded anew when they no longer are one."""
        await self._check(admin_id, user_id)
        await self._accounts.set_role(user_id, role)

    async def set_active(self, admin_id: str, user_id: str, is_active: bool) -> None:
        await self._check(admin_id, user_id)
        await self._accounts.set_active(user_id, is_active)

    async def belongings(self, admin_id: str, user_id: str) -> Belongings:
        """What goes with them."""
        await self._check(admin_id, user_id)
        return await self._db.read(belongings, user_id)

    async def remove(self, admin_id: str, user_id: str, typed_name: str) -> None:
        """For good. Raises InvalidInput unless their name was typed, however it is spelled."""
        user = await self._check(admin_id, user_id)
        if security.name_key(typed_name[:4 * security.MAX_NAME_CHARS]) != user.name_key:
            raise InvalidInput(Said("error-name-typed", name=user.name), field="name")
        await self._accounts.remove_user(user_id)

    async def revoke_key(self, admin_id: str, key: ApiKey) -> None:
        """Anybody's, one's own too."""
        await self._check(admin_id)
        await self._accounts.revoke_key(key.user_id, key.id)

    async def look_again(self, admin_id: str) -> None:
        """Somebody changed beside this process, a key made by the command line, say: open pages read all again."""
        await self._check(admin_id)
        self._accounts.tell_people_changed()

    async def _check(self, admin_id: str, user_id: str | None = None) -> User:
        """The person of whom something is asked; the admin, where nobody is named."""
        admin = await self._db.read(accounts.get_user, admin_id)
        if admin is None or not admin.is_active or admin.role is not UserRole.ADMIN:
            raise NotAllowed(Said("error-admins-only"))
        if user_id is None:
            return admin
        if user_id == admin_id:
            raise Conflict(Said("error-own-account"))
        user = await self._db.read(accounts.get_user, user_id)
        if user is None:
            raise NotFound(Said("error-no-user"))
        return user
