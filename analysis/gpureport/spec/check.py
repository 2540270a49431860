"""Check device files: errors, implausible values and missing sources, as sentences."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.files import real_path
from gpureport.inputs import FileError, read_yaml
from gpureport.spec.database import (
    ARCHITECTURES,
    Database,
    alike,
    is_architecture,
    is_like,
    load_database,
    on_host,
    wrong_ending,
)
from gpureport.spec.files import ArchitectureFile, DeviceFile
from gpureport.spec.host import host_values
from gpureport.spec.mistakes import nearest, suggestion
from gpureport.spec.models import Device
from gpureport.spec.names import plain, same
from gpureport.spec.plausibility import implausible, out_of_range, uneven
from gpureport.spec.reading import Document, Problem, read_file
from gpureport.spec.resolve import layer, missing, resolve

Checked = Document[DeviceFile] | Document[ArchitectureFile]

__all__ = ["Problem", "check_file", "check_folder", "doubts"]


def check_folder(paths: Iterable[Path], database: Database | None = None) -> list[Problem]:
    """Check the files of one folder: each file, and entries that cannot be distinguished; problems by file."""
    database, problems = database or load_database(), list[Problem]()
    former: list[tuple[Path, DeviceFile]] = []
    for document in map(_read, paths):
        problems += _check(document, database)
        if isinstance(file := document.salvaged, DeviceFile):
            clashes = (_clash(document, file, *other) for other in former)
            problems += islice(filter(None, clashes), 1)
            former.append((document.path, file))
    return _once(problems)


def _clash(document: Checked, file: DeviceFile, path: Path, other: DeviceFile) -> Problem | None:
    """Return a warning if an entry cannot be distinguished from *other*, the file at *path*."""
    if plain(file.name) == plain(other.name):
        message = f"{path} has the name {file.name!r} as well, so the name finds neither; rename one of them"
        return document.problem("name", message)
    if set(file.pci_ids) ^ set(other.pci_ids) or not alike(file, other):
        return None
    shared = (name for name in other.opencl.names for known in file.opencl.names if same(name, known))
    if (name := next(shared, None)) is None:
        return None
    message = (
        f"{path} lists {name!r} as well, with the same number of compute units and memory size, so a device of "
        "that name matches neither; list PCI ids that distinguish them"
    )
    return document.problem("opencl.names", message)


def _once(problems: Sequence[Problem]) -> list[Problem]:
    """Remove repetitions: devices have the first error of their architecture's file."""
    reported, kept = set(map(str, problems)), []
    for problem in problems:
        of_architecture = problem.field == "architecture" and f"{ARCHITECTURES}/" in problem.message
        if not of_architecture or problem.message not in reported:
            kept.append(problem)
        reported |= {problem.message} if of_architecture else set()
    return kept


def doubts(device: Device, database: Database) -> list[Problem]:
    """Return the warnings of implausible values in the user's own files of *device*."""
    entry, architecture = database.entries.get(device.id), database.architecture_paths[device.architecture.id]
    files = [entry.path] if entry and entry.own else []
    files += [] if architecture.is_relative_to(data_dir("devices")) else [architecture]
    found = (problem for path in files for problem in _check_values(_read(path), database))
    return [problem for problem in found if problem.severity == "warning"]


def check_file(path: Path, database: Database | None = None) -> list[Problem]:
    """Check one file of either kind.

    A device's architecture is in a folder ``architectures`` beside the file or one level above it, or in *database*
    (default: the shipped one).

    Returns:
        Problems in the order of the file: errors, which make it unusable, and warnings.
    """
    return _check(_read(path), database)


def _read(path: Path) -> Checked:
    """Read a file; elsewhere than in a folder ``architectures``, only an architecture has occupancy rules."""
    try:
        data = read_yaml(path).data
    except FileError:
        data = None
    has_rules = isinstance(data, dict) and "occupancy" in data and "architecture" not in data
    if is_architecture(path) or has_rules:
        return read_file(path, ArchitectureFile)
    return read_file(path, DeviceFile)


def _check(document: Checked, database: Database | None) -> list[Problem]:
    problems = [*document.problems, *_unsourced(document), *_check_values(document, database)]
    if (misnamed := wrong_ending(document.path)) and document.path.exists():
        problems.insert(0, document.problem("", f"is ignored in folders of entries: {misnamed}"))
    return sorted(problems, key=lambda problem: (problem.line or 0, problem.field))


def _check_values(document: Checked, database: Database | None) -> Iterator[Problem]:
    """Yield a warning for each implausible value, and errors that prevent resolving a device.

    Architectures near the file take precedence over those of the *database*.
    """
    if isinstance(document.salvaged, ArchitectureFile):
        values = layer(document.salvaged)
        yield from (document.problem(path, message) for path, message in (*out_of_range(values), *uneven(values)))
    if isinstance(document.salvaged, DeviceFile):
        database, folder = database or load_database(), real_path(document.path).parent
        near = {p.stem: p for each in (folder.parent, folder) for p in sorted(each.glob("architectures/*.yaml"))}
        if not near.items() <= database.architecture_paths.items():
            database = Database(database.entries, {**database.architecture_paths, **near})
        yield from _check_device(document, document.salvaged, database)


def _unsourced(document: Checked) -> Iterator[Problem]:
    """Yield a warning for each value with neither a source nor a note that explains its origin."""
    file = document.salvaged
    for path, leaf in file.leaves().items() if file else ():
        marked = leaf.kind in ("assumed", "derived", "queried")
        unsourced = leaf.source is None and file and file.source is None and not marked
        if leaf.unfinished:
            yield document.problem(path, "is as drafted; replace it by the documented value and name its source")
        elif leaf.source is None and marked and not leaf.note:
            yield document.problem(path, f"is {leaf.kind}, but has no note on its origin")
        elif unsourced and not document.spoiled(path) and not document.spoiled("source"):
            yield document.problem(path, "has no source; give one, or mark it 'kind: assumed' with a note")


def _check_device(document: Checked, file: DeviceFile, database: Database) -> Iterator[Problem]:
    """Yield the problems of a device's values; without its architecture, only of single values."""
    here = is_like(file, database.host)
    overlay = host_values(database.host) if here else {}
    file = on_host(file, database.host) if here else file
    own = {**layer(file), **overlay}
    yield from (document.problem(path, message) for path, message in out_of_range(own))
    try:
        architecture = database.architecture(file.architecture)
    except InputError as error:
        yield document.problem("architecture", str(error), "error")
        return
    values = {**layer(architecture), **own}
    lacking = list(missing(values, architecture, file))
    yield from _lacking(document, file, architecture, [path for path in lacking if not document.spoiled(path)])
    if not lacking:
        device = resolve(str(document.path), file, architecture, overlay)
        flops = file.flops.value if file.flops else None
        inherited = list(uneven(layer(architecture)))
        remarks = (*implausible(device, flops), *(each for each in uneven(values) if each not in inherited))
        yield from (document.problem(path, message) for path, message in remarks if not document.spoiled(path))


def _lacking(
    document: Checked, file: DeviceFile, architecture: ArchitectureFile, paths: list[str]
) -> Iterator[Problem]:
    """Yield an error for each missing path; one for all paths of a level that the architecture does not have."""
    unknown: dict[str, list[str]] = {}
    for level, _, key in (path.removeprefix("caches.").rpartition(".") for path in paths if path.startswith("caches.")):
        if level in file.caches and level not in architecture.caches:
            unknown.setdefault(level, []).append(key)
    for level, keys in unknown.items():
        message = (
            f"the architecture {file.architecture} has no level {level!r}{suggestion(level, architecture.caches)} "
            f"(a level that only the device has also needs {', '.join(keys)})"
        )
        yield document.problem(f"caches.{level}", message, "error")
    similar = {nearest(level, architecture.caches) for level in unknown}
    explained = tuple(f"caches.{level}." for level in (*unknown, *similar))
    for path in paths:
        if not path.startswith(explained):
            yield document.problem(path, "is missing in both the device and its architecture", "error")
