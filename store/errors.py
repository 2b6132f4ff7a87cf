"""What can go wrong with the data itself. Raised on store threads and at start.

    StoreError
    ├── DatabaseUnusable      not ours, damaged, or out of reach: nothing was changed
    │   └── DatabaseTooNew    written by a newer Inglenook
    ├── DatabaseClosed        the server has ended meanwhile
    ├── MigrationFailed       the file is as it was before
    ├── AnswerInProgress      the branch ends in an answer that is still being written
    └── LastAdmin             nobody would be left to let anyone in
"""

from __future__ import annotations


class StoreError(Exception):
    """`str(error)` is a sentence for a person: what happened, and what to do."""


class DatabaseUnusable(StoreError):
    pass


class DatabaseTooNew(DatabaseUnusable):
    pass


class DatabaseClosed(StoreError):
    def __init__(self) -> None:
        super().__init__("The server has ended. Start it again.")


class MigrationFailed(StoreError):
    pass


class AnswerInProgress(StoreError):
    pass


class LastAdmin(StoreError):
    pass
