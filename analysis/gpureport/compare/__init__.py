"""Machines beside each other: measured by us, published by others, or only predicted."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version

from gpureport.compare.conditions import conditions, facts, origin
from gpureport.compare.differences import differences, regressions
from gpureport.compare.records import Comparison, Entrant, Landmark
from gpureport.compare.standings import contests
from gpureport.errors import InputError
from gpureport.report.document import Report

__all__ = ["Comparison", "compare", "regressions"]

_LANDMARKS = {"cliff": "midpoint", "taper": "n90"}
"""The position of each feature that is set beside others."""


def compare(reports: Mapping[str, Report], baseline: str | None = None, sources: Mapping[str, str] = {}) -> Comparison:
    """Compare machines.

    Args:
        reports: two or more, by a short name; the order is kept.
        baseline: name of the one that ratios refer to; the first if not given.
        sources: where each came from, by name.

    Raises:
        InputError: fewer than two, or no such baseline.
    """
    if len(reports) < 2:
        raise InputError("a comparison needs two reports at least")
    chosen = baseline or next(iter(reports))
    if chosen not in reports:
        raise InputError(f"--baseline: there is no {chosen!r} here; it is one of {', '.join(reports)}")
    found, between_runs = differences(reports, chosen)
    return Comparison(
        tool_version=version("gpureport"),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        baseline=chosen,
        machines=tuple(_entrant(name, report, sources.get(name, "")) for name, report in reports.items()),
        conditions=conditions(reports),
        contests=contests(reports, chosen),
        landmarks=tuple(mark for name, report in reports.items() for mark in _landmarks(name, report)),
        differences=found,
        between_runs=between_runs,
    )


def _entrant(name: str, report: Report, source: str) -> Entrant:
    return Entrant(
        name=name,
        source=source,
        device=report.device.name,
        entry=report.match.entry,
        kind=origin(report),
        created_at=report.created_at,
        facts=facts(report),
    )


def _landmarks(name: str, report: Report) -> Iterator[Landmark]:
    """Yield the cliffs and tapers of a report: its findings, or what is predicted where nothing was measured."""
    for finding in report.findings:
        if finding.basis == "specification" and _LANDMARKS.get(finding.feature) == finding.position:
            yield Landmark(
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
    if report.findings:
        return
    for prediction in report.predictions:
        for feature in prediction.features:
            if _LANDMARKS.get(feature.feature) == feature.position:
                yield Landmark(
                    machine=name,
                    workload=f"{prediction.key.workload}/{prediction.key.variant}",
                    sweep=prediction.key.sweep,
                    feature="cliff" if feature.feature == "cliff" else "taper",
                    level=feature.level,
                    predicted=feature.value,
                    observed=None,
                    unit=feature.unit,
                )
