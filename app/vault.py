"""Secrets that must be read again: tokens and keys of other services, sealed in the database. Any thread.

The key is a file beside it, for its owner's eyes only, so that a copy of the database tells nobody a secret. Whoever
can read the whole data folder can read them, as Inglenook itself has to.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import structlog
from cryptography.fernet import Fernet, InvalidToken

from app.errors import Conflict
from app.language import Said
from engine.small_file import read_small

KEY_FILE_NAME = "secrets.key"
MAX_KEY_BYTES = 4096

log = structlog.get_logger(__name__)


class Vault:
    """AES in CBC mode with an HMAC (Fernet). The key is made when something is sealed for the first time."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / KEY_FILE_NAME

    def seal(self, secret: str) -> str:
        """Raises Conflict where no key can be kept, or the one that there is cannot be used."""
        try:
            return Fernet(self._key()).encrypt(secret.encode()).decode("ascii")
        except OSError as error:
            raise Conflict(Said("error-secrets-key", path=str(self._path), detail=error.strerror or "-")) from error
        except ValueError as error:
            raise Conflict(Said("error-secrets-key-damaged", path=str(self._path))) from error

    def open(self, sealed: str) -> str | None:
        """None where the key is another, or gone: the secret has to be entered again."""
        try:
            return Fernet(read_small(self._path, MAX_KEY_BYTES)).decrypt(sealed.encode()).decode()
        except (OSError, InvalidToken, ValueError):
            log.warning("a stored secret cannot be read; enter it again", key_file=str(self._path))
            return None

    def _key(self) -> bytes:
        with suppress(FileNotFoundError):
            return read_small(self._path, MAX_KEY_BYTES)
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._path.with_name(f"{KEY_FILE_NAME}.{token_hex(8)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            out.write(Fernet.generate_key())
            out.flush()
            os.fsync(out.fileno())
        try:
            os.link(draft, self._path)          # the first wins, whole
        except FileExistsError:
            pass
        except OSError:                         # a file system without links
            draft.replace(self._path)
        finally:
            draft.unlink(missing_ok=True)
        return read_small(self._path, MAX_KEY_BYTES)
