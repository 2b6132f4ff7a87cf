"""Secrets and names as plain functions: password hashes, tokens, and what makes two names the same. Called by services.

Hashing takes a tenth of a second of a core and 64 MiB: never on the event loop. Nothing here keeps what it is given.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import unicodedata

from passlib.hash import argon2

from app.language import Said
from app.names import SHAPELESS, can_be_seen, has_idle_variant, mixes_alike_scripts, piles_up_marks

SESSION_COOKIE = "inglenook_session"
MIN_PASSWORD_CHARS = 8
MAX_PASSWORD_CHARS = 1024
MAX_NAME_CHARS = 64
TERMINAL_KEY_NAME = "command line"         # of a key made there without a name; shown in the reader's language
PASSWORD_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
COMMAND_TOKEN_START = "command."           # of sessions in which nobody is here: see app/running_server.py
TOKEN_BYTES = 32                           # 43 characters of base64

_hasher = argon2.using(type="ID")          # RFC 9106's second recommendation: 64 MiB, 3 passes, 4 lanes


def hash_password(password: str) -> str:
    return str(_hasher.hash(_password_bytes(password)))


def verify_password(password: str, password_hash: str) -> bool:
    return bool(_hasher.verify(_password_bytes(password), password_hash))


def waste_time_of_verifying(password: str) -> None:
    """What a sign-in with an unknown name does, so that its length does not tell which names exist."""
    hash_password(password)


def password_problem(password: str) -> Said | None:
    """Why this cannot become a password, as a sentence; None if it can."""
    if len(password) < MIN_PASSWORD_CHARS:
        return Said("error-password-short", count=MIN_PASSWORD_CHARS)
    if len(password) > MAX_PASSWORD_CHARS:
        return Said("error-password-long", count=MAX_PASSWORD_CHARS)
    if _has_surrogate(password):
        return Said("error-password-broken")
    return None


# Persian names and families of emoji are written with them; alone they are nothing that anybody would see.
_WITHOUT_JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))


def clean_name(name: str) -> str:
    """A name as it is kept: trimmed, NFC, inner white space as single spaces."""
    return unicodedata.normalize("NFC", " ".join(name.split()))


def name_problem(name: str) -> Said | None:
    """Why this cleaned name cannot be used, as a sentence; None if it can."""
    if not name:
        return Said("error-name-missing")
    if len(name) > MAX_NAME_CHARS:
        return Said("error-name-long", count=MAX_NAME_CHARS)
    seen = name.translate(_WITHOUT_JOINERS)
    hides_something = any(
        char in SHAPELESS or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn") for char in seen
    )
    hides_something |= has_idle_variant(seen) or not can_be_seen(seen)
    if hides_something or name[0] != seen[:1] or name[-1] != seen[-1:]:
        return Said("error-name-invisible")
    return Said("error-name-marks") if piles_up_marks(name) else None


def user_name_problem(name: str) -> Said | None:
    """The same of a person's name, which must not look like another's. Who was called so before that still is."""
    return name_problem(name) or (Said("error-name-mixed") if mixes_alike_scripts(name) else None)


def name_key(name: str) -> str:
    """Equal for names that a person would take for the same: `ANNA`, `anna` and `Ａｎｎａ`. Takes any text."""
    seen = clean_name(name).translate(_WITHOUT_JOINERS)
    whole = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in seen)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", whole).casefold())


def new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def new_password() -> str:
    """Made up for somebody who is told it: 79 bits, without letters and digits that are taken for each other."""
    letters = [secrets.choice(PASSWORD_LETTERS) for _ in range(16)]
    return "-".join("".join(letters[start:start + 4]) for start in range(0, 16, 4))


def new_api_key() -> str:
    return f"sk-{secrets.token_urlsafe(TOKEN_BYTES)}"


def key_hint(key: str) -> str:
    """Enough to tell one's keys apart, too little to guess one: `sk-ab…xyz`."""
    return f"{key[:5]}…{key[-3:]}"


def token_hash(token: str) -> str:
    """SHA-256 in hex. Fast is right here: a token has 256 random bits, no dictionary helps."""
    return hashlib.sha256(_bytes(token)).hexdigest()


def same_token(given: str, expected: str) -> bool:
    return hmac.compare_digest(_bytes(given), _bytes(expected))


def _password_bytes(password: str) -> bytes:
    """NFC: two keyboards may spell `é` differently. Cut, so that nobody hashes megabytes on this machine."""
    return _bytes(unicodedata.normalize("NFC", password[: MAX_PASSWORD_CHARS + 1]))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)
