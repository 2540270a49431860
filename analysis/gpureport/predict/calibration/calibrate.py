"""Replace figures of a device's entry by results of its microbenchmarks.

Only microbenchmarks calibrate, and only the predictions of other workloads. Each declares the quantities that it
measures (``Workload.calibrates``); :data:`_CALIBRATIONS` contains a function for each quantity.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import median
from typing import Literal

from gpureport.matching import FURTHEST, FeatureMatch, match_features
from gpureport.predict.calibration.weights import combined, noise
from gpureport.predict.model import THROUGHPUT_EXPONENT
from gpureport.records.levels import DRAM, Level
from gpureport.records.observation import Observation, ObservedPoint
from gpureport.records.prediction import PredictedPoint, Prediction, write_ceiling
from gpureport.records.provenance import Provenance
from gpureport.spec.models import Cache, Device, Transition
from gpureport.spec.values import Scope
from gpureport.workloads import all_workloads
from gpureport.workloads.instructions.cases import listed_class
from gpureport.workloads.model import Calibration, Workload


@dataclass(frozen=True)
class _ObservedSweep:
    """One measured sweep of a microbenchmark, with its specification prediction.

    Figures are calibrated relative to the *specified* device. If two sweeps show the same figure, the later one counts.
    """

    specified: Device
    prediction: Prediction
    observation: Observation
    workload: Workload

    @cached_property
    def points(self) -> tuple[tuple[PredictedPoint, ObservedPoint], ...]:
        """Predicted and observed point of each label."""
        predicted = {point.point.label: point for point in self.prediction.points}
        observed = self.observation.points
        return tuple((predicted[o.point.label], o) for o in observed if o.point.label in predicted)

    @cached_property
    def matches(self) -> tuple[FeatureMatch, ...]:
        """Predicted features with the corresponding observed ones."""
        return match_features(self.prediction.features, self.observation.features)

    @cached_property
    def ratios(self) -> dict[Level, float]:
        """Observed / predicted of each plateau or case that both sides have, by level."""
        return {
            m.predicted.level: m.observed.value / m.predicted.value
            for m in self.matches
            if m.predicted and m.observed and m.predicted.feature == "rate"
        }

    @property
    def is_flat(self) -> bool:
        """Whether cliffs were predicted, and none was observed."""
        curves = (self.prediction, self.observation)
        predicted, observed = (any(each.feature == "cliff" for each in curve.features) for curve in curves)
        return predicted and not observed

    @property
    def has_all_units(self) -> bool:
        """Whether each point has a work-group for every compute unit."""
        groups = (point.point.parameters.get("groups", 0) for point in self.prediction.points)
        return min(groups, default=0) >= self.specified.compute_units

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
    combined (:mod:`gpureport.predict.calibration.weights`).
    """
    specified, noises = device, dict[str, float]()
    workloads = {workload.name: workload for workload in all_workloads() if workload.calibrates}
    by_key = {str(prediction.key): prediction for prediction in predictions}
    for observation in observations:
        prediction = by_key.get(str(observation.key))
        workload = workloads.get(observation.key.workload)
        if prediction and workload and observation.axis.quantity != "work_group":
            sweep = _ObservedSweep(specified, prediction, observation, workload)
            for quantity in workload.calibrates:
                before, device = device, _CALIBRATIONS[quantity](device, sweep)
                changed = (
                    path for path, origin in device.provenance.items() if origin is not before.provenance.get(path)
                )
                noises |= dict.fromkeys(changed, noise(observation))
    return combined(specified, device, noises) if specified.is_cpu else device


def _changed(device: Device, sweep: _ObservedSweep, facts: Iterable[str], **update: object) -> Device:
    """Return the updated *device*, with *facts* (dotted paths) marked as measured by the microbenchmark."""
    source = f"{sweep.workload.title} ({sweep.workload.name})"
    measured = dict.fromkeys(facts, Provenance(kind="measured", source=source, here=True))
    return device.model_copy(update={**update, "provenance": {**device.provenance, **measured}})


def _with_launch_cost(device: Device, sweep: _ObservedSweep) -> Device:
    """Calibrate launch cost by the smallest dispatches."""
    ratios = [o.time_s / p.time_s for p, o in sweep.points if o.point.work <= _FEW_GROUPS]
    return _with_launch(device, sweep, "batched_s", median(ratios) if ratios else None)


def _with_group_rate(device: Device, sweep: _ObservedSweep) -> Device:
    """Calibrate launch rate by the largest dispatches."""
    ratio = max(sweep.ratios.values(), default=None)
    return _with_launch(device, sweep, "groups_per_cycle", ratio)


def _with_isolated_launch(device: Device, sweep: _ObservedSweep) -> Device:
    """Calibrate the cost of an isolated dispatch by that of a single work-group."""
    isolated = sweep.observation.key.sweep == "isolated"
    ratio = sweep.ratios.get(Level(name="1 group")) if isolated else None
    return _with_launch(device, sweep, "single_s", ratio)


def _with_launch(device: Device, sweep: _ObservedSweep, field: str, ratio: float | None) -> Device:
    """Multiply a *field* of the launch by *ratio*, if there is one."""
    if ratio is None:
        return device
    launch = device.launch.model_copy(update={field: getattr(sweep.specified.launch, field) * ratio})
    return _changed(device, sweep, [f"launch.{field.removesuffix('_s')}"], launch=launch)


_FEW_GROUPS = 8
"""Dispatches of up to this many work-groups take as long as one work-group."""


def _with_stream(device: Device, sweep: _ObservedSweep) -> Device:
    """Calibrate the memory efficiency by copies of at least four times the last cache, which no cache serves."""
    beyond = 4 * max((cache.capacity_bytes for cache in device.caches), default=0.0)
    ratios = [p.time_s / o.time_s for p, o in sweep.points if o.point.working_set_bytes >= beyond]
    if not ratios:
        return device
    memory = device.memory.model_copy(update={"efficiency": sweep.specified.memory.efficiency * median(ratios)})
    return _changed(device, sweep, ["memory.efficiency"], memory=memory)


_WritesTransition = Literal["write_transition", "ping_pong_transition"]


def _with_transition(device: Device, sweep: _ObservedSweep, name: _WritesTransition) -> Device:
    """Calibrate the transition range *name* of the caches that all compute units share."""
    caches, facts = list(device.caches), []
    for i, (cache, entry) in enumerate(zip(device.caches, sweep.specified.caches, strict=True)):
        expected = entry.transition_of_writes if name == "write_transition" else entry.transition_of_ping_pong
        transition = _transition(entry, expected, sweep.matches)
        if transition and cache.scope == "device":
            facts.append(f"caches.{cache.name}.{name}")
            caches[i] = cache.model_copy(update={name: transition})
    return _changed(device, sweep, facts, caches=tuple(caches))


def _with_writes(device: Device, sweep: _ObservedSweep) -> Device:
    """Calibrate the rate of sector writes by points that take much longer than a launch."""
    least_s = _MANY_LAUNCHES * device.launch.batched_s
    return _write_rate(device, sweep, "sector_writes_per_cycle", lambda point: point.time_s > least_s)


def _with_scatter(device: Device, sweep: _ObservedSweep) -> Device:
    """Calibrate the rate of line writes by points at which every work-item writes to a different line."""
    return _write_rate(
        device, sweep, "line_writes_per_cycle", lambda point: 4 * point.point.parameters["stride"] >= device.line_bytes
    )


def _write_rate(device: Device, sweep: _ObservedSweep, rate: str, counts: Callable[[PredictedPoint], bool]) -> Device:
    """Calibrate a *rate* of writes by the points that *counts* selects and whose predicted bottleneck is writes."""
    listed: float | None = getattr(sweep.specified.architecture, rate)
    writes = {write_ceiling(cache.name) for cache in device.caches}
    ratios = [p.time_s / o.time_s for p, o in sweep.points if p.bottleneck in writes and counts(p)]
    if listed is None or not ratios:
        return device
    architecture = device.architecture.model_copy(update={rate: listed * median(ratios)})
    return _changed(device, sweep, [rate], architecture=architecture)


_MANY_LAUNCHES = 20
"""Dispatches that take longer than this number of launches show more than launch cost."""


def _with_caches(device: Device, sweep: _ObservedSweep, scope: Scope) -> Device:
    """Calibrate bandwidth and transition range of each cache of *scope* whose plateau or cliff was observed.

    On a CPU, a curve without any of the predicted cliffs does not show to which cache its plateau belongs. In virtual
    machines, data that all threads read (``memory/read``) often have such a curve. There, each thread's own data also
    calibrate the bandwidth of the shared cache, if all threads take part. ``memory/read`` follows and replaces this
    value if its curve has a cliff.
    """
    if device.is_cpu and sweep.is_flat:
        return device
    caches, facts = list(device.caches), []
    for i, (cache, entry) in enumerate(zip(device.caches, sweep.specified.caches, strict=True)):
        own = cache.scope == scope
        if not own and not (device.is_cpu and cache.scope == "device" and sweep.has_all_units):
            continue
        update: dict[str, float | Transition] = {}
        if (level := Level(name=cache.name)) in sweep.ratios:
            update["bandwidth_bytes_per_cycle"] = entry.bandwidth_bytes_per_cycle * sweep.ratios[level]
        if own and (transition := _transition(entry, entry.transition_of_cyclic_sweeps, sweep.matches)):
            update["cyclic_transition" if entry.cyclic_transition else "bandwidth_transition"] = transition
        facts += [f"caches.{cache.name}.{field.removesuffix('_bytes_per_cycle')}" for field in update]
        caches[i] = cache.model_copy(update=update)
    return _changed(device, sweep, facts, caches=tuple(caches))


def _transition(cache: Cache, expected: Transition, matches: Sequence[FeatureMatch]) -> Transition | None:
    """Return a cache's transition range: each *expected* position times observed / predicted.

    ``None`` if it was not observed, or only far away, within the wide interval of a cache that others use, too: there
    it differs from kernel to kernel.
    """
    moved = {
        m.predicted.position: m.observed.value / m.predicted.value
        for m in matches
        if m.predicted and m.observed and m.predicted.feature == "cliff" and m.predicted.level == Level(name=cache.name)
    }
    if not {"onset", "midpoint", "end"} <= moved.keys() or not 1 / FURTHEST <= moved["midpoint"] <= FURTHEST:
        return None
    middle = expected.midpoint * moved["midpoint"]
    return Transition(
        onset=min(expected.onset * moved["onset"], 0.99 * middle),
        midpoint=middle,
        end=max(expected.end * moved["end"], 1.01 * middle),
    )


def _with_latencies(device: Device, sweep: _ObservedSweep) -> Device:
    """Calibrate the latency of each level whose plateau was observed; the far partition has the cache's name."""
    ratios = sweep.ratios
    caches, facts = [], []
    for cache, entry in zip(device.caches, sweep.specified.caches, strict=True):
        far = entry.far_latency_cycles
        whole = Level(name=cache.name)
        near = Level(name=cache.name, near=True) if far else whole
        levels = {"latency_cycles": near, "far_latency_cycles": whole}
        update = {
            field: getattr(entry, field) * ratios[level]
            for field, level in levels.items()
            if level in ratios and getattr(entry, field)
        }
        facts += [f"caches.{cache.name}.{field.removesuffix('_cycles')}" for field in update]
        caches.append(cache.model_copy(update=update))
    memory = device.memory
    if DRAM in ratios:
        memory = memory.model_copy(update={"latency_cycles": sweep.specified.memory.latency_cycles * ratios[DRAM]})
        facts.append("memory.latency")
    return _changed(device, sweep, facts, caches=tuple(caches), memory=memory)


def _with_rates(device: Device, sweep: _ObservedSweep) -> Device:
    """Calibrate the rate of each instruction class by the case of which it is the predicted bottleneck."""
    old = sweep.specified.architecture.rates_per_cycle
    rates: dict[str, float] = {}
    for names, ratio, bottleneck in sweep.cases(old):
        if bottleneck == listed_class(names[0], old):
            rates |= {name: old[listed_class(name, old)] * ratio for name in names}
    every = {**device.architecture.rates_per_cycle, **rates}
    architecture = device.architecture.model_copy(update={"rates_per_cycle": every})
    return _changed(device, sweep, [f"rates.{name}" for name in rates], architecture=architecture)


def _with_barriers(device: Device, sweep: _ObservedSweep) -> Device:
    """Calibrate the barrier rate by the largest work-groups, and the cost of a barrier by work-groups of one wave.

    The time of a barrier is a smooth maximum of both, from which its cost follows.
    """
    points = sorted(sweep.observation.points, key=lambda point: point.point.parameters["local"])
    wave_size = device.architecture.wave_size
    if len(points) < _BARRIER_SIZES or points[0].point.parameters["local"] != wave_size:
        return device

    def cycles_per_barrier(point: ObservedPoint) -> float:
        barriers = point.point.work / point.point.parameters["local"] / device.compute_units
        return (point.time_s - device.launch.batched_s) * device.clock_hz / barriers

    single = cycles_per_barrier(points[0])
    per_wave = cycles_per_barrier(points[-1]) * wave_size / points[-1].point.parameters["local"]
    added = max(0.0, single**THROUGHPUT_EXPONENT - per_wave**THROUGHPUT_EXPONENT) ** (1 / THROUGHPUT_EXPONENT)
    rates = {**device.architecture.rates_per_cycle, "barrier": wave_size / per_wave}
    architecture = device.architecture.model_copy(update={"rates_per_cycle": rates, "barrier_cycles": added})
    return _changed(device, sweep, ["barrier_cycles", "rates.barrier"], architecture=architecture)


_BARRIER_SIZES = 3
"""Least number of work-group sizes that separate the barrier rate from the cost per barrier."""


def _with_chains(device: Device, sweep: _ObservedSweep) -> Device:
    """Calibrate the latency of each instruction class by the case whose predicted bottleneck is latency."""
    old = sweep.specified.architecture.latency_cycles
    latencies = {
        name: old[listed_class(name, old)] * ratio
        for names, ratio, bottleneck in sweep.cases(old)
        for name in names
        if listed_class(name, old) in old and bottleneck == "latency"
    }
    every = {**device.architecture.latency_cycles, **latencies}
    architecture = device.architecture.model_copy(update={"latency_cycles": every})
    return _changed(device, sweep, [f"latencies.{name}" for name in latencies], architecture=architecture)


_CALIBRATIONS: Mapping[Calibration, Callable[[Device, _ObservedSweep], Device]] = {
    "launch_cost": _with_launch_cost,
    "group_rate": _with_group_rate,
    "isolated_launch_cost": _with_isolated_launch,
    "memory_efficiency": _with_stream,
    "write_transition": partial(_with_transition, name="write_transition"),
    "ping_pong_transition": partial(_with_transition, name="ping_pong_transition"),
    "sector_write_rate": _with_writes,
    "line_write_rate": _with_scatter,
    "device_cache_bandwidth": partial(_with_caches, scope="device"),
    "unit_cache_bandwidth": partial(_with_caches, scope="compute_unit"),
    "load_latency": _with_latencies,
    "cache_capacity": lambda device, _: device,  # calibration keeps capacities; see learned.py
    "instruction_rates": _with_rates,
    "instruction_latencies": _with_chains,
    "barrier_cost": _with_barriers,
}
"""The function that calibrates each quantity."""
