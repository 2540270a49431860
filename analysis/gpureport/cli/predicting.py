"""``gpureport predict`` and ``gpureport compare``: predictions for a device, and comparisons of several machines."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from gpureport.cli import console, shared
from gpureport.cli.app import CompareOptions, PredictOptions
from gpureport.cli.rendering import write_documents, written
from gpureport.compare import FEW, Comparison, Run, compare, excerpt, regressions
from gpureport.errors import InputError
from gpureport.inputs import read_text
from gpureport.measure import Progress
from gpureport.records.report import Report, report_text
from gpureport.report import documents
from gpureport.report.comparison.sentences import intervals, sentences
from gpureport.report.comparison.tables import buyers_table, effects_table, machine_table, sharing, works_table
from gpureport.report.curves import curves
from gpureport.report.forecast import facts_of
from gpureport.report.render import COMPARISON, write_comparison
from gpureport.report.run.efficiency import accesses_table, advice_table
from gpureport.report.run.page_one import figure_table, page_one
from gpureport.results.opening import by_name, compare_sources, machines_in, predicted, refuse_repeated
from gpureport.spec.host import HostProcessor, parse_lscpu
from gpureport.spec.models import Device
from gpureport.text import quoted, sentence
from gpureport.units import format_number, format_percent
from gpureport.workloads.model import Workload

_MOST_CHANGES = 8
_REGRESSION = 3  # exit code
_LONGEST_NAME = 160  # characters of devices in the name of a folder


def predict_devices(options: PredictOptions) -> int:
    """Print or write predictions from the database; an InputError for no device, or if options exclude each other."""
    if not options.kernels and (given := shared.options_of_sources(options)):
        raise InputError(f"{given[0]}: describes a kernel; add --kernel FILE, or omit {given[0]}")
    if not options.devices and options.lscpu is None:
        raise InputError("the argument DEVICE is missing; add it, or give --lscpu FILE (--help shows examples)")

    workloads: Sequence[Workload] = shared.described(options.kernels, options)
    if options.workloads or not workloads:  # with kernels of the user and no other name, only these
        workloads = shared.selected(options.workloads, quick=options.quick, kernels=workloads)
    devices = _devices(options)
    names = "-and-".join(shared.slug(device.name) for device in devices)[:_LONGEST_NAME]
    today = datetime.now(UTC).date().isoformat()
    folder = options.output or Path("reports") / f"{names}-predicted-{today}"
    with shared.writing(documents(folder) if options.pdf else (), force=options.force):
        whole = options.as_json or len(devices) <= FEW
        predict = partial(_predicted, workloads=workloads, quick=options.quick, whole=whole)
        if len(devices) < shared.FEWEST:  # in this process, which shows the workloads
            with console.ProgressBar("predicting") as bar:
                found = [predict(device, progress=bar.advance) for device in devices]
        else:
            found = shared.in_batches("predicting", predict, devices)
        reports = [report for report, _ in found if report]
        named = ((Path(device.id).name, (device,)) for device in devices)
        runs = dict(zip(by_name(named), (run for _, run in found), strict=True))
        comparison = compare(runs) if len(devices) > 1 else None
        _print(options, reports, comparison)
        if options.pdf:
            made = (
                written(partial(write_comparison, comparison, folder, "report", paper=options.paper))
                if comparison
                else write_documents(reports[0], folder, no_pdf=False, paper=options.paper)
            )
            console.note("Written: " + ", ".join(map(str, made)))
    return 0


def _predicted(
    device: Device, workloads: Sequence[Workload], *, quick: bool, whole: bool, progress: Progress = lambda *_: None
) -> tuple[Report | None, Run]:
    """Return the report of a device and its part of a comparison.

    Without *whole*, there is no report, and the part lacks what only few machines show: together they take 25 MB.
    """
    report, forecast = predicted(device, workloads, quick=quick, progress=progress)
    return report if whole else None, excerpt(report, (), forecast, few=whole)


def _print(options: PredictOptions, reports: Sequence[Report], comparison: Comparison | None) -> None:
    if options.as_json:
        plain = [json.loads(report_text(report)) for report in reports]
        console.print_json(
            {"devices": plain, "comparison": comparison.model_dump(mode="json")} if comparison else plain[0]
        )
    elif comparison:
        print_comparison(comparison)
    else:
        print_page_one(reports[0])
        print_advice(reports[0])
        console.print_sentences("prediction_legend")


def _devices(options: PredictOptions) -> list[Device]:
    database = shared.open_database(options.entries, options.devices)
    names = list(options.devices)
    if options.lscpu is not None:
        database.host = HostProcessor(parse_lscpu(read_text(options.lscpu), options.lscpu), source="lscpu")
        names.insert(0, f"cpu/{database.host.facts.generic}")
    devices = [database.resolve(name) for name in names]
    refuse_repeated(devices)
    for device in devices:
        shared.note_override(database, device.id)
    return devices


def compare_machines(options: CompareOptions) -> int:
    """Compare, print and write; return 3 if a machine is slower than allowed."""
    folder, with_pdf = options.output, not options.no_pdf
    with shared.writing(
        (folder / f"{COMPARISON}.json", *documents(folder, COMPARISON)) if folder else (), force=options.force
    ):
        comparison = _compared(options)
        print_comparison(comparison)
        if folder:
            write = partial(write_comparison, comparison, folder, with_pdf=with_pdf, paper=options.paper)
            console.print_written(written(write, noted=with_pdf))
    return 0 if options.fail_on_regression is None else _regression_code(comparison, options.fail_on_regression)


def _compared(options: CompareOptions) -> Comparison:
    database = shared.open_database(options.entries)
    workloads = shared.selected(options.workloads, quick=False, kernels=shared.described(options.kernels))
    only = {workload.name for workload in workloads} if options.workloads else ()
    given = [*map(shared.name_and_source, options.machines)]
    chosen = [name for name, _ in given if name]
    if twice := next((name for name in chosen if chosen.count(name) > 1), None):
        raise InputError(f"{quoted(twice)} is the name of two machines; choose another name")
    machines = ((name or own, runs) for name, text in given for own, runs in machines_in(text, database))
    reading = partial(shared.in_batches, "reading")
    return compare_sources(machines, database, workloads, only, options.baseline, options.minimum_effect / 100, reading)


def _regression_code(comparison: Comparison, percent: float) -> int:
    if not comparison.differences:
        raise InputError("--fail-on-regression: needs another report of the same device as the baseline; there is none")
    slower = regressions((*comparison.overall, *comparison.differences), percent)
    for difference in slower:
        loss, p_value = format_percent(1 - difference.speed.value, ".3g"), format_number(difference.p_value, ".1g")
        amount = f"{loss} slower in {difference.sweep} (p-value {p_value})"
        console.note(f"Regression: {difference.machine} is {amount}")
    return _REGRESSION if slower else 0


def print_comparison(comparison: Comparison) -> None:
    """Print a comparison: its summary, what buyers compare, effects by bottleneck, and speeds."""
    for condition in comparison.conditions:
        if condition.severity == "caution":
            console.note(f"Caution: different {condition.what} ({sharing(condition)}). {sentence(condition.effect)}")
    if comparison.only_predicted:
        console.print_text("Predicted from the database; nothing was measured.")
    for each in sentences(comparison):
        console.print_text(each)
    console.print_lines("")
    console.print_document_table("What buyers compare, with 95 % intervals", buyers_table(comparison))
    for found in comparison.contrasts:
        title = f"Speed of {found.machine} / {comparison.baseline} by bottleneck on {comparison.baseline}"
        console.print_document_table(
            f"{title} (median of kernels; range of all values)", effects_table(comparison, found)
        )
    if comparison.contrasts:
        console.print_text(intervals())
        console.print_lines("")
    if comparison.is_of_few:
        title = "Best values, and mean speeds with 95 % intervals"
        console.print_document_table(title, works_table(comparison), ("kernels", "range"))
    else:
        title = f"Fastest first: speed relative to {comparison.baseline} (geometric means over families)"
        console.print_document_table(title, machine_table(comparison), ("values", "device"))


def print_page_one(report: Report) -> None:
    """Print the device, and what page one of its document says: the conclusion, key figures, what to tune for."""
    page = page_one(report, curves(report))
    facts = "software" if report.of_software else facts_of(report.device)
    console.print_text(f"{report.device.name} ({report.device.id}): {facts}")
    console.print_text(" ".join((page.state, *page.headline[: 1 if report.only_predicted else None])))
    console.print_lines("")
    found = figure_table(
        report, [figure for rows in (page.large, page.rows) for found in rows.values() for figure in found]
    )
    console.print_document_table("Key figures", found, ("efficiency",))
    if page.last_cache:
        console.print_sentences("usable_cache", cliff=page.last_cache)
    if page.advice:
        console.print_text("Tune for", style="bold")
        for each in page.advice:
            console.print_text(f"{each.subject}: {each.text}{' (measured under other load)' if each.disturbed else ''}")
        console.print_lines("")
    if page.own:
        console.print_text(page.own)
        console.print_lines("")


def print_advice(report: Report) -> None:
    """Print what the accesses of kernels cost, and the changes with the largest predicted gains."""
    console.print_document_table("Accesses by source line", accesses_table(report), ("traffic",))
    console.print_document_table("Changes that would make kernels faster", advice_table(report), most=_MOST_CHANGES)
