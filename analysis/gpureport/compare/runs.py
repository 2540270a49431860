"""What a comparison keeps of each run: hundreds fit into memory, while a report takes tens of megabytes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from gpureport.compare.conditions import facts, origin
from gpureport.compare.excerpt import Excerpt, Finding, Measurement, Observation, Prediction, excerpt
from gpureport.compare.landmarks import Mark, marks
from gpureport.compare.samples import Sampled, sampled
from gpureport.compare.standings import Best, best
from gpureport.records.report import Report


@dataclass(frozen=True)
class Run:
    """A run, a publication or a prediction.

    Attributes:
        device: its name.
        entry: id in the database.
        kind: how the figures came about.
        created_at: when.
        facts: the conditions, by what they are.
        best: its best points.
        marks: its cliffs and tapers.
        samples: by sweep.
    """

    device: str
    entry: str | None
    kind: Literal["measured", "published", "predicted"]
    created_at: str
    facts: Mapping[str, str]
    best: Best
    marks: tuple[Mark, ...]
    samples: Mapping[str, Sampled]


def reduced(report: Report | Excerpt, workloads: Collection[str] = ()) -> Run:
    """Return what is kept of *report*.

    Args:
        report: a whole one, or what was read of one.
        workloads: those to keep, ``family/variant``, as if no others had been run; none: all.
    """
    read = excerpt(report) if isinstance(report, Report) else report
    kept = _only(read, workloads) if workloads else read
    return Run(
        device=kept.device.name,
        entry=kept.match.entry,
        kind=origin(kept),
        created_at=kept.publication.date if kept.publication else kept.created_at,
        facts=facts(kept),
        best=best(kept),
        marks=tuple(marks(kept)),
        samples=sampled(kept.measurements),
    )


def same_device(one: Run, other: Run) -> bool:
    """Return whether two runs are on devices that should be equally fast."""
    return one.entry == other.entry and one.device == other.device


def _only(report: Excerpt, workloads: Collection[str]) -> Excerpt:
    def among(curve: Prediction | Measurement | Observation) -> bool:
        return curve.key.workload in workloads

    def concerned(finding: Finding) -> bool:
        return finding.key.workload in workloads

    return report.model_copy(
        update={
            "predictions": tuple(filter(among, report.specified)),
            "measurements": tuple(filter(among, report.measurements)),
            "observations": tuple(filter(among, report.observations)),
            "findings": tuple(filter(concerned, report.findings)),
        }
    )
