"""``gpureport devices``: lists of present and known devices, and the check of entries."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpureport.cli.app import CheckOptions, DevicesOptions
from gpureport.cli.console import note, print_json, print_line, print_text
from gpureport.cli.database import note_override, open_database
from gpureport.cli.tables import print_table
from gpureport.data import data_dir, own_device_dirs
from gpureport.errors import InputError
from gpureport.spec.check import check_folder
from gpureport.spec.database import Database, load_database
from gpureport.spec.models import DeviceMatch, PresentDevice
from gpureport.text import counted, quoted, sentence
from gpureport.units import format_bandwidth, format_bytes, format_frequency


def list_devices(options: DevicesOptions) -> int:
    """List the devices of the database, or those of this machine."""
    if options.known:
        return list_known(options.as_json, options.entries, options.containing)
    return list_present(options.as_json, options.entries)


def list_present(as_json: bool, entries: Sequence[Path]) -> int:
    """List the OpenCL devices of this machine, whether each runs kernels, and its database entry."""
    from gpureport.measure import presence

    database = open_database(entries)
    found = presence.find_devices()
    problems = presence.kernel_problems(found.candidates)
    listed = [
        _ListedDevice(each.device, database.match(each.device), problem)
        for each, problem in zip(found.candidates, problems, strict=True)
    ]
    for each in listed:
        note_override(database, each.match.entry_id)
    for failure in found.failures:
        note(f"Note: {sentence(failure)}")
    if as_json:
        print_json([each.record() for each in listed])
        return 0
    columns = ("index", "device", "platform", "driver", "runs kernels", "entry")
    print_table("OpenCL devices of this machine", columns, [each.row() for each in listed], right=(0,))
    if any(each.match.entry_id is None for each in listed):
        print_text("entry: of the database. For a device without one, gpureport drafts it from the driver's queries.")
    working = {each.present.kind for each in listed if each.problem is None}
    for each in listed:
        for remark in each.remarks(working):
            print_text(f"{each.present.index}: {remark}")
    return 0


@dataclass(frozen=True)
class _ListedDevice:
    """A device as listed by ``gpureport devices``."""

    present: PresentDevice
    match: DeviceMatch
    problem: str | None
    """Why it runs no kernels; ``None`` if it does."""

    def row(self) -> tuple[str, ...]:
        runs = "no" if self.problem else "yes"
        entry = self.match.entry_id or "none"
        return str(self.present.index), self.present.name, self.present.platform, self.present.driver, runs, entry

    def remarks(self, working: Collection[str]) -> list[str]:
        """Return its problem and notes, with a remedy unless another runtime of the CPU is *working*."""
        from gpureport.measure.presence import remedy

        if self.problem is None:
            return list(self.match.notes)
        another = self.present.is_cpu and "cpu" in working
        advice = self.problem if another else f"{self.problem}; {remedy(self.present)}"
        return [f"This device runs no kernels: {sentence(advice)}", *self.match.notes]

    def record(self) -> dict[str, object]:
        match = self.match
        return self.present.model_dump(mode="json") | {
            "runs_kernels": self.problem is None,
            "problem": self.problem,
            "entry": match.entry_id,
            "draft": match.draft,
            "how": match.how,
            "notes": match.notes,
        }


def list_known(as_json: bool, entries: Sequence[Path], text: str = "") -> int:
    """List the devices of the database with *text* in their id or a name.

    Raises:
        InputError: there are none.
    """
    database = open_database(entries)
    devices = [database.device(name) for name in database.containing(text)]
    if not devices:
        raise InputError(
            f"--known: no device of the database has {quoted(text)} in its id or a name; try a shorter text"
        )
    for device in devices:
        note_override(database, device.id)
    if as_json:
        print_json([device.model_dump(mode="json") for device in devices])
        return 0
    rows = [
        (
            d.id,
            f"{d.name} (processor of this machine)" if database.is_this_processor(d.id) else d.name,
            str(d.compute_units),
            format_bandwidth(d.memory.bandwidth_bytes_per_s),
            format_frequency(d.clock_hz),
            ", ".join(f"{c.name} {format_bytes(c.capacity_bytes)}" for c in d.caches),
        )
        for d in devices
    ]
    columns = ("id", "device", "compute units", "memory bandwidth", "clock", "caches")
    print_table("Devices of the database", columns, rows, right=(2, 3, 4), optional=(5, 4))
    return 0


def check_files(options: CheckOptions) -> int:
    """Check entries, by default all; return 2 if one has an error."""
    own = own_device_dirs()
    database = load_database(own_dirs=own)
    folders = [_entries(path, database) for path in options.files] or [
        _files(root) for root in (data_dir("devices"), *own)
    ]
    problems = [problem for folder in folders for problem in check_folder(folder, database)]
    wrong = [problem for problem in problems if problem.severity == "error"]
    if options.as_json:
        print_json([vars(problem) for problem in problems])
        return 2 if wrong else 0
    for problem in problems:
        print_line(str(problem))
    counts = (sum(map(len, folders)), "file"), (len(wrong), "error"), (len(problems) - len(wrong), "warning")
    print_line(", ".join(counted(number, noun) for number, noun in counts))
    return 2 if wrong else 0


def _entries(path: Path, database: Database) -> list[Path]:
    """Return the entries of the folder *path*, the file *path*, or the entry of the device with that id or name."""
    if not path.exists() and not path.suffix:
        return [database.entries[database.find(path.as_posix())].path]
    if not path.is_dir():
        return [path]
    found = _files(path)
    if not found:
        raise InputError(f"{path}: this folder contains no entry (*.yaml)")
    return found


def _files(root: Path) -> list[Path]:
    """Return the entries of a folder, and files with the wrong suffix ``.yml``, which the check reports."""
    return sorted((*root.rglob("*.yaml"), *root.rglob("*.yml")))
