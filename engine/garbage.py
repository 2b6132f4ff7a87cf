"""Keeps Python's garbage collector out of the way of steps. On the event loop.

It looks through all objects again and again, and nothing else runs meanwhile: with torch in the process 0.08 to 0.17 s
each time, several times in two seconds of 256 sequences. What a loaded model brought will stay; and that a step makes
many objects, which all go with it, says nothing of garbage.

Of a model that goes, counting references frees all that is large at once: nothing that it has may refer back to what
holds it. A few hundred small objects are left to be found (of templates, and of ctypes), which can wait.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field

OBJECTS_A_ROW = 20                              # of a step, that live at the same time: about 10
MODELS_A_LOOK = 100                             # that have gone while others stayed: what they left is some MB then
_USUAL_THRESHOLDS = gc.get_threshold()


@dataclass(slots=True)
class _Models:
    num_rows: dict[object, int] = field(default_factory=dict)       # of a step, by who is loaded
    num_gone: int = 0                                               # since the last full look


_models = _Models()


def keep_out(of: object, max_num_seqs: int) -> None:
    """Nothing that lives now is looked through any more, and a step of so many rows is no reason to look."""
    _models.num_rows[of] = max_num_seqs
    gc.collect(1)                               # what is new and already garbage; a full look is what is avoided here
    gc.freeze()
    _count_rows()


def look_again(of: object) -> None:
    """A model went: with the last of them all is looked through again, when its time comes. Idempotent."""
    if _models.num_rows.pop(of, None) is None:
        return
    _models.num_gone += 1
    if _models.num_rows and _models.num_gone < MODELS_A_LOOK:
        _count_rows()
        return
    _models.num_gone = 0
    gc.unfreeze()
    gc.set_threshold(*_USUAL_THRESHOLDS)
    if _models.num_rows:
        gc.collect()
        gc.freeze()
        _count_rows()


def stand_down() -> None:
    """Before all models go at once: none of them is a reason for a look."""
    _models.num_rows.clear()
    gc.unfreeze()
    gc.set_threshold(*_USUAL_THRESHOLDS)


def _count_rows() -> None:
    youngest, *older = _USUAL_THRESHOLDS
    gc.set_threshold(max(youngest, OBJECTS_A_ROW * max(_models.num_rows.values())), *older)
