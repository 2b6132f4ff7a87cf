"""Keeps Python's garbage collector out of the way of steps. On the event loop.

It looks through all objects again and again, and nothing else runs meanwhile: with torch in the process 0.08 to 0.17 s
each time, several times in two seconds of 256 sequences. What a loaded model brought will stay; and that a step makes
many objects, which all go with it, says nothing of garbage.
"""

from __future__ import annotations

import gc

OBJECTS_A_ROW = 20                              # of a step, that live at the same time: about 10
_USUAL_THRESHOLDS = gc.get_threshold()
_num_rows: dict[object, int] = {}               # of a step, by who is loaded


def keep_out(of: object, max_num_seqs: int) -> None:
    """Nothing that lives now is looked through any more, and a step of so many rows is no reason to look."""
    _num_rows[of] = max_num_seqs
    gc.collect(1)                               # what is new and already garbage; a full look is what is avoided here
    _freeze()


def look_again(of: object) -> None:
    """A model went: whatever of it refers to itself is found with the next full look, which is now where others are
    still loaded. Idempotent.
    """
    if _num_rows.pop(of, None) is None:
        return
    gc.unfreeze()
    gc.set_threshold(*_USUAL_THRESHOLDS)
    if _num_rows:
        gc.collect()
        _freeze()


def stand_down() -> None:
    """Before all models go at once: a full look for each of them takes longer than all else of a server's end."""
    _num_rows.clear()
    gc.unfreeze()
    gc.set_threshold(*_USUAL_THRESHOLDS)


def _freeze() -> None:
    gc.freeze()
    youngest, *older = _USUAL_THRESHOLDS
    gc.set_threshold(max(youngest, OBJECTS_A_ROW * max(_num_rows.values())), *older)
