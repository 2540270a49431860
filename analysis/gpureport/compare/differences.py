"""Two runs on the same device: which differences are real, and which are what runs differ by anyway."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log, pi, sqrt

import numpy as np
from scipy.stats import false_discovery_control
from scipy.stats import t as student

from gpureport.compare.records import Difference, Ratio
from gpureport.observe.statistics import MAD_TO_SIGMA, Floats, sampling_noise
from gpureport.records import Measurement
from gpureport.report.document import Report

FALSE_DISCOVERIES = 0.05
"""Share of the differences called real that may be noise."""
_ENOUGH_SWEEPS = 8
"""Sweeps that show by how much runs differ anyway."""
_USUAL = 0.01
"""Relative standard deviation between runs that is taken where there are fewer."""
_LEAST = 0.003
"""Least that runs differ by as a whole: copies of successive runs on one H200 lay so far apart."""
_EFFICIENCY = 0.37
"""Of the median absolute deviation as an estimate of a normal distribution's width (Rousseeuw and Croux 1993)."""
_COMMON_POINTS = 3
"""Fewest points that two sweeps must share, if they have more than one each."""


@dataclass(frozen=True)
class _Pair:
    """One sweep of two runs.

    Attributes:
        sweep: its key.
        points: that both have.
        centre: ln(speed / baseline's speed), the median over points.
        error: standard error of that from the samples.
    """

    sweep: str
    points: int
    centre: float
    error: float


@dataclass(frozen=True)
class _Null:
    """By how much sweeps of two runs differ if nothing else does.

    Attributes:
        deviation: relative, one standard deviation.
        freedom: degrees of freedom with which it is known.
    """

    deviation: float
    freedom: float


@dataclass(frozen=True)
class _Tested:
    """A sweep of a machine and how likely it is if nothing differs.

    Attributes:
        machine: its name.
        pair: the sweep.
        half_width: of the 95 % interval of its centre, with what runs differ by.
        p_value: of so large a centre.
    """

    machine: str
    pair: _Pair
    half_width: float
    p_value: float


def differences(reports: Mapping[str, Report], baseline: str) -> tuple[tuple[Difference, ...], float | None]:
    """Compare every sweep of the machines that have the baseline's device with the baseline's, point by point.

    Samples of one run say how well its median is known, not by how much another run on the same machine would differ:
    clocks, temperature and where buffers lie differ from run to run. That is read off the sweeps themselves: about
    their median most are taken to differ by nothing else (as an empirical null, Efron, Large-Scale Inference, 2010,
    chapter 6). What remains is tested sweep by sweep with Student's t, since few sweeps tell little of their own
    spread, and false discoveries among all of them are bounded (Benjamini and Hochberg 1995).

    Args:
        reports: by the machine's name.
        baseline: name of the one that others are compared with.

    Returns:
        A difference for each sweep that both have; and the relative standard deviation between runs, if it was
        observed.
    """
    base = reports[baseline]
    tested: list[_Tested] = []
    between_runs: list[float] = []
    for name, report in reports.items():
        if name == baseline or report.match.entry != base.match.entry or report.device.name != base.device.name:
            continue
        pairs = tuple(_pairs(report, base))
        null = _null(pairs)
        between_runs += [null.deviation] if null else []
        tested += (_tested(name, pair, null or _Null(_USUAL, inf)) for pair in pairs)
    return tuple(_judged(tested)), max(between_runs, default=None)


def _pairs(report: Report, base: Report) -> Iterator[_Pair]:
    others = {str(m.key): m for m in base.measurements}
    for measurement in report.measurements:
        other = others.get(str(measurement.key))
        pair = _pair(measurement, other) if other else None
        if pair:
            yield pair


def _pair(one: Measurement, other: Measurement) -> _Pair | None:
    """Return by how much two sweeps differ at the points that they share, or ``None`` if these are too few."""
    samples = [
        {p.point.label: np.array(p.samples_s) / p.point.work for p in m.points if p.samples_s} for m in (one, other)
    ]
    common = [label for label in samples[0] if label in samples[1]]
    if len(common) < min(_COMMON_POINTS, *map(len, samples)) or not common:
        return None
    sides = [[of[label] for label in common] for of in samples]
    medians = [np.array([np.median(point) for point in side]) for side in sides]
    logs = np.log(medians[1] / medians[0])
    noise = np.hypot(*(sampling_noise(side) for side in sides))
    return _Pair(str(one.key), len(common), float(np.median(logs)), _error_of_median(logs, noise))


def _error_of_median(logs: Floats, noise: Floats) -> float:
    """Return the standard error of the median of *logs*: from their scatter or their noise, whichever is more."""
    n = len(logs)
    scatter = float(MAD_TO_SIGMA * np.median(np.abs(logs - np.median(logs)))) if n > 2 else 0.0
    own = float(np.sqrt(np.mean(noise**2)))
    return max(scatter, own) * sqrt(pi / 2 / n)


def _null(pairs: tuple[_Pair, ...]) -> _Null | None:
    """Return how far sweeps differ that the samples do not account for, if there are enough to tell.

    About their median: what all sweeps have in common, a lower clock say, is a difference, not noise.
    """
    if len(pairs) < _ENOUGH_SWEEPS:
        return None
    centres: Floats = np.array([pair.centre for pair in pairs])
    total = float(MAD_TO_SIGMA * np.median(np.abs(centres - np.median(centres))))
    within = float(np.median([pair.error for pair in pairs]))
    deviation = max(_LEAST, float(np.sqrt(max(total**2 - within**2, 0.0))))
    return _Null(deviation, _EFFICIENCY * (len(pairs) - 1))


def _tested(machine: str, pair: _Pair, null: _Null) -> _Tested:
    error = float(np.hypot(pair.error, null.deviation))
    p_value = float(2 * student.sf(abs(pair.centre) / error, null.freedom))
    return _Tested(machine, pair, float(student.ppf(0.975, null.freedom)) * error, p_value)


def _judged(tested: Sequence[_Tested]) -> Iterator[Difference]:
    """Yield the differences; those that are real among all of them, whichever machine they are of."""
    bounded = false_discovery_control([one.p_value for one in tested]) if tested else ()
    for one, chance in zip(tested, bounded, strict=True):
        centre, half = one.pair.centre, one.half_width
        yield Difference(
            machine=one.machine,
            sweep=one.pair.sweep,
            points=one.pair.points,
            speed=Ratio(value=exp(centre), ci_low=exp(centre - half), ci_high=exp(centre + half)),
            p_value=one.p_value,
            real=bool(chance <= FALSE_DISCOVERIES),
        )


def regressions(found: tuple[Difference, ...], percent: float) -> tuple[Difference, ...]:
    """Return the real differences that make a machine slower than the baseline by more than *percent*."""
    return tuple(d for d in found if d.real and log(d.speed.value) < log(max(1 - percent / 100, 1e-9)))
