"""Replace figures of a device's entry by results of its microbenchmarks.

Only microbenchmarks calibrate, and only the predictions of other workloads. Each declares the quantities that it
measures (``Workload.calibrates``); :data:`_CALIBRATIONS` contains a function for each quantity.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import exp, hypot, log
from statistics import median
from typing import Literal

from gpureport.matching import FURTHEST, FeatureMatch, match_features
from gpureport.observe.statistics import NORMAL_95
from gpureport.predict.cpu import EMERALD_RAPIDS
from gpureport.predict.execution import THROUGHPUT_EXPONENT
from gpureport.predict.uncertainty.sensitivity import specified_deviation, visit_facts
from gpureport.records.curves import DRAM, Level, Observation, ObservedPoint
from gpureport.records.prediction import PredictedPoint, Prediction, write_ceiling
from gpureport.spec.models import Cache, Device, Transition
from gpureport.spec.values import Provenance, Scope, constant
from gpureport.workloads import all_workloads
from gpureport.workloads.instructions.cases import listed_class
from gpureport.workloads.model import Calibration, Workload

SIGMA_TRANSFER = constant(0.2)
"""t: standard deviation of the logarithm of a measured value / that which another kernel finds, on a quiet machine
(assumed)."""
SIGMA_RATE_TRANSFER = constant(
    0.5,
    "16 cores: an earlier quick run had smaller errors with 0.5 than with 0.35",
    measured_on=EMERALD_RAPIDS,
    held_out="reports/pocl-xeon-16-cores*: both are equal within 0.3 percentage points",
)
"""t of rates. A microbenchmark that keeps all pipes busy shares them with the other hardware thread of the core, which
halves its rate; a kernel that also waits loses less."""
SIGMA_LAUNCH_TRANSFER = constant(
    1.0,
    "full run on 16 cores: a median error of 16.4 % with 1, 16.8 % with 0.5 (reports/pocl-xeon-16-cores)",
    measured_on=EMERALD_RAPIDS,
    held_out="the quick run: 12.5 and 11.9 %",
)
"""t of launch costs. Empty dispatches keep all threads awake; kernels with work let them sleep."""
_SIGMA_BY_KIND = {"rates": SIGMA_RATE_TRANSFER, "launch": SIGMA_LAUNCH_TRANSFER}
_FEW_GROUPS = 8
"""Dispatches of up to this many work-groups take as long as one work-group."""
_MANY_LAUNCHES = 20
"""Dispatches that take longer than this number of launches show more than launch cost."""
_BARRIER_SIZES = 3
"""Least number of work-group sizes that separate the barrier rate from the cost per barrier."""

_LaunchField = Literal["batched_s", "single_s", "groups_per_cycle"]
_WritesTransition = Literal["write_transition", "ping_pong_transition"]
_ClassField = Literal["rates_per_cycle", "latency_cycles"]
_WriteRate = Literal["sector_writes_per_cycle", "line_writes_per_cycle"]


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
        return tuple((p, o) for o, p in self.observation.points.pairs(self.prediction.points))

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
    combined (:func:`combined`).
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


def _with_launch(device: Device, sweep: _ObservedSweep, field: _LaunchField) -> Device:
    """Calibrate launch cost by the smallest dispatches, that of an isolated one by a single work-group.

    The launch rate is calibrated by the largest dispatches.
    """
    few = [o.time_s / p.time_s for p, o in sweep.points if o.point.work <= _FEW_GROUPS]
    isolated = sweep.observation.key.sweep == "isolated"
    ratio = {
        "batched_s": median(few) if few else None,
        "single_s": sweep.ratios.get(Level(name="1 group")) if isolated else None,
        "groups_per_cycle": max(sweep.ratios.values(), default=None),
    }[field]
    if ratio is None:
        return device
    launch = device.launch.model_copy(update={field: getattr(sweep.specified.launch, field) * ratio})
    return _changed(device, sweep, [f"launch.{field.removesuffix('_s')}"], launch=launch)


def _with_stream(device: Device, sweep: _ObservedSweep) -> Device:
    """Calibrate the memory efficiency by copies of at least four times the last cache, which no cache serves."""
    beyond = 4 * max((cache.capacity_bytes for cache in device.caches), default=0.0)
    ratios = [p.time_s / o.time_s for p, o in sweep.points if o.point.working_set_bytes >= beyond]
    if not ratios:
        return device
    memory = device.memory.model_copy(update={"efficiency": sweep.specified.memory.efficiency * median(ratios)})
    return _changed(device, sweep, ["memory.efficiency"], memory=memory)


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


def _with_writes(device: Device, sweep: _ObservedSweep, rate: _WriteRate) -> Device:
    """Calibrate a *rate* of writes by points whose predicted bottleneck is writes.

    Sectors: points that take much longer than a launch. Lines: points at which every work-item writes to another line.
    """
    listed: float | None = getattr(sweep.specified.architecture, rate)
    least_s = _MANY_LAUNCHES * device.launch.batched_s
    writes = {write_ceiling(cache.name) for cache in device.caches}
    limited = [(p, o) for p, o in sweep.points if p.bottleneck in writes]
    if rate == "sector_writes_per_cycle":
        ratios = [p.time_s / o.time_s for p, o in limited if p.time_s > least_s]
    else:
        ratios = [p.time_s / o.time_s for p, o in limited if 4 * p.point.parameters["stride"] >= device.line_bytes]
    if listed is None or not ratios:
        return device
    architecture = device.architecture.model_copy(update={rate: listed * median(ratios)})
    return _changed(device, sweep, [rate], architecture=architecture)


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


def _with_classes(device: Device, sweep: _ObservedSweep, field: _ClassField) -> Device:
    """Calibrate each instruction class: its rate by the case of which it is the predicted bottleneck.

    Its latency is calibrated by the case whose predicted bottleneck is latency.
    """
    old: Mapping[str, float] = getattr(sweep.specified.architecture, field)
    changed: dict[str, float] = {}
    for names, ratio, bottleneck in sweep.cases(old):
        if bottleneck == ("latency" if field == "latency_cycles" else listed_class(names[0], old)):
            changed |= {name: old[known] * ratio for name in names if (known := listed_class(name, old)) in old}
    every = {**getattr(device.architecture, field), **changed}
    paths = [f"{'latencies' if field == 'latency_cycles' else 'rates'}.{name}" for name in changed]
    return _changed(device, sweep, paths, architecture=device.architecture.model_copy(update={field: every}))


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


_CALIBRATIONS: Mapping[Calibration, Callable[[Device, _ObservedSweep], Device]] = {
    "launch_cost": partial(_with_launch, field="batched_s"),
    "group_rate": partial(_with_launch, field="groups_per_cycle"),
    "isolated_launch_cost": partial(_with_launch, field="single_s"),
    "memory_efficiency": _with_stream,
    "write_transition": partial(_with_transition, name="write_transition"),
    "ping_pong_transition": partial(_with_transition, name="ping_pong_transition"),
    "sector_write_rate": partial(_with_writes, rate="sector_writes_per_cycle"),
    "line_write_rate": partial(_with_writes, rate="line_writes_per_cycle"),
    "device_cache_bandwidth": partial(_with_caches, scope="device"),
    "unit_cache_bandwidth": partial(_with_caches, scope="compute_unit"),
    "load_latency": _with_latencies,
    "cache_capacity": lambda device, _: device,  # calibration keeps capacities; see learned.py
    "instruction_rates": partial(_with_classes, field="rates_per_cycle"),
    "instruction_latencies": partial(_with_classes, field="latency_cycles"),
    "barrier_cost": _with_barriers,
}
"""The function that calibrates each quantity."""


def noise(observation: Observation) -> float:
    """Return n: the standard deviation of the logarithms of the sweep's values, from their 95 % intervals."""
    ratios = [p.ci_high / p.ci_low for p in observation.points if p.ci_low and p.ci_high and p.ci_low > 0]
    return median(map(log, ratios)) / (2 * NORMAL_95) if ratios else 0.0


def combined(specified: Device, measured: Device, noises: Mapping[str, float]) -> Device:
    """Return *measured* with each value of *noises*, by path, combined with that of *specified*.

    On a CPU, a microbenchmark and another kernel may differ in clock, vectors and neighbours on the same socket.
    Specified and measured values are therefore combined by their uncertainties, as logarithms::

        ln value = (1 - w) ln specified + w ln measured,   w = s^2 / (s^2 + t^2 + n^2)

    ``s`` is the uncertainty of the specified value (:mod:`gpureport.predict.uncertainty.sensitivity`), the same as for
    intervals: documented instruction rates are known better than bandwidths of a virtual machine. ``t`` is that of the
    transfer to another kernel, ``n`` the noise.
    """
    before: dict[str, float] = {}
    visit_facts(specified, before.setdefault)
    rates = specified.architecture.rates_per_cycle

    def combine(path: str, value: float) -> float:
        if path not in noises:
            return value
        kind, _, name = path.partition(".")
        if path not in before and kind in ("rates", "latencies"):
            path_before = f"{kind}.{listed_class(name, rates)}"
        else:
            path_before = path
        listed = before.get(path_before)
        if not listed or not value:
            return value
        deviation = specified_deviation(specified, path_before)
        weight = deviation**2 / (deviation**2 + hypot(_SIGMA_BY_KIND.get(kind, SIGMA_TRANSFER), noises[path]) ** 2)
        return exp((1 - weight) * log(listed) + weight * log(value))

    return visit_facts(measured, combine)
