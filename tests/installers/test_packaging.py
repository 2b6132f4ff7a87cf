"""The wheel, as somebody would install it: one name in site-packages, and in it all that the program needs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "correct horse battery"
PATIENCE_S = 120

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(ROOT)], check=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a new environment with the wheel in it; what it depends on is borrowed from the one that runs these tests."""
    environment = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, str(wheel)], check=True)
    (site,) = environment.glob("lib/python3*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")     # its own .pth files are not followed
    return python


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "INGLENOOK_DATA_DIR": str(tmp_path / "data"), "PYTHONPATH": ""}


def test_only_one_name_lands_in_site_packages(wheel: Path) -> None:
    top = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"inglenook"}


def test_all_that_is_needed_at_run_time_is_in_it_and_nothing_else(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("inglenook/lib/")}
    tracked = {
        f"inglenook/lib/{path.relative_to(ROOT)}"
        for room in ("app", "engine", "ui", "store", "assets")
        for path in (ROOT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.is_relative_to(ROOT / "assets" / "build")
    }
    assert inside == tracked


def test_the_rooms_names_stay_free_for_others(python: Path, tmp_path: Path) -> None:
    code = "import importlib.util, sys; print([name for name in sys.argv[1:] if importlib.util.find_spec(name)])"
    command = [str(python), "-c", code, "app", "engine", "ui", "store", "assets"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_command_is_there_and_helps(python: Path, tmp_path: Path) -> None:
    command = [str(python.parent / "inglenook"), "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "serve" in done.stdout


def test_it_serves_pages_styles_and_answers(python: Path, tmp_path: Path, env: dict[str, str]) -> None:
    inglenook = [str(python), "-u", "-m", "inglenook"]
    add = [*inglenook, "users", "add", "anna", "--admin", "--password-stdin"]
    subprocess.run(add, input=PASSWORD, text=True, env=env, cwd=tmp_path, check=True)
    create = [*inglenook, "keys", "create", "--user", "anna"]
    key = subprocess.run(create, env=env, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()
    serve = [*inglenook, "serve", "--port", "0", "--no-browser"]
    with subprocess.Popen(serve, env=env, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found
            with httpx.Client(base_url=found.group(), timeout=PATIENCE_S) as client:
                page = client.get("/login")
                assert page.status_code == 200
                styles = re.findall(r'(?:href|src)="(/assets/[^"]+)"', page.text)
                assert styles
                assert {client.get(address).status_code for address in styles} == {200}
                answer = client.post(
                    "/v1/chat/completions",
                    headers={"Authorization": f"Bearer {key}"},
                    json={
                        "model": "smollm2-135m-instruct", "temperature": 0, "max_tokens": 24,
                        "messages": [{"role": "user", "content": "What is the capital of France?"}],
                    },
                )
            assert answer.status_code == 200, answer.text
            assert "Paris" in answer.json()["choices"][0]["message"]["content"]
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE_S) == 0
