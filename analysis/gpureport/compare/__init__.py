"""Machines beside each other: measured by us, published by others, or only predicted."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from gpureport import __version__
from gpureport.compare.conditions import cautions, conditions, facts, origin
from gpureport.compare.differences import differences, regressions
from gpureport.compare.landmarks import landmarks
from gpureport.compare.records import Comparison, Entrant
from gpureport.compare.standings import contests
from gpureport.errors import InputError
from gpureport.records import Finding, Measurement, Observation, Prediction
from gpureport.report.document import Report

__all__ = ["Comparison", "compare", "only", "regressions"]


def compare(reports: Mapping[str, Report], baseline: str | None = None, sources: Mapping[str, str] = {}) -> Comparison:
    """Compare machines.

    Args:
        reports: two or more, by a short name; the order is kept.
        baseline: name of the one that ratios refer to; the first if not given.
        sources: where each came from, by name.

    Raises:
        InputError: fewer than two, no such baseline, or no two that have a workload in common.
    """
    if len(reports) < 2:
        raise InputError("a comparison needs two machines at least")
    chosen = next(iter(reports)) if baseline is None else baseline
    if chosen not in reports:
        raise InputError(f"--baseline: there is no {chosen!r} here; it is one of {', '.join(reports)}")
    common = contests(reports, chosen)
    if not common:
        raise InputError(f"nothing to compare: no two of {', '.join(reports)} have a workload in common")
    differing = conditions(reports)
    found, between_runs = differences(reports, chosen)
    return Comparison(
        tool_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        baseline=chosen,
        machines=tuple(
            _entrant(name, report, sources.get(name, ""), cautions(differing, name, chosen))
            for name, report in reports.items()
        ),
        conditions=differing,
        contests=common,
        landmarks=landmarks(reports),
        differences=found,
        between_runs=between_runs,
    )


def only(report: Report, workloads: Collection[str]) -> Report:
    """Return *report* with some workloads only, as if no others had been run.

    Args:
        report: a whole one.
        workloads: names, ``family/variant``.
    """

    def among(curve: Prediction | Measurement | Observation) -> bool:
        return f"{curve.key.workload}/{curve.key.variant}" in workloads

    def concerned(finding: Finding) -> bool:
        return f"{finding.workload}/{finding.variant}" in workloads

    return report.model_copy(
        update={
            "predictions": tuple(filter(among, report.predictions)),
            "measurements": tuple(filter(among, report.measurements)),
            "observations": tuple(filter(among, report.observations)),
            "findings": tuple(filter(concerned, report.findings)),
        }
    )


def _entrant(name: str, report: Report, source: str, differs_in: tuple[str, ...]) -> Entrant:
    return Entrant(
        name=name,
        source=source,
        device=report.device.name,
        entry=report.match.entry,
        kind=origin(report),
        created_at=report.publication.date if report.publication else report.created_at,
        facts=facts(report),
        cautions=differs_in,
    )
