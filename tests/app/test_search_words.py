"""What is typed into the search: words, and filters in the words of either language."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.services.search_words import SearchWords, read_search
from store.tables import MessageRole

NOW = datetime(2026, 11, 30, 15, 20, tzinfo=UTC)


def day(year: int, month: int = 1, number: int = 1) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


@pytest.mark.parametrize(("typed", "read"), [
    ("lease office", SearchWords(words="lease office")),
    ("lease tag:work", SearchWords(words="lease", tags=("work",))),
    ('tag:"two words" tag:b x', SearchWords(words="x", tags=("two words", "b"))),
    ('in:"Moving office', SearchWords(folder="Moving office")),
    ("Ordner:Umzug Schlagwort:büro", SearchWords(folder="Umzug", tags=("büro",))),
    ("before:2026-10", SearchWords(before=day(2026, 10))),
    ("vor:2026 nach:2025-02-03", SearchWords(before=day(2026), after=day(2025, 2, 3))),
    ("after:yesterday", SearchWords(after=day(2026, 11, 29))),
    ("is:pinned ist:archiviert", SearchWords(is_pinned=True, is_archived=True)),
    ("is:active", SearchWords(is_archived=False)),
    ("from:me", SearchWords(role=MessageRole.USER)),
    ("von:modell", SearchWords(role=MessageRole.ASSISTANT)),
    ("model:Qwen3", SearchWords(model="Qwen3")),
    # unfinished, or without sense: no filter, and no word either
    ("tag: before:20 before:2026-13 before:2026-1- is:nice from:", SearchWords(before=day(2026))),
    # no filters at all
    ("https://example.org a:b 12:30 :x", SearchWords(words="https://example.org a:b 12:30 :x")),
    ("", SearchWords()),
])
def test_filters_are_read_from_among_the_words(typed: str, read: SearchWords) -> None:
    assert read_search(typed, NOW) == read


def test_filters_are_known_again_as_they_were_typed() -> None:
    assert read_search('a tag:"x y" is:pinned b', NOW).filters == ('tag:"x y"', "is:pinned")
