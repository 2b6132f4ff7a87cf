"""Search finds what was said and named, by its owner, whatever is typed into it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlmodel import Session

from store import answers, deletions, folders, messages, organise
from store.search import HIGHLIGHT_END, HIGHLIGHT_START, MAX_QUERY_CHARS, Filters, SearchHit, search
from store.tables import Conversation, MessageRole, MessageStatus, User, now


def chat(session: Session, user: User, title: str, question: str = "?", answer: str = "!") -> Conversation:
    turn = messages.start_conversation(session, user.id, title, question, model_id=None)
    answers.finish(session, turn.answer.id, MessageStatus.COMPLETE, content=answer)
    return turn.conversation


def find(session: Session, user: User, words: str, limit: int = 20) -> list[SearchHit]:
    return search(session, user.id, words, limit=limit)


def titles(hits: list[SearchHit]) -> list[str]:
    return [hit.title for hit in hits]


def num_indexed(session: Session, word: str, table: str = "search_fts") -> int:
    connection = session.connection()
    found = connection.exec_driver_sql(f"SELECT count(*) FROM {table} WHERE {table} MATCH ?", (f'"{word}"',))
    return int(found.scalar_one())


def num_titles(session: Session, word: str) -> int:
    return num_indexed(session, word, "search_titles")


def test_a_hit_names_its_conversation_and_message_and_marks_the_words(session: Session, anna: User) -> None:
    turn = messages.start_conversation(session, anna.id, "France", "What is its\ncapital   city?", model_id=None)
    session.flush()
    (hit,) = find(session, anna, "capital")
    assert (hit.conversation_id, hit.title, hit.message_id) == (turn.conversation.id, "France", turn.user_message.id)
    assert hit.snippet == f"What is its {HIGHLIGHT_START}capital{HIGHLIGHT_END} city?"
    assert hit.updated_at == turn.conversation.updated_at


def test_what_is_shown_of_a_message_is_without_its_markup(session: Session, anna: User) -> None:
    chat(session, anna, "a", "## Terms\nThe **lease** of `unit_7` ends in 2 * 3 months")
    (hit,) = find(session, anna, "lease")
    said = hit.snippet.replace(HIGHLIGHT_START, "<").replace(HIGHLIGHT_END, ">")
    assert said == "Terms The <lease> of unit_7 ends in 2 * 3 months"


def test_the_last_word_may_be_unfinished_and_all_words_must_be_there(session: Session, anna: User) -> None:
    chat(session, anna, "a", "the capital of France")
    chat(session, anna, "b", "the capital of Spain")
    assert titles(find(session, anna, "capital fra")) == ["a"]
    assert titles(find(session, anna, "cap france")) == []
    assert sorted(titles(find(session, anna, "CAPITAL"))) == ["a", "b"]


def test_accents_and_case_make_no_difference(session: Session, anna: User) -> None:
    chat(session, anna, "a", "Où est le café de Zoé?")
    assert titles(find(session, anna, "cafe ZOE")) == ["a"]
    assert titles(find(session, anna, "cafe\u0301")) == ["a"]


def test_titles_come_first_and_a_conversation_comes_once(session: Session, anna: User) -> None:
    chat(session, anna, "Paris", "paris paris paris", "paris")
    chat(session, anna, "Other", "paris paris paris paris")
    hits = find(session, anna, "paris")
    assert titles(hits) == ["Paris", "Other"]
    assert hits[0].snippet == f"{HIGHLIGHT_START}paris{HIGHLIGHT_END}"
    assert titles(find(session, anna, "paris", limit=1)) == ["Paris"]
    assert find(session, anna, "paris", limit=0) == []


def test_a_new_title_replaces_the_old_one(session: Session, anna: User) -> None:
    conversation = chat(session, anna, "Paris")
    organise.rename(session, anna.id, conversation.id, "Rome")
    session.flush()
    assert titles(find(session, anna, "rome")) == ["Rome"]
    assert find(session, anna, "paris") == []


def test_an_answer_is_indexed_when_it_ends_not_while_it_is_written(session: Session, anna: User) -> None:
    answer = messages.start_conversation(session, anna.id, "a", "?", model_id=None).answer
    answers.save_progress(session, {answer.id: answers.SoFar("Paris is")})
    assert find(session, anna, "paris") == []
    answers.finish(session, answer.id, MessageStatus.STOPPED, content="Paris is nice")
    assert titles(find(session, anna, "paris nice")) == ["a"]


def test_an_answer_that_goes_on_is_found_by_its_new_end_and_once(session: Session, anna: User) -> None:
    answer = messages.start_conversation(session, anna.id, "a", "?", model_id=None).answer
    answers.finish(session, answer.id, MessageStatus.STOPPED, content="Paris is")
    messages.reopen_answer(session, anna.id, answer.id)
    session.flush()
    answers.save_progress(session, {answer.id: answers.SoFar("Paris is nice")})
    assert titles(find(session, anna, "paris")) == ["a"]
    assert find(session, anna, "nice") == []
    answers.finish(session, answer.id, MessageStatus.COMPLETE, content="Paris is nice")
    assert titles(find(session, anna, "nice")) == ["a"]
    assert num_indexed(session, "paris") == 1


def test_what_a_crash_interrupted_is_found(session: Session, anna: User) -> None:
    answer = messages.start_conversation(session, anna.id, "a", "?", model_id=None).answer
    answers.save_progress(session, {answer.id: answers.SoFar("Paris is")})
    answers.interrupt_streaming(session)
    assert titles(find(session, anna, "paris")) == ["a"]


def test_deleted_conversations_are_not_found_and_purged_ones_leave_nothing(session: Session, anna: User) -> None:
    conversation = chat(session, anna, "Paris", "paris", "paris")
    organise.delete(session, anna.id, [conversation.id])
    session.flush()
    assert find(session, anna, "paris") == []
    assert num_indexed(session, "paris") == 2 and num_titles(session, "paris") == 1
    session.delete(conversation)
    session.flush()
    assert num_indexed(session, "paris") == num_titles(session, "paris") == 0
    assert session.connection().exec_driver_sql("SELECT count(*) FROM search_document").scalar() == 0


def test_a_chat_found_by_its_title_does_not_begin_with_what_was_deleted_in_it(session: Session, anna: User) -> None:
    turn = messages.start_conversation(session, anna.id, "Recipes", "my secret PIN", model_id=None)
    answers.finish(session, turn.answer.id, MessageStatus.COMPLETE, content="!")
    messages.edit_turn(session, anna.id, turn.user_message.id, "how long do eggs boil", model_id=None)

    deletions.mark_deleted(session, anna.id, turn.user_message.id)

    assert [hit.snippet for hit in find(session, anna, "recipes")] == ["how long do eggs boil"]


def test_removing_a_person_removes_what_they_said_from_the_index(session: Session, anna: User) -> None:
    chat(session, anna, "Paris", "paris")
    session.delete(anna)
    session.flush()
    assert num_indexed(session, "paris") == 0


ODD_INPUTS = [
    "", " ", "\t\n", '"', "'", "*", '"paris', 'paris"', "paris*", "par* AND", "OR", "NOT paris", "NEAR(paris, 2)",
    "text:paris", "(paris", "paris)", "^paris", "{text} : paris", "-paris", "+", "paris\0", "\0", "\ud800",
    "'; DROP TABLE user; --", "😀", "paris 😀", "漢字", "हिन्दी", "a" * 100_000, "a " * 5000, '"' * 999, ":query", "%",
    "_", "\ue000", "½ ² ①", "paris \udfff",
]


@pytest.mark.parametrize("words", ODD_INPUTS, ids=range(len(ODD_INPUTS)))
def test_odd_input_is_no_error(session: Session, anna: User, words: str) -> None:
    chat(session, anna, "Paris", "paris is nice")
    assert titles(find(session, anna, words)) in ([], ["Paris"])


@given(words=st.text(st.characters(), max_size=60))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_input_is_no_error(session: Session, words: str) -> None:
    search(session, "nobody", words, limit=5)


@pytest.mark.parametrize(("words", "found"), [
    ("paris AND nice", []), ("paris*", ["Paris"]), ('"paris" (nice)', ["Paris"]), ("C++", ["Paris"]), ("漢", ["Paris"]),
    ("foo_bar", ["Paris"]), ("foo-bar.b", ["Paris"]), ("हिन्दी", ["Paris"]),
])
def test_signs_mean_nothing_words_do(session: Session, anna: User, words: str, found: list[str]) -> None:
    chat(session, anna, "Paris", "paris is nice", "C++ 漢字 foo_bar foo-bar.baz हिन्दी")
    assert titles(find(session, anna, words)) == found


def test_only_the_beginning_of_a_very_long_query_counts(session: Session, anna: User) -> None:
    chat(session, anna, "Paris", "paris is nice")
    assert titles(find(session, anna, "paris" + " " * MAX_QUERY_CHARS + "unknown")) == ["Paris"]


def test_a_chat_found_by_its_title_leads_to_its_newest_message_that_says_it_too(session: Session, anna: User) -> None:
    conversation = chat(session, anna, "Paris in spring", "How is it?", "Paris is nice.")
    (hit,) = find(session, anna, "paris")
    answer = messages.branch(session, anna.id, conversation.id)
    assert answer is not None and hit.message_id == answer[-1][0].id
    assert hit.marked_title == f"{HIGHLIGHT_START}Paris{HIGHLIGHT_END} in spring"
    (by_title,) = find(session, anna, "spring")
    assert (by_title.message_id, by_title.snippet) == (None, "How is it?")


def test_the_newest_come_first_and_only_as_many_as_are_wanted(session: Session, anna: User) -> None:
    for number in range(5):
        chat(session, anna, f"{number}", "the same")
    session.flush()
    assert titles(find(session, anna, "same", limit=3)) == ["4", "3", "2"]


def test_filters_narrow_what_is_found_and_need_no_words(session: Session, anna: User) -> None:
    work, other, old = (chat(session, anna, title, "paris?", "paris!") for title in ("Work", "Other", "Old"))
    made = folders.create_folder(session, anna.id, "Office")
    assert made is not None
    organise.move(session, anna.id, [work.id], made[0].id)
    organise.tag(session, anna.id, [work.id, other.id], "trip", "trip")
    ((tag, _),) = organise.list_tags(session, anna.id)
    organise.pin(session, anna.id, [other.id])
    organise.archive(session, anna.id, [old.id], is_archived=True)
    old.created_at = old.updated_at = now() - timedelta(days=100)
    old.model_id = "qwen3-8b"
    session.flush()
    yesterday = now() - timedelta(days=1)
    for words in ("paris", ""):
        def found(words: str = words, **filters: Any) -> list[str]:
            hits = search(session, anna.id, words, limit=9, filters=Filters(**filters))
            return sorted(titles(hits))

        assert found(folder_ids=(made[0].id,)) == ["Work"]
        assert found(folder_ids=()) == []
        assert found(tag_ids=(tag.id,)) == ["Other", "Work"]
        assert found(tag_ids=(tag.id, "")) == []
        assert found(is_pinned=True) == ["Other"] and found(is_archived=True) == ["Old"]
        assert found(is_archived=False, is_pinned=False) == ["Work"]
        assert found(after=yesterday) == ["Other", "Work"]
        assert found(model="QWEN") == ["Old"]
    assert [hit.is_archived for hit in search(session, anna.id, "", limit=9, filters=Filters(model="qwen"))] == [True]


def test_who_said_it_can_be_asked_for(session: Session, anna: User) -> None:
    chat(session, anna, "Paris", "Lyon?", "Paris!")
    assert titles(search(session, anna.id, "lyon", limit=9, filters=Filters(role=MessageRole.USER))) == ["Paris"]
    assert search(session, anna.id, "lyon", limit=9, filters=Filters(role=MessageRole.ASSISTANT)) == []
    (hit,) = search(session, anna.id, "paris", limit=9, filters=Filters(role=MessageRole.ASSISTANT))
    assert hit.snippet == f"{HIGHLIGHT_START}Paris{HIGHLIGHT_END}!"


@pytest.mark.parametrize("hours", [-12, 0, 1, 14])
def test_any_day_that_there_is_can_be_searched_from_anywhere(session: Session, anna: User, hours: int) -> None:
    chat(session, anna, "Lease")
    zone = timezone(timedelta(hours=hours))
    for year, after, before in ((1, ["Lease"], []), (500, ["Lease"], []), (9999, [], ["Lease"])):
        for moment in (datetime(year, 1, 1, tzinfo=zone), datetime(year, 12, 31, 23, 59, tzinfo=zone)):
            assert titles(search(session, anna.id, "", limit=9, filters=Filters(after=moment))) == after
            assert titles(search(session, anna.id, "", limit=9, filters=Filters(before=moment))) == before
