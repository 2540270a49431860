"""``gpureport devices``: what is present, what is known, whether an entry is right, a draft of a new one."""

from collections.abc import Sequence
from pathlib import Path

from gpureport.cli.console import print_json, print_line, print_text
from gpureport.cli.database import note_override, open_database
from gpureport.cli.tables import glued, print_table
from gpureport.data import data_dir, own_device_dirs
from gpureport.errors import InputError
from gpureport.spec.check import check_folder
from gpureport.spec.database import Database, load_database
from gpureport.spec.models import DeviceMatch, PresentDevice
from gpureport.units import format_bandwidth, format_bytes, format_frequency


def list_present(as_json: bool, entries: Sequence[Path]) -> int:
    """List the OpenCL devices, with the entry that each matches."""
    from gpureport.measure.opencl import list_devices

    database = open_database(entries)
    found = [(present, database.match(present)) for present in list_devices()]
    for _, match in found:
        note_override(database, match.entry_id)
    if as_json:
        print_json([_told(present, match) for present, match in found])
        return 0
    rows = [(str(p.index), p.name, p.platform, p.driver, m.entry_id or "none (draft)") for p, m in found]
    print_table("OpenCL devices present", ("index", "device", "platform", "driver", "entry"), rows, right=(0,))
    for present, match in found:
        for remark in match.notes:
            print_text(f"{present.index}: {remark}")
    return 0


def _told(present: PresentDevice, match: DeviceMatch) -> dict[str, object]:
    """Return what the runtime says of a device, and what the database makes of it."""
    found = {"entry": match.entry_id, "draft": match.draft, "how": match.how, "notes": match.notes}
    return present.model_dump(mode="json") | found


def list_known(as_json: bool, entries: Sequence[Path]) -> int:
    """List the database."""
    database = open_database(entries)
    devices = [database.device(name) for name in database.entries]
    for device in devices:
        note_override(database, device.id)
    if as_json:
        print_json([device.model_dump(mode="json") for device in devices])
        return 0
    rows = [
        (
            d.id,
            f"{d.name} (this machine's processor)" if database.is_here(d.id) else d.name,
            str(d.compute_units),
            format_frequency(d.clock_hz),
            ", ".join(glued(f"{c.name} {format_bytes(c.capacity_bytes)}") for c in d.caches),
            format_bandwidth(d.memory.bandwidth_bytes_per_s),
        )
        for d in devices
    ]
    columns = ("id", "device", "units", "clock", "caches", "bandwidth")
    print_table("Known devices", columns, rows, right=(2, 3, 5))
    return 0


def check_files(files: Sequence[Path], as_json: bool) -> int:
    """Check entries, by default all there are; 2 if any is wrong."""
    own = own_device_dirs()
    database = load_database(own_dirs=own)
    folders = [_entries(path, database) for path in files] or [_files(root) for root in (data_dir("devices"), *own)]
    problems = [problem for folder in folders for problem in check_folder(folder, database)]
    wrong = [problem for problem in problems if problem.severity == "error"]
    if as_json:
        print_json(
            [
                {
                    "file": str(p.file),
                    "line": p.line,
                    "field": p.field,
                    "severity": p.severity,
                    "message": p.message,
                }
                for p in problems
            ]
        )
        return 2 if wrong else 0
    for problem in problems:
        print_line(str(problem))
    warnings = len(problems) - len(wrong)
    print_line(
        f"{_count(sum(map(len, folders)), 'file')}, {_count(len(wrong), 'error')}, {_count(warnings, 'warning')}"
    )
    return 2 if wrong else 0


def _entries(path: Path, database: Database) -> list[Path]:
    """Return the entries of a folder, or *path* itself, or the file of the entry whose id it is.

    Raises:
        InputError: the folder has none.
    """
    if not path.exists() and (entry := database.entries.get(path.as_posix())):
        return [entry.path]
    if not path.is_dir():
        return [path]
    found = _files(path)
    if not found:
        raise InputError(f"{path}: there is no entry (*.yaml) in this folder")
    return found


def _files(root: Path) -> list[Path]:
    """Return the entries of a folder, and what was probably meant to be one."""
    return sorted((*root.rglob("*.yaml"), *root.rglob("*.yml")))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
