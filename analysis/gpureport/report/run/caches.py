"""The chapter on cliffs: how much of each cache kernels can use."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpureport.findings.whole_device import usable_part
from gpureport.grouping import grouped
from gpureport.observe.statistics import Estimate
from gpureport.records.curves import CurveFeature, Level
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, is_certain, reading_units, specified_values
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import Table
from gpureport.report.text.words import agreeing, known_range, largest_deviation, seen_in
from gpureport.spec.models import Cache

_PRIVATE, _SHARED, _LATENCY = "memory/read_private", "memory/read", "memory/latency"
_MOST = 0.6
"""Part of the listed capacity from which on it is not worth mentioning."""


class ReadCliff(NamedTuple):
    """The cliff of a cache as its readers see it."""

    cache: Cache
    onset: CurveFeature
    """Onset of the fall of read bandwidth or of the rise of latency."""
    is_of_latency: bool
    """Whether it is a rise of latency, because no sweep of bandwidth covers the cache."""
    readers: int | None
    """Number of compute units that read; ``None``: all."""
    beyond: float | None
    """Bandwidth or latency beyond the cliff / before it; ``None``: unknown."""
    midpoint: CurveFeature | None
    """Halfway between both on a logarithmic axis."""
    latency_onset: CurveFeature | None = None
    """Where the latency of dependent loads rises to that of the next level."""
    far_onset: CurveFeature | None = None
    """Where it rises to that of the far partition of the cache, whose bandwidth does not fall there."""

    @property
    def keep_below_bytes(self) -> float:
        """The working set up to which the cache serves the loads, and bandwidth is that of the cache.

        It is at most the capacity: overlapping passes over more data than that keep their bandwidth for a while. A rise
        of latency counts if it is significantly earlier than the fall of bandwidth.
        """
        rise = self.latency_onset
        rises = (rise.value,) if rise and rise.ends[1] < self.onset.value else ()
        return min(self.cache.capacity_bytes, self.onset.value, *rises)


def working_set(report: Report, found: Sequence[CurveRecords]) -> str:
    """Say below which working set each cache serves the reads, and how far bandwidth falls beyond."""
    usable = usable_cache(report)
    return text(
        "working_set",
        measured=bool(report.observations),
        cliffs=read_cliffs(report, found),
        cache=report.device.caches[-1] if usable else None,
        usable=usable,
    )


def read_cliffs(report: Report, found: Sequence[CurveRecords]) -> list[ReadCliff]:
    """Return the cliffs of the caches, without the last one of a CPU if others use most of it."""
    measured, units = bool(report.observations), report.device.compute_units
    caches = report.device.caches[:-1] if usable_cache(report) else report.device.caches
    return [cliff for cache in caches if (cliff := _read_cliff(cache, found, units, measured=measured))]


def usable_cache(report: Report) -> Estimate | None:
    """Return how much of a CPU's last cache one thread can use, if that is little."""
    found = usable_part(report.device, report.observations)
    return found if found and found.value < _MOST * report.device.caches[-1].capacity_bytes else None


def _read_cliff(cache: Cache, found: Sequence[CurveRecords], units: int, *, measured: bool) -> ReadCliff | None:
    level = Level(name=cache.name)
    reads = _PRIVATE if cache.scope == "compute_unit" else _SHARED
    bandwidth = [curve for curve in _sizes(found, reads) if _covers(curve, level)]
    for curve in bandwidth or _sizes(found, _LATENCY):
        features = {(f.position, f.level): f for f in curve.features(measured=measured)}
        onset, midpoint, upper = (features.get((name, level)) for name in ("onset", "midpoint", "plateau"))
        if onset and is_certain(onset):
            plateaus = [feature.value for (position, _), feature in features.items() if position == "plateau"]
            readers = reading_units(curve, units)
            is_of_latency = curve.key.workload == _LATENCY
            rises = {
                feature.level: feature
                for each in (() if is_of_latency else _sizes(found, _LATENCY))
                for feature in each.features(measured=measured)
                if feature.position == "onset" and is_certain(feature)
            }
            return ReadCliff(
                cache=cache,
                onset=onset,
                is_of_latency=is_of_latency,
                readers=readers if readers < units else None,
                beyond=_next_plateau(upper, plateaus) if upper and midpoint else None,
                midpoint=midpoint,
                latency_onset=rises.get(level),
                far_onset=rises.get(Level(name=cache.name, near=True)),
            )
    return None


def _next_plateau(upper: CurveFeature, plateaus: Iterable[float]) -> float | None:
    if upper.unit == "s":
        slower = min((value for value in plateaus if value > upper.value), default=None)
    else:
        slower = max((value for value in plateaus if value < upper.value), default=None)
    return slower and slower / upper.value


def _sizes(found: Iterable[CurveRecords], workload: str) -> list[CurveRecords]:
    return [curve for curve in found if curve.key.workload == workload and curve.axis.quantity == "working_set"]


def _covers(curve: CurveRecords, level: Level) -> bool:
    predicted = any((f.position, f.level) == ("onset", level) for f in curve.features(measured=False))
    return predicted or any(finding.level == level for finding in specified_values([curve], "onset"))


def answers(report: Report, found: Sequence[CurveRecords]) -> tuple[str, ...]:
    """Report how far each cache holds; nothing for software, which has no findings."""
    known = not report.of_software and any(
        curve.axis.quantity == "working_set" and curve.observation for curve in found
    )
    missing = text("no_cliff") if known and not specified_values(found, "midpoint") else ""
    return (working_set(report, found) or missing,)


def level_table(report: Report, found: Sequence[CurveRecords]) -> Table:
    """List the cliffs of each cache level as ranges over kernels, with the largest deviation."""
    onsets = grouped((f.level, f) for f in specified_values(found, "onset"))
    levels = grouped((f.level, f) for f in specified_values(found, "midpoint"))
    seen = seen_in(report)
    return Table.of(
        {
            "level": str(level),
            "kernels": str(len(mains)),
            f"onset {seen}": known_range([f.observed for f in onsets.get(level, ())], "B"),
            "midpoint predicted": known_range([f.predicted for f in mains], "B"),
            f"midpoint {seen}": known_range([f.observed for f in mains], "B"),
            "agree": agreeing(f.verdict for f in mains),
            "largest that is off": largest_deviation(mains),
        }
        for level in report.device.cache_levels
        if (mains := levels.get(level))
    )
