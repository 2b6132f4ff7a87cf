"""The set-up's decisions: what is ready, what a failure says, how builds are chosen, and that two never meet."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path

import pytest

from installers import bootstrap, console, steps
from installers.console import Console, Pip, Runner, SetupError, explain
from installers.llama_cpp import probe, wheel
from installers.locks import only_one

ROOT = Path(bootstrap.ROOT)


class TestStamp:
    @pytest.fixture(autouse=True)
    def environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """An environment with a Python in it, and nothing else."""
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "python").symlink_to(sys.executable)
        monkeypatch.setattr(bootstrap, "VENV", str(tmp_path))
        return tmp_path

    def stamp(self, purpose: str) -> None:
        Path(bootstrap.stamp_path(purpose)).write_text(bootstrap.digest())

    def test_nothing_is_ready_before_the_set_up(self) -> None:
        assert not any(bootstrap.is_ready(purpose) for purpose in bootstrap.SERVES)

    def test_what_serves_the_tests_serves_a_run(self) -> None:
        self.stamp("test")
        assert [purpose for purpose in bootstrap.SERVES if bootstrap.is_ready(purpose)] == ["run", "check", "test"]

    def test_a_run_does_not_serve_the_tests(self) -> None:
        self.stamp("run")
        assert not bootstrap.is_ready("test")

    def test_a_moved_checkout_is_set_up_anew(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.stamp("run")
        for name in bootstrap._WATCHED:
            copy = tmp_path / "moved" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((ROOT / name).read_bytes())
        monkeypatch.setattr(bootstrap, "ROOT", str(tmp_path / "moved"))
        assert not bootstrap.is_ready("run")

    def test_an_environment_whose_python_is_gone_is_not_ready(self, environment: Path) -> None:
        self.stamp("run")
        (environment / "bin" / "python").unlink()
        (environment / "bin" / "python").symlink_to(environment / "nowhere")
        assert not bootstrap.is_ready("run")


def test_an_old_python_can_read_the_door_and_is_told_what_to_do() -> None:
    ast.parse((ROOT / "installers" / "bootstrap.py").read_text(), feature_version=(3, 7))


def test_a_python_without_venv_is_told_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SetupError, match="apt install python3-venv"):
        steps._check_machine(steps.PURPOSES["run"])


def test_a_full_disk_is_told_before_anything_begins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(steps, "VENV", tmp_path / "not-there")
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 300_000_000}))
    with pytest.raises(SetupError, match=r"0\.3 GB are free"):
        steps._check_machine(steps.PURPOSES["run"])


def test_every_purpose_of_the_door_has_its_steps() -> None:
    assert steps.PURPOSES.keys() == bootstrap.SERVES.keys()


class TestFailures:
    @pytest.mark.parametrize(
        ("said", "advice"),
        [
            ("OSError: [Errno 28] No space left on device", "The disk is full"),
            ("NewConnectionError: [Errno -3] Temporary failure in name resolution", "The network failed"),
            ("c++: fatal error: Killed signal terminated program cc1plus", "CMAKE_BUILD_PARALLEL_LEVEL=1"),
            ("PermissionError: [Errno 13] Permission denied: '/home/x'", "cannot be written"),
            ("CMake Error: CMAKE_CXX_COMPILER not set, after EnableLanguage", "correct CC and CXX"),
            ("something new", "This step failed"),
        ],
    )
    def test_the_last_lines_are_understood(self, said: str, advice: str, tmp_path: Path) -> None:
        text = explain(["Collecting fastapi", said], tmp_path / "setup.log", "make run")
        assert advice in text
        assert said in text
        assert "repeat `make run`" in text
        assert "setup.log" in text

    def test_what_pip_says_after_a_failed_build_does_not_hide_the_reason(self, tmp_path: Path) -> None:
        epilogue = ["  error: subprocess-exited-with-error", "  ╰─> No available output.", *["  note: pip's"] * 12]
        assert "no such flag" in explain(["cc: no such flag", *epilogue], tmp_path / "setup.log", "make run")
        shown_by_pip_alone = [epilogue[0], "  ╰─> [1 lines of output]", "no such flag"]
        assert "no such flag" in explain(["Collecting x", *shown_by_pip_alone], tmp_path / "setup.log", "make run")

    def test_an_environment_that_cannot_be_made_says_why_and_what_to_do(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setattr(steps, "VENV", tmp_path / "file" / ".venv")
        with pytest.raises(SetupError, match="Not a directory") as raised:
            steps._make_environment()
        assert "could not be made" in str(raised.value)
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess(
            [], 1, "", "Error: [Errno 13] Permission denied: '.venv'"))
        with pytest.raises(SetupError, match="Check who owns this checkout"):
            steps._make_environment()

    def test_a_failing_command_leaves_its_words_in_the_log(self, tmp_path: Path) -> None:
        runner = Runner(tmp_path / "setup.log", "make run")
        with pytest.raises(SetupError, match="kaputt"):
            runner.run([sys.executable, "-c", "import sys; print('kaputt'); sys.exit(3)"])
        assert "kaputt" in (tmp_path / "setup.log").read_text()


class TestBuilds:
    @pytest.fixture(autouse=True)
    def machine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An x86-64 one that runs all there is."""
        monkeypatch.setattr(probe, "is_x86_64", lambda: True)
        monkeypatch.setattr(probe, "features_that_run", lambda compiler: tuple(f.name for f in probe.FEATURES))
        monkeypatch.setattr(probe, "c_compiler", lambda: "cc")
        monkeypatch.setattr(probe, "cxx_compiler", lambda: "c++")
        monkeypatch.setattr(probe, "compiler_version", lambda compiler: f"{compiler} 12.2")
        monkeypatch.delenv("CMAKE_ARGS", raising=False)

    def test_best_first_then_the_common_ground_then_nothing_special(self, tmp_path: Path) -> None:
        ways = list(wheel.builds("0.3.36", tmp_path))
        assert [len(way.features) for way in ways] == [len(probe.FEATURES), len(probe.BASELINE), 0]
        assert "-DGGML_AVX512=ON" in ways[0].options
        assert "-DGGML_AVX512=OFF" in ways[1].options
        assert "-DGGML_AVX2=OFF" in ways[2].options
        assert len({way.folder for way in ways}) == 3

    def test_amx_is_never_used_and_native_is_off(self, tmp_path: Path) -> None:
        for way in wheel.builds("0.3.36", tmp_path):
            assert "-DGGML_NATIVE=OFF" in way.options
            assert not any("AMX" in option for option in way.options)

    def test_a_build_is_kept_by_all_that_it_depends_on(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def folder(version: str = "0.3.36") -> Path:
            return next(wheel.builds(version, tmp_path)).folder

        plain = folder()
        assert folder() == plain
        assert folder("0.3.37") != plain
        monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=ON")
        assert folder() != plain
        monkeypatch.delenv("CMAKE_ARGS")
        monkeypatch.setattr(probe, "compiler_version", lambda compiler: "cc 14.1")
        assert folder() != plain

    def test_where_the_checkout_lies_makes_no_difference(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        here = next(wheel.builds("0.3.36", tmp_path)).folder
        copy = tmp_path / "elsewhere" / "library_only.cmake"
        copy.parent.mkdir()
        copy.write_text(wheel.HOOK.read_text())
        hooked = tuple(option.replace(str(wheel.HOOK), str(copy)) for option in wheel._BASE_OPTIONS)
        monkeypatch.setattr(wheel, "HOOK", copy)
        monkeypatch.setattr(wheel, "_BASE_OPTIONS", hooked)
        assert next(wheel.builds("0.3.36", tmp_path)).folder == here

    def test_a_kept_wheel_is_taken_and_a_refused_build_passed_over(self, tmp_path: Path) -> None:
        first, second, _ = wheel.builds("0.3.36", tmp_path)
        for way in (first, second):
            way.folder.mkdir()
            (way.folder / "llama_cpp_python-0.3.36.whl").touch()
        first.refuse("signal 4")
        ways = (way for way in wheel.builds("0.3.36", tmp_path) if not way.is_refused)
        pip = Pip(Path(sys.executable), tmp_path, Runner(tmp_path / "log", "make run"), Console(1))
        assert wheel.make(steps._next_of(ways), pip, Console(1)).parent == second.folder

    def test_no_compiler_is_told_with_the_package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(probe, "cxx_compiler", lambda: None)
        with pytest.raises(SetupError, match="apt install build-essential"):
            next(wheel.builds("0.3.36", tmp_path))


@pytest.mark.skipif(not (probe.is_x86_64() and probe.c_compiler()), reason="compiles for x86-64")
class TestProbe:
    def test_only_what_computes_the_right_value_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        compiler = probe.c_compiler()
        assert compiler is not None
        right = probe.Feature("right", "X", (), (), "return one != 1;")
        wrong = probe.Feature("wrong", "X", (), (), "return one != 2;")
        crashing = probe.Feature("crashing", "X", (), (), "__builtin_trap();")
        on_sand = probe.Feature("on sand", "X", (), ("wrong",), "return 0;")
        unknown = probe.Feature("unknown", "X", ("-mno-such-thing",), (), "return 0;")
        monkeypatch.setattr(probe, "FEATURES", (right, wrong, crashing, on_sand, unknown))
        assert probe.features_that_run(compiler) == ("right",)

    def test_needs_stand_before_what_needs_them(self) -> None:
        names = [feature.name for feature in probe.FEATURES]
        for index, feature in enumerate(probe.FEATURES):
            assert all(need in names[:index] for need in feature.needs)
        assert all(name in names for name in probe.BASELINE)


def test_the_second_of_two_waits_and_says_so(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from installers.locks import only_one\n"
        "with only_one(Path(sys.argv[1]), lambda text: print(text, flush=True)): print('mine', flush=True)"
    )
    with only_one(tmp_path, print):
        command = [sys.executable, "-c", code, str(tmp_path)]
        second = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert second.stdout is not None
        assert second.stdout.readline().startswith("Another set-up is at work")
    assert second.communicate()[0] == "mine\n"


def test_constraints_are_exact_and_name_no_host() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(line.count("==") == 1 and "/" not in line and "@" not in line for line in lines)
    names = {line.partition("==")[0] for line in lines}
    assert {"llama-cpp-python", "nicegui", "torch", "transformers", "pip", "hatchling"} <= names


def test_steps_are_numbered_and_say_how_far_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "QUIET_INTERVAL_S", 0.001)
    out = ""
    two_steps = console.Console(num_steps=2)
    with two_steps.step("Compiling"):
        two_steps.progress("compiled 34 of 83 files")
        deadline_s = time.monotonic() + 60
        while "compiled 34 of 83 files, 0 s\n" not in out and time.monotonic() < deadline_s:
            out += capsys.readouterr().out
    out += capsys.readouterr().out
    assert "compiled 34 of 83 files, 0 s\n" in out
    assert out.startswith("[1/2] Compiling …\n")
    assert out.endswith("[1/2] Compiling: done in 0 s\n")
