"""Differences between runs on one device: which sweeps differ significantly, which only by run-to-run variation."""

from collections.abc import Mapping, Sequence
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from gpureport.compare.records import Difference, RatioEstimate
from gpureport.compare.runs import Run, Samples, same_device
from gpureport.observe.significance import EXCESS_OF_MEDIAN, adjusted, interval_in_errors, p_values, shrunk, significant
from gpureport.observe.statistics import Floats, medians, sampling_noise
from gpureport.spec.uncertainty import MAD_TO_SIGMA

MINIMUM_EFFECT = 0.03
"""Relative difference below which none is significant, by default."""
BETWEEN_RUNS = 0.01
"""Least relative standard deviation between runs that is assumed, based on one H200 alone: of the 32 sweeps of four
quick runs (2026-11), seven varied by 0.6 to 1.05 % and 25 by 0.35 % or less (`scripts/run_variation.py`)."""
_WHOLE_RUNS = 0.003
"""The same for the median of all sweeps: in the six pairs of those runs it differed by 0.14 % at most."""
_PRIOR_DOF = 4.0
"""Degrees of freedom of both assumptions, in runs: few, because sweeps vary by very different amounts. One that varies
by three times BETWEEN_RUNS must not be significant in more than FALSE_DISCOVERIES of the pairs."""
ALL_SWEEPS = "all sweeps"
"""Name of the difference of a machine as a whole."""
_ENOUGH_SWEEPS = 8
"""Sweeps needed to estimate the variation between two single runs."""
_COMMON_POINTS = 3
"""Fewest points that the runs of a sweep must share, if they have more than one each."""


class _Sweep(NamedTuple):
    """One sweep, or all sweeps, on two machines with one or more runs each."""

    name: str
    points: int
    """Number of points that all runs have."""
    centre: float
    """ln(speed / baseline's speed): the median over points of the mean over runs."""
    error: float
    """Standard error of *centre*, from the samples and the scatter over points."""
    variance_factor: float
    """Variance of a difference of two means over runs / variance of one run."""
    deviations: Mapping[int, float]
    """Deviation of each run from the mean of its machine, by the run's number; both machines' runs are numbered
    through."""

    @property
    def dof(self) -> int:
        """Degrees of freedom of the deviations; 0 if each machine has one run."""
        return len(self.deviations) - 2

    @property
    def squares(self) -> float:
        return sum(deviation**2 for deviation in self.deviations.values())


class Outcome(NamedTuple):
    """Results of the tests of all machines with the baseline's device."""

    differences: tuple[Difference, ...]
    """One for each sweep that a machine and the baseline have."""
    overall: tuple[Difference, ...]
    """One for each machine with enough sweeps: all its sweeps together."""
    between_runs: float | None
    """Largest typical relative standard deviation between runs of a sweep that was used."""


def differences(
    machines: Mapping[str, Sequence[Run]], baseline: str, minimum_effect: float = MINIMUM_EFFECT
) -> Outcome:
    """Compare every sweep of the machines that have the baseline's device with the baseline's.

    The samples of one run show how precisely its median is known. They do not show how much another run on the same
    machine would differ: clocks, temperature and the placement of buffers differ from run to run. Where machines have
    several runs, each sweep's variance between runs is estimated from them, and shrunk towards the typical variance of
    all sweeps (Smyth, Linear models and empirical Bayes methods, 2004, section 4). With single runs only the typical
    variance is known: from the differences of all sweeps about their median, on the assumption that most sweeps have no
    other difference (Efron, Large-Scale Inference, 2010, chapter 6). Its least standard deviation is BETWEEN_RUNS. Each
    sweep, and the median of all, is tested with Student's t (degrees of freedom after Satterthwaite, 1946). Benjamini
    and Hochberg's procedure (1995) over all tests of a machine limits the share of equal machines with any significant
    difference to FALSE_DISCOVERIES. None is significant below *minimum_effect*, a relative difference.
    """
    base = machines[baseline]
    found: list[Difference] = []
    overall: list[Difference] = []
    typical: list[float] = []
    for name, runs in machines.items():
        if name != baseline and same_device(runs[0], base[0]):
            names = dict.fromkeys(name for run in runs for name in run.samples)
            shared = (_sweep(each, [[run.samples.get(each) for run in own] for own in (runs, base)]) for each in names)
            sweeps = tuple(filter(None, shared))
            deviation = max(BETWEEN_RUNS, _typical_deviation(sweeps))
            typical += [deviation] if sweeps else []
            whole = [_whole(sweeps)] if len(sweeps) >= _ENOUGH_SWEEPS else []
            priors = [deviation] * len(sweeps) + [_WHOLE_RUNS] * len(whole)
            every = _tested(name, [*sweeps, *whole], np.array(priors), minimum_effect)
            found += every[: len(sweeps)]
            overall += every[len(sweeps) :]
    return Outcome(tuple(found), tuple(overall), max(typical, default=None))


def regressions(found: Sequence[Difference], percent: float) -> tuple[Difference, ...]:
    """Return the significant differences that make a machine slower than the baseline by more than *percent*."""
    return tuple(d for d in found if d.significant and log(d.speed.value) < log(max(1 - percent / 100, 1e-9)))


def _sweep(name: str, machines: Sequence[Sequence[Samples | None]]) -> _Sweep | None:
    """Compare the points that all runs of both machines share; return ``None`` if one has no run or they are few."""
    numbers = [number for number, run in enumerate(run for machine in machines for run in machine) if run]
    present = [[run for run in machine if run] for machine in machines]
    if not all(present):
        return None
    every = [run for machine in present for run in machine]
    common = tuple(label for label in every[0] if all(label in run for run in every))
    if len(common) < min(_COMMON_POINTS, *map(len, every)) or not common:
        return None
    pairs = [[_log_medians([run[label] for label in common]) for run in machine] for machine in present]
    times = [np.array([medians for medians, _ in machine]) for machine in pairs]
    noise = [np.sqrt(np.sum([errors**2 for _, errors in machine], axis=0)) / len(machine) for machine in pairs]
    logs = times[1].mean(axis=0) - times[0].mean(axis=0)
    deviations = np.concatenate([np.median(runs - runs.mean(axis=0), axis=1) for runs in times])
    return _Sweep(
        name=name,
        points=len(common),
        centre=float(np.median(logs)),
        error=_error_of_median(logs, np.hypot(*noise)),
        variance_factor=sum(1 / len(machine) for machine in present),
        deviations=dict(zip(numbers, map(float, deviations), strict=True)),
    )


def _log_medians(samples: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return the logarithms of the medians of points, and their standard errors."""
    counts = np.array(list(map(len, samples)))
    return np.log(medians(np.concatenate(samples), counts)), sampling_noise(samples)


def _whole(sweeps: Sequence[_Sweep]) -> _Sweep:
    centres = np.array([sweep.centre for sweep in sweeps])
    runs = sorted({run for sweep in sweeps for run in sweep.deviations})
    return _Sweep(
        name=ALL_SWEEPS,
        points=len(sweeps),
        centre=float(np.median(centres)),
        error=_error_of_median(centres, np.array([sweep.error for sweep in sweeps])),
        variance_factor=float(np.median([sweep.variance_factor for sweep in sweeps])),
        deviations={run: float(np.median([s.deviations[run] for s in sweeps if run in s.deviations])) for run in runs},
    )


def _error_of_median(logs: Floats, noise: Floats) -> float:
    """Return the standard error of the median of *logs*: from their scatter or their noise, whichever is larger."""
    n = len(logs)
    scatter = float(MAD_TO_SIGMA * np.median(np.abs(logs - np.median(logs)))) if n > 2 else 0.0
    own = float(np.sqrt(np.mean(noise**2)))
    return max(scatter, own) * sqrt(EXCESS_OF_MEDIAN / n)


def _typical_deviation(sweeps: Sequence[_Sweep]) -> float:
    """Return the standard deviation between runs of the median sweep; 0 if there are too few sweeps.

    From repeated runs if there are any, else from the differences of all sweeps about their median: a difference that
    all sweeps share, such as a lower clock, is not variation between runs.
    """
    repeated = [sweep for sweep in sweeps if sweep.dof]
    if repeated:
        from scipy.special import chdtri

        variances = [sweep.squares / float(chdtri(sweep.dof, 0.5)) for sweep in repeated]
        return sqrt(float(np.median(variances)))
    if len(sweeps) < _ENOUGH_SWEEPS:
        return 0.0
    centres: Floats = np.array([sweep.centre for sweep in sweeps])
    total = float(MAD_TO_SIGMA * np.median(np.abs(centres - np.median(centres))))
    within = float(np.median([sweep.error for sweep in sweeps]))
    return sqrt(max(total**2 - within**2, 0.0) / 2)


def _tested(machine: str, sweeps: Sequence[_Sweep], typical: Floats, minimum_effect: float) -> list[Difference]:
    """Return the differences of a machine; *typical*: standard deviations between runs (sweeps,)."""
    rows = [(s.centre, s.error**2, s.variance_factor, s.squares, s.dof, s.points) for s in sweeps]
    centres, within, factors, squares, of_runs, points = np.array(rows, float).reshape(-1, 6).T
    between = factors * shrunk(squares, of_runs, typical**2, _PRIOR_DOF)
    errors = np.sqrt(between + within)
    dof = errors**4 / (between**2 / (_PRIOR_DOF + of_runs) + within**2 / np.maximum(points - 1, 1))
    chances = p_values(centres, errors, dof)
    flags = significant(adjusted(chances), centres, minimum_effect)
    halves = interval_in_errors(dof) * errors
    return [
        Difference(
            machine=machine,
            sweep=sweep.name,
            points=sweep.points,
            speed=RatioEstimate.of_log(sweep.centre, half),
            p_value=chance,
            significant=flag,
        )
        for sweep, half, chance, flag in zip(sweeps, *(a.tolist() for a in (halves, chances, flags)), strict=True)
    ]
