"""Where the caches of each machine give out, and how much work fills it."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from gpureport.compare.excerpt import Excerpt, Finding
from gpureport.records.features import CurveFeature
from gpureport.records.levels import Level

_POSITIONS = {"cliff": "midpoint", "taper": "n90"}
"""The position of each feature that is set beside others."""


class Mark(NamedTuple):
    """A :class:`~gpureport.compare.records.Landmark` of any machine."""

    workload: str
    sweep: str
    feature: Literal["cliff", "taper"]
    level: Level
    unit: str
    predicted: float | None
    observed: float | None
    ci_low: float | None = None
    ci_high: float | None = None


def marks(report: Excerpt) -> Iterator[Mark]:
    """Yield the cliffs and tapers of a run: those of its findings, or what is predicted if nothing was observed."""
    if report.findings:
        held = (finding for finding in report.findings if finding.basis == "specification" and _is_landmark(finding))
        yield from map(_found, held)
        return
    for prediction in report.specified:
        name = prediction.key.workload
        for feature in filter(_is_landmark, prediction.features):
            yield Mark(name, prediction.key.sweep, _kind(feature), feature.level, feature.unit, feature.value, None)


def _is_landmark(feature: Finding | CurveFeature) -> bool:
    return _POSITIONS.get(feature.feature) == feature.position


def _kind(feature: Finding | CurveFeature) -> Literal["cliff", "taper"]:
    return "cliff" if feature.feature == "cliff" else "taper"


def _found(finding: Finding) -> Mark:
    return Mark(
        workload=finding.key.workload,
        sweep=finding.key.sweep,
        feature=_kind(finding),
        level=finding.level,
        unit=finding.unit,
        predicted=finding.predicted,
        observed=finding.observed,
        ci_low=finding.ci_low,
        ci_high=finding.ci_high,
    )
