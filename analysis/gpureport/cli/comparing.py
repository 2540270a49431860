"""``gpureport compare``."""

from functools import partial

from gpureport.cli.app import CompareOptions
from gpureport.cli.console import note, print_lines, print_text, print_written
from gpureport.cli.options import described, in_batches, name_and_source, open_database, selected, writing
from gpureport.cli.rendering import written
from gpureport.cli.tables import print_document_table
from gpureport.compare import FEW, Comparison, compare, regressions
from gpureport.errors import InputError
from gpureport.report.comparison.sentences import intervals, sentences
from gpureport.report.comparison.tables import (
    buyers_table,
    effects_table,
    machine_table,
    sharing,
    works_table,
)
from gpureport.results.opening import by_name, machines_in, matching_name, open_machine, source_text
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
    only = {workload.name for workload in workloads} if options.workloads else ()
    given = [*map(name_and_source, options.machines)]
    chosen = [name for name, _ in given if name]
    if twice := next((name for name in chosen if chosen.count(name) > 1), None):
        raise InputError(f"{quoted(twice)} is the name of two machines; choose another name")
    machines = by_name((name or own, runs) for name, text in given for own, runs in machines_in(text, database))
    few = len(machines) <= FEW
    work = partial(open_machine, database=database, workloads=workloads, only=only, few=few)
    opened = dict(zip(machines, in_batches("reading", work, list(machines.values())), strict=True))
    sources = {name: source_text(runs) for name, runs in machines.items()}
    return compare(opened, matching_name(options.baseline, machines), sources, options.minimum_effect / 100)


def _regression_code(comparison: Comparison, percent: float) -> int:
    if not comparison.differences:
        raise InputError("--fail-on-regression: needs another report of the same device as the baseline; there is none")
    slower = regressions((*comparison.overall, *comparison.differences), percent)
    for difference in slower:
        loss, p_value = format_percent(1 - difference.speed.value, ".3g"), format_number(difference.p_value, ".1g")
        amount = f"{loss} slower in {difference.sweep} (p-value {p_value})"
        note(f"Regression: {difference.machine} is {amount}")
    return _REGRESSION if slower else 0


def print_comparison(comparison: Comparison) -> None:
    """Print a comparison: its summary, what buyers compare, effects by bottleneck, and speeds."""
    for condition in comparison.conditions:
        if condition.severity == "caution":
            note(f"Caution: different {condition.what} ({sharing(condition)}). {sentence(condition.effect)}")
    if comparison.only_predicted:
        print_text("Predicted from the database; nothing was measured.")
    for each in sentences(comparison):
        print_text(each)
    print_lines("")
    print_document_table("What buyers compare, with 95 % intervals", buyers_table(comparison))
    for found in comparison.contrasts:
        title = f"Speed of {found.machine} / {comparison.baseline} by bottleneck on {comparison.baseline}"
        print_document_table(f"{title} (median kernel; range over kernels)", effects_table(comparison, found))
        if found.left:
            print_text(f"Not compared (a different part of the compute units on each device): {', '.join(found.left)}.")
    if comparison.contrasts:
        print_text(intervals())
        print_lines("")
    if comparison.is_of_few:
        title = "Best values, and mean speeds with 95 % intervals"
        print_document_table(title, works_table(comparison), ("kernels", "range"))
    else:
        title = f"Fastest first: speed relative to {comparison.baseline} (geometric means over families)"
        print_document_table(title, machine_table(comparison), ("values", "device"))
