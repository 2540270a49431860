"""``gpureport devices new``: a first version of a device file."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gpureport.cli.app import DraftOptions
from gpureport.cli.console import ProgressBar, note, out
from gpureport.cli.database import open_database
from gpureport.cli.options import writing
from gpureport.errors import DeviceError, InputError
from gpureport.files import write_file
from gpureport.spec import new_entry
from gpureport.spec.database import Database, Entry, wrong_ending
from gpureport.spec.new_entry import Draft, write_entry
from gpureport.text import sentence

if TYPE_CHECKING:
    from gpureport.measure.measurer import Measurer


def draft_entry(request: DraftOptions) -> int:
    """Write a draft to a file or to standard output."""
    output = request.output
    if request.empty and (request.device or request.relative or request.report):
        raise InputError("--empty: cannot be combined with --device, --from or --report; omit one of them")
    if request.report and request.device:
        raise InputError("--report: cannot be combined with --device; omit one of them")
    if output is not None:
        misnamed = "" if output.is_dir() else wrong_ending(output)
        if misnamed:
            raise InputError(f"{output}: {misnamed}")
    with writing(() if output is None else (output,), force=request.force):
        draft = new_entry.empty() if request.empty else _drafted(request)
        beside = output is not None and (output.parent.parent / "device.schema.json").exists()
        text = write_entry(draft, schema=beside)
        if output is None:
            out().out(text, end="")
            return 0
        write_file(output, text)
    note(f"Written: {output}. Check it after editing: gpureport devices check {output}")
    return 0


def _drafted(request: DraftOptions) -> Draft:
    database = open_database(request.entries)
    relative = database.entries[database.resolve(request.relative).id] if request.relative is not None else None
    if request.report:
        return _reported(request.report, database, relative)
    if relative and request.device is None:
        return new_entry.of_relative(relative)
    with _present(request.device or "auto") as measurer:
        today = datetime.now(UTC).date().isoformat()
        draft = new_entry.of_present(measurer.device, database, relative, when=today)
        known = database.match(measurer.device).entry_id
        if known and not relative and not database.entries[known].file.host:
            path = database.entries[known].path
            note(f"Note: {path} already describes this device. To start from it, use --from {known}.")
        return _measured(draft, measurer, database, request.seed) if not request.no_measure else draft


def _reported(path: Path, database: Database, relative: Entry | None) -> Draft:
    """Draft the device of a report, with the values that its run measured."""
    from gpureport.observe import observe
    from gpureport.predict.calibration.learned import ObservedSweep
    from gpureport.records.report import load_report
    from gpureport.results.replay import host_of, report_result
    from gpureport.run.drafting import known_from
    from gpureport.workloads import all_workloads

    report = load_report(path)
    if report.machine is None or not report.has_samples:
        raise InputError(f"{path}: contains no measurements of a device; give the report of a run")
    series = report_result(report, str(path), database, all_workloads()).series
    database.host = host_of(report.device, report.machine)
    draft = new_entry.of_present(report.machine.opencl, database, relative, when=report.created_at[:10])
    shown = [
        ObservedSweep(each.workload, each.sweep, observation)
        for each in series
        if (observation := observe(each.measurement)) is not None
    ]
    found = known_from(report, new_entry.drafted_device(draft, database), shown)
    return new_entry.with_measured(draft, found.values, found.remarks)


def _present(text: str) -> "Measurer":
    """Open the device selected by *text*; the error without a working device names the options that need none."""
    from gpureport.cli.measuring import working_device

    try:
        return working_device(text)
    except DeviceError as error:
        raise DeviceError(f"{error}; without a device, use --from NAME (a similar device) or --empty") from None


def _measured(draft: Draft, measurer: "Measurer", database: Database, seed: int) -> Draft:
    """Run microbenchmarks on the device, and put their results into the draft."""
    from gpureport.measure.limits import SweepSettings, run_limits
    from gpureport.measure.machine import free_memory_bytes
    from gpureport.run.drafting import SWEEP_S, get_to_know

    present = measurer.device
    limits = run_limits(present, free_memory_bytes(present), quick=False)
    settings = SweepSettings(limits, budget_s=SWEEP_S[present.kind], seed=seed)
    note(f"Measuring {present.name} takes one or two minutes; --no-measure skips it.")
    with ProgressBar("measuring", lines=True) as bar:
        found = get_to_know(measurer, new_entry.drafted_device(draft, database), settings, bar)
    for remark in found.remarks:
        note(sentence(remark))
    return new_entry.with_measured(draft, found.values, found.remarks)
