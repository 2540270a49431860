"""Replace figures of a device's entry by results of its microbenchmarks.

Only microbenchmarks calibrate, and only the predictions of other workloads. Each declares the quantities that it
measures (``Workload.calibrates``); :data:`_CALIBRATIONS` contains a function for each quantity.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import exp, hypot, log
from statistics import median
from typing import Literal

from gpureport.matching import FURTHEST, both_of, match_features
from gpureport.predict.execution import THROUGHPUT_EXPONENT
from gpureport.predict.sensitivity import declared, figures, specified_deviation, visit_facts, with_figures
from gpureport.records.curves import DRAM, CurveFeature, Level, Observation, ObservedPoint
from gpureport.records.prediction import PredictedPoint, Prediction, write_ceiling
from gpureport.spec.models import Cache, Device, Transition
from gpureport.spec.uncertainty import NORMAL_95
from gpureport.spec.values import Provenance, Scope
from gpureport.workloads import all_workloads
from gpureport.workloads.instructions import listed_class
from gpureport.workloads.model import Calibration, Workload

_FEW_GROUPS = 8
"""Dispatches of up to this many work-groups take as long as one work-group."""
_MANY_LAUNCHES = 20
"""Dispatches that take longer than this number of launches show more than launch cost."""
_BARRIER_SIZES = 3
"""Least number of work-group sizes that separate the barrier rate from the cost per barrier."""

_WritesTransition = Literal["write_transition", "ping_pong_transition"]
_Value = tuple[str, float | Transition]
"""The dotted path of a figure of the device, and its measured value."""


@dataclass(frozen=True)
class _ObservedSweep:
    """One measured sweep of a microbenchmark, with its specification prediction.

    Figures are calibrated relative to those of the *specified* device, which are *listed* by path.
    """

    specified: Device
    listed: Mapping[str, float]
    prediction: Prediction
    observation: Observation
    workload: Workload

    @cached_property
    def points(self) -> tuple[tuple[PredictedPoint, ObservedPoint], ...]:
        """Predicted and observed point of each label."""
        return tuple((p, o) for o, p in self.observation.points.pairs(self.prediction.points))

    @cached_property
    def matches(self) -> tuple[tuple[CurveFeature, CurveFeature], ...]:
        """Predicted features that were observed, with the observed ones."""
        return tuple(both_of(match_features(self.prediction.features, self.observation.features)))

    @cached_property
    def ratios(self) -> dict[Level, float]:
        """Observed / predicted of each plateau or case that both sides have, by level."""
        return {p.level: o.value / p.value for p, o in self.matches if p.feature == "rate"}

    def cases(self, listed: Collection[str]) -> Iterator[tuple[tuple[str, ...], float, str | None]]:
        """Yield the instruction classes that each case calibrates, its ratio and its predicted bottleneck.

        Additions also represent integer instructions (``int32``). If additions are *listed* as a class, because they
        run on two pipes, bitwise operations do.
        """
        bottlenecks = {point.point.label: point.bottleneck for point in self.prediction.points}
        for level, ratio in self.ratios.items():
            name = self.workload.instruction_classes.get(level.name, level.name)
            general = name == ("ternary" if "add" in listed else "add")
            yield (name, "int32") if general else (name,), ratio, bottlenecks.get(level.name)


def calibrated(device: Device, predictions: Iterable[Prediction], observations: Iterable[Observation]) -> Device:
    """Return *device* calibrated by microbenchmarks.

    A figure of the entry is multiplied by observed / predicted of the microbenchmark that shows it. Effects that the
    model already contains (launch cost, smooth maxima) are thus not counted twice. Observations of other workloads are
    ignored, and so are work-group searches, because some shapes are slow. On a CPU, measured and specified values are
    combined (:func:`combined`).
    """
    specified, listed, noises = device, figures(device), dict[str, float]()
    workloads = {workload.name: workload for workload in all_workloads() if workload.calibrates}
    by_key = {str(prediction.key): prediction for prediction in predictions}
    for observation in observations:
        prediction = by_key.get(str(observation.key))
        workload = workloads.get(observation.key.workload)
        if prediction and workload and observation.axis.quantity != "work_group":
            sweep = _ObservedSweep(specified, listed, prediction, observation, workload)
            source = f"{workload.title} ({workload.name})"
            for quantity in workload.calibrates:
                values = dict(_CALIBRATIONS[quantity](device, sweep))
                measured = dict.fromkeys(values, Provenance(kind="measured", source=source, here=True))
                device = with_figures(device, values)
                device = device.model_copy(update={"provenance": {**device.provenance, **measured}})
                noises |= dict.fromkeys(values, noise(observation))
    return combined(specified, device, noises) if specified.architecture.has_neighbours else device


def _launch(_: Device, sweep: _ObservedSweep, path: str) -> Iterator[_Value]:
    """Calibrate the launch cost by small dispatches (isolated: of a single group), the rate by the largest ones."""
    few = [o.time_s / p.time_s for p, o in sweep.points if o.point.work <= _FEW_GROUPS]
    isolated = sweep.observation.key.sweep == "isolated"
    ratio = {
        "launch.batched": median(few) if few else None,
        "launch.single": sweep.ratios.get(Level(name="1 group")) if isolated else None,
        "launch.groups_per_cycle": max(sweep.ratios.values(), default=None),
    }[path]
    if ratio is not None:
        yield path, sweep.listed[path] * ratio


def _memory_efficiency(device: Device, sweep: _ObservedSweep) -> Iterator[_Value]:
    """Calibrate the memory efficiency by copies of at least four times the last cache, which no cache serves."""
    beyond = 4 * max((cache.capacity_bytes for cache in device.caches), default=0.0)
    ratios = [p.time_s / o.time_s for p, o in sweep.points if o.point.working_set_bytes >= beyond]
    if ratios:
        yield "memory.efficiency", sweep.listed["memory.efficiency"] * median(ratios)


def _transitions(_: Device, sweep: _ObservedSweep, name: _WritesTransition) -> Iterator[_Value]:
    """Calibrate the transition range *name* of the caches that all compute units share."""
    for cache in sweep.specified.caches:
        expected = cache.transition(name)
        if cache.scope == "device" and (transition := _transition(cache, expected, sweep.matches)):
            yield f"caches.{cache.name}.{name}", transition


def _writes(device: Device, sweep: _ObservedSweep, rate: str) -> Iterator[_Value]:
    """Calibrate a *rate* of writes by points whose predicted bottleneck is writes.

    Sectors: points that take much longer than a launch. Lines: points at which every work-item writes to another line.
    """
    least_s = _MANY_LAUNCHES * device.launch.batched_s
    writes = {write_ceiling(cache.name) for cache in device.caches}
    limited = [(p, o) for p, o in sweep.points if p.bottleneck in writes]
    if rate == "sector_writes_per_cycle":
        ratios = [p.time_s / o.time_s for p, o in limited if p.time_s > least_s]
    else:
        ratios = [p.time_s / o.time_s for p, o in limited if 4 * p.point.parameters["stride"] >= device.line_bytes]
    if rate in sweep.listed and ratios:
        yield rate, sweep.listed[rate] * median(ratios)


def _cache_bandwidths(_: Device, sweep: _ObservedSweep, scope: Scope) -> Iterator[_Value]:
    """Calibrate bandwidth and transition range of each cache of *scope* whose plateau or cliff was observed.

    On a CPU, a curve without any of the predicted cliffs does not show to which cache its plateau belongs. In virtual
    machines, data that all threads read (``memory/read``) often have such a curve. There, each thread's own data also
    calibrate the bandwidth of the shared cache, if all threads take part. ``memory/read`` follows and replaces this
    value if its curve has a cliff.
    """
    shared, curves = sweep.specified.architecture.has_neighbours, (sweep.prediction, sweep.observation)
    predicted, observed = (any(each.feature == "cliff" for each in curve.features) for curve in curves)
    if shared and predicted and not observed:
        return
    groups = (point.point.parameters.get("groups", 0) for point in sweep.prediction.points)
    all_threads = shared and min(groups, default=0) >= sweep.specified.compute_units
    for cache in sweep.specified.caches:
        own, path, level = cache.scope == scope, f"caches.{cache.name}", Level(name=cache.name)
        if level in sweep.ratios and (own or (all_threads and cache.scope == "device")):
            yield f"{path}.bandwidth", sweep.listed[f"{path}.bandwidth"] * sweep.ratios[level]
        if own and (transition := _transition(cache, cache.transition("cyclic_transition"), sweep.matches)):
            yield f"{path}.{'cyclic' if cache.cyclic_transition else 'bandwidth'}_transition", transition


def _transition(
    cache: Cache, expected: Transition, matches: Iterable[tuple[CurveFeature, CurveFeature]]
) -> Transition | None:
    """Return a cache's transition range: each *expected* position times observed / predicted.

    ``None`` if it was not observed, or only far away, within the wide interval of a cache that others use, too: there
    it differs from kernel to kernel.
    """
    cliff = ((p, o) for p, o in matches if p.feature == "cliff" and p.level == Level(name=cache.name))
    moved = {p.position: o.value / p.value for p, o in cliff}
    if not {"onset", "midpoint", "end"} <= moved.keys() or not 1 / FURTHEST <= moved["midpoint"] <= FURTHEST:
        return None
    middle = expected.midpoint * moved["midpoint"]
    return Transition(
        onset=min(expected.onset * moved["onset"], 0.99 * middle),
        midpoint=middle,
        end=max(expected.end * moved["end"], 1.01 * middle),
    )


def _latencies(_: Device, sweep: _ObservedSweep) -> Iterator[_Value]:
    levels = {"memory.latency": DRAM}
    for cache in sweep.specified.caches:
        far, path = cache.far_latency_cycles, f"caches.{cache.name}"
        levels[f"{path}.latency"] = Level(name=cache.name, near=bool(far))
        levels |= {f"{path}.far_latency": Level(name=cache.name)} if far else {}
    for path, level in levels.items():
        if level in sweep.ratios:
            yield path, sweep.listed[path] * sweep.ratios[level]


def _classes(_: Device, sweep: _ObservedSweep, kind: Literal["rates", "latencies"]) -> Iterator[_Value]:
    """Calibrate a class's rate by the case of which it is the predicted bottleneck, its latency by that of latency."""
    architecture = sweep.specified.architecture
    old = architecture.rates_per_cycle if kind == "rates" else architecture.latency_cycles
    for names, ratio, bottleneck in sweep.cases(old):
        if bottleneck == ("latency" if kind == "latencies" else listed_class(names[0], old)):
            yield from ((f"{kind}.{n}", old[known] * ratio) for n in names if (known := listed_class(n, old)) in old)


def _barriers(device: Device, sweep: _ObservedSweep) -> Iterator[_Value]:
    """Calibrate the barrier rate by the largest work-groups, and the cost of a barrier by work-groups of one wave.

    The time of a barrier is a smooth maximum of both, from which its cost follows.
    """
    points = sorted(sweep.observation.points, key=lambda point: point.point.parameters["local"])
    wave_size = device.architecture.wave_size
    if len(points) < _BARRIER_SIZES or points[0].point.parameters["local"] != wave_size:
        return

    def cycles_per_barrier(point: ObservedPoint) -> float:
        barriers = point.point.work / point.point.parameters["local"] / device.compute_units
        return (point.time_s - device.launch.batched_s) * device.clock_hz / barriers

    single = cycles_per_barrier(points[0])
    per_wave = cycles_per_barrier(points[-1]) * wave_size / points[-1].point.parameters["local"]
    added = max(0.0, single**THROUGHPUT_EXPONENT - per_wave**THROUGHPUT_EXPONENT) ** (1 / THROUGHPUT_EXPONENT)
    yield "barrier_cycles", added
    yield "rates.barrier", wave_size / per_wave


_CALIBRATIONS: Mapping[Calibration, Callable[[Device, _ObservedSweep], Iterable[_Value]]] = {
    "launch_cost": partial(_launch, path="launch.batched"),
    "group_rate": partial(_launch, path="launch.groups_per_cycle"),
    "isolated_launch_cost": partial(_launch, path="launch.single"),
    "memory_efficiency": _memory_efficiency,
    "write_transition": partial(_transitions, name="write_transition"),
    "ping_pong_transition": partial(_transitions, name="ping_pong_transition"),
    "sector_write_rate": partial(_writes, rate="sector_writes_per_cycle"),
    "line_write_rate": partial(_writes, rate="line_writes_per_cycle"),
    "device_cache_bandwidth": partial(_cache_bandwidths, scope="device"),
    "unit_cache_bandwidth": partial(_cache_bandwidths, scope="compute_unit"),
    "load_latency": _latencies,
    "cache_capacity": lambda *_: (),  # calibration keeps capacities; see learned.py
    "instruction_rates": partial(_classes, kind="rates"),
    "instruction_latencies": partial(_classes, kind="latencies"),
    "barrier_cost": _barriers,
}
"""The function that yields the measured figures of each quantity, for the device as calibrated so far."""


def noise(observation: Observation) -> float:
    """Return n: the standard deviation of the logarithms of the sweep's values, from their 95 % intervals."""
    ratios = [p.ci_high / p.ci_low for p in observation.points if p.ci_low and p.ci_high and p.ci_low > 0]
    return median(map(log, ratios)) / (2 * NORMAL_95) if ratios else 0.0


def combined(specified: Device, measured: Device, noises: Mapping[str, float]) -> Device:
    """Return *measured* with each value of *noises*, by path, combined with that of *specified*.

    On a CPU, a microbenchmark and another kernel may differ in clock, vectors and neighbours on the same socket.
    Specified and measured values are therefore combined by their uncertainties, as logarithms::

        ln value = (1 - w) ln specified + w ln measured,   w = s^2 / (s^2 + t^2 + n^2)

    ``s`` is the uncertainty of the specified value (:mod:`gpureport.predict.sensitivity`), the same as for
    intervals: documented instruction rates are known better than bandwidths of a virtual machine. ``t`` is that of the
    transfer to another kernel, ``n`` the noise.
    """
    before, rates = figures(specified), specified.architecture.rates_per_cycle

    def combine(path: str, value: float) -> float:
        kind, _, name = path.partition(".")
        known = path if path in before else f"{kind}.{listed_class(name, rates)}"
        listed = before.get(known)
        if path not in noises or not listed or not value:
            return value
        deviation = specified_deviation(specified, known)
        other = hypot(declared(specified, known).transfer, noises[path])
        weight = deviation**2 / (deviation**2 + other**2)
        return exp((1 - weight) * log(listed) + weight * log(value))

    return visit_facts(measured, combine)
