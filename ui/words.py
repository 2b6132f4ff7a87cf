"""Numbers, times and names as people read them, in their language. Used by pages and by the stream route."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

from babel.dates import format_date, format_skeleton, format_time
from babel.numbers import format_decimal, get_decimal_symbol

from engine.sizes import GIB, MIB
from store.tables import Model
from ui.language import here, t

LOCALES_OF_NUMBERS: Final = {"en": "en_GB"}       # "14 Nov 2026", as the rest of our English


def greeting(name: str, at: datetime) -> str:
    """`at` is local time."""
    parts = {range(5, 12): "morning", range(12, 18): "day", range(18, 23): "evening"}
    part = next((word for hours, word in parts.items() if at.hour in hours), "night")
    return t(f"greeting-{part}", name=first_name(name))


def first_name(name: str) -> str:
    return name.split()[0]


def initials(name: str) -> str:
    """At most two letters: of the first and the last word."""
    parts = name.split()
    letters = parts[0][0] + (parts[-1][0] if len(parts) > 1 else "")
    return letters.upper()


def day_label(at: datetime, now: datetime) -> str:
    """"Today", "14 Nov", "14 Nov 2025": the day of something in a list. Both times are local."""
    days = (now.date() - at.date()).days
    if days <= 1:
        return t("yesterday") if days == 1 else t("today")
    return format_skeleton("MMMd" if at.year == now.year else "yMMMd", at, locale=_locale())


def when(at: datetime, now: datetime | None = None) -> str:
    """"today", "yesterday", "on 14 Nov 2026": when something happened, within a sentence. Times are of any zone."""
    days = ((now or datetime.now()).astimezone().date() - at.astimezone().date()).days
    if days > 1:
        return t("when-on", date=date(at.astimezone()))
    return t("when-yesterday") if days == 1 else t("when-today")


def last(message_id: str, at: datetime | None) -> str:
    """The message, of when; or, of what has not happened yet, `<message_id>-never`."""
    return t(f"{message_id}-never") if at is None else t(message_id, when=when(at))


def date(at: datetime) -> str:
    """"14 Nov 2026". `at` is local time."""
    return format_date(at, "medium", locale=_locale())


def moment(at: datetime) -> str:
    """"14 Nov 2026, 18:30". `at` is local time."""
    return f"{date(at)}, {format_time(at, 'short', locale=_locale())}"


def number(value: float, digits: int | None = 0) -> str:
    """As the reader's language writes it, with that many digits behind the point; None: those that it has, up to 3."""
    form = None if digits is None else f"#,##0.{'0' * digits}".rstrip(".")
    return format_decimal(value if digits is None else round(value, digits), format=form, locale=_locale())


def exact(value: float) -> str:
    """To a millionth, for fields in which it can be changed."""
    return format_decimal(value, format="#,##0.######", locale=_locale())


def decimal_point() -> str:
    """Of the reader's language."""
    return get_decimal_symbol(_locale())


def size(num_bytes: int) -> str:
    """"4.9 GiB"; below a tenth of that, "98 MiB"."""
    if num_bytes >= GIB / 10:
        return t("size-gib", number=number(num_bytes / GIB, 1))
    return t("size-mib", number=number(num_bytes / MIB))


def folder(path: Path) -> str:
    """As a shell would write it: below the home of whoever runs the server "~/models"."""
    home = Path.home()
    return str(Path("~", path.relative_to(home)) if path.is_relative_to(home) else path)


def context(num_tokens: int) -> str:
    """"32k", "2k", "500"."""
    return f"{num_tokens // 1024}k" if num_tokens >= 1024 else str(num_tokens)


def seconds(value: float) -> str:
    if value < 60:
        return t("unit-seconds", number=number(value, 1))
    minutes, rest = divmod(round(value), 60)
    return t("unit-minutes", minutes=minutes, seconds=rest)


def long_time(value_s: float) -> str:
    """What is left of something long: "8 s", "1 min 42 s", "2 h 5 min"."""
    whole = round(value_s)
    if whole < 3600:
        return t("unit-seconds", number=number(whole)) if whole < 60 else seconds(whole)
    hours, rest = divmod(whole, 3600)
    return t("unit-hours", hours=number(hours), minutes=rest // 60)


def rate(bytes_per_s: float) -> str:
    """Of a download: "38 MiB/s", "840 KiB/s"."""
    if bytes_per_s >= MIB:
        return t("unit-mib-per-s", number=number(bytes_per_s / MIB, 0 if bytes_per_s >= 10 * MIB else 1))
    return t("unit-kib-per-s", number=number(bytes_per_s / 1024))


def brief(value_s: float) -> str:
    """A time that is known to two digits: "1.9 s", "34 s", "420 ms"."""
    rounded_s = float(f"{value_s:.2g}")
    unit, value = ("seconds", rounded_s) if rounded_s >= 1 else ("milliseconds", rounded_s * 1000)
    return t(f"unit-{unit}", number=number(float(f"{value:g}"), None))


def speed(tokens_per_s: float) -> str:
    digits = 0 if tokens_per_s >= 10 or not tokens_per_s else 1
    return t("unit-speed", number=number(tokens_per_s, digits))


def percent(share: float | None) -> str | None:
    return None if share is None else t("unit-percent", number=number(100 * share))


def _locale() -> str:
    return LOCALES_OF_NUMBERS.get(here().code, here().code)


def model_label(model: Model) -> str:
    if model.is_elsewhere:
        return f"{model.name}, {t('elsewhere')}"
    return f"{model.name}, {model.quantisation}" if model.quantisation else model.name
