"""Where the caches of each machine give out, and how much work fills it."""

from collections.abc import Iterator, Mapping

from gpureport.compare.records import Landmark
from gpureport.records import CurveFeature, Finding, SweepKey
from gpureport.report.document import Report

_POSITIONS = {"cliff": "midpoint", "taper": "n90"}
"""The position of each feature that is set beside others."""


def landmarks(reports: Mapping[str, Report]) -> tuple[Landmark, ...]:
    """Return the cliffs and tapers of all machines.

    Those of a report's findings, or what is predicted where nothing was observed.

    Args:
        reports: by the machine's name.
    """
    return tuple(mark for name, report in reports.items() for mark in _of_report(name, report))


def _of_report(name: str, report: Report) -> Iterator[Landmark]:
    if report.findings:
        held = (finding for finding in report.findings if finding.basis == "specification")
        return (_found(name, finding) for finding in held if _is_landmark(finding))
    return (
        _predicted(name, prediction.key, feature)
        for prediction in report.predictions
        for feature in prediction.features
        if _is_landmark(feature)
    )


def _is_landmark(feature: Finding | CurveFeature) -> bool:
    return _POSITIONS.get(feature.feature) == feature.position


def _found(name: str, finding: Finding) -> Landmark:
    return Landmark(
        machine=name,
        workload=f"{finding.workload}/{finding.variant}",
        sweep=finding.sweep,
        feature="cliff" if finding.feature == "cliff" else "taper",
        level=finding.level,
        predicted=finding.predicted,
        observed=finding.observed,
        ci_low=finding.ci_low,
        ci_high=finding.ci_high,
        unit=finding.unit,
    )


def _predicted(name: str, key: SweepKey, feature: CurveFeature) -> Landmark:
    return Landmark(
        machine=name,
        workload=f"{key.workload}/{key.variant}",
        sweep=key.sweep,
        feature="cliff" if feature.feature == "cliff" else "taper",
        level=feature.level,
        predicted=feature.value,
        observed=None,
        unit=feature.unit,
    )
