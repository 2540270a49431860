"""Which hypothesis makes a curve as it was observed: predict it under each, compare, and say how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpureport.explain.case import Case
from gpureport.explain.hypotheses import HYPOTHESES, Hypothesis
from gpureport.records.finding import Explanation
from gpureport.records.keys import SweepKey
from gpureport.text import off_by

NOTHING_TO_EXPLAIN = log(1.05)
"""Error of a prediction that is near enough."""
EXPLAINS = 0.5
"""A hypothesis explains a disagreement if it leaves at most this share of the error."""
SURE = 0.95
"""Share of the bootstrap's draws that makes sure."""

_SAME = log(1.01)
_SCREENED = 12
_FINALISTS = 4
_DRAWS = 400
_FEW = 4
_ONE_FACTOR = 0.25

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Trial:
    """How far one curve is from the observed one.

    Attributes:
        hypothesis: that predicts the curve; ``None``: the model as it is.
        residuals: ln(observed / predicted time) of each point.
    """

    hypothesis: Hypothesis | None
    residuals: Floats

    @cached_property
    def error(self) -> float:
        """Root mean square; no factor is taken out."""
        return sqrt(float(np.mean(self.residuals**2)))

    def differs(self, other: "_Trial") -> bool:
        """Return whether the two curves are apart anywhere."""
        return float(np.abs(self.residuals - other.residuals).max()) > _SAME


def explain(
    key: SweepKey,
    basis: Literal["specification", "calibrated"],
    cases: Sequence[Case],
    observed_s: Sequence[float],
    hypotheses: Sequence[Hypothesis] = HYPOTHESES,
) -> Explanation | None:
    """Test *hypotheses* on one sweep; ``None`` if its prediction is within 5 % of the observation.

    Curves are compared as they are: no hypothesis has a factor to fit.

    Args:
        key: of the sweep.
        basis: which prediction *cases* ask for.
        cases: the observed points as the model is asked about them, in the order of the axis.
        observed_s: their observed times, in seconds.
        hypotheses: what is tried.
    """
    observed = np.log(np.asarray(observed_s, dtype=float))
    base = _trial(None, cases, observed)
    if base.error <= NOTHING_TO_EXPLAIN:
        return None
    ranked = _ranked(hypotheses, cases, observed, base)
    best, following = (*ranked, None, None)[:2]
    sure = _share_nearer(best, base) if best else 0.0
    apart = _share_nearer(best, following) if best and following else 1.0
    outcome = _outcome(base, best, following, sure, apart)
    return Explanation(
        key=key,
        basis=basis,
        base_error=base.error,
        hypothesis=_name(best),
        error=best.error if best else None,
        next_best=_name(following),
        next_error=following.error if following else None,
        better_than_base=sure,
        better_than_next=apart,
        outcome=outcome,
        sentence=_sentence(outcome, base, best, following),
    )


def _trial(hypothesis: Hypothesis | None, cases: Sequence[Case], observed: Floats) -> _Trial:
    times = [hypothesis.time_s(case) if hypothesis else case.time_s for case in cases]
    return _Trial(hypothesis, observed - np.log(times))


def _ranked(hypotheses: Sequence[Hypothesis], cases: Sequence[Case], observed: Floats, base: _Trial) -> list[_Trial]:
    """Return trials of all points, nearest first, of the hypotheses that do best on a few of them.

    Those that change nothing are left out, and of several that make the same curve all but the first.
    """
    few = np.unique(np.linspace(0, len(cases) - 1, _SCREENED).round().astype(int))
    some = [cases[i] for i in few]
    base = _Trial(None, base.residuals[few])
    screened: list[_Trial] = []
    for trial in (_trial(hypothesis, some, observed[few]) for hypothesis in hypotheses):
        if all(trial.differs(other) for other in (base, *screened)):
            screened.append(trial)
    finalists = sorted(screened, key=lambda trial: trial.error)[:_FINALISTS]
    return sorted((_trial(t.hypothesis, cases, observed) for t in finalists), key=lambda trial: trial.error)


def _share_nearer(one: _Trial, other: _Trial) -> float:
    """Return the share of draws of points in which *one* is nearer to the observation than *other*.

    Only points at which the two curves differ tell. Neighbours err together, so they are drawn in blocks (circular
    block bootstrap, Politis & Romano 1992).
    """
    tell = np.abs(one.residuals - other.residuals) > _SAME
    gain = (other.residuals**2 - one.residuals**2)[tell]
    count = len(gain)
    if not count:
        return 0.0
    block = ceil(sqrt(count))
    starts = np.random.default_rng(0).integers(0, count, (_DRAWS, ceil(count / block)))
    drawn = (starts[..., np.newaxis] + np.arange(block)) % count
    return float(np.mean(gain[drawn].sum(axis=(1, 2)) > 0))


def _outcome(
    base: _Trial, best: _Trial | None, following: _Trial | None, sure: float, apart: float
) -> Literal["explained", "ambiguous", "unexplained"]:
    if best is None or best.error > EXPLAINS * base.error or sure < SURE:
        return "unexplained"
    if following and following.error <= EXPLAINS * base.error and apart < SURE:
        return "ambiguous"
    return "explained"


def _name(trial: _Trial | None) -> str | None:
    return trial.hypothesis.name if trial and trial.hypothesis else None


def _sentence(outcome: str, base: _Trial, best: _Trial | None, following: _Trial | None) -> str:
    off = off_by(base.error)
    if best is None or best.error >= base.error:
        return f"No hypothesis comes nearer to the curve than the model, which is {off} off{_throughout(base)}."
    if outcome == "unexplained":
        return (
            f"No hypothesis explains the curve, which is {off} off{_throughout(base)}: the nearest, that "
            f"{_said(best)}, still leaves {off_by(best.error)}."
        )
    if following is None:
        return f"It fits that {_said(best)}: the curve is then {off_by(best.error)} off instead of {off}."
    if outcome == "ambiguous":
        return (
            f"It fits that {_said(best)} ({off_by(best.error)} off instead of {off}), but nearly as well that "
            f"{_said(following)} ({off_by(following.error)})."
        )
    return (
        f"It fits that {_said(best)}: the curve is then {off_by(best.error)} off instead of {off}; "
        f"the next hypothesis, that {_said(following)}, leaves {off_by(following.error)}."
    )


def _throughout(base: _Trial) -> str:
    """Say whether the whole curve is off by one factor, which points to a clock or a rate, not to one level."""
    if len(base.residuals) < _FEW or float(np.std(base.residuals)) > _ONE_FACTOR * base.error:
        return ""
    slower = float(np.mean(base.residuals))
    return f", throughout {exp(abs(slower)):.2f} times as {'slow' if slower > 0 else 'fast'} as predicted"


def _said(trial: _Trial) -> str:
    return trial.hypothesis.statement if trial.hypothesis else ""
