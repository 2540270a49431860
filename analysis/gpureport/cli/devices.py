"""``gpureport devices``: lists of present and known devices, the check of entries, and drafts of new ones."""

from datetime import UTC, datetime
from pathlib import Path

from gpureport.cli.app import CheckOptions, DevicesOptions, DraftOptions
from gpureport.cli.console import note, out, print_json, print_lines, print_sentences, print_table, print_text
from gpureport.cli.shared import note_override, open_database, writing
from gpureport.data import data_dir, own_device_dirs
from gpureport.errors import InputError
from gpureport.files import write_file
from gpureport.inputs import files_below
from gpureport.spec import drafts
from gpureport.spec.check import check_folder
from gpureport.spec.database import NO_ENTRY, Database, Entry, load_database, wrong_ending
from gpureport.spec.drafts import Draft, write_entry
from gpureport.spec.models import DeviceMatch, PresentDevice
from gpureport.text import counted, quoted, sentence
from gpureport.units import format_bandwidth, format_bytes, format_frequency


def list_devices(options: DevicesOptions) -> int:
    """List the devices of the database, or those of this machine."""
    database = open_database(options.entries)
    if options.known or options.containing:
        return _list_known(options, database)
    from gpureport.measure import presence
    from gpureport.report.text.sentences import text

    database.read()  # while drivers load
    with presence.present() as found:
        checks = presence.kernel_checks(found)
    listed = [(device, database.match(device), problem) for device, problem in checks]
    for _, match, _ in listed:
        note_override(database, match.entry)
    for failure in found.failures:
        note(f"Note: {sentence(failure)}")
    if options.as_json:
        print_json([_record(*each) for each in listed])
        return 0
    columns = ("index", "device", "platform", "driver", "runs kernels", "entry")
    rows = [
        (str(d.index), d.name, d.platform, d.driver, "no" if problem else "yes", match.entry or "none")
        for d, match, problem in listed
    ]
    print_table("OpenCL devices of this machine", columns, rows, right=(0,))
    if any(match.entry is None for _, match, _ in listed):
        print_sentences("devices_legend")
    working = {device.kind for device, _, problem in listed if problem is None}
    for device, match, problem in listed:
        if problem:  # another runtime of the CPU that works is remedy enough
            advice = "" if device.on_host and "cpu" in working else f"; {presence.remedy(device)}"
            print_text(f"{device.index}: This device runs no kernels: {sentence(f'{problem}{advice}')}")
        for remark in (*match.notes, *([text("timed_by_host")] if device.timed_by_host else [])):
            print_text(f"{device.index}: {remark}")
    return 0


def _record(present: PresentDevice, match: DeviceMatch, problem: str | None) -> dict[str, object]:
    """Return a device as plain data; *problem*: why it runs no kernels, ``None`` if it does."""
    runs = {"runs_kernels": problem is None, "problem": problem}
    return present.model_dump(mode="json") | runs | match.model_dump(mode="json", exclude={"device"})


def _list_known(options: DevicesOptions, database: Database) -> int:
    devices = [database.device(name) for name in database.containing(options.containing)]
    if not devices:
        text = quoted(options.containing)
        raise InputError(f"--containing: no device of the database has {text} in its id or a name; try a shorter text")
    for device in devices:
        note_override(database, device.id)
    if options.as_json:
        print_json([device.model_dump(mode="json") for device in devices])
        return 0
    here = {d.id for d in devices if database.is_this_processor(database.entries[d.id].file)}
    rows = [
        (
            d.id,
            f"{d.name} (processor of this machine)" if d.id in here else d.name,
            str(d.compute_units),
            format_bandwidth(d.memory.bandwidth_bytes_per_s),
            format_frequency(d.clock_hz),
            ", ".join(f"{c.name} {format_bytes(c.capacity_bytes)}" for c in d.caches),
        )
        for d in devices
    ]
    columns = ("id", "device", "compute units", "memory bandwidth", "clock", "caches")
    print_table("Devices of the database", columns, rows, right=(2, 3, 4))
    return 0


def check_files(options: CheckOptions) -> int:
    """Check entries, by default all; return 2 if one has an error."""
    own = own_device_dirs()
    database = load_database(own_dirs=own)
    every = (file for root in (data_dir("devices"), *own) for file in _files(root))
    files = [file for path in options.files for file in _entries(path, database)] or list(every)
    problems = check_folder(files, database)
    wrong = [problem for problem in problems if problem.severity == "error"]
    for problem in problems:
        print_lines(str(problem))
    counts = (len(files), "file"), (len(wrong), "error"), (len(problems) - len(wrong), "warning")
    print_lines(", ".join(counted(number, noun) for number, noun in counts))
    return 2 if wrong else 0


def _entries(path: Path, database: Database) -> list[Path]:
    """Return the entries of the folder *path*, the file *path*, or the entry of the device with that id or name."""
    if not (path.exists() or path.suffix or path.is_absolute()):
        return [database.entries[database.find(path.as_posix())].path]
    if not path.is_dir():
        return [path]
    found = _files(path)
    if not found:
        raise InputError(f"{path}: {NO_ENTRY}")
    return found


def _files(root: Path) -> list[Path]:
    """Return the entries of a folder, and files with the wrong suffix ``.yml``, which the check reports."""
    return files_below(root, ".yaml", ".yml")


def draft_entry(request: DraftOptions) -> int:
    """Write a draft to a file or to standard output."""
    output = request.output
    if request.report and request.device:
        raise InputError("--report: cannot be combined with --device; omit one of them")
    if output is not None:
        misnamed = "" if output.is_dir() else wrong_ending(output)
        if misnamed:
            raise InputError(f"{output}: {misnamed}")
    with writing(() if output is None else (output,), force=request.force):
        draft = _drafted(request)
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
        return drafts.of_relative(relative)
    from gpureport.cli.measuring import working_device

    with working_device(request.device or "auto") as measurer:
        today = datetime.now(UTC).date().isoformat()
        draft = drafts.of_present(measurer.device, database, relative, when=today)
        known = database.match(measurer.device).entry
        if known and not relative and not database.entries[known].file.host:
            path = database.entries[known].path
            note(f"Note: {path} already describes this device. To start from it, use --from {known}.")
        note("Note: To add measured values, measure the device and give its report: --report REPORT.")
        return draft


def _reported(path: Path, database: Database, relative: Entry | None) -> Draft:
    from gpureport.observe import observe
    from gpureport.predict.calibration.learned import ObservedSweep
    from gpureport.records.report import load_report
    from gpureport.results.replay import host_of, report_result
    from gpureport.run.earlier import known_from
    from gpureport.workloads import all_workloads

    report = load_report(path)
    if report.machine is None or not report.has_samples:
        raise InputError(f"{path}: contains no measurements of a device; give the report of a run")
    series = report_result(report, str(path), database, all_workloads()).series
    database.host = host_of(report.device, report.machine)
    draft = drafts.of_present(report.machine.opencl, database, relative, when=report.created_at[:10])
    shown = [
        ObservedSweep(each.workload, each.sweep, observation)
        for each in series
        if (observation := observe(each.measurement)) is not None
    ]
    found = known_from(report, drafts.drafted_device(draft, database), shown)
    return draft._replace(values={**draft.values, **found.values}, remarks=(*draft.remarks, *found.remarks))
