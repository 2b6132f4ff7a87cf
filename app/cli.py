"""The command line: `inglenook`, `serve`, `doctor`, and the groups of commands. Runs on the main thread.

Exit codes: 0 done; 1 it could not be done, and one line on stderr says why and what to do; 2 wrong usage or settings.
Every command imports what it needs when it is called, so that `--help` is there at once.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app import download_commands
from app.bench import bench
from app.chat_commands import export_chats, import_chats
from app.commands import HELP_STYLE, DataDir, load_settings, models
from app.connection_commands import connections
from app.hub_commands import rules, updates
from app.model_commands import budget, change, found, remove, roll_back, update
from app.model_show_command import show
from app.optimize import optimize
from app.people_commands import keys, users

if TYPE_CHECKING:
    from app.settings import Settings

FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130

cli = typer.Typer(**HELP_STYLE)
for group, name in ((users, "users"), (keys, "keys"), (models, "models"), (connections, "connections")):
    cli.add_typer(group, name=name)
cli.command("export")(export_chats)
cli.command("import")(import_chats)
cli.command("bench")(bench)
models.command("optimize")(optimize)
models.command("found")(found)
models.command("show")(show)
models.command("set")(change)
models.command("budget")(budget)
models.command("update")(update)
models.command("rollback")(roll_back)
models.command("remove")(remove)
models.command("updates")(updates)
models.command("rules")(rules)
for name, command in download_commands.COMMANDS.items():
    models.command(name)(command)

Port = Annotated[int | None, typer.Option(metavar="PORT", help="To listen on: 8420 if not given, 0 for any.")]


def main() -> None:
    """Ends the process."""
    _write_what_can_be_written()
    try:
        cli(prog_name="inglenook")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        foreseen = _foreseen(error)
        if foreseen is None:
            raise
        from app.names import in_plain

        sentence, exit_code = foreseen
        print(f"inglenook: {in_plain(sentence)}", file=sys.stderr)
        sys.exit(exit_code)


@cli.callback(invoke_without_command=True)
def desktop(
    context: typer.Context,
    data_dir: DataDir = None,
    port: Port = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """A private ChatGPT on this machine. Without a command it opens in a window, or else in the browser."""
    if version:
        from importlib.metadata import version as version_of

        print(f"inglenook {version_of('inglenook')}")
    elif context.invoked_subcommand is None:
        try:
            _open(load_settings(data_dir=data_dir, port=port))
        except Exception as error:
            from app.problem_page import is_needed, show_problem

            if (foreseen := _foreseen(error)) is not None and is_needed():
                show_problem(foreseen[0])
            raise
    elif data_dir is not None:
        os.environ["INGLENOOK_DATA_DIR"] = str(data_dir)         # given before the command: it is the command's then


@cli.command()
def serve(
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="To listen on: 127.0.0.1 if not given, 0.0.0.0 for the network.")
    ] = None,
    port: Port = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Model to load at the start. A path, ./FOLDER, too: new chats take it."),
    ] = None,
    kv_type: Annotated[
        str | None, typer.Option("--kv-type", metavar="TYPE", help="Of contexts: f16, or q8_0, which takes half.")
    ] = None,
    gpu_layers: Annotated[
        int | None, typer.Option("--gpu-layers", metavar="N", help="To put on a GPU: as many as fit if not given.")
    ] = None,
    memory_budget: Annotated[
        float | None, typer.Option("--memory-budget", metavar="GIB", help="For all models together: what there is.")
    ] = None,
    draft_model: Annotated[
        Path | None,
        typer.Option("--draft-model", metavar="FILE", help="A small model of the same family, which guesses ahead."),
    ] = None,
    data_dir: DataDir = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser here.")] = False,
) -> None:
    """Run the server until it is told to stop."""
    settings = load_settings(
        host=host, port=port, model=model, kv_type=kv_type, gpu_layers=gpu_layers, memory_budget_gib=memory_budget,
        draft_model=draft_model, data_dir=data_dir,
    )
    from app.instance import Instance
    from app.window import has_display

    with Instance.claim(settings.data_dir) as instance:
        from app.desktop import run_server

        run_server(settings, instance, opens_browser=has_display() and not no_browser and not os.environ.get("CI"))


@cli.command()
def doctor(data_dir: DataDir = None) -> None:
    """Look at this machine and this installation. Exit code 1: something keeps Inglenook from serving."""
    settings = load_settings(data_dir=data_dir)
    from app.doctor import examine

    sys.exit(0 if examine(settings) else FAILED)


def _write_what_can_be_written() -> None:
    """A terminal or pipe without UTF-8 gets `\\xfc` for what it cannot show: no reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _open(settings: Settings) -> None:
    from app.instance import AlreadyRunning, Instance

    try:
        instance = Instance.claim(settings.data_dir)
    except AlreadyRunning as running:
        from app.second_start import show_first

        show_first(settings.data_dir, running)
        return
    with instance:
        from app.desktop import run_desktop

        run_desktop(settings, instance)


def _foreseen(error: Exception) -> tuple[str, int] | None:
    """One line for a person and an exit code, of a fault that is not the program's own."""
    from tomllib import TOMLDecodeError

    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from app.errors import AppError
    from app.instance import AlreadyRunning
    from engine.errors import EngineError
    from store.errors import StoreError

    match error:
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            setting = ".".join(str(part) for part in first["loc"])
            what = "there is no such setting" if first["type"] == "extra_forbidden" else first["msg"]
            source = f"flag, INGLENOOK_{setting.upper()} or {_settings_file(error)}"
            return f"The setting {setting} ({source}): {what}. Correct it, or leave it out.", WRONG_USAGE
        case TOMLDecodeError():
            sentence = f"{_settings_file(error)} is not valid TOML: {error}. Correct it, or start without this file."
            return sentence, WRONG_USAGE
        case SettingsError():
            return f"{error}: write the list as JSON, as in INGLENOOK_ALLOWED_HOSTS='[\"chat.lan\"]'.", WRONG_USAGE
        case AppError() | StoreError() | EngineError() | AlreadyRunning():
            return str(error), FAILED
        case OSError(filename=str(name)):
            return f"{name}: {error.strerror}. Correct that, or choose another --data-dir.", FAILED
        case OSError():
            return f"{error.strerror or error}.", FAILED        # of the output, say, which has nowhere to go
    return None


def _settings_file(error: Exception) -> str:
    """Noted by `Settings.load`."""
    notes: list[str] = getattr(error, "__notes__", ["inglenook.toml"])
    return notes[0]
