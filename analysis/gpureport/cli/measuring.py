"""``gpureport`` and ``gpureport measure``."""

import time
from datetime import UTC, datetime
from pathlib import Path

from gpureport.cli.choosing import working_device
from gpureport.cli.console import note
from gpureport.cli.database import note_override, open_database
from gpureport.cli.options import (
    Request,
    refuse_overwriting,
    selected,
    separated,
    slug,
    writable_directory,
    writable_file,
)
from gpureport.cli.progress import ProgressBar
from gpureport.cli.rendering import print_written, refuse_overwriting_documents, write_documents
from gpureport.cli.summary import print_findings, print_surprises
from gpureport.cli.timing import print_timings
from gpureport.errors import GpuReportError
from gpureport.measure.limits import Settings, run_limits
from gpureport.measure.machine import free_memory_bytes
from gpureport.measure.opencl import OpenCLBackend
from gpureport.measure.runtimes import Candidate
from gpureport.pipeline import Plan, run, wrong_results
from gpureport.report import Paper, document
from gpureport.report.compiled import mismatches
from gpureport.report.document import FILE_NAME, Report, save_report
from gpureport.text import sentence


class InterruptionError(GpuReportError):
    """The user stopped the run."""

    exit_code = 130


def report_everything(request: Request, output: Path | None, force: bool, no_pdf: bool, paper: Paper = "a4") -> int:
    """Measure and render into one folder."""
    plan, candidate = _plan(request)
    directory = output or Path("reports") / f"{slug(plan.match.device.name)}-{datetime.now(UTC).date().isoformat()}"
    refuse_overwriting(directory / FILE_NAME, force=force)
    refuse_overwriting_documents(directory, no_pdf=no_pdf, force=force)
    writable_directory(directory)
    path = directory / FILE_NAME
    report = _measure(plan, candidate, path)
    _summarise(report, path)
    began = time.monotonic()
    measured = report.status != "failed"
    written = write_documents(report, directory, no_pdf=no_pdf, paper=paper) if measured else []
    if request.timings:
        print_timings(report.timings, time.monotonic() - began)
    print_written([path, *written])
    return _close(report, path)


def measure_only(request: Request, output: Path, force: bool) -> int:
    """Measure into one file."""
    plan, candidate = _plan(request)
    writable_file(output, force=force)
    report = _measure(plan, candidate, output)
    _summarise(report, output)
    if request.timings:
        print_timings(report.timings)
    print_written([output])
    return _close(report, output)


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
    saved = False

    def save(report: Report) -> None:
        nonlocal saved
        save_report(report, path)
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


def _nothing_measured(report: Report, path: Path) -> str:
    """Say that nothing was measured, and give the reason of the first workload; nothing if something was."""
    if report.status != "failed":
        return ""
    skipped = [(name, info.skipped) for name, info in report.workloads.items() if info.skipped]
    first = f"; the first, {skipped[0][0]}: {skipped[0][1]}" if skipped else ""
    return (
        f"nothing was measured on {report.device.name}, so no document was written: {len(skipped)} of "
        f"{len(report.workloads)} workloads were skipped ({path} lists the reasons){first}"
    )


def _close(report: Report, path: Path) -> int:
    """Say last what is missing or wrong; return the exit code that the results call for.

    Raises:
        GpuReportError: nothing was measured.
    """
    if failures := report.failures():
        note(f"gpureport: {failures}")
    wrong = wrong_results(report)
    for name in wrong:
        note(f"gpureport: {name} gave wrong results and was not timed; the report says which.")
    if nothing := _nothing_measured(report, path):
        raise GpuReportError(nothing)
    return 1 if wrong else 0
