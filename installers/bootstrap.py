"""Sees to it that a checkout's `.venv` is fit for a purpose. What `make` calls, on the system's Python.

    python3 -m installers.bootstrap run | desktop | check | test

A finished set-up leaves a stamp; while it matches, this costs one hash over a few small files. The work itself is in
`installers.steps`, imported only when there is some. An old Python must be able to read this file, to say so.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
NEEDED_PYTHON = (3, 11)

# What an environment fit for one purpose serves as well.
SERVES = {
    "run": ("run", "desktop", "check", "test"),
    "desktop": ("desktop",),
    "check": ("check", "test"),
    "test": ("test",),
}
_WATCHED = (
    "pyproject.toml", "constraints.txt", "installers/bootstrap.py", "installers/steps.py",
    "installers/llama_cpp/wheel.py", "installers/llama_cpp/probe.py", "installers/llama_cpp/library_only.cmake",
)


def main() -> int:
    purpose = sys.argv[1] if len(sys.argv) == 2 else ""
    if purpose not in SERVES:
        print("usage: python3 -m installers.bootstrap " + " | ".join(SERVES), file=sys.stderr)
        return 2
    if is_ready(purpose):
        return 0
    if sys.version_info < NEEDED_PYTHON:
        return _with_newer_python()

    from installers import steps

    return steps.set_up(purpose)


def is_ready(purpose: str) -> bool:
    """The environment runs, and was finished with these very files, in this very place."""
    if not os.access(os.path.join(VENV, "bin", "python"), os.X_OK):
        return False
    wanted = digest()
    return any(_stamped(stamp_path(name)) == wanted for name in SERVES[purpose])


def stamp_path(purpose: str) -> str:
    return os.path.join(VENV, "ready-for-" + purpose)


def digest() -> str:
    """Of all that decides what is installed. The place counts: an editable install knows the checkout by its path."""
    found = hashlib.sha256(ROOT.encode())
    for name in _WATCHED:
        with open(os.path.join(ROOT, name), "rb") as file:
            found.update(hashlib.sha256(file.read()).digest())
    return found.hexdigest()


def _stamped(path: str) -> str | None:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return None


def _with_newer_python() -> int:
    for name in ("python3.14", "python3.13", "python3.12", "python3.11"):
        found = shutil.which(name)
        if found:
            os.execv(found, [found, "-m", "installers.bootstrap", *sys.argv[1:]])
    print(
        f"Inglenook needs Python 3.11 or newer; this is {sys.version_info[0]}.{sys.version_info[1]}. Install one "
        "(Debian 12, Ubuntu 24.04 and newer: `apt install python3 python3-venv`), or name the one to take: "
        "`make run PYTHON=/path/to/python3.11`",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
