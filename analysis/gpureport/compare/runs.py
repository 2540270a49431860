"""Data that a comparison keeps of each run: hundreds fit into memory, while one report takes tens of megabytes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gpureport.compare.conditions import facts, origin
from gpureport.compare.curves import sweep_curves
from gpureport.compare.landmarks import RunLandmark, landmarks
from gpureport.compare.records import SweepCurve
from gpureport.compare.samples import SweepSamples, samples_by_sweep
from gpureport.compare.standings import BestPoints, best_points
from gpureport.findings.whole_device import PerWatt, per_watt
from gpureport.records.report import Report, described_families

if TYPE_CHECKING:
    from gpureport.records.columns import Curve
    from gpureport.records.finding import Finding


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


def reduced(report: Report, workloads: Collection[str] = ()) -> Run:
    """Return the data of *report* that a comparison of *workloads* (``family/variant``; all if empty) needs."""
    kept = _only(report, workloads) if workloads else report
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
        per_watt=per_watt(report.device, report.energy),
        families=described_families(report.workloads.values()),
    )


def same_device(one: Run, other: Run) -> bool:
    """Return whether two runs are on devices of the same model, with the same number of compute units."""
    return all(getattr(one, name) == getattr(other, name) for name in ("entry", "device", "compute_units"))


def _only(report: Report, workloads: Collection[str]) -> Report:
    records: dict[str, Sequence[Curve | Finding]] = {
        "predictions": report.predictions,
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
