"""Conversations to look at, in the shape that Open WebUI exports: what `inglenook chats import` reads."""

from __future__ import annotations

import time
from typing import Any

MODEL = "smollm2-135m-instruct"
DAY_S = 24 * 3600

TIDES = """Twice a day the sea rises and falls: the Moon pulls harder on the Earth’s near side than on its far side.

| place | range | why |
|:--|--:|:--|
| Bay of Fundy | 16 m | the bay resonates with the tide |
| Mont Saint-Michel | 14 m | a wide, shallow bay |
| Baltic Sea | 0.1 m | nearly closed |

The pull falls with the cube of the distance:

$$ a = \\frac{2 G M r}{d^3} $$

- [x] spring tides at new and full moon
- [x] neap tides in between
- [ ] storms, which no table foresees[^1]

[^1]: A storm surge adds to the tide, and can double it."""

CODE = """A generator reads the file line by line, so its size does not matter:

```python
from collections import Counter
from pathlib import Path


def most_common_words(path: Path, number: int = 10) -> list[tuple[str, int]]:
    \"\"\"The words that stand in a text most often, with their counts.\"\"\"
    with path.open(encoding="utf-8") as lines:
        counts = Counter(word.lower() for line in lines for word in line.split())
    return counts.most_common(number)
```

`Counter` does the counting in C; the generator hands it one word at a time."""

LETTER = """Dear Ms Okafor,

thank you for the quotation of 12 November. We would like to order **40 chairs** on these terms, if delivery by
the second week of January is possible.

Kind regards
Mira Kern"""

CHATS: tuple[tuple[str, float, tuple[str, ...]], ...] = (
    # title, days ago, turns
    ("Why the tide turns", 0.02, ("Why does the sea rise and fall twice a day?", TIDES)),
    ("Counting words in a large file", 0.1, (
        "How do I count the words of a very large text file in Python?", CODE,
        "And if the words carry punctuation?",
        "Strip it first: `word.strip(\".,;:!?\")`. Where that is too coarse, use a regular expression such as `\\w+`.",
    )),
    ("Order of forty chairs", 0.2, ("Write a short letter: we order 40 chairs, delivery in January.", LETTER)),
    ("Names for a small bakery", 1.1, (
        "Five names for a bakery in an old fire station?",
        "1. The Last Alarm\n2. Ember & Rye\n3. Engine Nine\n4. Hose and Crumb\n5. Brass Pole",
    )),
    ("What the contract says about notice", 1.4, (
        "Sum up this clause: either party may end it with three months’ notice.",
        "Both sides can leave; they must say so three months before.",
    )),
    ("Soup for twelve", 2.2, (
        "Pumpkin soup for twelve people?", "4 kg of pumpkin, 6 onions, 3 litres of stock, 0.5 l of cream.",
    )),
    ("Packing list for the Alps", 3.0, (
        "What do I need for four days of huts?", "Boots, layers, a light sleeping bag, cash.",
    )),
    ("Regular expressions for dates", 4.5, ("A regex for ISO dates?", "`\\d{4}-\\d{2}-\\d{2}`")),
    ("Minutes of the garden club", 5.5, (
        "Turn these notes into minutes.", "Present: 11. Decided: new compost, May fair.",
    )),
    ("Explaining VAT to a child", 6.1, (
        "Explain VAT to a ten-year-old.", "When you buy sweets, a small part goes to the town.",
    )),
    ("Chess: the Caro-Kann", 12, ("Main ideas of the Caro-Kann?", "A firm centre, and the bishop out before e6.")),
    ("Thank-you card", 19, (
        "A card for our neighbour who fed the cat.", "For nine days of tuna and patience: thank you.",
    )),
    ("Binary search, off by one", 33, (
        "Why does my binary search loop?", "`high = mid` with `low <= high` never shrinks.",
    )),
    ("Wedding speech", 41, ("Three minutes, warm, one joke.", "Dear both, I have known Jan since he could not cook.")),
)


def exported(now_s: float | None = None) -> list[dict[str, Any]]:
    now_s = time.time() if now_s is None else now_s
    return [_chat(title, int(now_s - days * DAY_S), turns) for title, days, turns in CHATS]


def _chat(title: str, at_s: int, turns: tuple[str, ...]) -> dict[str, Any]:
    chat_id = title.lower().replace(" ", "-")
    messages: dict[str, dict[str, Any]] = {}
    parent: str | None = None
    for number, content in enumerate(turns):
        message_id = f"{chat_id}-{number}"
        message: dict[str, Any] = {
            "id": message_id, "parentId": parent, "childrenIds": [], "content": content, "timestamp": at_s + number,
            "role": "assistant" if number % 2 else "user",
        }
        if number % 2:
            message |= {"model": MODEL, "done": True}
        if parent is not None:
            messages[parent]["childrenIds"].append(message_id)
        messages[message_id] = message
        parent = message_id
    return {
        "id": chat_id, "title": title, "created_at": at_s, "updated_at": at_s,
        "chat": {"title": title, "models": [MODEL], "history": {"messages": messages, "currentId": parent}},
    }
