"""Runs on the same device: which sweeps differ significantly, and which only within run-to-run variation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, hypot, log, log1p, pi, sqrt

import numpy as np
from scipy.stats import chi2, false_discovery_control
from scipy.stats import t as student

from gpureport.compare.records import Difference, Ratio
from gpureport.compare.runs import Run, same_device
from gpureport.compare.samples import Sampled
from gpureport.observe.statistics import MAD_TO_SIGMA, Floats

FALSE_ALARMS = 0.05
"""Share of pairs of equal machines in which any sweep may be called significantly different."""
MINIMUM_EFFECT = 0.03
"""Relative difference below which none is called significant, unless the user says otherwise."""
BETWEEN_RUNS = 0.01
"""Relative standard deviation between runs that is assumed at least.

Of the 33 sweeps of four quick runs on one H200 (2026-11), seven varied between runs by 0.6 to 1.05 % and 25 by 0.35 %
or less; the traces of frames, which begin with idle clocks, by 3.3 %. `scripts/run_variation.py` prints these figures.
The constant rests on the H200 alone: every other model is held out.
"""
_WHOLE_RUNS = 0.003
"""The same of all sweeps together: in the six pairs of those runs their medians differed by 0.14 % at most."""
_PRIOR_FREEDOM = 4.0
"""Degrees of freedom of both assumptions: so many additional runs weigh as much as they do.

Few, since sweeps vary by very different amounts: one that varies by three times BETWEEN_RUNS must not be significant in
more than FALSE_ALARMS of the pairs.
"""
ALL_SWEEPS = "all sweeps"
"""What the difference of a machine as a whole is called."""
_ENOUGH_SWEEPS = 8
"""Sweeps from whose differences the variation between two single runs can be estimated."""
_COMMON_POINTS = 3
"""Fewest points that the runs of a sweep must share, if they have more than one each."""


@dataclass(frozen=True)
class _Sweep:
    """One sweep, or all, on two machines, of one run or more each.

    Attributes:
        name: its key.
        points: that all runs have.
        centre: ln(speed / baseline's speed), the median over points, of the mean over runs.
        error: standard error of that, as far as samples and the scatter over points show it.
        share: variance of a difference of two means over runs / variance of a run.
        away: deviation of each run from the mean of its machine, by the run's number; both machines in a row.
    """

    name: str
    points: int
    centre: float
    error: float
    share: float
    away: Mapping[int, float]

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the deviations; 0 if each machine has one run."""
        return len(self.away) - 2

    @property
    def squares(self) -> float:
        """Sum of the squared deviations."""
        return sum(one**2 for one in self.away.values())


@dataclass(frozen=True)
class Outcome:
    """What the tests of all machines with the baseline's device found.

    Attributes:
        differences: one for each sweep that a machine and the baseline have.
        overall: one for each machine, of all its sweeps together, if these are enough.
        between_runs: largest relative standard deviation between runs that was taken as typical of a sweep.
    """

    differences: tuple[Difference, ...]
    overall: tuple[Difference, ...]
    between_runs: float | None


def differences(
    machines: Mapping[str, Sequence[Run]], baseline: str, minimum_effect: float = MINIMUM_EFFECT
) -> Outcome:
    """Compare every sweep of the machines that have the baseline's device with the baseline's.

    Samples of one run show how well its median is known, not by how much another run on the same machine would differ:
    clocks, temperature and the placement of buffers differ from run to run. Where machines have several runs, each
    sweep's variance between runs is estimated from them, and shrunk towards what is typical of all sweeps (Smyth,
    Linear models and empirical Bayes methods, 2004, section 4). With single runs only that typical variance is known,
    from the differences of all sweeps about their median, since most sweeps are taken to differ by nothing else
    (Efron, Large-Scale Inference, 2010, chapter 6). It is taken to be BETWEEN_RUNS at least. Each sweep is tested with
    Student's t (degrees of freedom after Satterthwaite 1946), and so is their median; Benjamini and Hochberg's
    procedure over all tests of a machine (1995) keeps the share of equal machines with any significant difference at
    FALSE_ALARMS.

    Args:
        machines: the runs of each machine, by its name.
        baseline: name of the one that others are compared with.
        minimum_effect: relative difference below which none is called significant.
    """
    base = machines[baseline]
    found: list[Difference] = []
    overall: list[Difference] = []
    typical: list[float] = []
    for name, runs in machines.items():
        if name != baseline and same_device(runs[0], base[0]):
            sweeps = tuple(_sweeps(runs, base))
            deviation = max(BETWEEN_RUNS, _typical(sweeps))
            typical += [deviation] if sweeps else []
            together = [_together(sweeps)] if len(sweeps) >= _ENOUGH_SWEEPS else []
            priors = [deviation] * len(sweeps) + [_WHOLE_RUNS] * len(together)
            judged = list(_judged(name, [*sweeps, *together], priors, log1p(minimum_effect)))
            found += judged[: len(sweeps)]
            overall += judged[len(sweeps) :]
    return Outcome(tuple(found), tuple(overall), max(typical, default=None))


def regressions(found: Sequence[Difference], percent: float) -> tuple[Difference, ...]:
    """Return the significant differences that make a machine slower than the baseline by more than *percent*."""
    return tuple(d for d in found if d.significant and log(d.speed.value) < log(max(1 - percent / 100, 1e-9)))


def _sweeps(runs: Sequence[Run], base: Sequence[Run]) -> Iterator[_Sweep]:
    for name in dict.fromkeys(name for run in runs for name in run.samples):
        sides = [[run.samples.get(name) for run in side] for side in (runs, base)]
        sweep = _sweep(name, sides) if all(map(any, sides)) else None
        if sweep:
            yield sweep


def _sweep(name: str, machines: Sequence[Sequence[Sampled | None]]) -> _Sweep | None:
    """Compare the points that all runs of one sweep share, or return ``None`` if these are too few.

    Args:
        name: of the sweep.
        machines: the samples of each run on the one and the other machine; ``None`` where a run has none.
    """
    present = [number for number, run in enumerate(run for side in machines for run in side) if run]
    sides = [[run for run in side if run] for side in machines]
    every = [run for side in sides for run in side]
    common = tuple(label for label in every[0].labels if all(label in run.labels for run in every))
    if len(common) < min(_COMMON_POINTS, *(len(run.labels) for run in every)) or not common:
        return None
    pairs = [[run.of(common) for run in side] for side in sides]
    times = [np.array([medians for medians, _ in side]) for side in pairs]
    noise = [np.sqrt(np.sum([errors**2 for _, errors in side], axis=0)) / len(side) for side in pairs]
    logs = times[1].mean(axis=0) - times[0].mean(axis=0)
    away = np.concatenate([np.median(side - side.mean(axis=0), axis=1) for side in times])
    return _Sweep(
        name=name,
        points=len(common),
        centre=float(np.median(logs)),
        error=_error_of_median(logs, np.hypot(*noise)),
        share=sum(1 / len(side) for side in sides),
        away=dict(zip(present, map(float, away), strict=True)),
    )


def _together(sweeps: Sequence[_Sweep]) -> _Sweep:
    """Return the median of all sweeps: what a machine as a whole differs by."""
    centres = np.array([sweep.centre for sweep in sweeps])
    runs = sorted({run for sweep in sweeps for run in sweep.away})
    return _Sweep(
        name=ALL_SWEEPS,
        points=len(sweeps),
        centre=float(np.median(centres)),
        error=_error_of_median(centres, np.array([sweep.error for sweep in sweeps])),
        share=float(np.median([sweep.share for sweep in sweeps])),
        away={run: float(np.median([s.away[run] for s in sweeps if run in s.away])) for run in runs},
    )


def _error_of_median(logs: Floats, noise: Floats) -> float:
    """Return the standard error of the median of *logs*: from their scatter or their noise, whichever is more."""
    n = len(logs)
    scatter = float(MAD_TO_SIGMA * np.median(np.abs(logs - np.median(logs)))) if n > 2 else 0.0
    own = float(np.sqrt(np.mean(noise**2)))
    return max(scatter, own) * sqrt(pi / 2 / n)


def _typical(sweeps: Sequence[_Sweep]) -> float:
    """Return the standard deviation between runs of the median sweep; 0 if too few tell.

    From repeated runs if there are any. Else from the differences of all sweeps about their median: what all sweeps
    have in common, a lower clock say, is a difference, not variation between runs.
    """
    repeated = [sweep for sweep in sweeps if sweep.freedom]
    if repeated:
        variances = [sweep.squares / float(chi2.median(sweep.freedom)) for sweep in repeated]
        return sqrt(float(np.median(variances)))
    if len(sweeps) < _ENOUGH_SWEEPS:
        return 0.0
    centres: Floats = np.array([sweep.centre for sweep in sweeps])
    total = float(MAD_TO_SIGMA * np.median(np.abs(centres - np.median(centres))))
    within = float(np.median([sweep.error for sweep in sweeps]))
    return sqrt(max(total**2 - within**2, 0.0) / 2)


def _judged(machine: str, sweeps: Sequence[_Sweep], typical: Sequence[float], least: float) -> Iterator[Difference]:
    """Yield the differences of a machine from the baseline.

    Args:
        machine: its name.
        sweeps: all that are tested together.
        typical: standard deviation between runs that is typical of each.
        least: logarithm of the minimum effect.
    """
    if not sweeps:
        return
    centres = np.array([sweep.centre for sweep in sweeps])
    errors, freedom = np.array([_test(*pair) for pair in zip(sweeps, typical, strict=True)]).T
    p_values = 2 * student.sf(np.abs(centres) / errors, freedom)
    halves = student.ppf(0.975, freedom) * errors
    adjusted = false_discovery_control(p_values)
    for sweep, half, p_value, chance in zip(sweeps, halves, p_values, adjusted, strict=True):
        ratio = Ratio(value=exp(sweep.centre), ci_low=exp(sweep.centre - half), ci_high=exp(sweep.centre + half))
        significant = bool(chance <= FALSE_ALARMS and abs(sweep.centre) >= least)
        yield Difference(
            machine=machine,
            sweep=sweep.name,
            points=sweep.points,
            speed=ratio,
            p_value=float(p_value),
            significant=significant,
        )


def _test(sweep: _Sweep, typical: float) -> tuple[float, float]:
    """Return the standard error of a sweep's difference, and its degrees of freedom."""
    freedom = _PRIOR_FREEDOM + sweep.freedom
    between = sweep.share * (_PRIOR_FREEDOM * typical**2 + sweep.squares) / freedom
    within = sweep.error**2
    total = between + within
    return hypot(sqrt(between), sweep.error), total**2 / (between**2 / freedom + within**2 / max(sweep.points - 1, 1))
