"""``gpureport`` and ``gpureport measure``."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from gpureport.cli.console import note, out
from gpureport.cli.options import refuse_overwriting, selected, writable_directory
from gpureport.cli.progress import ProgressBar
from gpureport.cli.rendering import write_documents
from gpureport.cli.summary import print_findings
from gpureport.errors import GpuReportError
from gpureport.measure.limits import Settings, run_limits
from gpureport.measure.machine import free_memory_bytes
from gpureport.measure.opencl import OpenCLBackend, list_devices
from gpureport.measure.selection import choose
from gpureport.pipeline import Plan, run, wrong_results
from gpureport.report import document
from gpureport.report.document import FILE_NAME, Report, save_report
from gpureport.spec.database import load_database
from gpureport.spec.models import PresentDevice


def report_everything(
    device: str,
    quick: bool,
    workloads: Sequence[str],
    output: Path | None,
    force: bool,
    no_pdf: bool,
    seed: int,
    entries: Sequence[Path],
) -> int:
    """Measure and render into one folder."""
    plan, present = _plan(device, quick, workloads, seed, entries)
    directory = output or Path("reports") / f"{_slug(plan.match.device.name)}-{datetime.now(UTC).date().isoformat()}"
    writable_directory(directory)
    refuse_overwriting(directory / FILE_NAME, force=force)
    report = _measure(plan, present, directory / FILE_NAME)
    written = [directory / FILE_NAME]
    code = _close(report)
    try:
        written = write_documents(report, directory, no_pdf=no_pdf)
    except GpuReportError as error:
        note(f"gpureport: {error}")
        code = max(code, error.exit_code)
    out().print("Written: " + ", ".join(str(path) for path in written), soft_wrap=True)
    return code


def measure_only(
    device: str,
    quick: bool,
    workloads: Sequence[str],
    output: Path,
    force: bool,
    seed: int,
    entries: Sequence[Path],
) -> int:
    """Measure into one file."""
    writable_directory(output.parent)
    refuse_overwriting(output, force=force)
    plan, present = _plan(device, quick, workloads, seed, entries)
    report = _measure(plan, present, output)
    code = _close(report)
    out().print(f"Written: {output}", soft_wrap=True)
    return code


def _plan(
    device: str, quick: bool, names: Sequence[str], seed: int, entries: Sequence[Path]
) -> tuple[Plan, PresentDevice]:
    workloads = selected(names)
    database = load_database(tuple(entries))
    present = choose(list_devices(), device)
    limits = run_limits(present, free_memory_bytes(present), quick=quick)
    plan = Plan(
        match=database.match(present),
        workloads=workloads,
        settings=Settings(limits, seed=seed),
        asked=document.Settings(quick=quick, seed=seed, workloads=tuple(names)),
    )
    return plan, present


def _measure(plan: Plan, present: PresentDevice, path: Path) -> Report:
    note(f"Device: {plan.match.device.name} ({present.platform}). {plan.match.how}")
    for remark in plan.match.notes:
        note(f"Note: {remark}")
    with ProgressBar() as bar:
        return run(plan, OpenCLBackend(present), lambda report: save_report(report, path), bar)


def _close(report: Report) -> int:
    """Print the summary; return the exit code that the results call for."""
    print_findings(report.findings)
    for name, info in report.workloads.items():
        if info.skipped:
            note(f"Skipped {name}: {info.skipped}.")
    wrong = wrong_results(report)
    for name in wrong:
        note(f"gpureport: {name} gave wrong results and was not timed; the report says which")
    return 1 if wrong else 0


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "device"
