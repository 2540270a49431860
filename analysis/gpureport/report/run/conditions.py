"""Conditions during the measurements: clocks, other load, and disturbed samples."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from gpureport.grouping import grouped
from gpureport.observe import disturbance
from gpureport.records.measurement import MeasuredPoint, Measurement, Reading
from gpureport.records.report import Report
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import Table
from gpureport.units import UNKNOWN, format_frequency, format_number, format_percent

AFFECTED = 0.25
"""Share of a point's samples that may be disturbed before its median counts as affected; half would change it."""

_RARE = 0.1
"""A cause in a smaller share of the affected workloads is not named."""


class Disturbed(NamedTuple):
    """A workload that other load or a lowered clock disturbed."""

    name: str
    """``family/variant``."""
    samples: int
    """Number of samples in the report."""
    disturbed: int
    """Number of these that were taken in disturbed spans."""
    discarded: int
    """Number of discarded samples, which were repeated if there was time."""
    affected: bool
    """Whether a point has so many disturbed samples that its median may be wrong."""
    causes: tuple[disturbance.Cause, ...]
    """Causes of the disturbance, the most frequent first."""

    @property
    def share(self) -> float:
        """Disturbed samples / samples."""
        return self.disturbed / max(self.samples, 1)

    @property
    def share_discarded(self) -> float:
        """Discarded samples / all that were taken."""
        return self.discarded / max(self.samples + self.discarded, 1)


def disturbed(report: Report) -> tuple[Disturbed, ...]:
    """Return the workloads with samples that were disturbed or discarded."""
    found = disturbance.spans(readings(report), report.machine.opencl.kind) if report.machine else ()
    variants = grouped((measurement.key.workload, measurement) for measurement in report.measurements)
    each = (_disturbed(name, measurements, found) for name, measurements in variants.items())
    return tuple(workload for workload in each if workload.disturbed or workload.discarded)


def _disturbed(name: str, measurements: Sequence[Measurement], found: Sequence[disturbance.Span]) -> Disturbed:
    samples, hit, is_affected = 0, 0, False
    causes: Counter[disturbance.Cause] = Counter()
    for measurement in measurements:
        for point in measurement.points:
            of_point = list(_causes(point, measurement.began_s, found))
            samples += len(point.samples_s)
            hit += len(of_point)
            is_affected |= len(of_point) >= max(1.0, AFFECTED * len(point.samples_s))
            causes.update(cause for causes_of_sample in of_point for cause in sorted(causes_of_sample))
    discarded = sum(point.discarded for measurement in measurements for point in measurement.points)
    return Disturbed(name, samples, hit, discarded, is_affected, tuple(cause for cause, _ in causes.most_common()))


def _causes(
    point: MeasuredPoint, began_s: float | None, found: Sequence[disturbance.Span]
) -> Iterator[frozenset[disturbance.Cause]]:
    """Yield the causes of each disturbed sample; nothing if the times of samples are unknown."""
    if began_s is None or not found:
        return
    for at_s, seconds in zip(point.taken_at_s, point.samples_s, strict=False):
        start_s = began_s + at_s
        if causes := disturbance.overlapping(start_s, start_s + seconds * point.dispatches_per_sample, found):
            yield causes


def readings(report: Report) -> list[Reading]:
    """Return the readings of clocks, load and power of all workloads."""
    return [reading for conditions in report.conditions for reading in conditions.readings]


def affected(report: Report) -> list[Disturbed]:
    """Return the workloads of which a median may be wrong, the most disturbed first."""
    return sorted((each for each in disturbed(report) if each.affected), key=lambda each: -each.share)


def load_sentences(report: Report) -> str:
    """Name the affected workloads, the causes and the remedies; empty if there are none."""
    if not (found := affected(report)):
        return ""
    counts = Counter(cause for workload in found for cause in workload.causes)
    return text(
        "disturbed_measurements",
        affected=found,
        causes=[cause for cause, number in counts.items() if number >= _RARE * len(found)],
        workloads=sum(not info.skipped for info in report.workloads.values()),
    )


def _loads(report: Report) -> dict[str, list[float | None]]:
    """Return the kinds of other load, each with its share in every second."""
    every = readings(report)
    seconds = [each for each in disturbance.windows(every) if each[-1].measuring and each[0] is not each[-1]]
    if report.device.architecture.on_host:
        return {"cores": list(map(disturbance.others_cpu, seconds)), "machines": list(map(disturbance.steal, seconds))}
    used = (disturbance.others_utilisation(every, window) for window in seconds)
    return {"device": [share and share[0] for share in used]}


def highest_load(report: Report) -> list[tuple[str, float]]:
    """Return the kinds of other load that were recorded, each with its share in its worst second."""
    return [
        (kind, max(known)) for kind, shares in _loads(report).items() if (known := [s for s in shares if s is not None])
    ]


def other_load(report: Report) -> str:
    """Report the other load on the device in its worst second, and disturbed samples; empty if nothing was measured."""
    if report.machine is None or not report.observations:
        return ""
    return text("other_load", highest=highest_load(report), found=disturbed(report))


def disturbed_table(report: Report) -> Table:
    """List the workloads with samples that were disturbed or discarded."""
    return Table.of(
        {
            "workload": workload.name,
            "samples": str(workload.samples),
            "disturbed": f"{workload.disturbed} ({format_percent(workload.share)})",
            "discarded": str(workload.discarded),
            "cause": "; ".join(workload.causes) or UNKNOWN,
        }
        for workload in disturbed(report)
    )


def conditions_table(report: Report) -> Table:
    """Summarise clock, other load and throttling during measurements; reports without readings give no rows."""
    measuring = [reading for reading in readings(report) if reading.measuring]
    if not measuring or report.machine is None:
        return Table((), ())
    on_host = report.device.architecture.on_host
    running = [] if on_host else disturbance.running_clocks(measuring)
    clock = "clock of the cores" if on_host else "clock, device not reported idle" if running else "clock"
    rows = [
        _row(clock, running or [reading.clock_hz for reading in measuring], format_frequency),
        *(_row(_LOADS[kind], shares, format_percent) for kind, shares in _loads(report).items()),
        _row("load average", [r.load_average for r in measuring], lambda value: format_number(value, ".1f")),
    ]
    reasons = [r.throttle_reasons for r in measuring if r.throttle_reasons is not None]
    counts = Counter(reason for each in reasons for reason in each)
    shares = (f"{reason} ({format_percent(count / len(reasons))})" for reason, count in counts.items())
    throttled = ", ".join(shares) or "none"
    rows.append(("throttle reasons (share of readings)", throttled, UNKNOWN, UNKNOWN, str(len(reasons))))
    known = tuple(row for row in rows if row[-1] != "0")
    return Table(("reading", "median", "minimum", "maximum", "readings"), known)


_LOADS = {
    "cores": "cores used by other processes",
    "machines": "cores used by other virtual machines",
    "device": "device used by others, at least",
}


def _row(what: str, values: Sequence[float | None], write: Callable[[float], str]) -> tuple[str, ...]:
    known = [value for value in values if value is not None]
    numbers = map(write, (median(known), min(known), max(known))) if known else [UNKNOWN] * 3
    return what, *numbers, str(len(known))
