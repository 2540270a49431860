"""Data that a comparison keeps of each run: hundreds fit into memory, while one report takes tens of megabytes."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np

from gpureport.compare.conditions import facts, origin
from gpureport.compare.records import BEYOND, WITHIN, Landmark, Machine, MachineFigure
from gpureport.findings.key_figures import key_figures
from gpureport.observe.features import TRANSFER
from gpureport.observe.statistics import Floats
from gpureport.predict import Predicted
from gpureport.predict.ceilings import Ceiling, ceilings
from gpureport.predict.sensitivity import Fact
from gpureport.records.ceilings import Kind, kind_of
from gpureport.records.columns import Curve
from gpureport.records.curves import DRAM, Metric, Observation, ObservedPoint, SweepKey
from gpureport.records.finding import Finding
from gpureport.records.measurement import Energy, Measurement
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.records.report import Report, described_families
from gpureport.spec.models import Device
from gpureport.workloads.grid import last_cache_bytes, part_of_units

Samples = Mapping[str, Floats]
"""Times per unit of work by the label of the point, of a sweep. Versions repeat work different numbers of times."""
_MATRIX = ("matrix_bf16", "matrix_fp16")  # the first is that of page one of a report
READ_PER_WATT = "memory read"
"""Name of the figure of reads from memory per watt."""
FP64, MATRIX = "fp64", "fp16 or bf16 matrix"
"""Names of figures of units that no group of kernels by bottleneck represents."""
BEST_SIZE = "best size"
"""In place of a regime, of workloads without data."""
SIZES = ("working_set", "work_items")
"""Axes along which the working set moves from level to level."""
_FAR = 2.0
"""Working set / last cache's capacity from which the data certainly do not fit: just beyond it, a part may stay."""


@dataclass(frozen=True, slots=True)
class ComparedPoint:
    """One point of one machine."""

    metric: Metric
    label: str
    value: float
    interval: tuple[float, float] | None
    predicted_peak: float | None
    observed: bool
    counting: str
    """What its work counts."""
    reach: float
    """Its working set / the size that is certainly beyond all caches."""
    sized: bool
    """Whether the machine has a sweep of the workload over sizes."""
    bottleneck: Kind | None
    """What limits it, by the specification."""
    deviations: Floats | None
    """Of a device that is only predicted: relative changes of its time per standard deviation of each fact (facts,)."""


ContestKey = tuple[str, str, str]
"""Family, variant, and regime or case."""
BestPoints = Mapping[ContestKey, ComparedPoint]
"""The best points of one machine, by workload and regime; those of a workload without a sweep over sizes also by case,
because another machine may have only one of the two."""


@dataclass(frozen=True)
class Run:
    """A run, a publication or a prediction. No record has the name of the machine."""

    machine: Machine
    """Its device and conditions."""
    device: Device
    best: BestPoints
    landmarks: tuple[Landmark, ...]
    samples: Mapping[str, Samples]
    limits: tuple[Ceiling, ...] = ()
    """Limits of the hardware, from the specification."""
    facts: tuple[Fact, ...] = ()
    """Uncertain figures of a device that is only predicted."""
    curves: tuple[Observation | Prediction, ...] = ()
    """Curves over sizes: as observed, or as predicted if nothing was observed; none for a comparison of many."""
    figures: tuple[MachineFigure, ...] = ()
    """What buyers compare, and performance per watt."""
    families: Mapping[str, str] = field(default_factory=dict)
    """Titles of the families of users' kernels, by identifier."""

    @property
    def described(self) -> str:
        """Name and compute units of the device."""
        return f"{self.machine.device} ({self.machine.compute_units} compute units)"


def excerpt(
    report: Report, workloads: Collection[str] = (), forecast: Sequence[Predicted] = (), *, few: bool = True
) -> Run:
    """Return the data of *report* that a comparison of *workloads* (``family/variant``; all if empty) needs.

    The *forecast* has the uncertainties of a report with predictions only. Without *few*, the data lack what only
    comparisons of a few machines show, which takes most of the memory.
    """
    limits = ceilings(report.device)
    curves = [curve for curve in report.curves if not workloads or curve.key.workload in workloads]
    return Run(
        machine=Machine(
            device=report.device.name,
            entry=report.match.entry,
            device_class=report.device.device_class,
            kind=origin(report),
            created_at=report.publication.date if report.publication else report.created_at,
            compute_units=report.device.compute_units,
            clock_hz=report.device.clock_hz,
            facts=facts(report),
        ),
        device=report.device,
        best=best_points(report, curves, forecast),
        landmarks=tuple(_landmarks(report, curves)),
        samples=samples_by_sweep(curve.measurement for curve in curves if curve.measurement),
        limits=() if report.of_software else limits,
        facts=forecast[0].facts if forecast else (),
        curves=tuple(
            record
            for curve in (curves if few else ())
            if (record := shown(curve, report)) and record.axis.quantity in SIZES
            if any(p.point.x > 0 and p.value > 0 for p in record.points)
        ),
        figures=() if report.of_software else tuple(_figures(report, limits)),
        families=described_families(report.workloads.values()),
    )


def same_device(one: Run, other: Run) -> bool:
    """Return whether two runs are on devices of the same model, with the same number of compute units."""
    return (one.machine.entry, one.described) == (other.machine.entry, other.described)


def samples_by_sweep(measurements: Iterable[Measurement]) -> dict[str, Samples]:
    """Return the samples of each sweep that has any."""
    found = dict[str, Samples]()
    for measurement in measurements:
        points = ((point.point, point.samples_s) for point in measurement.points if point.samples_s)
        if times := {point.label: np.array(samples_s) / point.work for point, samples_s in points}:
            found[str(measurement.key)] = times
    return found


def best_points(report: Report, curves: Iterable[Curve], forecast: Sequence[Predicted] = ()) -> BestPoints:
    """Return the best points of a machine on some *curves* of its report."""
    chosen = [(record, curve.specification) for curve in curves if (record := shown(curve, report))]
    deviations = {each.prediction.key: each.relative for each in forecast}
    found: dict[ContestKey, ComparedPoint] = {}
    for (family, variant, regime), point in _all_points(report, chosen, deviations):
        for kind in (regime,) if point.sized else (regime, point.label):
            key = family, variant, kind
            if key not in found or rank(point, kind) > rank(found[key], kind):
                found[key] = point
    return found


def shown(curve: Curve, report: Report) -> Observation | Prediction | None:
    """Return what was observed; of a report without observations, what is predicted."""
    return curve.observation if report.observations else curve.specification


def _all_points(
    report: Report,
    curves: Sequence[tuple[Observation | Prediction, Prediction | None]],
    deviations: Mapping[SweepKey, Floats],
) -> Iterator[tuple[ContestKey, ComparedPoint]]:
    """Yield every point with its regime; no rates of a part of the compute units: its size differs by device."""
    far_bytes = _FAR * last_cache_bytes(report.device)
    sized = {record.key.workload for record, _ in curves if record.axis.quantity in SIZES}
    fixed = {c.key.workload for c, _ in curves if _is_without_data(c, last_cache_bytes(report.device))}
    sweeps_of_cases = Counter(curve.key.workload for curve, _ in curves if curve.axis.quantity == "case")
    caches = {cache.name for cache in report.device.caches}
    for curve, prediction in curves:
        parameters = (point.point.parameters for point in curve.points)
        if curve.metric.kind == "rate" and part_of_units(parameters, report.device.compute_units):
            continue
        workload = curve.key.workload
        info = report.workloads.get(workload)
        placeless = workload in fixed and curve.axis.quantity in ("work_items", "work_group")
        of_transfers = curve.axis.quantity == "transfer"
        name = f", {curve.key.sweep}" if of_transfers or sweeps_of_cases[workload] > 1 else ""
        largest = max((point.point.x for point in curve.points), default=0.0)
        points: Sequence[ObservedPoint | PredictedPoint] = curve.points
        for point, deviation in zip(points, deviations.get(curve.key, repeat(None)), strict=False):
            if of_transfers and point.point.x < largest:
                continue
            predicted = prediction.points.at(point.point) if prediction else None
            far = predicted is None or predicted.level == DRAM
            yield (
                (curve.key.family, curve.key.variant, BEST_SIZE if placeless else BEYOND if far else WITHIN),
                ComparedPoint(
                    metric=curve.metric,
                    label=f"{'large transfers' if of_transfers else point.point.label}{name}",
                    value=point.value,
                    interval=point.interval if point.interval[0] < point.interval[1] else None,
                    predicted_peak=predicted.value if predicted else None,
                    observed=isinstance(curve, Observation),
                    counting=info.counting if info else "",
                    reach=point.point.working_set_bytes / far_bytes,
                    sized=workload in sized,
                    bottleneck=kind_of(predicted.limit, caches) if predicted else None,
                    deviations=deviation,
                ),
            )


def _is_without_data(curve: Observation | Prediction, cache_bytes: float) -> bool:
    """Return whether neither memory nor a cache of *cache_bytes* serves a sweep over work-items.

    They use the same few data, or repeat their work on data of their own, which they load once.
    """
    sizes = {point.point.working_set_bytes for point in curve.points}
    return curve.axis.quantity == "work_items" and (len(sizes) != 1 or max(sizes) <= cache_bytes)


def rank(point: ComparedPoint, regime: str) -> tuple[float, float]:
    """Return the key of the best point: speed, but beyond the caches first the certainty that no cache serves it."""
    speed = point.value if point.metric.kind == "rate" else 1 / point.value
    return (min(point.reach, 1.0) if regime == BEYOND else 1.0, speed)


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
    """Yield the figures of a device: those of its *report*, measured or else predicted, or limits where it has none."""
    device, found = report.device, key_figures(report)
    figures = {(f.place.workload, str(f.place.level)): f for f in reversed(found) if f.place}
    measured = {place for place, figure in figures.items() if figure.measured}
    limits = {c.name: c for c in ceilings if c.kind in ("bandwidth", "rate")}
    units = sorted((name for name in _MATRIX if name in limits), key=lambda name: ("matrix/rate", name) not in measured)
    places = (
        ("fp32", "instructions/rate", "fp32", limits["fp32"].value * device.architecture.listed_fp32),
        *(((FP64, "instructions/formats", "fp64", None),) if "fp64" in limits else ()),
        *((MATRIX, "matrix/rate", unit, device.matrix_peak_flop_per_s) for unit in units[:1]),
        ("memory bandwidth", "memory/read", "DRAM", device.memory.bandwidth_bytes_per_s),
        *((("host link", "transfer/pinned", TRANSFER, None),) if device.host_link.kind != "shared" else ()),
    )
    rates = {"memory/read": device.memory.read_bytes_per_s, "instructions/rate": limits["fp32"].value}
    for name, workload, level, listed in places:
        limit, figure = limits.get(level), figures.get((workload, level))
        known = figure and figure.shown
        if known:
            value, (low, high) = known.value, known.ends
            rates[workload] = value
        elif limit:
            value, low, high = limit.value, limit.ci_low, limit.ci_high
        else:
            continue
        yield MachineFigure(
            name=name,
            value=value,
            ci_low=low,
            ci_high=high,
            listed=None if device.is_typical else listed,  # a typical value is no peak
            unit=limit.unit if limit else "B/s",
            basis="measured" if figure and figure.measured else "predicted",
        )
    for name, listed, unit in (
        ("last cache", device.caches[-1].capacity_bytes if device.caches else 0.0, "B"),
        ("memory", device.memory.size_bytes, "B"),
        ("board power", device.board_power_w, "W"),
    ):
        if listed:
            yield MachineFigure(name=name, value=listed, unit=unit, basis="specification")
    yield from per_watt(device, report.energy, rates)


def per_watt(device: Device, energy: Energy | None, rates: Mapping[str, float]) -> Iterator[MachineFigure]:
    """Yield memory reads and multiply-adds per watt, measured or else from *rates* and the board's power limit.

    The *rates*, by workload, are measured or predicted ones, or else those of the entry.
    """
    limit_w = device.board_power_w
    for name, workload, unit in (
        (READ_PER_WATT, "memory/read", "B/s/W"),
        ("fp32 FMA", "instructions/rate", "FLOP/s/W"),
    ):
        load = energy.load(name) if energy else None
        if load and load.rate and load.power_w:
            value = load.rate / load.power_w
            yield MachineFigure(name=name, value=value, unit=unit, basis="measured power")
        elif limit_w:
            yield MachineFigure(name=name, value=rates[workload] / limit_w, unit=unit, basis="board limit")
