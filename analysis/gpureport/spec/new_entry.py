"""A new device file: of a present device, based on a relative, or empty; measured values override the others.

Each value is written with its unit and source, ready to be checked and edited.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpureport.docstrings import field_docs
from gpureport.errors import InputError
from gpureport.inputs import parse_yaml
from gpureport.spec.draft import GENERIC, draft_values, family, named
from gpureport.spec.files import DeviceFile, declaration, part_of
from gpureport.spec.host_core import cpu_values
from gpureport.spec.models import Device, PresentDevice
from gpureport.spec.names import product, vendor
from gpureport.spec.resolve import Value, assumed, layer, resolve
from gpureport.spec.values import TO_CHECK, TO_REPLACE, Leaf, Strict
from gpureport.units import EXAMPLES, Dimension

if TYPE_CHECKING:
    from gpureport.spec.database import Database, Entry

_SCHEMA = "# yaml-language-server: $schema=../device.schema.json"
_PARTS = {name: part for name in DeviceFile.model_fields if (part := part_of(DeviceFile, name)) and name != "opencl"}
"""Values and parts of a file that drafts contain, with their models."""
_COPIED = _PARTS.keys() - {"flops", "matrix_peak"}
_PLACEHOLDERS: Mapping[str, float] = {
    "compute_units": 16,
    "clock": 1e9,
    "memory.size": 8 * 2.0**30,
    "memory.bandwidth": 160e9,
    "caches.L2.capacity": 2 * 2.0**20,
}
_SCALES: dict[Dimension, tuple[tuple[float, str], ...]] = {
    "bytes": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1e9, "GB"), (1e6, "MB"), (1, "B")),
    "bytes/s": ((1e9, "GB/s"),),
    "hertz": ((1e9, "GHz"),),
    "seconds": ((1e-6, "us"),),
    "cycles": ((1, "cycles"),),
    "watts": ((1, "W"),),
    "bytes/cycle": ((1, "B/cycle"),),
}
_MANY = 1e4
_DIGITS, _MEASURED_DIGITS = 6, 4


@dataclass(frozen=True)
class Draft:
    """The contents of a new device file."""

    name: str
    vendor: str
    architecture: str
    values: Mapping[str, Value]
    """By dotted path, in SI base units."""
    queried: str | None = None
    """Platform and driver of the device that was queried and measured; ``None``: no device is present."""
    measured_at: str = ""
    """Date of the measurements."""
    without: tuple[str, ...] = ()
    """Levels of the architecture that the device does not have."""
    opencl_names: tuple[str, ...] = ()
    opencl_units: int | None = None
    """Compute units as OpenCL counts them, if the number differs."""
    pci_id: str | None = None
    remarks: tuple[str, ...] = ()
    """Comments for the author, one line each."""
    optional: bool = False
    """Whether to list optional fields as comments."""


def of_present(present: PresentDevice, database: "Database", relative: "Entry | None" = None, when: str = "") -> Draft:
    """Draft an entry of a device that is present; *when*: date of its measurements.

    Values that the device does not report come from the *relative*, or without one from the architecture's typical
    values per compute unit.

    Raises:
        InputError: the relative is another kind of device.
    """
    key = relative.file.architecture if relative else family(database, present)
    architecture = database.architecture(key)
    if relative and (architecture.kind == "cpu") != present.is_cpu:
        raise InputError(f"--from: {relative.id} is a {architecture.kind}, {present.name} is a {present.kind}")
    found = cpu_values(database.host, present) if present.is_cpu else draft_values(present, architecture)
    if relative:
        draft = of_relative(relative)
        found = {path: value for path, value in found.items() if value.provenance.kind == "queried"}
    else:
        without = database.host.without if present.is_cpu else ()
        draft = Draft("", "", key, {}, without=without, remarks=_remarks(key))
    values = {**draft.values, **{path: value for path, value in found.items() if path.split(".")[0] in _COPIED}}
    units = values["compute_units"]
    differs = units.provenance.kind == "queried" and units.value != present.compute_units
    return replace(
        draft,
        name=named(product(present.name) if present.is_cpu else present.name),
        vendor=_maker(present.vendor, database),
        values=values,
        queried=f"{present.platform}, driver {present.driver}",
        measured_at=when,
        opencl_names=(named(present.name),),
        opencl_units=present.compute_units if differs else None,
        pci_id=present.pci_id,
    )


def of_relative(relative: "Entry") -> Draft:
    """Draft an entry of a device that is not present, with the values of a *relative*, for the author to check."""
    file, values = relative.file, dict[str, Value]()
    for path, value in layer(file).items():
        if path.split(".")[0] in _COPIED:
            origin = ", ".join(filter(None, (value.provenance.source, value.provenance.note)))
            note = f"as {file.name} ({value.provenance.kind}: {origin}); {TO_CHECK}"
            values[path] = assumed(value.value, note)
    copied = f"Values marked 'as {file.name}' are copied from {relative.id}: check each."
    return Draft(
        name=f"like {file.name}",
        vendor=file.vendor,
        architecture=file.architecture,
        values=values,
        without=tuple(level for level, fields in file.caches.items() if fields is None),
        remarks=(*_remarks(file.architecture), copied),
    )


def _remarks(architecture: str) -> tuple[str, ...]:
    return (
        "A draft. 'queried': reported by the device. 'measured': measured on the device. 'assumed': a guess.",
        "Replace assumed values with documented ones and add their source. `gpureport devices check` checks the file.",
        f"All other values come from the architecture's file, devices/architectures/{architecture}.yaml.",
    )


def empty() -> Draft:
    """Draft an entry with placeholders and all optional fields."""
    remarks = (
        "An empty entry. Values marked 'assumed' are placeholders: replace them and add their source.",
        "The architecture is the name of a file in devices/architectures, without '.yaml'.",
        "Fields after '#' are optional: the architecture has values. `gpureport devices check` checks the file.",
    )
    values = {path: assumed(value, f"a placeholder; {TO_REPLACE}") for path, value in _PLACEHOLDERS.items()}
    return Draft("My device", "My vendor", GENERIC, values, remarks=remarks, optional=True)


def with_measured(draft: Draft, measured: Mapping[str, Value], remarks: tuple[str, ...]) -> Draft:
    """Return *draft* with measured values and further remarks."""
    return replace(draft, values={**draft.values, **measured}, remarks=(*draft.remarks, *remarks))


def drafted_device(draft: Draft, database: "Database") -> Device:
    """Return the device that the file would describe.

    Raises:
        InputError: a required value is missing in both the draft and its architecture.
    """
    file = DeviceFile.model_validate(parse_yaml(write_entry(draft), "the draft").data)
    return resolve("draft", file, database.architecture(draft.architecture))


def _maker(name: str, database: "Database") -> str:
    """Return the vendor's name in other entries, if any, else its name as reported."""
    known = (entry.file.vendor for entry in database.entries.values() if vendor(entry.file.vendor) == vendor(name))
    return next(known, named(name)) if vendor(name) else named(name)


def write_entry(draft: Draft, *, schema: bool = True) -> str:
    """Return the text of a device file; *schema*: whether a first comment gives editors the path of its schema."""
    return "\n".join([*([_SCHEMA] if schema else ()), *_lines(draft)]) + "\n"


def _lines(draft: Draft) -> Iterator[str]:
    yield from (f"# {_plain(remark)}" for remark in draft.remarks)
    yield f"name: {_quoted(draft.name)}"
    yield f"vendor: {_quoted(draft.vendor)}"
    yield f"architecture: {draft.architecture}"
    if draft.queried is not None:
        yield "sources:"
        yield f"  device: {{text: {_quoted(draft.queried)}, kind: queried}}"
        if any(value.provenance.kind == "measured" for value in draft.values.values()):
            run = f"gpureport run {draft.measured_at}, {draft.queried}"
            yield f"  run: {{text: {_quoted(run)}, kind: measured}}"
    else:
        yield "# sources:"
        yield '#   sheet: "Title and edition of a data sheet"'
        yield "# source: sheet"
    for name, part in _PARTS.items():
        if issubclass(part, Leaf):
            yield from _value(draft, DeviceFile, name, name, "")
    for name, part in _PARTS.items():
        if not issubclass(part, Leaf):
            yield from _part(draft, name, part)
    yield from _identity(draft)


def _part(draft: Draft, name: str, part: type[Strict]) -> Iterator[str]:
    """Yield the lines of a part, or of its levels; as comments if the draft has no value of it."""
    given = [path.split(".") for path in draft.values if path.startswith(f"{name}.")]
    if any(len(steps) > 2 for steps in given) or name in ("caches", "tlb"):
        without = draft.without if name == "caches" else ()
        yield from [f"{name}:"] if given or without else ()
        for level in sorted({steps[1] for steps in given}):
            yield f"  {level}:"
            for key in part.model_fields:
                yield from _value(draft, part, f"{name}.{level}.{key}", key, "    ")
        yield from (f"  {level}: null" for level in without)
        return
    lines = [line for key in part.model_fields for line in _value(draft, part, f"{name}.{key}", key, "  ")]
    if given:
        yield from (f"{name}:", *lines)
    elif lines:
        yield f"# {name}:"
        yield from (f"#   {line.removeprefix('  # ')}" for line in lines)


def _value(draft: Draft, part: type[Strict], path: str, key: str, indent: str) -> Iterator[str]:
    """Yield the line of a value, or of an optional one as a comment."""
    if path in draft.values:
        yield f"{indent}{key}: {_leaf(path, draft.values[path])}"
    elif draft.optional:
        example = declaration(path).example or EXAMPLES[declaration(path).dimension]
        means = field_docs(part).get(key)
        yield f"{indent}# {key}: {example}{f'  # {_plain(means)}' if means else ''}"


def _identity(draft: Draft) -> Iterator[str]:
    if draft.opencl_names:
        yield "opencl:"
        yield f"  names: [{', '.join(map(_quoted, draft.opencl_names))}]"
        if draft.opencl_units is not None:
            yield f"  compute_units: {{value: {draft.opencl_units}, source: device}}"
    else:
        yield "# opencl:"
        yield "#   names: [name that the device reports; `gpureport devices` shows it]"
    if draft.pci_id and re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{4}", draft.pci_id.lower()):
        yield f"pci_ids: [{_quoted(draft.pci_id.lower())}]"
    elif not draft.opencl_names:
        yield '# pci_ids: ["10de:2335"]'


def _leaf(path: str, value: Value) -> str:
    provenance = value.provenance
    source = {"queried": "device", "measured": "run"}.get(provenance.kind)
    origin = f"source: {source}, " if source else ""
    note = "; ".join(filter(None, (provenance.source, provenance.note)))
    digits = _MEASURED_DIGITS if provenance.kind == "measured" else _DIGITS
    return f"{{value: {quantity(path, value.value, digits)}, {origin}kind: {provenance.kind}, note: {_quoted(note)}}}"


def quantity(path: str, value: object, digits: int = _DIGITS) -> str:
    """Write the value at *path* in the largest unit that shows it exactly with few digits, else to *digits* digits."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(quantity('', item) for item in value)}]"
    if not isinstance(value, int | float):
        return str(value)
    scales = _SCALES.get(declaration(path).dimension, ((1, ""),))
    exact = next((pair for pair in scales if (value / pair[0]).is_integer() and _legible(value, pair)), None)
    scale, unit = exact or next((pair for pair in scales if value >= pair[0]), scales[-1])
    return f"{value / scale:{'.0f' if exact else f'.{digits}g'}} {unit}".strip()


def _legible(value: float, unit: tuple[float, str]) -> bool:
    """Whether a whole number of this unit is readable: not a large number of bytes."""
    scale, name = unit
    return not name.endswith("B") or value / scale < _MANY


def _quoted(text: str) -> str:
    return json.dumps(_plain(text), ensure_ascii=False)


def _plain(text: str) -> str:
    """Return *text* on one line, without characters that YAML does not allow."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
