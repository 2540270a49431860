"""Test of hypotheses on the sweeps of a workload that are not as predicted.

Each curve is predicted under each hypothesis and compared with the observation; the comparison is bootstrapped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import ceil, exp, log, sqrt
from typing import Literal

import numpy as np

from gpureport.explain.hypotheses import HYPOTHESES, UNCHANGED, Hypothesis, pair
from gpureport.observe.statistics import Floats
from gpureport.predict import ModelInput
from gpureport.predict.model import PointModel
from gpureport.records.curves import BASES, MAIN_POSITIONS, Basis, Observation, SweepKey
from gpureport.records.finding import Explanation, Finding
from gpureport.workloads.model import Sweep, Workload

NOTHING_TO_EXPLAIN = log(1.05)
"""A prediction with at most this error needs no explanation."""
EXPLAINS = 0.5
"""A hypothesis explains a difference if it leaves at most this share of the error."""
SIGNIFICANT = 0.95
"""Least share of the bootstrap's draws in which a hypothesis must be closer."""

_SAME = log(1.01)
_SCREENED = 12
_FINALISTS = 4
_DRAWS = 400
_FEW = 4
_ONE_FACTOR = 0.25


def explanations(
    workload: Workload,
    sweeps: Sequence[Sweep],
    inputs: Mapping[Basis, ModelInput],
    findings: Iterable[Finding],
    observed: Iterable[Observation],
) -> tuple[Explanation, ...]:
    """Test all hypotheses on each sweep with a feature that differs from the prediction of its specification.

    Features count by their main positions, as in every count of a report. Hypotheses change the calibrated prediction,
    or the one from the specification if there is none or if it is close to the observation. A sweep that both are close
    to has no explanation.
    """
    unexpected = {
        finding.key
        for finding in findings
        if finding.specified and finding.position in MAIN_POSITIONS and not finding.verdict.as_predicted
    }
    found = []
    for curve in (each for each in observed if each.key in unexpected):
        sweep = next(sweep for sweep in sweeps if sweep.name == curve.key.sweep)
        observed_s = [point.time_s for point in curve.points]
        tested = (
            explain(curve.key, basis, _points(workload, sweep, curve, inputs[basis]), observed_s)
            for basis in reversed(BASES)
            if basis in inputs
        )
        found.append(next(filter(None, tested), None))
    return tuple(filter(None, found))


def _points(workload: Workload, sweep: Sweep, curve: Observation, basis: ModelInput) -> list[PointModel]:
    labels = (workload.point(parameters, sweep).label for parameters in sweep.points)
    points = dict(zip(labels, basis.points(workload, sweep), strict=True))
    return [points[each.point.label] for each in curve.points]


@dataclass(frozen=True)
class _Trial:
    """A curve predicted under a hypothesis, compared with the observed one."""

    hypothesis: Hypothesis
    residuals: Floats
    """ln(observed / predicted time) of each point."""

    @cached_property
    def error(self) -> float:
        return sqrt(float(np.mean(self.residuals**2)))

    def differs(self, other: "_Trial") -> bool:
        return float(np.abs(self.residuals - other.residuals).max()) > _SAME


def explain(
    key: SweepKey,
    basis: Basis,
    points: Sequence[PointModel],
    observed_s: Sequence[float],
    hypotheses: Sequence[Hypothesis] = HYPOTHESES,
) -> Explanation | None:
    """Test *hypotheses* on one sweep; ``None`` if its prediction is within 5 % of the observation.

    Curves are compared directly: no hypothesis has a parameter to fit. The hypotheses change the prediction *basis*,
    whose inputs are *points*, in the order of the axis.
    """
    observed = np.log(np.asarray(observed_s, dtype=float))
    base = _trial(UNCHANGED, points, observed)
    if base.error <= NOTHING_TO_EXPLAIN:
        return None
    ranked = _ranked(hypotheses, points, observed, base)
    if not ranked or not _explains(ranked[0], base):
        ranked = [*_pairs(ranked, points, observed, base), *ranked]
    best, following = (*ranked, None, None)[:2]
    better_than_base = _share_closer(best, base) if best else 0.0
    better_than_next = _share_closer(best, following) if best and following else 1.0
    return Explanation(
        key=key,
        basis=basis,
        base_error=base.error,
        hypothesis=best.hypothesis.name if best else None,
        error=best.error if best else None,
        next_best=following.hypothesis.name if following else None,
        next_error=following.error if following else None,
        better_than_base=better_than_base,
        better_than_next=better_than_next,
        outcome=_outcome(base, best, following, better_than_next),
        factor=_factor(base),
    )


def _trial(hypothesis: Hypothesis, points: Sequence[PointModel], observed: Floats) -> _Trial:
    return _Trial(hypothesis, observed - np.log([hypothesis.time_s(point) for point in points]))


def _ranked(
    hypotheses: Sequence[Hypothesis], points: Sequence[PointModel], observed: Floats, base: _Trial
) -> list[_Trial]:
    """Return trials on all points, closest first, of the hypotheses that are closest on a few points.

    Hypotheses that change nothing are left out. Of several with the same curve only the first is tested.
    """
    few = np.unique(np.linspace(0, len(points) - 1, _SCREENED).round().astype(int))
    some = [points[i] for i in few]
    base = _Trial(UNCHANGED, base.residuals[few])
    screened: list[_Trial] = []
    for trial in (_trial(hypothesis, some, observed[few]) for hypothesis in hypotheses):
        if all(trial.differs(other) for other in (base, *screened)):
            screened.append(trial)
    finalists = sorted(screened, key=lambda trial: trial.error)[:_FINALISTS]
    return sorted((_trial(t.hypothesis, points, observed) for t in finalists), key=lambda trial: trial.error)


def _pairs(ranked: Sequence[_Trial], points: Sequence[PointModel], observed: Floats, base: _Trial) -> list[_Trial]:
    """Return trials of every two of the closest hypotheses together, where both contribute, closest first.

    A curve may differ for two reasons. Each hypothesis must be closer than the prediction, and both together
    significantly closer than each of them.
    """
    singles = [trial for trial in ranked if trial.error < base.error]
    found: list[_Trial] = []
    for one, other in combinations(singles, 2):
        both = _trial(pair(one.hypothesis, other.hypothesis), points, observed)
        if _explains(both, base) and min(_share_closer(both, one), _share_closer(both, other)) >= SIGNIFICANT:
            found.append(both)
    return sorted(found, key=lambda trial: trial.error)


def _explains(trial: _Trial, base: _Trial) -> bool:
    """Return whether a trial reliably removes enough of the error of the unchanged prediction."""
    return trial.error <= EXPLAINS * base.error and _share_closer(trial, base) >= SIGNIFICANT


def _share_closer(one: _Trial, other: _Trial) -> float:
    """Return the share of draws of points in which *one* is closer to the observation than *other*.

    Only points at which the two curves differ count. Errors of neighbouring points are correlated, so points are drawn
    in blocks (circular block bootstrap, Politis & Romano 1992).
    """
    differing = np.abs(one.residuals - other.residuals) > _SAME
    gain = (other.residuals**2 - one.residuals**2)[differing]
    count = len(gain)
    if not count:
        return 0.0
    block = ceil(sqrt(count))
    starts = np.random.default_rng(0).integers(0, count, (_DRAWS, ceil(count / block)))
    drawn = (starts[..., np.newaxis] + np.arange(block)) % count
    return float(np.mean(gain[drawn].sum(axis=(1, 2)) > 0))


def _outcome(
    base: _Trial, best: _Trial | None, following: _Trial | None, better_than_next: float
) -> Literal["explained", "ambiguous", "unexplained"]:
    if best is None or not _explains(best, base):
        return "unexplained"
    if following and following.error <= EXPLAINS * base.error and better_than_next < SIGNIFICANT:
        return "ambiguous"
    return "explained"


def _factor(base: _Trial) -> float | None:
    """Return the factor by which the whole curve is slower, which points to a clock or a rate, not to one level."""
    if len(base.residuals) < _FEW or float(np.std(base.residuals)) > _ONE_FACTOR * base.error:
        return None
    return exp(float(np.mean(base.residuals)))
