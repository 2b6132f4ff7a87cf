"""How downloads may run: where to, how fast, when. An admin may change it while they do. On the event loop."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from app.errors import InvalidInput
from app.hub.layout import LayoutName
from app.hub.pace import Hours, Pace
from app.language import Said
from app.settings import Settings
from store import settings as stored_settings
from store.database import Database

SETTING = "downloads"


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadRules:
    layout: LayoutName = "own"              # of those that are asked for from now on
    bytes_per_s: int | None = None          # of all together
    hours: str = ""                         # "22:00-06:00"; "": always


class RuleBook:
    """The rules in force: as they were stored last, or else as the settings say."""

    def __init__(self, db: Database, settings: Settings) -> None:
        self._db = db
        self.rules = DownloadRules(
            layout=settings.download_layout, bytes_per_s=settings.download_bytes_per_s, hours=settings.download_hours
        )
        self.pace = Pace(self.rules.bytes_per_s)        # shared by all transfers

    async def load(self) -> None:
        self._apply(await self._db.read(stored_settings.fitting, SETTING, _rules_of, self.rules))

    async def change(self, rules: DownloadRules) -> None:
        """Raises InvalidInput."""
        try:
            rules = _checked(rules)
        except ValueError as error:
            raise InvalidInput(Said("download-rules"), field="rules") from error
        before = self.rules
        self._apply(rules)          # first: who changes something else in this moment begins with this
        try:
            await self._db.run(stored_settings.set_of_system, SETTING, asdict(rules))
        except BaseException:
            if self.rules is rules:
                self._apply(before)
            raise

    def wait_s(self) -> float:
        """Until downloads may run; 0: now."""
        return Hours(self.rules.hours).wait_s(datetime.now())

    def _apply(self, rules: DownloadRules) -> None:
        self.rules = rules
        self.pace.bytes_per_s = rules.bytes_per_s


def _rules_of(stored: dict[str, Any]) -> DownloadRules:
    return _checked(DownloadRules(**stored))


def _checked(rules: DownloadRules) -> DownloadRules:
    """In the kinds that they have: a number may have come as a text. Raises ValueError."""
    good = Settings.model_validate({f"download_{name}": value for name, value in asdict(rules).items()})
    return DownloadRules(
        layout=good.download_layout, bytes_per_s=good.download_bytes_per_s, hours=good.download_hours
    )
