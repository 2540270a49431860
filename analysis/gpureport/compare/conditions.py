"""In what runs differ besides the device, and what that does to a comparison."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from gpureport.compare.excerpt import Excerpt
from gpureport.compare.records import Condition
from gpureport.units import format_frequency

Severity = Literal["note", "caution"]


def facts(report: Excerpt) -> dict[str, str]:
    """Return the conditions of a run, by what they are; what is not known is left out."""
    return {what: value for what, (tell, _, _) in _ASKED.items() if (value := tell(report))}


def together(runs: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the conditions of a machine from those of its runs."""
    told = {what: dict.fromkeys(run[what] for run in runs if what in run) for what in _ASKED}
    return {what: ", ".join(values) for what, values in told.items() if values}


def conditions(machines: Mapping[str, Mapping[str, str]]) -> tuple[Condition, ...]:
    """Return what is known to differ between the machines, by the conditions of each, what matters most first."""
    found = []
    for what, (_, effect, severity) in _ASKED.items():
        values = {name: of_machine[what] for name, of_machine in machines.items() if what in of_machine}
        if len(set(values.values())) > 1:
            found.append(Condition(what=what, values=values, effect=effect, severity=severity))
    return tuple(sorted(found, key=lambda condition: condition.severity != "caution"))


def cautions(found: Iterable[Condition], name: str, baseline: str) -> tuple[str, ...]:
    """Return in what else than its origin a machine differs from the baseline so that ratios mean less."""
    return tuple(
        condition.what
        for condition in found
        if condition.severity == "caution" and condition.what != _ORIGIN and name in condition.values
        if condition.values[name] != condition.values.get(baseline, condition.values[name])
    )


def origin(report: Excerpt) -> Literal["measured", "published", "predicted"]:
    """Return how a report came about."""
    if report.publication is not None:
        return "published"
    return "measured" if report.measurements else "predicted"


def _clock(report: Excerpt) -> str:
    """Return the clock while measuring, if all readings agree to a hundredth; else the range."""
    read = [
        clock.clock_hz
        for clock in (report.machine.clocks if report.machine else ())
        if "memory" not in clock.label and "highest" not in clock.label
    ]
    if not read:
        return ""
    low, high = min(read), max(read)
    return format_frequency(high) if high <= 1.01 * low else f"{format_frequency(low)} to {format_frequency(high)}"


def _vendor_fact(name: str) -> Callable[[Excerpt], str]:
    return lambda report: report.machine.vendor_facts.get(name, "") if report.machine else ""


def _effort(report: Excerpt) -> str:
    if origin(report) != "measured":
        return ""
    return "quick" if report.settings.quick else "full"


_ORIGIN = "origin"
_ASKED: Mapping[str, tuple[Callable[[Excerpt], str], str, Severity]] = {
    _ORIGIN: (
        origin,
        "what is published has no intervals and comes from kernels like ours; what is predicted was not measured.",
        "caution",
    ),
    "state": (
        lambda report: report.status,
        "a partial report lacks what had not been measured when it stopped.",
        "caution",
    ),
    "effort": (
        _effort,
        "quick runs measure fewer points with fewer samples, and leave variants out; their best points may be others.",
        "caution",
    ),
    "MIG": (_vendor_fact("MIG"), "a slice of a device has part of its units, caches and bandwidth.", "caution"),
    "version": (
        lambda report: report.tool_version,
        "kernels, sizes and counting may have changed between versions.",
        "caution",
    ),
    "schema": (
        lambda report: str(report.schema_version) if origin(report) == "measured" else "",
        "reports of an earlier schema may lack what later ones hold.",
        "note",
    ),
    "platform": (
        lambda report: report.machine.opencl.platform if report.machine else "",
        "compilers differ between OpenCL platforms.",
        "note",
    ),
    "driver": (
        lambda report: report.machine.opencl.driver if report.machine else "",
        "compilers and launch costs differ between drivers.",
        "note",
    ),
    "clock": (_clock, "instruction-bound workloads follow the clock.", "note"),
    "power limit": (_vendor_fact("power limit"), "clocks fall where power runs out.", "note"),
    "ECC": (_vendor_fact("ECC"), "error correction costs bandwidth on memories without bits for it.", "note"),
    "system": (lambda report: report.machine.system if report.machine else "", "launch costs may differ.", "note"),
    "processor": (
        lambda report: report.machine.cpu if report.machine else "",
        "it queues the work, and does it where the device is a processor.",
        "note",
    ),
}
"""How to tell a condition, what a difference in it does, and how bad that is."""
