"""Conditions, other than the device, that differ between runs, and their effect on a comparison.

``tables/conditions.yaml`` lists them.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Literal

from gpureport.compare.records import Condition
from gpureport.inputs import shipped_table
from gpureport.observe.disturbance import running_clocks
from gpureport.records.report import Report
from gpureport.units import format_frequency

_ORIGIN = "origin"
_LISTED = shipped_table("conditions", tuple[Condition, ...])
"""All conditions in the order of documents, without values."""


def facts(report: Report) -> dict[str, str]:
    """Return the known conditions of a run, by name."""
    machine, kind = report.machine, origin(report)
    readings = [reading for each in report.conditions for reading in each.readings]
    clocks, loads = running_clocks(readings), [r.load_average for r in readings if r.load_average is not None]
    values = {
        **(machine.vendor_facts if machine else {}),
        _ORIGIN: kind,
        "state": report.status,
        "effort": ("quick" if report.settings.quick else "full") if kind == "measured" else "",
        "version": report.tool_version,
        "clock": format_frequency(median(clocks)) if clocks else "",
        "load average": f"{median(loads):.0f}" if loads else "",
    }
    if machine:
        values |= {"platform": machine.opencl.platform, "driver": machine.opencl.driver}
        values |= {"system": machine.system, "processor": machine.cpu}
    return {each.what: value for each in _LISTED if (value := values.get(each.what))}


def merged_facts(runs: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the conditions of a machine from those of its runs."""
    values = {each.what: dict.fromkeys(run[each.what] for run in runs if each.what in run) for each in _LISTED}
    return {what: ", ".join(different) for what, different in values.items() if different}


def conditions(machines: Mapping[str, Mapping[str, str]]) -> tuple[Condition, ...]:
    """Return the conditions that differ between the machines, cautions first."""
    found = []
    for each in _LISTED:
        values = {name: of_machine[each.what] for name, of_machine in machines.items() if each.what in of_machine}
        if len(set(values.values())) > 1:
            found.append(each.model_copy(update={"values": values}))
    return tuple(sorted(found, key=lambda condition: condition.severity != "caution"))


def cautions(found: Iterable[Condition], name: str, baseline: str) -> tuple[str, ...]:
    """Return the cautions, except the origin, in which a machine differs from the baseline."""
    return tuple(
        condition.what
        for condition in found
        if condition.severity == "caution" and condition.what != _ORIGIN and name in condition.values
        if condition.values[name] != condition.values.get(baseline, condition.values[name])
    )


def origin(report: Report) -> Literal["measured", "published", "predicted"]:
    """Return the origin of a report's values."""
    if report.publication is not None:
        return "published"
    return "measured" if report.measurements else "predicted"
