"""`inglenook models optimize`: makes copies of a model in other weight formats, measures them, says which to take.

Part of `app.cli`, which explains exit codes and late imports. Whatever the advice is, giving it is a success.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands import DataDir, print_table, with_services
from engine.sizes import size

if TYPE_CHECKING:
    from app.services.container import Services
    from app.services.optimizer import FormatReport, FormatTrial
    from engine.format_advice import Comparison
    from engine.weight_formats import WeightFormat

NOISE = 0.15       # between quartiles, as a part of the median: above it, a table says that the machine was busy

EXPLANATION = """\
Tokens a second: written for one reader, written for {num_people} readers together, read of a prompt; on this machine,
with nothing else to do. KL: how far a copy's next words are from the original's, over {num_tokens} tokens of prose,
code, lists and German, in nats; the mean, and what 99 of 100 tokens stay below. SAME: of 100 next words, how many stay
the likeliest."""


def optimize(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Its ID, as `models list` shows it.")],
    to: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="Only this one, as Q8_0; the copy is kept.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Measure and advise; keep no copy.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Find the weight format that is fastest here. Copies of the model are measured beside it.

    Takes some minutes. The model stays as it is. The copy that is advised, if any, becomes another model beside it.
    A running Inglenook goes on meanwhile, slower: it shares the processor.
    """
    wanted = _format(to)

    async def work(services: Services) -> FormatReport:
        from app.model_desk import open_desk

        await services.models.register_starter()
        report = await services.optimizer.optimize(model, wanted, keeps_copy=not dry_run, progress=_say)
        if not dry_run:
            async with open_desk(services) as desk:
                await desk.tell_changed()
        return report

    _print_report(with_services(data_dir, work))


def _format(name: str | None) -> WeightFormat | None:
    from engine.weight_formats import FORMATS, format_called

    if name is None:
        return None
    if (found := format_called(name)) is None:
        known = ", ".join(each.name for each in FORMATS)
        raise typer.BadParameter(f"there is no format '{name}' to copy to. Those that there are: {known}")
    return found


def _say(what: str) -> None:
    print(what, file=sys.stderr)


# -- the report --------------------------------------------------------------------------------------------------------


def _print_report(report: FormatReport) -> None:
    from engine.format_advice import NUM_PEOPLE

    measured = _measured(report)
    titles = ("FORMAT", "SIZE", "ONE", f"{NUM_PEOPLE} TOGETHER", "PROMPT", "KL MEAN", "KL 99", "SAME")
    print_table(titles, [_original_row(report, list(measured.values())), *_copy_rows(measured)])
    num_tokens = next(iter(measured.values())).divergence.num_tokens
    print()
    print(EXPLANATION.format(num_people=NUM_PEOPLE, num_tokens=num_tokens))
    print()
    for line in _advice(report, measured):
        print(line)


def _measured(report: FormatReport) -> dict[str, Comparison]:
    return {
        trial.weight_format.name: trial.comparison for trial in report.trials if trial.comparison is not None
    }


def _original_row(report: FormatReport, comparisons: list[Comparison]) -> tuple[str, ...]:
    """It was measured beside each copy."""
    columns = zip(*(each.original.medians() for each in comparisons), strict=True)
    speeds = (f"{median(column):,.0f}" for column in columns)
    original = report.original
    return (f"{original.quantisation} (original)", size(original.size_bytes), *speeds, "-", "-", "-")


def _copy_rows(measured: dict[str, Comparison]) -> Iterator[tuple[str, ...]]:
    for name, comparison in measured.items():
        divergence = comparison.divergence
        speeds = (
            f"{speed:,.0f} ({ratio:.2f} x)"
            for speed, ratio in zip(comparison.copy.medians(), comparison.ratios(), strict=True)
        )
        yield (
            name, size(comparison.copy_bytes), *speeds, f"{divergence.mean_nats:.3f}",
            f"{divergence.p99_nats:.2f}", f"{divergence.same_top_share * 100:.0f}",
        )


def _advice(report: FormatReport, measured: dict[str, Comparison]) -> Iterator[str]:
    advised = report.advised.name if report.advised else None
    original = report.original
    if advised is None:
        yield f"Advice: keep {original.quantisation}."
    else:
        yield f"Advice: {advised}. {_summary(measured[advised])}"
    for trial in report.trials:
        if trial.weight_format.name != advised:
            yield _why_not(trial, advised)
    yield _honest_word(original.quantisation)
    if max(max(each.original.spread(), each.copy.spread()) for each in measured.values()) > NOISE:
        yield "This machine was busy, so some speeds may be off by 15 % or more: measure again when it is quiet."
    if report.kept is not None:
        yield (
            f"Kept as {report.kept.id}, beside the original. Choose it in a chat, make it the default on the Models "
            f"page, or start with --model {report.kept.id}."
        )
    else:
        yield "No copy was kept."


def _summary(comparison: Comparison) -> str:
    from engine.format_advice import NUM_PEOPLE

    divergence = comparison.divergence
    return (
        f"{_times(comparison.gain)} the tokens a second with {NUM_PEOPLE} people; KL divergence "
        f"{divergence.mean_nats:.3f} nats: {divergence.same_top_share * 100:.0f} of 100 next words stay the same."
    )


def _why_not(trial: FormatTrial, advised: str | None) -> str:
    from engine.format_advice import MAX_MEAN_NATS, MIN_GAIN, MIN_RATIO, Verdict, verdict

    name, comparison = trial.weight_format.name, trial.comparison
    if comparison is None:
        return f"Not {name}: {trial.refusal}"
    reasons = {
        Verdict.NOT_FASTER: f"less than {MIN_GAIN} times as fast is not worth another file.",
        Verdict.TOO_FAR_OFF: f"more than {MAX_MEAN_NATS} nats off is more than a good quantisation costs.",
        Verdict.SLOWER_ELSEWHERE: f"it is less than {MIN_RATIO} times as fast for one reader, or with a prompt.",
        Verdict.ADVISED: f"{advised} is nearly as fast and nearer to the original, or faster.",
    }
    return f"Not {name}: {_summary(comparison)} But {reasons[verdict(comparison)]}"


def _honest_word(quantisation: str) -> str:
    from engine.weight_formats import WHOLE_FORMATS

    if quantisation in WHOLE_FORMATS:
        return f"The original is {quantisation}, and whole: a copy is quantised once, as any file is."
    return (
        "The original is quantised already, so a copy loses a second time, and KL counts this second loss only. A file "
        "that its maker quantised from the whole model is better: take that where there is one."
    )


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times"
