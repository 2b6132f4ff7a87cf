"""What a long-used home looks like: folders, pins, tags, an archive, figures under answers, and what went wrong once.

The figures are staged, no measurements: only the scene `answered` shows what the model wrote, and how fast.
Written into the server's database before anyone looks, after the chats of chats.py were imported.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from sqlmodel import Session, select

from app.services.bench_figures import Figure, Level
from store import connections, settings
from store.database import Database
from store.tables import (
    ApiKey,
    Benchmark,
    Conversation,
    ConversationTag,
    Folder,
    Message,
    MessageRole,
    MessageStatus,
    Preset,
    Prompt,
    Tag,
    User,
    UserRole,
    UserSetting,
    new_id,
    now,
)
from tests.screenshots.chats import MODEL

FOLDERS = {"House": ("Soup for twelve", "Minutes of the garden club"), "Office": ("Explaining VAT to a child",)}
PINNED = ("Order of forty chairs", "Why the tide turns")
TAGS = {"work": ("Order of forty chairs", "What the contract says about notice"), "family": ("Wedding speech",)}
ARCHIVED = ("Chess: the Caro-Kann", "Thank-you card", "Binary search, off by one")
THOUGHT = """The clause says “either party”, so it is symmetrical. Three months is the notice, not the term.

Is there a date by which it has to be given? The text names none, so any day will do. I should say that in one line."""
VERSION = "sha256 9f2c4e71, 105,454,432 bytes"


OFFICE = (      # name, role, active, last here so many hours ago
    ("Tomas Brandt", UserRole.USER, True, 3), ("Anouk de Vries", UserRole.USER, True, 27),
    ("Jonas Ahlers", UserRole.USER, False, 900), ("Lea", UserRole.USER, True, None),
)
BENCHED = (     # run, quantisation, days ago, llama.cpp, tokens a second by how many ask
    ("r1", "Q4_K_M", 60, "0.3.36", (11.2, 19.8, 33.1, 46.0)), ("r2", "Q4_K_M", 26, "0.3.40", (9.8, 17.3, 29.0, 40.2)),
    ("r3", "Q4_K_M", 1, "0.3.41", (11.4, 20.1, 33.9, 46.8)), ("r3", "Q8_0", 1, "0.3.41", (6.9, 13.1, 24.8, 38.2)),
)
KEYS = (("Mira Kern", "Shop scripts", 2), ("Anouk de Vries", "Editor", 190), ("Tomas Brandt", "Laptop", None))


def furnish(database_path: Path, name: str) -> None:
    database = Database.open(database_path)
    try:
        with database.session() as session:
            user = session.exec(select(User).where(User.name == name)).one()
            _furnish(session, user.id)
            _fill_office(session)
            _fill_bench(session)
    finally:
        database.close()


def forget_new_chats(database_path: Path, name: str) -> None:
    """Those that were written for a picture: the next one shall find the room as it was."""
    database = Database.open(database_path)
    try:
        with database.session() as session:
            user = session.exec(select(User).where(User.name == name)).one()
            since = now() - timedelta(minutes=15)
            for chat in session.exec(select(Conversation).where(Conversation.user_id == user.id)):
                if chat.created_at > since:
                    chat.deleted_at = now()
    finally:
        database.close()


def _fill_office(session: Session) -> None:
    at = now()
    for user in session.exec(select(User)):
        user.created_at = at - timedelta(days=210)
    for number, (name, role, is_active, hours) in enumerate(OFFICE):
        session.add(User(
            name=name, name_key=name.casefold(), password_hash="none that fits", role=role, is_active=is_active,
            created_at=at - timedelta(days=200 - 9 * number),
            last_seen_at=None if hours is None else at - timedelta(hours=hours),
        ))
    session.flush()
    people = {user.name: user.id for user in session.exec(select(User))}
    for number in range(12):
        chat = Conversation(user_id=people["Tomas Brandt"], title=f"Offer {number + 1}")
        session.add(chat)
        session.flush()
        roles = (MessageRole.USER, MessageRole.ASSISTANT)
        session.add_all(Message(conversation_id=chat.id, role=role) for role in roles)
    for number, (name, what, hours) in enumerate(KEYS):
        session.add(ApiKey(
            user_id=people[name], name=what, key_hash=f"staged {number}", hint=f"sk-{'qxw'[number]}k…{'7Yd'[number]}4p",
            created_at=at - timedelta(days=60 - number),
            last_used_at=None if hours is None else at - timedelta(hours=hours),
        ))


def _fill_bench(session: Session) -> None:
    """Two models beside each other, and an update between two runs of one that made it slower."""
    at, costs = now(), {"watts": 65, "kwh_price": 0.32, "per_month": 12, "api_price": 0.6}
    settings.set_of_system(session, "costs", costs)
    connections.set_allowed(session, True)
    for run, quantisation, days, release, speeds in BENCHED:
        levels = [_level(2**step, speed, 0.41 * 1.75**step) for step, speed in enumerate(speeds)]
        session.add(Benchmark(
            run_id=run, created_at=at - timedelta(days=days), app_version="0.1.0", machine="AMD Ryzen 7 7840U, 8 cores",
            model_id=f"qwen3-8b-{quantisation.lower()}", model_name="Qwen3 8B", model_version=VERSION,
            quantisation=quantisation, backend=f"llama.cpp {release}", device="cpu", gpu_layers=0, num_threads=8,
            context_tokens=8192, max_num_seqs=8, kv_type="f16", prompts_hash="staged", prompts_source="own",
            num_prompts=4, max_tokens=128, repetitions=3, levels=levels,
        ))


def _level(concurrency: int, speed: float, wait_s: float) -> dict[str, object]:
    def figure(value: float) -> Figure:
        return Figure(value, value * 0.95, value * 1.05)

    answer_s = concurrency / speed
    return Level(
        concurrency, figure(speed), figure(speed / concurrency), figure(wait_s), figure(wait_s * 1.8),
        figure(answer_s), figure(answer_s * 2.3), 76.0, 0, 0, 0.0, max(4, concurrency), 3,
    ).to_values()


def _furnish(session: Session, user_id: str) -> None:
    session.add(UserSetting(user_id=user_id, key="titles", value=False))
    chats = {chat.title: chat for chat in session.exec(select(Conversation).where(Conversation.user_id == user_id))}
    for position, (name, titles) in enumerate(FOLDERS.items()):
        folder = Folder(user_id=user_id, name=name, position=position)
        session.add(folder)
        session.flush()
        for title in titles:
            chats[title].folder_id = folder.id
    for position, title in enumerate(PINNED):
        chats[title].pin_position = position
    for name, titles in TAGS.items():
        tag = Tag(user_id=user_id, name=name, name_key=name)
        session.add(tag)
        session.flush()
        session.add_all(ConversationTag(conversation_id=chats[title].id, tag_id=tag.id) for title in titles)
    for title in ARCHIVED:
        chats[title].archived_at = now()
    for title, chat in chats.items():
        _write_figures(session, chat, title)
    _add_library(session, user_id)


def _write_figures(session: Session, chat: Conversation, title: str) -> None:
    messages = session.exec(
        select(Message).where(Message.conversation_id == chat.id).order_by(Message.created_at)      # type: ignore[arg-type]
    ).all()
    answers = [message for message in messages if message.role is MessageRole.ASSISTANT]
    for answer in answers:
        answer.model_id, answer.model_version = MODEL, VERSION
        answer.completion_tokens = max(12, len(answer.content) // 4)
        answer.prompt_tokens, answer.cached_tokens = 412, 380
        answer.time_to_first_token_s, answer.duration_s = 0.31, round(answer.completion_tokens / 41.3, 2)
        answer.finish_reason = "stop"
    last = answers[-1]
    if title == "What the contract says about notice":
        last.reasoning, last.reasoning_s = THOUGHT, 6.4
    elif title == "Packing list for the Alps":
        last.status, last.finish_reason = MessageStatus.INTERRUPTED, None
    elif title == "Counting words in a large file":
        last.num_left_out, last.first_message_id = 2, messages[2].id
    elif title == "Names for a small bakery":
        other = Message(**last.model_dump() | {"id": new_id(), "content": "1. Hearth & Ladder\n2. The Warm Engine"})
        session.add(other)


def _add_library(session: Session, user_id: str) -> None:
    session.add_all([
        Prompt(user_id=user_id, command="translate", name="Translate",
               content="Translate into {{language=German|French|Polish}}: {{selection}}"),
        Prompt(user_id=user_id, command="minutes", name="Minutes of a meeting",
               content="Turn these notes into minutes, with a list of who does what by when: {{notes}}"),
        Prompt(user_id=user_id, command="plain", name="Say it plainly",
               content="Say this in plain words: {{clipboard}}"),
        Preset(user_id=user_id, name="Editor", system_prompt="You mend language and leave the meaning alone.",
               parameters={"temperature": 0.3}),
        Preset(user_id=user_id, name="Programmer", system_prompt="Answer with code first, then two lines of why.",
               parameters={"temperature": 0.2, "max_tokens": 2048}),
    ])


def set_up_environment() -> None:
    """One answer at a time: so the second waits in line, and can be looked at."""
    os.environ["INGLENOOK_MAX_NUM_SEQS"] = "1"
