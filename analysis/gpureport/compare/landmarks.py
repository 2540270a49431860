"""Cliffs (capacity transitions) and tapers (saturation points) of one run."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from gpureport.records.features import CurveFeature
from gpureport.records.finding import Finding
from gpureport.records.levels import Level
from gpureport.records.report import Report


class RunLandmark(NamedTuple):
    """A :class:`~gpureport.compare.records.Landmark` without the machine's name."""

    workload: str
    sweep: str
    feature: Literal["cliff", "taper"]
    level: Level
    unit: str
    predicted: float | None
    observed: float | None
    ci_low: float | None = None
    ci_high: float | None = None


def landmarks(report: Report) -> Iterator[RunLandmark]:
    """Yield the cliffs and tapers of a run's findings; of its predictions if nothing was observed."""
    for finding in report.findings:
        if finding.basis == "specification" and _is_landmark(finding):
            yield RunLandmark(
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
    for prediction in () if report.findings else report.specified:
        key = prediction.key
        for feature in filter(_is_landmark, prediction.features):
            yield RunLandmark(key.workload, key.sweep, _kind(feature), feature.level, feature.unit, feature.value, None)


def _is_landmark(feature: Finding | CurveFeature) -> bool:
    of_transfers = feature.feature == "taper" and feature.unit == "B"
    return not of_transfers and (feature.feature, feature.position) in (("cliff", "midpoint"), ("taper", "n90"))


def _kind(feature: Finding | CurveFeature) -> Literal["cliff", "taper"]:
    return "cliff" if feature.feature == "cliff" else "taper"
