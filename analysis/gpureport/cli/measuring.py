"""``gpureport`` and ``gpureport measure``."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from gpureport.cli.choosing import working_device
from gpureport.cli.console import note
from gpureport.cli.database import note_override, open_database
from gpureport.cli.options import Request, selected, separated, slug, writing
from gpureport.cli.progress import ProgressBar
from gpureport.cli.rendering import print_written, write_documents
from gpureport.cli.summary import print_findings, print_surprises
from gpureport.cli.timing import print_timings
from gpureport.errors import GpuReportError, InputError
from gpureport.files import remove_files
from gpureport.measure.limits import Settings, run_limits
from gpureport.measure.machine import free_memory_bytes
from gpureport.measure.opencl import OpenCLBackend
from gpureport.measure.runtimes import Candidate
from gpureport.pipeline import Plan, run, wrong_results
from gpureport.report import Paper, document
from gpureport.report.compiled import mismatches
from gpureport.report.conditions import load_sentences
from gpureport.report.document import FILE_NAME, Report, Saver
from gpureport.report.render import documents
from gpureport.text import sentence


class InterruptionError(GpuReportError):
    """The user stopped the run."""

    exit_code = 130


def report_everything(
    request: Request, output: Path | None, force: bool, no_pdf: bool, paper: Paper = "a4", runs: int = 1
) -> int:
    """Measure and render into one folder; of several runs, each into a folder in it, and the first is rendered."""
    plan, candidate = _plan(request)
    folder = output or Path("reports") / f"{slug(plan.match.device.name)}-{datetime.now(UTC).date().isoformat()}"
    paths = _paths(folder, runs) if runs > 1 else [folder / FILE_NAME]
    with writing(_files(paths), force=force):
        reports = _measure_all(plan, candidate, paths)
        report = reports[0]
        _summarise(report, paths[0])
        began = time.monotonic()
        failed = report.status == "failed"
        written = [] if failed else write_documents(report, paths[0].parent, no_pdf=no_pdf, paper=paper)
    if request.timings:
        print_timings(report.timings, time.monotonic() - began)
    print_written([*paths, *written])
    return max(map(_close, reports, paths))


def measure_only(request: Request, output: Path, force: bool, runs: int = 1) -> int:
    """Measure into one file; several runs into folders of a folder called like it."""
    plan, candidate = _plan(request)
    paths = _paths(output.with_suffix(""), runs) if runs > 1 else [output]
    with writing(_files(paths), force=force):
        reports = _measure_all(plan, candidate, paths)
    _summarise(reports[0], paths[0])
    if request.timings:
        print_timings(reports[0].timings)
    print_written(paths)
    return max(map(_close, reports, paths))


def _paths(folder: Path, runs: int) -> list[Path]:
    """Return the files of several runs, which ``compare`` takes as one machine.

    Raises:
        InputError: the folder has other reports, which would be taken for runs of that machine, or for all of it.
    """
    paths = [folder / f"run-{number}" / FILE_NAME for number in range(1, runs + 1)]
    others = [path for path in (folder / FILE_NAME, *sorted(folder.glob(f"*/{FILE_NAME}"))) if path.exists()]
    other = next((path for path in others if path not in paths), None)
    if other:
        raise InputError(f"{folder}: {other} is no run of this command; choose another folder with -o")
    return paths


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield *paths*, and the documents of each: those of an earlier run are removed."""
    for path in paths:
        yield path
        if path.name == FILE_NAME:
            yield from documents(path.parent)


def _measure_all(plan: Plan, candidate: Candidate, paths: Sequence[Path]) -> list[Report]:
    """Measure once for each of *paths*."""
    reports = []
    for number, path in enumerate(paths, 1):
        if len(paths) > 1:
            note(f"Run {number} of {len(paths)}")
        reports.append(_measure(plan, candidate, path))
    return reports


def _plan(request: Request) -> tuple[Plan, Candidate]:
    workloads = selected(request.workloads, quick=request.quick)
    database = open_database(request.entries)
    candidate = working_device(request.device)
    present = candidate.device
    limits = run_limits(present, free_memory_bytes(present), quick=request.quick)
    match = database.match(present)
    note_override(database, match.entry_id)
    plan = Plan(
        match=match,
        workloads=workloads,
        settings=Settings(limits, seed=request.seed),
        asked=document.Settings(
            quick=request.quick,
            seed=request.seed,
            workloads=separated(request.workloads),
            command=request.command,
        ),
    )
    return plan, candidate


def _measure(plan: Plan, candidate: Candidate, path: Path) -> Report:
    note(f"Device: {plan.match.device.name} ({candidate.device.platform}). {sentence(plan.match.how)}")
    for remark in plan.match.notes:
        note(f"Note: {sentence(remark)}")
    saver, saved = Saver(path), False

    def save(report: Report) -> None:
        nonlocal saved
        if not saved and path.name == FILE_NAME:
            remove_files(*documents(path.parent))
        saver(report)
        saved = True

    try:
        with ProgressBar("predicting", lines=True) as bar:
            return run(plan, OpenCLBackend(candidate), save, bar)
    except KeyboardInterrupt:
        what = f"{path} is marked partial and holds what was measured until then" if saved else "nothing was written"
        raise InterruptionError(f"interrupted; {what}") from None


def _summarise(report: Report, path: Path) -> None:
    """Print what was found and skipped; before it, if so, that nothing was measured."""
    if nothing := _nothing_measured(report, path):
        note(f"gpureport: {nothing}")
    print_findings(report.findings)
    print_surprises(report.explanations)
    wrong = wrong_results(report)
    for name, info in report.workloads.items():
        if info.skipped and name not in wrong:
            note(f"Skipped {name}: {sentence(info.skipped)}")
    for mismatch in mismatches(report):
        note(f"Compiled code moves a different number of bytes than the model assumes: {mismatch}")
    if load := load_sentences(report):
        note(f"Disturbed measurements: {load}")


def _nothing_measured(report: Report, path: Path) -> str:
    """Say that nothing was measured, and give the reason of the first workload; nothing if something was."""
    if report.status != "failed":
        return ""
    skipped = [f"{name}: {info.skipped}" for name, info in report.workloads.items() if info.skipped]
    first = f" The first is {sentence(skipped[0])}" if skipped else ""
    return (
        f"nothing was measured on {report.device.name}, and no document was written. All {len(report.workloads)} "
        f"workloads were skipped; {path} lists the reasons.{first}"
    )


def _close(report: Report, path: Path) -> int:
    """Say last what is missing or wrong; return the exit code that the results call for.

    Raises:
        GpuReportError: nothing was measured.
    """
    for missing in (report.failures(), report.gaps()):
        if missing:
            note(f"gpureport: {missing}")
    wrong = wrong_results(report)
    for name in wrong:
        note(f"gpureport: {name} gave wrong results and was not timed; the report says which.")
    if nothing := _nothing_measured(report, path):
        raise GpuReportError(nothing)
    return 1 if wrong else 0
