"""Data that a comparison keeps of each run: hundreds fit into memory, while one report takes tens of megabytes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpureport.compare.conditions import facts, origin
from gpureport.compare.curves import sweep_curves
from gpureport.compare.excerpt import Excerpt, excerpt
from gpureport.compare.landmarks import RunLandmark, landmarks
from gpureport.compare.records import SweepCurve
from gpureport.compare.samples import SweepSamples, samples_by_sweep
from gpureport.compare.standings import BestPoints, best_points
from gpureport.findings.whole_device import PerWatt, per_watt
from gpureport.records.report import Report, described_families


@dataclass(frozen=True)
class Run:
    """A run, a publication or a prediction.

    Attributes:
        device: name of the device.
        compute_units: of the device.
        entry: id of the device in the database.
        kind: origin of the values.
        created_at: date of the run, publication or prediction.
        facts: conditions of the run, by name.
        best: best points.
        landmarks: cliffs and tapers.
        samples: by sweep.
        curves: over sizes.
        per_watt: performance per watt.
        families: titles of the families of users' kernels, by identifier.
    """

    device: str
    compute_units: int
    entry: str | None
    kind: Literal["measured", "published", "predicted"]
    created_at: str
    facts: Mapping[str, str]
    best: BestPoints
    landmarks: tuple[RunLandmark, ...]
    samples: Mapping[str, SweepSamples]
    curves: tuple[SweepCurve, ...] = ()
    per_watt: tuple[PerWatt, ...] = ()
    families: Mapping[str, str] = field(default_factory=dict)


def reduced(report: Report | Excerpt, workloads: Collection[str] = ()) -> Run:
    """Return the data of *report* that a comparison of *workloads* (``family/variant``; all if empty) needs."""
    read = excerpt(report) if isinstance(report, Report) else report
    kept = _only(read, workloads) if workloads else read
    return Run(
        device=kept.device.name,
        compute_units=kept.device.compute_units,
        entry=kept.match.entry,
        kind=origin(kept),
        created_at=kept.publication.date if kept.publication else kept.created_at,
        facts=facts(kept),
        best=best_points(kept),
        landmarks=tuple(landmarks(kept)),
        samples=samples_by_sweep(kept.measurements),
        curves=sweep_curves(kept),
        per_watt=per_watt(read.device, read.energy),
        families=described_families(read.workloads.values()),
    )


def same_device(one: Run, other: Run) -> bool:
    """Return whether two runs are on devices of the same model, with the same number of compute units."""
    return all(getattr(one, name) == getattr(other, name) for name in ("entry", "device", "compute_units"))


def _only(report: Excerpt, workloads: Collection[str]) -> Excerpt:
    records = {
        "predictions": report.specified,
        "measurements": report.measurements,
        "observations": report.observations,
        "findings": report.findings,
    }
    return report.model_copy(
        update={
            name: tuple(record for record in every if record.key.workload in workloads)
            for name, every in records.items()
        }
    )
