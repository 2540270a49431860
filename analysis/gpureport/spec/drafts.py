"""What is known of a device without an entry; drafts of device files.

A draft is of a present device, or based on a relative; measured values override the others. Each value has its
unit and source, ready to be checked and edited.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.spec import drivers, reported
from gpureport.spec.cores import cpu_values
from gpureport.spec.drivers import Maker, maker
from gpureport.spec.files import PCI_ID, ArchitectureFile, DeviceFile, Place, declaration, places, resolve
from gpureport.spec.models import Device, PresentDevice
from gpureport.spec.values import TO_CHECK, Value, assumed, queried, steps_of
from gpureport.text import printable, shorten
from gpureport.units import format_bandwidth, format_bytes

if TYPE_CHECKING:
    from gpureport.spec.database import Database, Entry

GENERIC = "generic_gpu"
_MOST_CHARACTERS = 200
_PARTS = {name: list(of) for name, of in groupby(places(DeviceFile), lambda place: place.steps[0])}
"""Values and parts of a file that drafts contain."""
_COPIED = _PARTS.keys() - {"flops", "matrix_peak", "opencl"}
_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1e9, "GB"), (1e6, "MB"), (1, "B"))
_MANY_BYTES = 1e4
_DIGITS, _MEASURED_DIGITS = 6, 4
_MOST_CAPABILITY = 999


def family(database: "Database", present: PresentDevice) -> str:
    """Return the architecture whose patterns match the device, else that of the next lower compute capability."""
    if present.on_host:
        return database.host.facts.generic
    files = sorted(database.architectures().items())
    patterns = [(pattern.lower(), key) for key, file in files for pattern in file.matches]
    major, *minor = drivers.version(present.compute_capability or "") or (0,)
    capability = min(10 * major + sum(minor), _MOST_CAPABILITY)
    own, *older = (f"sm_{number}" for number in range(capability, -1, -1))
    names = (present.name.lower(), own, *filter(dict(patterns).get, older))
    return next((key for name in names for pattern, key in patterns if fnmatchcase(name, pattern)), GENERIC)


def draft_values(present: PresentDevice, architecture: ArchitectureFile) -> dict[str, Value]:
    """Return reported values, and typical values in proportion to the compute units for the rest."""
    counted = _units(present, architecture)
    units, unknown = counted.value, "the device reports no plausible value"
    values = {"compute_units": counted, "clock": assumed(1e9, unknown), "memory.size": assumed(2.0**30, unknown)}
    values |= reported.answers(present, *reported.SIZES, "wave_size")
    cache = reported.answers(present, reported.LAST_CACHE).get(reported.LAST_CACHE)
    for path, typical in architecture.values.items():
        match steps_of(path):
            case ("typical", "bandwidth"):
                note = f"{format_bandwidth(typical.value)} per compute unit for {units} compute units"
                values["memory.bandwidth"] = assumed(typical.value * units, note)
            case ("typical", "capacities", level):
                each = f"{format_bytes(typical.value)} per compute unit for {units} compute units"
                guess = assumed(typical.value * units, f"{each}; OpenCL does not report {level}")
                values[f"caches.{level}.capacity"] = cache or guess
    return values | reported.link_values(present.link_generation, present.link_lanes)


def _units(present: PresentDevice, architecture: ArchitectureFile) -> Value:
    if (units := reported.compute_units(present)) is None:
        least = max(1, round(architecture.units_per_opencl_unit))
        return assumed(least, "the device does not report a plausible number")
    per_unit = 1 if present.implementation.counts_units else architecture.units_per_opencl_unit
    kind = "vector engines" if per_unit < 1 else "work-group processors"  # a part of a unit (Intel), or two (AMD)
    counted = f"{units} {kind}" if per_unit != 1 else ""
    return queried(max(1, round(units * per_unit)), "CL_DEVICE_MAX_COMPUTE_UNITS", counted)


def draft_device(database: "Database", present: PresentDevice) -> Device:
    """Make a device without an entry; its id is ``draft``."""
    key = family(database, present)
    architecture = database.architecture(key)
    values = draft_values(present, architecture)
    values |= reported.answers(present, *reported.LIMITS) if key == GENERIC else {}
    return resolve("draft", _file(present, key, database), architecture, values)


def named(text: str) -> str:
    """Return a driver's name for something as text for a file: not empty, not too long, legible."""
    return shorten(text.strip()[:_MOST_CHARACTERS]) or "unnamed"


class Draft(NamedTuple):
    """The contents of a new device file."""

    file: DeviceFile
    """Names and identifiers of the device, and levels of the architecture that it does not have."""
    values: Mapping[str, Value]
    """By dotted path, in SI base units."""
    queried: str | None = None
    """Platform and driver of the device that was queried and measured; ``None``: no device is present."""
    measured_at: str = ""
    """Date of the measurements."""
    relative: "Entry | None" = None
    """The similar device with the values."""
    remarks: tuple[str, ...] = ()
    """Further comments for the author, one line each."""


def of_present(present: PresentDevice, database: "Database", relative: "Entry | None" = None, when: str = "") -> Draft:
    """Draft an entry of a device that is present; *when*: date of its measurements.

    Values that the device does not report come from the *relative*, or without one from the architecture's typical
    values per compute unit. An InputError if the relative is another kind of device.
    """
    key = relative.file.architecture if relative else family(database, present)
    architecture, host = database.architecture(key), database.host
    if relative and not reported.same_kind(architecture.kind, present.kind):
        raise InputError(f"--from: {relative.id} is a {architecture.kind}, {present.name} is a {present.kind}")
    file, name, found = _file(present, key, database), present.name, draft_values(present, architecture)
    if present.on_host:
        name, found = reported.name_of(name).product, cpu_values(host, None, present)
        file = file.model_copy(update={"without": host.without})
    draft = of_relative(relative) if relative else Draft(file, {})
    if relative:
        found = {path: value for path, value in found.items() if value.provenance.kind == "queried"}
    values = {**draft.values, **{path: value for path, value in found.items() if steps_of(path)[0] in _COPIED}}
    pci_id = (present.pci_id or "").lower()
    own = {
        "name": named(name),
        "vendor": file.vendor,
        "opencl_names": (named(present.name),),
        "pci_ids": (pci_id,) if PCI_ID.match(pci_id) else (),
    }
    queried = f"{present.platform}, driver {present.driver}"
    return draft._replace(file=draft.file.model_copy(update=own), values=values, queried=queried, measured_at=when)


def _file(present: PresentDevice, key: str, database: "Database") -> DeviceFile:
    known, own = (entry.file.vendor for entry in database.entries.values()), maker(present.vendor)
    vendor = named(next((each for each in known if own == maker(each) != Maker()), present.vendor))
    return DeviceFile(name=named(present.name), vendor=vendor, architecture=key)


def of_relative(relative: "Entry") -> Draft:
    """Draft an entry of a device that is not present, with the values of a *relative*, for the author to check."""
    file, values = relative.file, dict[str, Value]()
    for path, value in file.values.items():
        if steps_of(path)[0] in _COPIED:
            origin = ", ".join(filter(None, (value.provenance.source, value.provenance.note)))
            note = f"as {file.name} ({value.provenance.kind}: {origin}); {TO_CHECK}"
            values[path] = assumed(value.value, note)
    name, key = named(f"like {file.name}"), file.architecture
    own = DeviceFile(name=name, vendor=file.vendor, architecture=key, without=file.without)
    return Draft(own, values, relative=relative)


def drafted_device(draft: Draft, database: "Database") -> Device:
    """Return the device that the file would describe; an InputError if a required value is missing."""
    return resolve("draft", draft.file, database.architecture(draft.file.architecture), draft.values)


def write_entry(draft: Draft, *, schema: bool = True) -> str:
    """Return the text of a device file; *schema*: whether a first comment gives editors the path of its schema."""
    from jinja2 import Environment, FileSystemLoader

    pages = Environment(  # noqa: S701 - YAML
        loader=FileSystemLoader(data_dir("templates")), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    pages.filters |= {"plain": _plain, "quoted": _quoted}
    values_first = sorted(_PARTS.items(), key=lambda part: len(part[1][0].steps) > 1)
    return pages.get_template("device.yaml.j2").render(
        draft=draft,
        schema=schema,
        lines=[line for part in values_first for line in _part(draft, *part)],
        measured=any(value.provenance.kind == "measured" for value in draft.values.values()),
    )


def _part(draft: Draft, name: str, places: Sequence[Place]) -> Iterator[str]:
    """Yield the lines of a value, of a part, or of its levels."""
    given = [steps for path in draft.values if (steps := steps_of(path))[0] == name]
    if places[0].steps == (name,):
        yield from _value(draft, places[0], "")
    elif "*" in places[0].steps:
        without = [steps[1] for level in sorted(draft.file.without) if (steps := steps_of(level))[0] == name]
        yield from [f"{name}:"] if given or without else ()
        for level in sorted({steps[1] for steps in given}):
            yield f"  {level}:"
            for place in places:
                yield from _value(draft, place, "    ", level)
        yield from (f"  {level}: null" for level in without)
    elif lines := [line for place in places for line in _value(draft, place, "  ")]:
        yield from (f"{name}:", *lines)


def _value(draft: Draft, place: Place, indent: str, level: str = "") -> Iterator[str]:
    path = place.path(level)
    if value := draft.values.get(path):
        kind, source, note = value.provenance.kind, value.provenance.source, value.provenance.note
        text = quantity(path, value.value, _MEASURED_DIGITS if kind == "measured" else _DIGITS)
        origin = {"queried": "source: device, ", "measured": "source: run, "}.get(kind, "")
        note = _quoted("; ".join(filter(None, (source, note))))
        yield f"{indent}{place.steps[-1]}: {{value: {text}, {origin}kind: {kind}, note: {note}}}"


def quantity(path: str, value: object, digits: int = _DIGITS) -> str:
    """Write the value at *path* in the largest unit that shows it exactly with few digits, else to *digits* digits."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(quantity('', item) for item in value)}]"
    if not isinstance(value, int | float):
        return str(value)
    declared = declaration(path)
    in_bytes = declared.dimension == "bytes"
    scales, most = (_SIZES, _MANY_BYTES) if in_bytes else (((declared.scale, declared.unit),), inf)
    exact = next((each for each in scales if (value / each[0]).is_integer() and value / each[0] < most), None)
    scale, unit = exact or next((pair for pair in scales if value >= pair[0]), scales[-1])
    return f"{value / scale:{'.0f' if exact else f'.{digits}g'}} {unit}".strip()


def _quoted(text: str) -> str:
    return json.dumps(_plain(text), ensure_ascii=False)


def _plain(text: str) -> str:
    return " ".join(printable(text).split())
