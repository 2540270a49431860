"""Conditions, other than the device, that differ between runs, and their effect on a comparison."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Literal

from gpureport.compare.records import Condition
from gpureport.observe.disturbance import running_clocks
from gpureport.records.report import Machine, Report
from gpureport.units import format_frequency

Severity = Literal["note", "caution"]


def facts(report: Report) -> dict[str, str]:
    """Return the known conditions of a run, by name."""
    return {what: value for what, (read, _, _) in _CONDITIONS.items() if (value := read(report))}


def merged_facts(runs: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the conditions of a machine from those of its runs."""
    values = {what: dict.fromkeys(run[what] for run in runs if what in run) for what in _CONDITIONS}
    return {what: ", ".join(different) for what, different in values.items() if different}


def conditions(machines: Mapping[str, Mapping[str, str]]) -> tuple[Condition, ...]:
    """Return the conditions that differ between the machines, cautions first."""
    found = []
    for what, (_, effect, severity) in _CONDITIONS.items():
        values = {name: of_machine[what] for name, of_machine in machines.items() if what in of_machine}
        if len(set(values.values())) > 1:
            found.append(Condition(what=what, values=values, effect=effect, severity=severity))
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


def _of_machine(read: Callable[[Machine], str]) -> Callable[[Report], str]:
    return lambda report: read(report.machine) if report.machine else ""


def _clock(report: Report) -> str:
    clocks = running_clocks([reading for each in report.conditions for reading in each.readings])
    return format_frequency(median(clocks)) if clocks else ""


def _vendor_fact(name: str) -> Callable[[Report], str]:
    return _of_machine(lambda machine: machine.vendor_facts.get(name, ""))


def _effort(report: Report) -> str:
    if origin(report) != "measured":
        return ""
    return "quick" if report.settings.quick else "full"


_ORIGIN = "origin"
_CONDITIONS: Mapping[str, tuple[Callable[[Report], str], str, Severity]] = {
    _ORIGIN: (
        origin,
        "published values have no intervals and come from kernels similar to ours; predictions were not measured.",
        "caution",
    ),
    "state": (lambda report: report.status, "a partial report lacks what was not measured when it stopped.", "caution"),
    "effort": (
        _effort,
        "quick runs measure fewer points with fewer samples and leave out variants; their best points may differ.",
        "caution",
    ),
    "MIG": (
        _vendor_fact("MIG"),
        "a MIG slice has part of the device's compute units, caches and bandwidth.",
        "caution",
    ),
    "version": (
        lambda report: report.tool_version,
        "kernels, sizes and counting may have changed between versions.",
        "caution",
    ),
    "platform": (_of_machine(lambda m: m.opencl.platform), "compilers differ between OpenCL platforms.", "note"),
    "driver": (_of_machine(lambda m: m.opencl.driver), "compilers and launch costs depend on the driver.", "note"),
    "clock": (_clock, "instruction-bound workloads scale with the clock.", "note"),
    "power limit": (_vendor_fact("power limit"), "clocks drop when the device reaches its power limit.", "note"),
    "ECC": (_vendor_fact("ECC"), "error correction costs bandwidth on memories without dedicated ECC bits.", "note"),
    "system": (_of_machine(lambda m: m.system), "launch costs may differ.", "note"),
    "processor": (
        _of_machine(lambda m: m.cpu),
        "the CPU queues the work; if the device is a CPU, it also runs the kernels.",
        "note",
    ),
}
"""By name of the condition: how it is read from a report, the effect of a difference, and its severity."""
