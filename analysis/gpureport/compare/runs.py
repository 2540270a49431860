"""Data that a comparison keeps of each run: hundreds fit into memory, while one report takes tens of megabytes."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gpureport.compare.conditions import facts, origin
from gpureport.compare.contrast import Forecast
from gpureport.compare.records import Landmark, Machine, MachineFigure
from gpureport.compare.results import SIZES, BestPoints, best_points, shown
from gpureport.findings.key_figures import key_figures
from gpureport.observe.statistics import Floats, medians, sampling_noise
from gpureport.predict.ceilings import Ceiling, ceilings, listed_rates
from gpureport.records.columns import Curve
from gpureport.records.curves import Observation
from gpureport.records.finding import Finding
from gpureport.records.measurement import Energy, Measurement
from gpureport.records.prediction import Prediction
from gpureport.records.report import Report, described_families
from gpureport.spec.models import Device

_MATRIX = ("matrix_fp16", "matrix_bf16")


@dataclass(frozen=True)
class SweepSamples:
    """The samples of one sweep in one array.

    Attributes:
        labels: one for each point with samples.
        counts: number of samples of each point.
        times_s: time per unit of work, point after point. Versions repeat a kernel's work different numbers of times.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    times_s: Floats

    def log_medians(self, labels: tuple[str, ...]) -> tuple[Floats, Floats]:
        """Return the logarithms of the medians of the points with these *labels*, and their standard errors."""
        if labels == self.labels:
            return self._log_medians, self._noise
        indices = [self.labels.index(label) for label in labels]
        points = self._points()
        return self._log_medians[indices], sampling_noise([points[index] for index in indices])

    def _points(self) -> list[Floats]:
        return np.split(self.times_s, np.cumsum(self.counts)[:-1])

    @cached_property
    def _log_medians(self) -> Floats:
        return np.log(medians(self.times_s, np.array(self.counts)))

    @cached_property
    def _noise(self) -> Floats:
        return sampling_noise(self._points())


@dataclass(frozen=True)
class Run:
    """A run, a publication or a prediction.

    No record has the name of the machine.

    Attributes:
        machine: its device and conditions.
        limits: of the hardware, from the specification.
        forecast: what is predicted, size by size, if nothing else is known.
        curves: over sizes: as observed, or as predicted if nothing was observed; none for a comparison of many.
        figures: what buyers compare, and performance per watt.
        families: titles of the families of users' kernels, by identifier.
    """

    machine: Machine
    best: BestPoints
    landmarks: tuple[Landmark, ...]
    samples: Mapping[str, SweepSamples]
    limits: tuple[Ceiling, ...] = ()
    forecast: Forecast | None = None
    curves: tuple[Observation | Prediction, ...] = ()
    figures: tuple[MachineFigure, ...] = ()
    families: Mapping[str, str] = field(default_factory=dict)

    @property
    def described(self) -> str:
        """Name and compute units of the device."""
        return f"{self.machine.device} ({self.machine.compute_units} compute units)"


def excerpt(
    report: Report, workloads: Collection[str] = (), forecast: Forecast | None = None, *, few: bool = True
) -> Run:
    """Return the data of *report* that a comparison of *workloads* (``family/variant``; all if empty) needs.

    Without *few*, it lacks what only comparisons of a few machines show, which takes most of the memory.
    """
    limits = ceilings(report.device)
    curves = [curve for curve in report.curves if not workloads or curve.key.workload in workloads]
    return Run(
        machine=Machine(
            device=report.device.name,
            entry=report.match.entry,
            kind=origin(report),
            created_at=report.publication.date if report.publication else report.created_at,
            compute_units=report.device.compute_units,
            clock_hz=report.device.clock_hz,
            facts=facts(report),
        ),
        best=best_points(report, curves),
        landmarks=tuple(_landmarks(report, curves)),
        samples=samples_by_sweep(curve.measurement for curve in curves if curve.measurement),
        limits=limits,
        forecast=forecast if few else None,
        curves=tuple(
            record
            for curve in (curves if few else ())
            if (record := shown(curve, report)) and record.axis.quantity in SIZES
            if any(p.point.x > 0 and p.value > 0 for p in record.points)
        ),
        figures=tuple(_figures(report, limits)),
        families=described_families(report.workloads.values()),
    )


def same_device(one: Run, other: Run) -> bool:
    """Return whether two runs are on devices of the same model, with the same number of compute units."""
    return (one.machine.entry, one.described) == (other.machine.entry, other.described)


def samples_by_sweep(measurements: Iterable[Measurement]) -> dict[str, SweepSamples]:
    """Return the samples of each sweep that has any."""
    found = {}
    for measurement in measurements:
        points = {point.point.label: point for point in measurement.points if point.samples_s}
        times = [np.array(point.samples_s) / point.point.work for point in points.values()]
        if times:
            found[str(measurement.key)] = SweepSamples(tuple(points), tuple(map(len, times)), np.concatenate(times))
    return found


def _landmarks(report: Report, curves: Iterable[Curve]) -> Iterator[Landmark]:
    """Yield the cliffs and tapers of a run's findings; of its predictions if nothing was observed."""
    for curve in curves:
        predicted = curve.specification.features if curve.specification else ()
        findings = (f for f in curve.findings if f.specified)
        for each in findings if report.findings else predicted:
            if each.position == "midpoint" or (each.position == "n90" and each.unit != "B"):  # not of transfers
                yield Landmark(
                    key=curve.key,
                    feature=each.feature,
                    level=each.level,
                    predicted=each.predicted if isinstance(each, Finding) else each.value,
                    observed=each.observed if isinstance(each, Finding) else None,
                    ci_low=each.ci_low,
                    ci_high=each.ci_high,
                    unit=each.unit,
                )


def _figures(report: Report, ceilings: Iterable[Ceiling]) -> Iterator[MachineFigure]:
    """Yield the figures of a device: measured ones of its *report*, else limits predicted from its specification."""
    device, found = report.device, key_figures(report) if report.observations else ()
    measured = {(f.place.workload, str(f.place.level)): f.measured for f in found if f.place and f.measured}
    limits = {c.name: c for c in ceilings if c.kind in ("bandwidth", "rate")}
    units = sorted((name for name in _MATRIX if name in limits), key=lambda name: ("matrix/rate", name) not in measured)
    places = (
        ("fp32", "instructions/rate", "fp32", limits["fp32"].value * device.architecture.dual_issue),
        *(("fp16 or bf16 matrix", "matrix/rate", unit, device.matrix_peak_flop_per_s) for unit in units[:1]),
        ("memory bandwidth", "memory/read", "DRAM", device.memory.bandwidth_bytes_per_s),
    )
    for name, workload, ceiling, listed in places:
        limit, known = limits[ceiling], measured.get((workload, ceiling))
        low, high = known.ends if known else (limit.ci_low, limit.ci_high)
        yield MachineFigure(
            name=name,
            value=known.value if known else limit.value,
            ci_low=low,
            ci_high=high,
            listed=listed,
            unit=limit.unit,
            basis="measured" if known else "predicted",
        )
    for name, listed, unit in (("memory", device.memory.size_bytes, "B"), ("board power", device.board_power_w, "W")):
        if listed:
            yield MachineFigure(name=name, value=listed, unit=unit, basis="specification")
    yield from per_watt(device, report.energy)


def per_watt(device: Device, energy: Energy | None) -> Iterator[MachineFigure]:
    """Yield memory reads and multiply-adds per watt, measured or else from listed rates and the board's power limit."""
    rates, limit_w = listed_rates(device), device.board_power_w
    for name, unit in (("memory read", "B/s/W"), ("fp32 FMA", "FLOP/s/W")):
        load = energy.load(name) if energy else None
        if load and load.rate and load.power_w:
            value = load.rate / load.power_w
            yield MachineFigure(name=name, value=value, unit=unit, basis="measured power")
        elif limit_w:
            yield MachineFigure(name=name, value=rates[name] / limit_w, unit=unit, basis="board limit")
