"""Checking device files: everything that is wrong, implausible or without a source, in sentences."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import yaml

from gpureport.errors import InputError
from gpureport.spec.database import Database, is_architecture, load_database, on_host
from gpureport.spec.files import ArchitectureFile, DeviceFile
from gpureport.spec.host import host_values
from gpureport.spec.models import Cache, Device
from gpureport.spec.reading import Document, Problem, read_file
from gpureport.spec.resolve import layer, levels, missing, resolve

__all__ = ["Problem", "check_file"]

_CLOCKS_HZ = (100e6, 6e9)
_BANDWIDTHS = (1e9, 1e14)


def check_file(path: Path, database: Database | None = None) -> list[Problem]:
    """Check one file of either kind.

    Args:
        path: the file.
        database: where a device's architecture is looked up; by default the shipped one, and a folder
            ``architectures`` beside the file or one level above it.

    Returns:
        Problems in the order of the file: errors, which keep it from being used, and warnings.
    """
    if is_architecture(path) or _has_rules(path):
        document = read_file(path, ArchitectureFile)
        return [*document.problems, *_unsourced(document)]
    device = read_file(path, DeviceFile)
    problems = [*device.problems, *_unsourced(device)]
    if device.contents is not None:
        problems += _check_device(device, database or _database_for(path))
    return sorted(problems, key=lambda problem: (problem.line or 0, problem.field))


def _has_rules(path: Path) -> bool:
    """Whether the file, wherever it lies, is an architecture's: only these have occupancy rules."""
    try:
        data = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError, RecursionError, ValueError):
        return False
    return isinstance(data, dict) and "occupancy" in data and "architecture" not in data


def _database_for(path: Path) -> Database:
    """Return the shipped database, with the architectures that lie near *path*."""
    database = load_database()
    for folder in (path.resolve().parent.parent, path.resolve().parent):
        near = {p.stem: p for p in sorted(folder.glob("architectures/*.yaml"))}
        database.architecture_paths.update(near)
    return database


def _unsourced(document: Document[DeviceFile] | Document[ArchitectureFile]) -> Iterator[Problem]:
    """Yield a warning for each value that has no source and is not marked assumed, derived or queried."""
    file = document.contents
    if file is None or file.source is not None:
        return
    for path, leaf in file.leaves().items():
        if leaf.source is None and leaf.kind not in ("assumed", "derived", "queried"):
            yield document.problem(path, "has no source; give one, or mark it 'kind: assumed' with a note")


def _check_device(document: Document[DeviceFile], database: Database) -> Iterator[Problem]:
    """Yield what is wrong with a device once its architecture is known."""
    file = document.get()
    try:
        architecture = database.architecture(file.architecture)
    except InputError as error:
        yield document.problem("architecture", str(error).removeprefix("architecture: "), "error")
        return
    overlay = host_values(database.host) if file.host else {}
    file = on_host(file, database.host) if file.host else file
    lacking = list(missing({**layer(architecture), **layer(file), **overlay}, levels(architecture, file)))
    for path in lacking:
        yield document.problem(path, "is missing: neither the device nor its architecture has it", "error")
    if not lacking:
        device = resolve(str(document.path), file, architecture, overlay)
        yield from (document.problem(path, message) for path, message in implausible(device))


def implausible(device: Device) -> Iterator[tuple[str, str]]:
    """Yield path and sentence of each value that is possible but unlikely: mostly a wrong unit or a lost digit."""
    if not _CLOCKS_HZ[0] <= device.clock_hz <= _CLOCKS_HZ[1]:
        yield "clock", f"{device.clock_hz / 1e9:g} GHz is implausible; clocks lie between 0.1 and 6 GHz"
    if not _BANDWIDTHS[0] <= device.memory.bandwidth_bytes_per_s <= _BANDWIDTHS[1]:
        bandwidth = device.memory.bandwidth_bytes_per_s / 1e9
        yield "memory.bandwidth", f"{bandwidth:g} GB/s is implausible; memories have 1 to 100000 GB/s"
    for inner, outer in pairwise(device.caches):
        yield from _order(inner, outer)
    for cache in device.caches:
        yield from _cache(device, cache)


def _order(inner: Cache, outer: Cache) -> Iterator[tuple[str, str]]:
    """Compare one level with the next one out."""
    path = f"caches.{outer.name}"
    if outer.capacity_bytes < inner.capacity_bytes:
        yield f"{path}.capacity", f"{outer.name} is smaller than {inner.name}"
    if outer.latency_cycles < inner.latency_cycles:
        yield f"{path}.latency", f"{outer.name} answers sooner than {inner.name}"
    if outer.bandwidth_bytes_per_cycle > inner.bandwidth_bytes_per_cycle:
        yield f"{path}.bandwidth", f"{outer.name} is faster than {inner.name}"


def _cache(device: Device, cache: Cache) -> Iterator[tuple[str, str]]:
    """Compare one level with the memory, and its own values with each other."""
    path = f"caches.{cache.name}"
    if device.level_bandwidth_bytes_per_s(cache) < device.memory.bandwidth_bytes_per_s * device.memory.efficiency:
        yield f"{path}.bandwidth", f"{cache.name} is slower than memory"
    if cache.capacity_bytes >= device.memory.size_bytes:
        yield f"{path}.capacity", f"{cache.name} is larger than memory"
    if cache.latency_cycles > device.memory.latency_cycles:
        yield f"{path}.latency", f"{cache.name} answers later than memory"
    if cache.sector_bytes > cache.line_bytes:
        yield f"{path}.sector", "a sector is larger than its line"
    for name, extent in (("bandwidth", cache.bandwidth_extent), ("latency", cache.latency_extent)):
        if not extent.departure <= extent.midpoint <= extent.arrival:
            yield f"{path}.{name}_extent", "departure, midpoint and arrival must ascend"
