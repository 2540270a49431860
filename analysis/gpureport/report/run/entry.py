"""Values of a device's entry: as text, by the dotted path that its provenance uses, and their sources."""

from collections.abc import Mapping
from numbers import Real

from pydantic import BaseModel

from gpureport.records.report import Report
from gpureport.report.text.tables import Table
from gpureport.spec.models import UNITS, Device, Transition
from gpureport.units import UNKNOWN, format_ratio, format_value

_ALIASES = {"rates": "rates_per_cycle", "latencies": "latency_cycles"}


def value_at(device: Device, path: str) -> str:
    """Write the value at *path*, e.g. ``caches.L2.capacity``; a dash if the path does not exist.

    Paths contain field names without units and names of caches. They start at the device or at its architecture.
    """
    text = _written(*_followed(device, path))
    return _written(*_followed(device.architecture, path)) if text == UNKNOWN else text


def fact_name(fact: str) -> str:
    """Name an input of a prediction: a path, or the model."""
    return "the model itself" if fact == "model" else fact


def fact_value(device: Device, fact: str) -> str:
    """Write the value of an input: the midpoint of a transition range, nothing for the model."""
    if fact == "model":
        return ""
    return value_at(device, f"{fact}.midpoint" if fact.endswith("_transition") else fact)


def _followed(node: object, path: str) -> tuple[object, str]:
    """Return the value at *path*, and its unit."""
    unit = ""
    for part in path.replace("opencl.", "opencl_").split("."):
        node, unit = _step(node, _ALIASES.get(part, part))
    return node, unit


def _step(node: object, part: str) -> tuple[object, str]:
    if isinstance(node, BaseModel):
        fields = type(node).model_fields
        return next(
            ((getattr(node, part + end), unit) for end, unit in UNITS.items() if part + end in fields),
            (None, ""),
        )
    if isinstance(node, Mapping):
        return next((value for key, value in node.items() if str(key) == part), None), ""
    if isinstance(node, tuple):
        return next((item for item in node if getattr(item, "name", None) == part), None), ""
    return None, ""


def _written(node: object, unit: str) -> str:
    if isinstance(node, bool):
        return "yes" if node else "no"
    if isinstance(node, int) and not unit:
        return str(node)
    if isinstance(node, Real):
        return format_value(float(node), unit) if unit else format_ratio(float(node))
    if isinstance(node, Transition):
        return ", ".join(format_ratio(value) for value in (node.onset, node.midpoint, node.end))
    if isinstance(node, Mapping) and node:
        return ", ".join(f"{key}: {_written(value, unit)}" for key, value in node.items())
    if isinstance(node, tuple) and node:
        return ", ".join(_written(value, unit) for value in node)
    return node if isinstance(node, str) else UNKNOWN


def sources_table(report: Report) -> Table:
    """List the entry's values with their sources, as numbers of :func:`citations`."""
    numbers = {source: str(number) for number, source in enumerate(citations(report), start=1)}
    rows = tuple(
        (path, value_at(report.device, path), origin.kind, numbers.get(origin.source, ""), origin.note)
        for path, origin in sorted(report.device.provenance.items())
    )
    return Table(("parameter", "value", "kind", "source", "note"), rows, frozenset({"value", "source"}))


def citations(report: Report) -> list[str]:
    """Return the distinct sources of the entry's values, in the order of the table."""
    provenance = report.device.provenance
    return [source for source in dict.fromkeys(provenance[path].source for path in sorted(provenance)) if source]
