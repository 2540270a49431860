"""Rules that find other load or a lowered clock in the readings of a run. Pure functions.

Drivers average utilisation over up to a second, so each rule uses the readings of one second (:data:`WINDOW_S`). A
missing reading never counts as a disturbance.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import inf
from operator import attrgetter
from statistics import fmean, median
from typing import NamedTuple

from gpureport.records.measurement import Reading
from gpureport.records.quantities import Labelled

WINDOW_S = 1.0
"""Seconds of readings that a rule averages over."""

OTHERS_REPORTED = 0.10
"""Threshold for the utilisation by other processes, if the driver counts processes separately. Desktops need less."""

OTHERS_DERIVED = 0.25
"""Threshold for the utilisation beyond the time in which this run may have had work on the device. Smaller values may
result from the unknown time span of a driver's average."""

LOWER_CLOCK = 0.05
"""Fraction below its usual value at which a clock counts as disturbed. Rising temperature lowers it by up to 4 %."""

CPU_SHARE = 0.05
"""Threshold for the share of the cores' time used by other processes or virtual machines. Services of an idle system
use less than 2 %; system ticks blur one second of two cores by 1 %."""

IDLE, POWER_CAP = "idle", "power cap"
SLOWDOWNS = frozenset({"hardware slowdown", "thermal slowdown", "hardware thermal slowdown", "power brake"})
"""Throttle reasons that no kernel causes on a device with proper cooling and power supply. Idle, clocks set by the
owner and the power cap do not belong here; some kernels of every run reach the power cap."""

_AT = attrgetter("at_s")
_LAGS_S = (0.0, 0.25, 0.5, 0.75, 1.0)
_FEWEST = 3  # least number of clock readings for a decision
_SPANNED_S = 0.5 * WINDOW_S  # least time between the first and last reading of a window


class Cause(Labelled):
    """Cause of a disturbance, and its remedy."""

    remedy: str

    PROCESSES = "other processes used the device", "measure again while nothing else uses the device"
    CORES = "other processes used the cores", "measure again while nothing else uses the device"
    STEAL = "other virtual machines used the cores", "use a machine without other virtual machines"
    SLOWDOWN = (
        "the device lowered its clock because of heat or its power supply",
        "check the cooling and the power supply",
    )
    CLOCK = "the clock was below its usual value", "measure again while nothing else uses the device"


class Span(NamedTuple):
    """A disturbed span of time, in seconds of the readings' clock."""

    began_s: float
    ended_s: float
    causes: frozenset[Cause]


Spans = Callable[[float], Sequence[Span]]
"""Returns the disturbed spans known so far that end after a moment."""


def spans(readings: Sequence[Reading], kind: str, since_s: float = -inf) -> tuple[Span, ...]:
    """Return the disturbed spans of a run on a device of this *kind*, in order of time.

    A disturbed reading from *since_s* on marks the second before it. Adjacent seconds form one span. All readings of
    the run show the usual clock.
    """
    found: list[Span] = []
    usual_hz = usual_clock(readings)
    for window in windows(readings, since_s):
        causes = frozenset(_cpu_causes(window) if kind == "cpu" else _device_causes(readings, window, usual_hz))
        at_s, began_s = window[-1].at_s, window[-1].at_s - WINDOW_S
        if causes and found and began_s <= found[-1].ended_s:
            last = found[-1]
            found[-1] = Span(last.began_s, at_s, last.causes | causes)
        elif causes:
            found.append(Span(began_s, at_s, causes))
    return tuple(found)


def overlapping(began_s: float, ended_s: float, disturbed: Sequence[Span]) -> frozenset[Cause]:
    """Return the causes of disturbance during a sample's time; empty if none is known."""
    causes = (span.causes for span in disturbed if span.began_s <= ended_s and began_s <= span.ended_s)
    return frozenset().union(*causes)


def windows(readings: Sequence[Reading], since_s: float = -inf) -> Iterator[Sequence[Reading]]:
    """Yield, for each reading, the readings of the second that ends with it."""
    for index in range(bisect_left(readings, since_s, key=_AT), len(readings)):
        yield readings[bisect_left(readings, readings[index].at_s - WINDOW_S, key=_AT) : index + 1]


def _cpu_causes(window: Sequence[Reading]) -> Iterator[Cause]:
    for cause, share in ((Cause.CORES, others_cpu(window)), (Cause.STEAL, steal(window))):
        if (share or 0.0) > CPU_SHARE:
            yield cause


def others_cpu(readings: Sequence[Reading]) -> float | None:
    """Return the share of the cores' time that other processes used while this run measured.

    Between measurements gpureport itself predicts and saves, in another process than the one that measures.
    """
    busy, own = (_share(readings, name) for name in ("cpu_busy_total_s", "cpu_own_total_s"))
    return None if busy is None or own is None else min(max(0.0, busy - own), 1.0)  # ticks blur both ends


def steal(readings: Sequence[Reading]) -> float | None:
    """Return the share of the cores' time that other virtual machines used while this run measured."""
    return _share(readings, "cpu_steal_total_s")


def _share(readings: Sequence[Reading], name: str) -> float | None:
    pairs = [(one, next_one) for one, next_one in pairwise(readings) if one.measuring and next_one.measuring]
    totals = [(getattr(one, name), getattr(next_one, name)) for one, next_one in pairs]
    seconds = sum(next_one.at_s - one.at_s for one, next_one in pairs)
    if seconds < _SPANNED_S or any(None in total for total in totals):
        return None
    return float(sum(after - before for before, after in totals) / seconds)


def _device_causes(readings: Sequence[Reading], window: Sequence[Reading], usual_hz: float | None) -> Iterator[Cause]:
    others = others_utilisation(readings, window)
    if others is not None and others[0] > (OTHERS_REPORTED if others[1] else OTHERS_DERIVED):
        yield Cause.PROCESSES
    if SLOWDOWNS.intersection(window[-1].throttle_reasons or ()):
        yield Cause.SLOWDOWN
    clocks = _clocks(window)
    spanned = window[-1].at_s - window[0].at_s >= _SPANNED_S
    if spanned and usual_hz and len(clocks) >= _FEWEST and median(clocks) < (1 - LOWER_CLOCK) * usual_hz:
        yield Cause.CLOCK


def others_utilisation(readings: Sequence[Reading], window: Sequence[Reading]) -> tuple[float, bool] | None:
    """Return the device's mean utilisation by others over a window, and whether the driver reported it directly.

    Otherwise it is derived: the device's utilisation minus the time in which this run may have had work there. A driver
    averages over an unknown time of up to a second. Of all possible windows, the one with most work of this run counts.
    """
    reported = [r.others_utilisation for r in window if r.others_utilisation is not None]
    derived = _derived(readings, window)
    if reported and (derived is None or fmean(reported) > OTHERS_REPORTED or derived <= OTHERS_DERIVED):
        return fmean(reported), True
    return None if derived is None else (derived, False)


def _derived(readings: Sequence[Reading], window: Sequence[Reading]) -> float | None:
    used = [r.utilisation for r in window if r.utilisation is not None]
    last_s, span_s = window[-1].at_s, window[-1].at_s - window[0].at_s
    if len(used) < len(window) or span_s < _SPANNED_S or readings[0].at_s > last_s - span_s - _LAGS_S[-1]:
        return None
    ends = [last_s - lag for lag in _LAGS_S]
    own = [_occupied(readings, end) - _occupied(readings, end - span_s) for end in ends]
    return max(0.0, fmean(used) - max(own) / span_s)


def _occupied(readings: Sequence[Reading], at_s: float) -> float:
    """Return the time until *at_s* in which this run occupied the device, interpolated; all without readings."""
    after = bisect_left(readings, at_s, key=_AT)
    before, behind = readings[max(after - 1, 0)], readings[min(after, len(readings) - 1)]
    low, high = before.occupied_total_s, behind.occupied_total_s
    if low is None or high is None:
        return at_s
    share = (at_s - before.at_s) / (behind.at_s - before.at_s) if behind.at_s > before.at_s else 0.0
    return low + share * (high - low)


def usual_clock(readings: Sequence[Reading]) -> float | None:
    """Return the median clock while kernels ran below the power cap; ``None`` with too few readings."""
    clocks = _clocks(readings)
    return median(clocks) if len(clocks) >= _FEWEST else None


def running_clocks(readings: Sequence[Reading]) -> list[float]:
    """Return the clocks at readings at which the driver reports running kernels, with or without power cap."""
    running = (r for r in readings if r.measuring and r.throttle_reasons is not None and IDLE not in r.throttle_reasons)
    return [r.clock_hz for r in running if r.clock_hz]


def _clocks(readings: Sequence[Reading]) -> list[float]:
    """Return the clocks of running kernels without power cap.

    Without throttle reasons a lower clock has no meaning, because many devices change it with each kernel.
    """
    return running_clocks([r for r in readings if POWER_CAP not in (r.throttle_reasons or ())])
