"""A device with what its primitives measured in place of what its entry says.

Only microbenchmarks calibrate, and only the predictions of other workloads. Each declares the quantities that it
measures (``Workload.calibrates``); :data:`_TAKES` has a function for each quantity.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import median
from typing import Literal

from gpureport.matching import Match, match_features
from gpureport.predict.model import THROUGHPUT_EXPONENT
from gpureport.records.levels import DRAM, Level
from gpureport.records.observation import Observation, ObservedPoint
from gpureport.records.prediction import PredictedPoint, Prediction
from gpureport.records.provenance import Provenance
from gpureport.spec.models import Cache, Device, Transition
from gpureport.workloads import all_workloads
from gpureport.workloads.instructions.cases import listed_class
from gpureport.workloads.model import Calibration, Workload


@dataclass(frozen=True)
class _Shown:
    """What one sweep of a primitive shows.

    Attributes:
        specified: the device as its entry has it. Figures are relative to it, so that of two sweeps that show the
            same one the later counts.
        prediction: of the sweep, from the specification.
        observation: of the sweep.
        workload: the microbenchmark.
    """

    specified: Device
    prediction: Prediction
    observation: Observation
    workload: Workload

    @property
    def source(self) -> str:
        """Title and name of the microbenchmark."""
        return f"{self.workload.title} ({self.workload.name})"

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """Predicted features and the observed ones that answer them."""
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
    def ratios_of_cases(self) -> tuple[tuple[str, float], ...]:
        """The same with the labels of points, of a sweep over separate cases."""
        return tuple((level.name, ratio) for level, ratio in self.ratios.items())

    def instruction_class(self, label: str) -> str:
        """Return the instruction class that the case called *label* measures."""
        return self.workload.instruction_classes.get(label, label)

    def bottleneck(self, label: str) -> str | None:
        """Return the ceiling that was to bind the case called *label*."""
        return next((point.bottleneck for point in self.prediction.points if point.point.label == label), None)


def calibrated(device: Device, predictions: Iterable[Prediction], observations: Iterable[Observation]) -> Device:
    """Return *device* with measured primitives.

    A figure of the entry is multiplied by observed / predicted of the primitive that shows it, so that what the model
    already accounts for (launch cost, soft corners) is not counted twice.

    Args:
        device: as specified.
        predictions: specification predictions of the primitives (they name the levels).
        observations: of the primitives; others are ignored, and so are searches for work-groups, of which some are
            slow.
    """
    specified = device
    workloads = {workload.name: workload for workload in all_workloads() if workload.calibrates}
    by_key = {str(prediction.key): prediction for prediction in predictions}
    for observation in observations:
        prediction = by_key.get(str(observation.key))
        workload = workloads.get(observation.key.workload)
        if prediction and workload and observation.axis.quantity != "work_group":
            shown = _Shown(specified, prediction, observation, workload)
            for quantity in workload.calibrates:
                device = _TAKES[quantity](device, shown)
    return device


def _measured(device: Device, facts: Iterable[str], shown: _Shown) -> dict[str, Provenance]:
    """Return the provenance of *device* with *facts* (dotted paths) marked as measured by the microbenchmark."""
    return {**device.provenance, **dict.fromkeys(facts, Provenance(kind="measured", source=shown.source, here=True))}


def _with_launch_cost(device: Device, shown: _Shown) -> Device:
    """Take the time of the smallest dispatches."""
    expected = {point.point.label: point.time_s for point in shown.prediction.points}
    times = [o.time_s / expected[o.point.label] for o in shown.observation.points if o.point.work <= _FEW_GROUPS]
    return _with_launch(device, shown, "batched_s", device.launch.batched_s, median(times) if times else None)


def _with_group_rate(device: Device, shown: _Shown) -> Device:
    """Take the rate of the largest dispatches."""
    ratio = max(shown.ratios.values(), default=None)
    return _with_launch(device, shown, "groups_per_cycle", device.launch.groups_per_cycle, ratio)


def _with_isolated_launch(device: Device, shown: _Shown) -> Device:
    """Take the time of a single group's dispatch that is waited for."""
    isolated = shown.observation.key.sweep == "isolated"
    ratio = shown.ratios.get(Level(name="1 group")) if isolated else None
    return _with_launch(device, shown, "single_s", shown.specified.launch.single_s, ratio)


def _with_launch(device: Device, shown: _Shown, field: str, value: float, ratio: float | None) -> Device:
    """Set a *field* of the launch to *value* times *ratio*, if there is one."""
    if ratio is None:
        return device
    launch = device.launch.model_copy(update={field: value * ratio})
    measured = _measured(device, [f"launch.{field.removesuffix('_s')}"], shown)
    return device.model_copy(update={"launch": launch, "provenance": measured})


_FEW_GROUPS = 8
"""Dispatches of so few work-groups take as long as one of a single group."""


def _with_stream(device: Device, shown: _Shown) -> Device:
    """Take the share of the listed bandwidth that the copy reaches where no cache helps: beyond four times the last."""
    beyond = 4 * max((cache.capacity_bytes for cache in device.caches), default=0.0)
    expected = {point.point.label: point.time_s for point in shown.prediction.points}
    ratios = [
        expected[o.point.label] / o.time_s
        for o in shown.observation.points
        if o.point.label in expected and o.point.working_set_bytes >= beyond
    ]
    if not ratios:
        return device
    memory = device.memory.model_copy(update={"efficiency": device.memory.efficiency * median(ratios)})
    how = _measured(device, ["memory.efficiency"], shown)
    return device.model_copy(update={"memory": memory, "provenance": how})


_WritesTransition = Literal["write_transition", "ping_pong_transition"]


def _with_transition(device: Device, shown: _Shown, name: _WritesTransition) -> Device:
    """Take where a curve that also writes leaves the last caches, as the extent called *name*."""
    caches, facts = [], []
    for cache, entry in zip(device.caches, shown.specified.caches, strict=True):
        expected = entry.transition_of_writes if name == "write_transition" else entry.transition_of_ping_pong
        transition = _transition(entry, expected, shown.matches) if cache.scope == "device" else None
        if transition:
            facts.append(f"caches.{cache.name}.{name}")
            cache = cache.model_copy(update={name: transition})
        caches.append(cache)
    return device.model_copy(update={"caches": tuple(caches), "provenance": _measured(device, facts, shown)})


def _with_writes(device: Device, shown: _Shown) -> Device:
    """Take the rate at which sectors are written, where that was to bind the largest sets."""
    return _write_rate(
        device,
        shown,
        "sector_writes_per_cycle",
        lambda predicted: predicted.time_s > _MANY_LAUNCHES * device.launch.batched_s,
    )


def _with_scatter(device: Device, shown: _Shown) -> Device:
    """Take the rate at which parts of lines are written, where every work-item writes to a line of its own."""
    line = max((cache.line_bytes for cache in device.caches), default=0)
    return _write_rate(
        device,
        shown,
        "line_writes_per_cycle",
        lambda predicted: 4 * predicted.point.parameters["stride"] >= line,
    )


def _write_rate(device: Device, shown: _Shown, rate: str, counts: Callable[[PredictedPoint], bool]) -> Device:
    """Take a *rate* of writes from the points that count and that it was to bind."""
    listed: float | None = getattr(shown.specified.architecture, rate)
    expected = {p.point.label: p for p in shown.prediction.points if p.bottleneck.endswith(" writes") and counts(p)}
    ratios = [expected[o.point.label].time_s / o.time_s for o in shown.observation.points if o.point.label in expected]
    if listed is None or not ratios:
        return device
    architecture = device.architecture.model_copy(update={rate: listed * median(ratios)})
    return device.model_copy(update={"architecture": architecture, "provenance": _measured(device, [rate], shown)})


_MANY_LAUNCHES = 20
"""Dispatches of so many launches' time show what else they take."""


def _with_caches(device: Device, shown: _Shown, scope: Literal["compute_unit", "device"]) -> Device:
    """Take bandwidth and extent of each cache of *scope* whose plateau or cliff was found."""
    caches, facts = [], []
    for cache, entry in zip(device.caches, shown.specified.caches, strict=True):
        update: dict[str, float | Transition] = {}
        if cache.scope == scope and (level := Level(name=cache.name)) in shown.ratios:
            update["bandwidth_bytes_per_cycle"] = entry.bandwidth_bytes_per_cycle * shown.ratios[level]
            facts.append(f"caches.{cache.name}.bandwidth")
        transition = (
            _transition(entry, entry.transition_of_cyclic_sweeps, shown.matches) if cache.scope == scope else None
        )
        if transition:
            name = "cyclic_transition" if entry.cyclic_transition else "bandwidth_transition"
            update[name] = transition
            facts.append(f"caches.{cache.name}.{name}")
        caches.append(cache.model_copy(update=update))
    how = _measured(device, facts, shown)
    return device.model_copy(update={"caches": tuple(caches), "provenance": how})


def _transition(cache: Cache, expected: Transition, matches: Sequence[Match]) -> Transition | None:
    """Return where a curve leaves a cache: each position *expected*, moved by observed / predicted."""
    moved = {
        m.predicted.position: m.observed.value / m.predicted.value
        for m in matches
        if m.predicted and m.observed and m.predicted.feature == "cliff" and m.predicted.level == Level(name=cache.name)
    }
    if not {"onset", "midpoint", "end"} <= moved.keys():
        return None
    middle = expected.midpoint * moved["midpoint"]
    return Transition(
        onset=min(expected.onset * moved["onset"], 0.99 * middle),
        midpoint=middle,
        end=max(expected.end * moved["end"], 1.01 * middle),
    )


def _with_latencies(device: Device, shown: _Shown) -> Device:
    """Take the latency of each level whose plateau was found; a far partition's goes by the cache's own name."""
    ratios = shown.ratios
    caches, facts = [], []
    for cache in device.caches:
        far = cache.far_latency_cycles
        whole = Level(name=cache.name)
        near = Level(name=cache.name, near=True) if far else whole
        levels = {"latency_cycles": near, "far_latency_cycles": whole}
        update = {
            field: getattr(cache, field) * ratios[level]
            for field, level in levels.items()
            if level in ratios and getattr(cache, field)
        }
        facts += [f"caches.{cache.name}.{field.removesuffix('_cycles')}" for field in update]
        caches.append(cache.model_copy(update=update))
    memory = device.memory
    if DRAM in ratios:
        memory = memory.model_copy(update={"latency_cycles": memory.latency_cycles * ratios[DRAM]})
        facts.append("memory.latency")
    how = _measured(device, facts, shown)
    return device.model_copy(update={"caches": tuple(caches), "memory": memory, "provenance": how})


def _shown_by(name: str, listed: Collection[str]) -> tuple[str, ...]:
    """Return the classes that a case shows: its own; and ``int32``, if it is what stands for integers in general.

    That is the addition, or, where additions have a class of their own since they run on two pipes, the bitwise
    operation.
    """
    return (name, "int32") if name == ("ternary" if "add" in listed else "add") else (name,)


def _with_rates(device: Device, shown: _Shown) -> Device:
    """Take the rate of each instruction class that its case shows: where the class itself was to bind."""
    old = shown.specified.architecture.rates_per_cycle
    rates: dict[str, float] = {}
    for label, ratio in shown.ratios_of_cases:
        names = _shown_by(shown.instruction_class(label), old)
        if shown.bottleneck(label) == listed_class(names[0], old):
            rates |= {name: old[listed_class(name, old)] * ratio for name in names}
    architecture = device.architecture.model_copy(
        update={"rates_per_cycle": {**device.architecture.rates_per_cycle, **rates}}
    )
    how = _measured(device, [f"rates.{name}" for name in rates], shown)
    return device.model_copy(update={"architecture": architecture, "provenance": how})


def _with_barriers(device: Device, shown: _Shown) -> Device:
    """Take the rate at which waves arrive from the largest groups, and what a barrier adds from those of one wave.

    Waves arrive while local memory is kept, so that the two join in a corner, which is undone here.
    """
    points = sorted(shown.observation.points, key=lambda point: point.point.parameters["local"])
    width = device.architecture.wave_size
    if len(points) < _BARRIER_SIZES or points[0].point.parameters["local"] != width:
        return device

    def between(point: ObservedPoint) -> float:
        """Cycles from one barrier on a compute unit to the next."""
        barriers = point.point.work / point.point.parameters["local"] / device.compute_units
        return (point.time_s - device.launch.batched_s) * device.clock_hz / barriers

    isolated, end = between(points[0]), between(points[-1]) * width / points[-1].point.parameters["local"]
    kept = max(0.0, isolated**THROUGHPUT_EXPONENT - end**THROUGHPUT_EXPONENT) ** (1 / THROUGHPUT_EXPONENT)
    rates = {**device.architecture.rates_per_cycle, "barrier": width / end}
    update = {"rates_per_cycle": rates, "barrier_cycles": kept}
    architecture = device.architecture.model_copy(update=update)
    how = _measured(device, ["barrier_cycles", "rates.barrier"], shown)
    return device.model_copy(update={"architecture": architecture, "provenance": how})


_BARRIER_SIZES = 3
"""Sizes of work-groups that tell a wave's arrival from what a barrier adds."""


def _with_chains(device: Device, shown: _Shown) -> Device:
    """Take the latency of each instruction class that its case shows: where the chain was to bind."""
    old = shown.specified.architecture.latency_cycles
    latencies = {
        name: old[listed_class(name, old)] * ratio
        for label, ratio in shown.ratios_of_cases
        for name in _shown_by(shown.instruction_class(label), old)
        if listed_class(name, old) in old and shown.bottleneck(label) == "latency"
    }
    architecture = device.architecture.model_copy(
        update={"latency_cycles": {**device.architecture.latency_cycles, **latencies}}
    )
    how = _measured(device, [f"latencies.{name}" for name in latencies], shown)
    return device.model_copy(update={"architecture": architecture, "provenance": how})


_TAKES: Mapping[Calibration, Callable[[Device, _Shown], Device]] = {
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
"""The function that takes each quantity from a microbenchmark."""
