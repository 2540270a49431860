"""Machines beside each other: measured by us, published by others, or only predicted."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from gpureport import __version__
from gpureport.compare.conditions import cautions, conditions, facts, origin
from gpureport.compare.differences import MINIMUM_EFFECT, differences, regressions, same_device
from gpureport.compare.landmarks import landmarks
from gpureport.compare.records import Comparison, Entrant
from gpureport.compare.standings import contests
from gpureport.errors import InputError
from gpureport.records import Finding, Measurement, Observation, Prediction
from gpureport.report.document import Report

__all__ = ["MINIMUM_EFFECT", "Comparison", "compare", "only", "regressions"]


def compare(
    machines: Mapping[str, Report | Sequence[Report]],
    baseline: str | None = None,
    sources: Mapping[str, str] = {},
    minimum_effect: float = MINIMUM_EFFECT,
) -> Comparison:
    """Compare machines.

    Args:
        machines: two or more, by a short name, each one report or several of its runs; the order is kept.
        baseline: name of the one that ratios refer to; the first if not given.
        sources: where each came from, by name.
        minimum_effect: relative difference below which none between machines with one device is called significant.

    Raises:
        InputError: fewer than two, no such baseline, runs of several devices as one machine, or no two machines that
            have a workload in common.
    """
    runs = {name: (given,) if isinstance(given, Report) else tuple(given) for name, given in machines.items()}
    for name, of_machine in runs.items():
        _check_runs(name, of_machine)
    reports = {name: of_machine[0] for name, of_machine in runs.items()}
    if len(reports) < 2:
        raise InputError("a comparison needs two machines at least")
    chosen = next(iter(reports)) if baseline is None else baseline
    if chosen not in reports:
        raise InputError(f"--baseline: there is no {chosen!r} here; it is one of {', '.join(reports)}")
    common = contests(reports, chosen)
    if not common:
        raise InputError(f"nothing to compare: no two of {', '.join(reports)} have a workload in common")
    differing = conditions(runs)
    tested = differences(runs, chosen, minimum_effect)
    return Comparison(
        tool_version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        baseline=chosen,
        machines=tuple(
            _entrant(name, of_machine, sources.get(name, ""), cautions(differing, name, chosen))
            for name, of_machine in runs.items()
        ),
        conditions=differing,
        contests=common,
        landmarks=landmarks(reports),
        differences=tested.differences,
        overall=tested.overall,
        between_runs=tested.between_runs,
        minimum_effect=minimum_effect,
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


def _check_runs(name: str, runs: Sequence[Report]) -> None:
    other = next((run for run in runs if not same_device(run, runs[0])), None)
    if other:
        raise InputError(
            f"{name}: its reports are of two devices, {runs[0].device.name} and {other.device.name}; "
            "only runs of one device make one machine, name the others separately"
        )


def _entrant(name: str, runs: Sequence[Report], source: str, differs_in: tuple[str, ...]) -> Entrant:
    report = runs[0]
    return Entrant(
        name=name,
        source=source,
        runs=len(runs),
        device=report.device.name,
        entry=report.match.entry,
        kind=origin(report),
        created_at=report.publication.date if report.publication else report.created_at,
        facts=facts(runs),
        cautions=differs_in,
    )
