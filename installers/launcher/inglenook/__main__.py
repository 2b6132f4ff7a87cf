"""`inglenook` and `python -m inglenook`: puts the rooms on the path and runs `app.cli`. On the main thread."""

from __future__ import annotations

import multiprocessing
import sys
from pathlib import Path


def main() -> None:
    multiprocessing.freeze_support()         # first: in a frozen program, child processes start here and go no further
    lib = Path(__file__).resolve().parent / "lib"
    if lib.is_dir():                         # not so in a checkout, where the editable install names the root itself
        sys.path.insert(0, str(lib))

    from app import cli  # noqa: PLC0415  only now on the path

    cli.main()


if __name__ == "__main__":
    main()
