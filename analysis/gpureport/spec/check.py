"""Check device files: errors, implausible values and missing sources, as sentences.

Implausible values are possible but unlikely, usually because of a wrong unit or a missing digit.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from operator import gt, lt
from pathlib import Path

from gpureport.errors import InputError
from gpureport.files import real_path
from gpureport.spec.cores import host_values
from gpureport.spec.database import Database, is_architecture, load_database, wrong_ending
from gpureport.spec.files import LEVELLED, ArchitectureFile, DeviceFile, combined, declaration, levels, missing, resolve
from gpureport.spec.models import Device
from gpureport.spec.reading import Document, Problem, read_file
from gpureport.spec.values import TO_CHECK, Layer, steps_of
from gpureport.text import suggestion
from gpureport.units import format_bandwidth, format_bytes, format_frequency, format_number, format_value

Checked = Document[DeviceFile] | Document[ArchitectureFile]
Remark = tuple[str, str]
"""The dotted path of a value, and why it is unlikely."""

_BALANCE = {"gpu": (3.0, 150.0), "accelerator": (0.5, 150.0), "cpu": (0.5, 150.0)}
"""Single-precision operations per byte of memory bandwidth: 8 to 110 on common GPUs, 2 to 10 on processors."""
_FLOPS_TOLERANCE = 0.05


def check_folder(paths: Iterable[Path], database: Database | None = None) -> list[Problem]:
    """Check files, each by itself.

    A device's architecture is in a folder ``architectures`` beside the file or one level above it, or in *database*
    (default: the shipped one). Problems are errors, which make a file unusable, and warnings.
    """
    database, paths = database or load_database(), list(paths)
    reported = set(map(real_path, paths))
    return [problem for document in map(_read, paths) for problem in _check(document, database, reported)]


def _read(path: Path) -> Checked:
    """Read a file; elsewhere than in a folder ``architectures``, only an architecture has occupancy rules."""
    if is_architecture(path):
        return read_file(path, ArchitectureFile)
    document = read_file(path, DeviceFile)
    has_rules = ("occupancy",) in document.lines and ("architecture",) not in document.lines
    return read_file(path, ArchitectureFile) if has_rules else document


def _check(document: Checked, database: Database, reported: set[Path]) -> list[Problem]:
    """Return the problems of a file by line; those of architectures whose files are *reported* are left out."""
    problems = [*document.problems, *_unsourced(document), *_check_values(document, database, reported)]
    if (misnamed := wrong_ending(document.path)) and document.path.exists():
        problems.insert(0, document.problem("", f"is ignored in folders of entries: {misnamed}"))
    return sorted(problems, key=lambda problem: (problem.line or 0, problem.field))


def _unsourced(document: Checked) -> Iterator[Problem]:
    """Yield a warning for each value with neither a source nor a note that explains its origin."""
    for path, value in document.contents.values.items() if document.contents else ():
        origin = value.provenance
        explained = origin.note and origin.kind in ("assumed", "derived", "queried")
        if origin.kind == "assumed" and origin.note.endswith(TO_CHECK):
            yield document.problem(path, "is as drafted; replace it by the documented value and name its source")
        elif not (origin.source or explained or document.spoiled(path) or document.spoiled("source")):
            yield document.problem(path, "has no source; give one, or mark it 'kind: assumed' with a note")


def _check_values(document: Checked, database: Database, reported: set[Path]) -> Iterator[Problem]:
    """Yield a warning for each implausible value, and errors that prevent resolving a device.

    Architectures near the file take precedence over those of the *database*.
    """
    if isinstance(file := document.contents, ArchitectureFile):
        yield from (document.problem(*remark) for remark in _out_of_range(file.values))
    if isinstance(file, DeviceFile):
        folder = real_path(document.path).parent
        near = {p.stem: p for each in (folder.parent, folder) for p in sorted(each.glob("architectures/*.yaml"))}
        if not near.items() <= database.architecture_paths.items():
            database = Database(database.entries, {**database.architecture_paths, **near})
        yield from _check_device(document, file, database, reported)


def _check_device(document: Checked, file: DeviceFile, database: Database, reported: set[Path]) -> Iterator[Problem]:
    """Yield the problems of a device's values; without its architecture, only of single values."""
    overlay: Layer = {}
    if database.is_this_processor(file):
        overlay, file = host_values(database.host), database.on_host(file)
    yield from (document.problem(*remark) for remark in _out_of_range({**file.values, **overlay}))
    try:
        architecture = database.architecture(file.architecture)
    except InputError as error:
        path = database.architecture_paths.get(file.architecture)
        if not document.spoiled("architecture") and (path is None or real_path(path) not in reported):
            yield document.problem("architecture", str(error), "error")
        reported |= {real_path(path)} if path else set()
        return
    values = combined(file, architecture, overlay)
    lacking = list(missing(values, DeviceFile))
    yield from _lacking(document, file, architecture, [path for path in lacking if not document.spoiled(path)])
    if not lacking:
        device = resolve(str(document.path), file, architecture, overlay)
        flops = file.values["flops"].value if "flops" in file.values else None
        remarks = _implausible(device, flops)
        yield from (document.problem(*remark) for remark in remarks if not document.spoiled(remark[0]))


def _lacking(
    document: Checked, file: DeviceFile, architecture: ArchitectureFile, paths: list[str]
) -> Iterator[Problem]:
    """Yield an error for each missing path; one for all paths of a level that the architecture does not have."""
    unknown = False
    for part in LEVELLED:
        known = levels(architecture.values, part)
        for level in (each for each in levels(file.values, part) if each not in known):
            if keys := [key for *above, key in map(steps_of, paths) if above == [part, level]]:
                unknown = True
                message = (
                    f"the architecture {file.architecture} has no level {level!r}{suggestion(level, known)} "
                    f"(a level that only the device has also needs {', '.join(keys)})"
                )
                yield document.problem(f"{part}.{level}", message, "error")
    for path in paths:
        if not (unknown and path.startswith(LEVELLED)):
            yield document.problem(path, "is missing in both the device and its architecture", "error")


def _out_of_range(values: Layer) -> Iterator[Remark]:
    for path, value in values.items():
        listed = declaration(path)
        odd = next((each for each in numbers_in(value.value) if each and not listed.is_usual(each)), None)
        if odd is not None:
            written = f"{format_number(odd / listed.scale, '.4g')} {listed.unit}".rstrip()
            usual = f"{listed.least:g} to {listed.most:g} {listed.unit}".rstrip()
            yield path, f"{written} is implausible; usual are {usual}"


def numbers_in(value: object) -> list[float]:
    """Return the numbers of a value: itself, or those of a list."""
    each = value if isinstance(value, tuple) else [value]
    return [number for number in each if isinstance(number, int | float)]


def _implausible(device: Device, flops: float | None) -> Iterator[Remark]:
    """Yield the remarks on a device, with the single-precision peak that its file lists, if any."""
    bandwidth, factor = device.memory.bandwidth_bytes_per_s, device.architecture.dual_issue  # vendors count it
    peak, lanes = 2.0 * device.rate_per_s("fp32") * factor, device.architecture.rates_per_cycle["fp32"] * factor
    if flops and abs(flops / peak - 1) > _FLOPS_TOLERANCE:
        message = (
            f"{format_value(flops, 'FLOP/s')} differ from 2 x {lanes:g} lanes x {device.compute_units} units x "
            f"{format_frequency(device.clock_hz)} = {format_value(peak, 'FLOP/s')}"
        )
        yield "flops", message
    balance, (low, high) = peak / bandwidth, _BALANCE[device.kind]
    are_usual = declaration("clock").is_usual(device.clock_hz) and declaration("memory.bandwidth").is_usual(bandwidth)
    if are_usual and not low <= balance <= high:
        message = (
            f"{format_bandwidth(bandwidth)} is implausible: {format_number(balance)} single-precision operations "
            f"per byte; devices of this kind have {low:g} to {high:g}"
        )
        yield "memory.bandwidth", message
    yield from _order(device)


_ORDER: tuple[tuple[str, Callable[[float], str], str, Callable[[float, float], bool]], ...] = (
    ("capacity", format_bytes, "is smaller than", lt),
    ("latency", "{:g} cycles".format, "has a lower latency than", lt),
    ("bandwidth", lambda rate: f"{format_bandwidth(rate)} of all units", "is faster than", gt),
)
"""What is unlikely of a level and the one before: key, text of a value, statement, and its test."""


def _order(device: Device) -> Iterator[Remark]:
    """Yield path and message of each level of the memory hierarchy that exceeds one nearer to the compute units."""
    memory, of_units = device.memory, device.level_bandwidth_bytes_per_s
    levels = [(cache.name, cache.capacity_bytes, cache.latency_cycles, of_units(cache)) for cache in device.caches]
    reached = memory.reached_bytes_per_s
    for inner, outer in pairwise((*levels, ("memory", memory.size_bytes, memory.latency_cycles, reached))):
        path = f"caches.{(inner if outer[0] == 'memory' else outer)[0]}"
        for (key, text, says, unlikely), far, near in zip(_ORDER, outer[1:], inner[1:], strict=True):
            if unlikely(far, near):
                yield f"{path}.{key}", f"{outer[0]} ({text(far)}) {says} {inner[0]} ({text(near)})"
