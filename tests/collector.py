"""Imported before anything of ours: the garbage collector looks through a whole test process less often.

It holds a million objects that stay, and each test loads and unloads a model, after which Python would look through
all of them once: a third of a second, for what a few tests together leave.
"""

from __future__ import annotations

import gc

gc.set_threshold(2000, 10, 50)      # `engine.garbage` goes back to these, which it finds when it is imported
