"""A new device file: of a device that is present, after a relative, or empty; measured values go on top."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gpureport.errors import InputError
from gpureport.inputs import parse_yaml
from gpureport.records.provenance import Provenance
from gpureport.spec.corrections import of_host
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
    "A draft. 'queried' was asked of the device, 'measured' was measured on it, 'assumed' is a guess.",
    "Replace assumed values by documented ones, and give their source; `gpureport devices check` checks the file.",
)
_RESTS = "What is not here is as in the architecture's file, devices/architectures/{}.yaml."
_WRITTEN = ("compute_units", "clock", *GROUPS)
_PLACEHOLDER = f"a placeholder; {TO_REPLACE}"
_PLACEHOLDERS: Mapping[str, float] = {
    "compute_units": 16,
    "clock": 1e9,
    "memory.size": 8 * 2.0**30,
    "memory.bandwidth": 160e9,
    "caches.L2.capacity": 2 * 2.0**20,
}


def of_present(present: PresentDevice, database: "Database", relative: "Entry | None" = None) -> Draft:
    """Draft an entry of a device that is present.

    Args:
        present: the device.
        database: where its architecture is looked up.
        relative: an entry to take from what the device does not say; without one, what its architecture's family has
            for each compute unit.

    Raises:
        InputError: the relative is another kind of device.
    """
    key = relative.file.architecture if relative else family(database, present)
    architecture = database.architecture(key)
    if relative and (architecture.kind == "cpu") != (present.kind == "cpu"):
        raise InputError(f"--from: {relative.id} is a {architecture.kind}, {present.name} is a {present.kind}")
    values = _told(present, database, key)
    if relative:
        told = {path: value for path, value in values.items() if value.provenance.kind == "queried"}
        values = _carried_over(relative) | told
    units = values["compute_units"]
    other = units.provenance.kind == "queried" and units.value != present.compute_units
    return Draft(
        name=named(product(present.name) if present.kind == "cpu" else present.name),
        vendor=_maker(present.vendor, database),
        architecture=key,
        values={path: value for path, value in values.items() if path.split(".")[0] in _WRITTEN},
        asked=f"{present.platform}, driver {present.driver}",
        without=_without(relative) if relative else _levels_that_lack(present, database),
        opencl_names=(named(present.name),),
        opencl_units=present.compute_units if other else None,
        pci_id=present.pci_id,
        remarks=(*_LEGEND, _RESTS.format(key), *_relation(relative)),
    )


def of_relative(relative: "Entry") -> Draft:
    """Draft an entry of a device that is not here, after a *relative*: nothing is known but to be like it."""
    return Draft(
        name=f"like {relative.file.name}",
        vendor=relative.file.vendor,
        architecture=relative.file.architecture,
        values=_carried_over(relative),
        without=_without(relative),
        remarks=(*_LEGEND, _RESTS.format(relative.file.architecture), *_relation(relative)),
    )


def empty() -> Draft:
    """Draft an entry of which nothing is known, with every field that may be given."""
    remarks = (
        "An empty entry. Values marked 'assumed' are placeholders: replace them, and give their source.",
        "The architecture is a file in devices/architectures, without '.yaml'.",
        "Fields behind '#' may be left out: the architecture has them. `gpureport devices check` checks the file.",
    )
    values = {path: assumed(value, _PLACEHOLDER) for path, value in _PLACEHOLDERS.items()}
    return Draft("My device", "My vendor", GENERIC, values, remarks=remarks, optional=True)


def with_measured(draft: Draft, measured: Mapping[str, Value], remarks: tuple[str, ...]) -> Draft:
    """Return *draft* with measured values in place of others, and what else was seen among the remarks."""
    return replace(draft, values={**draft.values, **measured}, remarks=(*draft.remarks, *remarks))


def drafted_device(draft: Draft, database: "Database") -> Device:
    """Return the device that the file would describe.

    Raises:
        InputError: neither the draft nor its architecture has a value.
    """
    file = DeviceFile.model_validate(parse_yaml(write_entry(draft), "the draft").data)
    return resolve("draft", file, database.architecture(draft.architecture))


def _maker(told: str, database: "Database") -> str:
    """Return the vendor as other entries call it, if they have one of that name."""
    known = (entry.file.vendor for entry in database.entries.values() if vendor(entry.file.vendor) == vendor(told))
    return next(known, named(told)) if vendor(told) else named(told)


def _told(present: PresentDevice, database: "Database", key: str) -> dict[str, Value]:
    """Return what the device or the host says, and assumptions for the rest."""
    if present.kind != "cpu":
        return draft_values(present, database.architecture(key))
    return of_host(database.host, present)


def _carried_over(relative: "Entry") -> dict[str, Value]:
    """Return a relative's own values, marked so that the author sees what to check."""
    return {
        path: Value(value.value, _as(relative, value.provenance))
        for path, value in layer(relative.file).items()
        if path.split(".")[0] in _WRITTEN
    }


def _as(relative: "Entry", known: Provenance) -> Provenance:
    told = ", ".join(part for part in (known.source, known.note) if part)
    return Provenance(kind="assumed", source="", note=f"as {relative.file.name} ({known.kind}: {told}); {TO_CHECK}")


def _without(relative: "Entry") -> tuple[str, ...]:
    return tuple(level for level, fields in relative.file.caches.items() if fields is None)


def _levels_that_lack(present: PresentDevice, database: "Database") -> tuple[str, ...]:
    """Return the third level of a processor whose operating system lists others, but not that one."""
    caches = database.host.caches if present.kind == "cpu" else ()
    return ("L3",) if caches and all(cache.level < 3 for cache in caches) else ()


def _relation(relative: "Entry | None") -> Iterator[str]:
    if relative:
        yield f"What is marked 'as {relative.file.name}' was carried over from {relative.id}: check each."
