"""Why people's sessions ended, for as long as this process lives: told on the sign-in page, and only to a browser that
still has the cookie of such a session. Owned by `AccountService`, on the event loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

NUM_KEPT = 1000         # sessions, the oldest go first: who comes with another one is told no more than that it ended


class Ending(StrEnum):
    DISABLED = "disabled"
    DELETED = "deleted"             # with their account
    PASSWORD = "password"           # there is a new one
    SIGNED_OUT = "signed-out"       # or not known (any more)


OF_ACCOUNTS = (Ending.DISABLED, Ending.DELETED)


class Endings:
    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, Ending]] = {}      # whose it was, and why it ended, by its token's hash

    def note(self, user_id: str, token_hashes: Iterable[str], why: Ending) -> None:
        """What ends an account is also why sessions of it that ended before cannot be begun anew."""
        earlier = self._of(user_id) if why in OF_ACCOUNTS else []
        for token_hash in (*earlier, *token_hashes):
            self._kept[token_hash] = (user_id, why)
        for token_hash in list(self._kept)[:-NUM_KEPT]:
            del self._kept[token_hash]

    def forget(self, user_id: str) -> None:
        """They may come in again."""
        for token_hash in self._of(user_id):
            del self._kept[token_hash]

    def of(self, token_hash: str) -> Ending:
        return self._kept.get(token_hash, ("", Ending.SIGNED_OUT))[1]

    def _of(self, user_id: str) -> list[str]:
        return [token_hash for token_hash, (whose, _) in self._kept.items() if whose == user_id]
