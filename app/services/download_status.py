"""How far a download is, and why it goes no further, for pages, the API and the terminal: values, and the meter that
knows the rate.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

import structlog

from app.errors import AppError, said
from app.hub.disk import NoRoom
from app.hub.transfer import Progress
from app.language import Said, said_again
from store.errors import StoreError
from store.tables import Download, DownloadState

WINDOW_S = 10.0             # over which the rate is measured: long enough to be read, short enough to follow the line

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Meter:
    """Bytes a second, of what came within the last seconds."""

    _samples: deque[tuple[float, int]] = field(default_factory=deque)

    def sample(self, now_s: float, num_bytes: int) -> None:
        if self._samples and num_bytes < self._samples[-1][1]:          # begun anew
            self._samples.clear()
        if self._samples and num_bytes == self._samples[0][1]:          # nothing came yet: that is no rate
            self._samples.clear()
        self._samples.append((now_s, num_bytes))
        while now_s - self._samples[0][0] > WINDOW_S:
            self._samples.popleft()

    @property
    def bytes_per_s(self) -> float | None:
        """None until there is something to say."""
        if len(self._samples) < 2 or self._samples[-1][0] <= self._samples[0][0]:
            return None
        (start_s, start), (end_s, end) = self._samples[0], self._samples[-1]
        return (end - start) / (end_s - start_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadStatus:
    id: str
    repo: str
    commit_sha: str
    label: str
    state: DownloadState
    reason: str                         # why it failed, pauses, or waits
    done_bytes: int                     # while it is verified: of those that are hashed
    total_bytes: int
    bytes_per_s: float | None = None
    remaining_s: float | None = None
    model_id: str | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"state": self.state.value, "fraction": self.fraction}

    @property
    def fraction(self) -> float:
        return self.done_bytes / self.total_bytes if self.total_bytes else 1.0


def status_of_row(row: Download, *, waits_for: str = "") -> DownloadStatus:
    """Of one that does not run."""
    return DownloadStatus(
        id=row.id, repo=row.repo, commit_sha=row.commit_sha, label=row.label, state=row.state,
        reason=said_again(row.reason) or waits_for, done_bytes=row.done_bytes, total_bytes=row.total_bytes,
        model_id=row.model_id,
    )


def status_of_running(row: Download, progress: Progress, meter: Meter) -> DownloadStatus:
    is_verifying = progress.is_verifying
    rate = None if is_verifying else meter.bytes_per_s
    left = max(0, row.total_bytes - progress.done_bytes)
    return DownloadStatus(
        id=row.id, repo=row.repo, commit_sha=row.commit_sha, label=row.label,
        state=DownloadState.VERIFYING if is_verifying else DownloadState.DOWNLOADING,
        reason=progress.note,
        done_bytes=progress.checked_bytes if is_verifying else progress.done_bytes,
        total_bytes=row.total_bytes,
        bytes_per_s=rate,
        remaining_s=left / rate if rate else None,
    )


def stopped_by(error: Exception) -> tuple[DownloadState, str]:
    """The state and the reason of a download that raised this."""
    match error:
        case NoRoom():
            return DownloadState.PAUSED, said(error)
        case AppError() | StoreError():
            return DownloadState.FAILED, said(error)
        case OSError():
            return DownloadState.FAILED, Said("download-not-written", detail=str(error.strerror or error))
    log.error("a download broke", exc_info=error)
    return DownloadState.FAILED, Said("download-broke")
