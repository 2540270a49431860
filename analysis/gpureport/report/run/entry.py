"""Values of a device's entry: as text, by the dotted path that its provenance uses, and their sources."""

from collections.abc import Mapping
from numbers import Real

from gpureport.records.report import Report
from gpureport.report.text.tables import Table
from gpureport.spec.models import Device, Transition, visited
from gpureport.spec.values import Listed
from gpureport.units import DIMENSIONS, UNKNOWN, format_ratio, format_value


def written_values(device: Device) -> Mapping[str, str]:
    """Write all values of *device* by path, such as ``caches.L2.capacity``; a dash for those that are not known.

    The midpoint of a transition range has its own path: ``caches.L2.latency_transition.midpoint``.
    """
    found = {"opencl.compute_units": _written(device.opencl_compute_units, "")}

    def write(path: str, declared: Listed, value: object) -> object:
        found[path] = _written(value, DIMENSIONS[declared.dimension].unit)
        if isinstance(value, Transition):
            found[f"{path}.midpoint"] = format_ratio(value.midpoint)
        return value

    visited(device, write)
    return found


def fact_name(fact: str) -> str:
    """Name an input of a prediction: a path, or the model."""
    return "the model itself" if fact == "model" else fact


def fact_value(values: Mapping[str, str], fact: str) -> str:
    """Return an input among written *values*: the midpoint of a transition range, nothing for the model."""
    return "" if fact == "model" else values.get(f"{fact}.midpoint") or values.get(fact, UNKNOWN)


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
    values = written_values(report.device)
    rows = (
        (path, values[path], origin.kind, numbers.get(origin.source, ""), origin.note)
        for path, origin in sorted(report.device.provenance.items())
        if path in values
    )
    return Table(("parameter", "value", "kind", "source", "note"), tuple(rows))


def citations(report: Report) -> list[str]:
    """Return the distinct sources of the entry's values, in the order of the table."""
    provenance = report.device.provenance
    return [source for source in dict.fromkeys(provenance[path].source for path in sorted(provenance)) if source]
