"""A new device file: of a present device, based on a relative, or empty; measured values override the others."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gpureport.errors import InputError
from gpureport.inputs import parse_yaml
from gpureport.records.provenance import Provenance
from gpureport.spec.corrections import cpu_values
from gpureport.spec.draft import GENERIC, draft_values, family, named
from gpureport.spec.files import DeviceFile
from gpureport.spec.models import Device, PresentDevice
from gpureport.spec.names import product, vendor
from gpureport.spec.resolve import Value, assumed, layer, resolve
from gpureport.spec.values import TO_CHECK, TO_REPLACE
from gpureport.spec.writing import GROUPS, Draft, write_entry

if TYPE_CHECKING:
    from gpureport.spec.database import Database, Entry

_LEGEND = (
    "A draft. 'queried': reported by the device. 'measured': measured on the device. 'assumed': a guess.",
    "Replace assumed values with documented ones and add their source. `gpureport devices check` checks the file.",
)
_WRITTEN = ("compute_units", "clock", "board_power", *GROUPS)
_PLACEHOLDERS: Mapping[str, float] = {
    "compute_units": 16,
    "clock": 1e9,
    "memory.size": 8 * 2.0**30,
    "memory.bandwidth": 160e9,
    "caches.L2.capacity": 2 * 2.0**20,
}


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
    values = cpu_values(database.host, present) if present.is_cpu else draft_values(present, architecture)
    if relative:
        queried = {path: value for path, value in values.items() if value.provenance.kind == "queried"}
        values = _copied(relative) | queried
    absent = database.host.without if present.is_cpu else ()
    units = values["compute_units"]
    other = units.provenance.kind == "queried" and units.value != present.compute_units
    return Draft(
        name=named(product(present.name) if present.is_cpu else present.name),
        vendor=_maker(present.vendor, database),
        architecture=key,
        values={path: value for path, value in values.items() if path.split(".")[0] in _WRITTEN},
        queried=f"{present.platform}, driver {present.driver}",
        measured_at=when,
        without=_without(relative) if relative else absent,
        opencl_names=(named(present.name),),
        opencl_units=present.compute_units if other else None,
        pci_id=present.pci_id,
        remarks=_remarks(key, relative),
    )


def of_relative(relative: "Entry") -> Draft:
    """Draft an entry of a device that is not present, with the values of a *relative*."""
    return Draft(
        name=f"like {relative.file.name}",
        vendor=relative.file.vendor,
        architecture=relative.file.architecture,
        values=_copied(relative),
        without=_without(relative),
        remarks=_remarks(relative.file.architecture, relative),
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


def _copied(relative: "Entry") -> dict[str, Value]:
    """Return the values of a relative's file, marked for the author to check."""
    own = {path: value for path, value in layer(relative.file).items() if path.split(".")[0] in _WRITTEN}
    return {path: assumed(value.value, _origin(relative, value.provenance)) for path, value in own.items()}


def _origin(relative: "Entry", known: Provenance) -> str:
    origin = ", ".join(filter(None, (known.source, known.note)))
    return f"as {relative.file.name} ({known.kind}: {origin}); {TO_CHECK}"


def _without(relative: "Entry") -> tuple[str, ...]:
    return tuple(level for level, fields in relative.file.caches.items() if fields is None)


def _remarks(architecture: str, relative: "Entry | None") -> tuple[str, ...]:
    inherited = f"All other values come from the architecture's file, devices/architectures/{architecture}.yaml."
    copied = f"Values marked 'as {relative.file.name}' are copied from {relative.id}: check each." if relative else ""
    return tuple(filter(None, (*_LEGEND, inherited, copied)))
