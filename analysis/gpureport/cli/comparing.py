"""``gpureport compare``."""

from collections.abc import Container, Sequence
from functools import partial
from pathlib import Path

from gpureport.cli.app import CompareOptions
from gpureport.cli.console import ProgressBar, note, print_line, print_text, print_written
from gpureport.cli.options import described, in_batches, name_and_source, open_all, open_database, selected, writing
from gpureport.cli.rendering import written
from gpureport.cli.tables import print_document_table
from gpureport.compare import FEW, Comparison, Run, compare, regressions
from gpureport.errors import InputError
from gpureport.inputs import is_there
from gpureport.report.comparison.sentences import intervals, sentences
from gpureport.report.comparison.tables import (
    buyers_table,
    effects_table,
    machine_table,
    sharing,
    works_table,
)
from gpureport.results.opening import (
    device_named,
    matching_name,
    open_machine,
    predicted_run,
    refuse_repeated,
    runs_of,
    short_name,
    sources_of,
    unique_names,
)
from gpureport.text import quoted, sentence
from gpureport.units import format_number, format_percent

_REGRESSION = 3  # exit code


def compare_machines(options: CompareOptions) -> int:
    """Compare, print and write; return 3 if a machine is slower than allowed."""
    from gpureport.report.comparison.document import FILE_NAME, NAME, write_comparison
    from gpureport.report.render import documents

    folder, with_pdf = options.output, not options.no_pdf
    with writing((folder / FILE_NAME, *documents(folder, NAME)) if folder else (), force=options.force):
        comparison = _compared(options)
        print_comparison(comparison)
        if folder:
            write = partial(write_comparison, comparison, folder, with_pdf=with_pdf, paper=options.paper)
            print_written(written(write, noted=with_pdf))
    return 0 if options.fail_on_regression is None else _regression_code(comparison, options.fail_on_regression)


def _compared(options: CompareOptions) -> Comparison:
    database = open_database(options.entries)
    workloads = selected(options.workloads, quick=False, kernels=described(options.kernels))
    chosen = [name for text in options.machines if (name := name_and_source(text)[0])]
    if twice := next((name for name in chosen if chosen.count(name) > 1), None):
        raise InputError(f"{quoted(twice)} is the name of two machines; choose another name")
    named = [[_named(source) for source in sources_of(text)] for text in options.machines]
    refuse_repeated((run for each in named for _, source in each for run in runs_of(source)), database)
    names = {workload.name for workload in workloads} if options.workloads else ()
    opened_runs: dict[int, list[tuple[tuple[str, str], tuple[Run, ...]]]] = {}
    sources = [each[0][1] for each in named]
    devices = {
        number: device_named(source, database)
        for number, source in enumerate(sources)
        if not any(is_there(Path(run)) for run in runs_of(source))
    }
    few = len(named) <= FEW
    predict = partial(predicted_run, workloads=workloads, only=names, few=few)
    # Predictions take seconds: files come first, so that bad ones are refused at once.
    with ProgressBar("reading") as bar:
        for number in set(range(len(named))) - devices.keys():
            bar.advance(options.machines[number], len(opened_runs) / len(named))
            opened_runs[number] = open_all(
                named[number], lambda each: open_machine(each[1], database, workloads, names, few=few)
            )
    runs = in_batches("predicting", predict, list(devices.values()), lambda device: device.name)
    opened_runs |= {number: [(named[number][0], (run,))] for number, run in zip(devices, runs, strict=True)}
    found = [run for number in range(len(named)) for run in opened_runs[number]]
    given = unique_names(name for (name, _), _ in found)
    shown = dict(zip(given, unique_names(short_ids(given, {device.id for device in devices.values()})), strict=True))
    opened = dict(zip(shown.values(), (runs for _, runs in found), strict=True))
    files = {name: _without_folders(source) for name, ((_, source), _) in zip(opened, found, strict=True)}
    baseline = matching_name(options.baseline, shown)
    baseline = matching_name(shown.get(baseline or "", baseline), opened)
    return compare(opened, baseline, files, options.minimum_effect / 100)


def _regression_code(comparison: Comparison, percent: float) -> int:
    if not comparison.differences:
        raise InputError("--fail-on-regression: needs another report of the same device as the baseline; there is none")
    slower = regressions((*comparison.overall, *comparison.differences), percent)
    for difference in slower:
        loss, p_value = format_percent(1 - difference.speed.value, ".3g"), format_number(difference.p_value, ".1g")
        amount = f"{loss} slower in {difference.sweep} (p-value {p_value})"
        note(f"Regression: {difference.machine} is {amount}")
    return _REGRESSION if slower else 0


def _named(text: str) -> tuple[str, str]:
    name, source = name_and_source(text)
    first = source if is_there(Path(source)) else runs_of(source)[0]
    return name or (short_name(Path(first)) if Path(first).exists() else source), source


def short_ids(names: Sequence[str], ids: Container[str]) -> list[str]:
    """Return *names*; those that are *ids* of devices without folder, where they stay distinct: ``h200_sxm``."""
    chosen = [Path(name).name if name in ids else name for name in names]
    return [own if chosen.count(own) == 1 else name for name, own in zip(names, chosen, strict=True)]


def _without_folders(text: str) -> str:
    parts = (Path(part) for part in text.split(","))
    return ",".join("/".join(part.parts[-2:]) if part.is_absolute() else str(part) for part in parts)


def print_comparison(comparison: Comparison) -> None:
    """Print a comparison: its summary, what buyers compare, effects by bottleneck, and speeds."""
    for condition in comparison.conditions:
        if condition.severity == "caution":
            note(f"Caution: different {condition.what} ({sharing(condition)}). {sentence(condition.effect)}")
    if comparison.only_predicted:
        print_text("Predicted from the database; nothing was measured.")
    for each in sentences(comparison):
        print_text(each)
    print_line("")
    print_document_table("What buyers compare, with 95 % intervals", buyers_table(comparison))
    for found in comparison.contrasts:
        title = f"Speed of {found.machine} / {comparison.baseline} by bottleneck on {comparison.baseline}"
        print_document_table(f"{title} (median kernel; range over kernels)", effects_table(comparison, found))
        if found.left:
            print_text(f"Not compared (a different part of the compute units on each device): {', '.join(found.left)}.")
    if comparison.contrasts:
        print_text(intervals())
        print_line("")
    if comparison.is_of_few:
        title = "Best values, and mean speeds with 95 % intervals"
        print_document_table(title, works_table(comparison), ("kernels", "range"))
    else:
        title = f"Fastest first: speed relative to {comparison.baseline} (geometric means over families)"
        print_document_table(title, machine_table(comparison), ("values", "device"))
