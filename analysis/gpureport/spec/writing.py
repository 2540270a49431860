"""Write a device file: each value with its unit and source, ready to be checked and edited."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpureport.docstrings import field_docs
from gpureport.spec.files import CacheFields, LaunchFields, LinkFields, MemoryFields, PrecisionRates, TlbFields
from gpureport.spec.models import TRANSITIONS, Architecture, Cache, Launch, Memory, Tlb, yaml_values
from gpureport.spec.resolve import Value
from gpureport.spec.values import Strict
from gpureport.units import EXAMPLES, Dimension

SCHEMA = "# yaml-language-server: $schema=../device.schema.json"
GROUPS = ("memory", "caches", "tlb", "launch", "link", "rates")
_MODELS: Mapping[str, type[Strict]] = {
    "memory": MemoryFields,
    "launch": LaunchFields,
    "link": LinkFields,
    "rates": PrecisionRates,
}
_LEVELS: Mapping[str, type[Strict]] = {"caches": CacheFields, "tlb": TlbFields}
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
_DIMENSIONS: Mapping[str, Dimension] = {
    "clock": "hertz",
    **dict(yaml_values(Architecture).values()),
    **dict(yaml_values(Launch).values()),
    **dict(yaml_values(Cache).values()),
    **dict(yaml_values(Tlb).values()),
    "link.latency": "seconds",
    "link.call": "seconds",
    "link.bandwidth": "bytes/s",
    "link.peer_bandwidth": "bytes/s",
    "board_power": "watts",
    **{f"memory.{key}": dimension for key, dimension in yaml_values(Memory).values()},
}
"""Quantities, by path or the last step of the path."""
_EXAMPLES = {
    "scope": "device",
    **dict.fromkeys(TRANSITIONS, "[0.9, 1.05, 1.3]"),
    "latency_transition": "[0.95, 1.02, 1.15]",
    "persistent": "true",
    "stacked": "true",
    "unified_with_local_memory": "true",
    "partitions": "2",
    "ways": "16",
    "kind": "pcie",
    "generation": "4",
    "lanes": "16",
    **dict.fromkeys(PrecisionRates.model_fields, "64"),
    "efficiency": "0.9",
    "groups_per_cycle": "0.5",
    **dict.fromkeys(("line", "sector", "access"), "64 B"),
}


_OPTIONAL = {
    "flops": f"{EXAMPLES['flop/s']}  # Listed single-precision peak, for `devices check`.",
    "board_power": f"{EXAMPLES['watts']}  # Listed power limit of the whole board.",
}


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


def write_entry(draft: Draft, *, schema: bool = True) -> str:
    """Return the text of a device file; *schema*: whether a first comment gives editors the path of its schema."""
    return "\n".join([*([SCHEMA] if schema else ()), *_lines(draft)]) + "\n"


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
    for path in ("compute_units", "clock", "flops", "board_power"):
        if path in draft.values:
            yield f"{path}: {_leaf(path, draft.values[path])}"
        elif draft.optional:
            yield f"# {path}: {_OPTIONAL[path]}"
    for group in GROUPS:
        yield from _group(draft, group)
    yield from _identity(draft)


def _group(draft: Draft, group: str) -> Iterator[str]:
    if group in _LEVELS:
        levels = sorted({path.split(".")[1] for path in draft.values if path.startswith(f"{group}.")})
        without = draft.without if group == "caches" else ()
        if levels or without:
            yield f"{group}:"
        for level in levels:
            yield f"  {level}:"
            yield from _fields(draft, f"{group}.{level}", _LEVELS[group], "    ")
        yield from (f"  {level}: null" for level in without)
        return
    lines = list(_fields(draft, group, _MODELS[group], "  "))
    if any(path.startswith(f"{group}.") for path in draft.values):
        yield f"{group}:"
        yield from lines
    elif lines:
        yield f"# {group}:"
        yield from (line.replace("  # ", "#   ", 1) for line in lines)


def _fields(draft: Draft, prefix: str, model: type[Strict], indent: str) -> Iterator[str]:
    """Yield known values in the order of the model, and optional fields as comments."""
    docs = field_docs(model)
    for name in model.model_fields:
        path = f"{prefix}.{name}"
        if path in draft.values:
            yield f"{indent}{name}: {_leaf(path, draft.values[path])}"
        elif draft.optional:
            means = f"  # {docs[name]}" if name in docs else ""
            yield f"{indent}# {name}: {_example(path)}{means}"


def _example(path: str) -> str:
    return _EXAMPLES.get(path.rsplit(".", 1)[-1], EXAMPLES[_dimension(path)])


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
    scales = _SCALES.get(_dimension(path), ((1, ""),))
    exact = next((pair for pair in scales if (value / pair[0]).is_integer() and _legible(value, pair)), None)
    scale, unit = exact or next((pair for pair in scales if value >= pair[0]), scales[-1])
    return f"{value / scale:{'.0f' if exact else f'.{digits}g'}} {unit}".strip()


def _legible(value: float, unit: tuple[float, str]) -> bool:
    """Whether a whole number of this unit is readable: not a large number of bytes."""
    scale, name = unit
    return not name.endswith("B") or value / scale < _MANY


def _dimension(path: str) -> Dimension:
    return _DIMENSIONS.get(path) or _DIMENSIONS.get(path.rsplit(".", 1)[-1], "count")


def _quoted(text: str) -> str:
    return json.dumps(_plain(text), ensure_ascii=False)


def _plain(text: str) -> str:
    """Return *text* on one line, without characters that YAML does not allow."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
