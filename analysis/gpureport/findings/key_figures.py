"""Key figures of a device: bandwidths, latencies, rates and launch cost, predicted and measured. Pure functions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, NamedTuple

from gpureport.findings.whole_device import usable_latency
from gpureport.observe.features import TRANSFER
from gpureport.observe.statistics import Estimate
from gpureport.predict.ceilings import WORD_BYTES
from gpureport.predict.energy import predicted_energy_j
from gpureport.records.ceilings import INSTRUCTION_CLASSES
from gpureport.records.curves import DRAM, FeaturePosition, Level, Position, SweepKey
from gpureport.records.measurement import IDLE
from gpureport.records.report import Report
from gpureport.spec.drivers import maker
from gpureport.spec.models import Device, resident_work_items
from gpureport.units import DIGITS
from gpureport.workloads.instructions import listed_class
from gpureport.workloads.matrix import FORMATS, unit_of

STRONG = 1.25
"""A predicted interval wider than this factor on each side tests a device only weakly."""

WORKLOADS = (
    "memory/read",
    "memory/write",
    "memory/copy",
    "memory/read_private",
    "memory/latency",
    "local_memory/bandwidth",
    "instructions/rate",
    "instructions/formats",
    "matrix/rate",
    "launch/queued",
    "transfer/pinned",
)

Side = Literal["slower", "faster", "other"]
"""What a value outside its interval says about the device; energy says nothing about its speed."""
MEMORY, FP32, THREE, LOCAL, HIGHEST = "Memory", "fp32 FMA", "Three-register fp32 FMA", "Local memory", "highest"
_ENERGIES = ("memory read", "a byte from memory", "J/B"), ("fp32 FMA", "an fp32 operation", "J/FLOP")
"""Loads whose energy is a key figure, each with the subject and the unit of this figure."""
NO_SPEED = ("W", *(unit for *_, unit in _ENERGIES))
"""Units of key figures that are not speeds."""
_PRIVATE = "memory/read_private"
"""Each compute unit reads data of its own."""


class Quantity(StrEnum):
    """The quantities of key figures, with their names; ``{}`` is what the quantity is of, such as a cache."""

    READ = "{} read"
    WRITE = "{} write"
    COPY = "{} copy"
    LATENCY = "Latency of {}"
    RATE = "{} rate"
    MATRIX = "Matrix {}"
    TRANSFER = "{}, pinned"
    ORDINARY = "{}, ordinary memory"
    LAUNCH = "Empty kernel, {}"
    POWER = "Power, {}"
    ENERGY = "Energy of {}"
    CAPACITY = "Resident capacity"


class Place(NamedTuple):
    """Where a key figure is found: a workload, one of its sweeps (empty: any one), position and level of a feature."""

    workload: str
    sweep: str
    position: Position
    level: Level


@dataclass(frozen=True)
class KeyFigure:
    """One property of a device."""

    quantity: Quantity
    """What it is."""
    of: str
    """What the quantity is of: a cache, an instruction, a direction."""
    unit: str
    """Unit of all values: ``B/s``, ``s``, ``FLOP/s``, ``op/s``, ``work-items``."""
    specification: float | None
    """Value of the device's entry: a limit, or a latency; ``None``: an entry has no such value."""
    limit: bool = False
    """Whether the specification is the highest possible value, so that an efficiency has a meaning."""
    place: Place | None = None
    """Where it is found; ``None``: it is measured otherwise, or follows exactly from the entry."""
    predicted: Estimate | None = None
    """Value predicted from the specification."""
    measured: Estimate | None = None
    """Measured value; ``None`` if it was not measured."""
    nearer: "KeyFigure | None" = None
    """The figure of a nearer level, if the measured curve shows no transition between both."""
    factor: float = 1.0
    """Factor of the feature's value, such as 2 operations for a multiply-add."""
    at_most: bool = False
    """Whether the specification is the listed limit of power, which measured power may exceed."""
    inputs: tuple[str, ...] = ()
    """Paths of the values of the entry that it depends on most."""
    seen: bool = False
    """Whether one of these was measured on such a device, so that the prediction is no independent test."""
    instruction: str = ""
    """How kernels reach a rate that OpenCL C lacks: by an instruction of the matrix unit, or inline assembly."""
    beyond: str = ""
    """Instruction of the specification, if that is another one, which OpenCL does not reach."""

    @property
    def name(self) -> str:
        """As users say it: ``Memory read``, ``Latency of L2 and memory``, ``Matrix bf16 (mma.sync)``."""
        name = self.quantity.format(" and ".join(each.of for each in self.levels))
        return f"{name} ({self.instruction})" if self.instruction else name

    @property
    def shown(self) -> Estimate | None:
        """The measured value, or else the predicted one."""
        return self.measured or self.predicted

    @property
    def levels(self) -> tuple["KeyFigure", ...]:
        """The figures of all levels that the measured curve does not separate, the nearest first."""
        return (self.nearer, self) if self.nearer else (self,)

    @property
    def efficiency(self) -> float | None:
        """The measured, or else the predicted, value / the limit; ``None`` without one of them."""
        return self.shown.value / self.specification if self.limit and self.specification and self.shown else None

    @property
    def unpredicted(self) -> Side | None:
        """On which side the measured interval lies completely outside the predicted one; ``None``: they overlap."""
        if self.predicted is None or self.measured is None:
            return None
        nearest = self.nearer.predicted if self.nearer else None
        least, most = self.predicted.ends
        ends = (*self.measured.ends, nearest.ends[0] if nearest else least, most)
        low, high, least, most = (float(f"{end:.{DIGITS}g}") for end in ends)  # as documents show them
        if low <= most and high >= least:
            return None
        if self.quantity is Quantity.ENERGY:
            return "other"
        return "slower" if (low > most) == (self.quantity in (Quantity.LATENCY, Quantity.LAUNCH)) else "faster"

    @property
    def is_strong_test(self) -> bool:
        """Whether the prediction is independent of such devices, and narrow enough to show a defect."""
        return not self.seen and self.is_narrow

    @property
    def is_narrow(self) -> bool:
        """Whether the predicted interval is narrow enough to show a defect."""
        return self.predicted is not None and self.predicted.width < STRONG**2


_Values = Mapping[Place | None, tuple[Estimate | None, Estimate | None]]


def key_figures(report: Report, counted: int | None = None) -> tuple[KeyFigure, ...]:
    """Return predicted, measured and exact key figures; *counted*: the most work-items resident at once, if counted."""
    device, values, found = report.device, _values(report), []
    own = {device.id, f"architectures/{device.architecture.id}"}
    last = device.caches[-1].name if device.caches else None
    for figure in _wanted(report, values):
        predicted, measured = values.get(figure.place, (None, None))
        if measured is None and figure.place and figure.place.level == DRAM:
            measured = beyond_caches(report, figure.place.workload)
        elif measured and figure.quantity is Quantity.LATENCY and figure.of == last:
            measured = usable_latency(device, report.observations, measured.value) or measured
        if predicted or measured:
            predicted, measured = (_scaled(each, figure.factor) for each in (predicted, measured))
            sources = (source for path in figure.inputs if (source := device.provenance.get(path)))
            found.append(
                replace(
                    figure,
                    predicted=predicted,
                    measured=measured,
                    specification=None if report.of_software else figure.specification,
                    limit=figure.limit and not device.is_typical,
                    seen=any(source.here or own & {*source.measured_on} for source in sources),
                )
            )
    capacity, resident = resident_work_items(device), Estimate(counted) if counted else None
    most = KeyFigure(Quantity.CAPACITY, "", "work-items", capacity, limit=counted is not None, measured=resident)
    return (*_joined(found), *_energy(report), *([most] if capacity else ()))


def beyond_caches(report: Report, workload: str) -> Estimate | None:
    """Return the value at the largest working set, if it is far beyond the caches: a curve may still fall there."""
    last = max((cache.capacity_bytes for cache in report.device.caches), default=0.0)
    curves = (each for each in report.observations if each.key.workload == workload)
    points = [p for curve in curves if curve.axis.quantity == "working_set" for p in curve.points]
    largest = max(points, key=lambda point: point.point.working_set_bytes, default=None)
    if largest is None or largest.point.working_set_bytes < _BEYOND * last:
        return None
    return Estimate(largest.value, largest.ci_low, largest.ci_high)


def _values(report: Report) -> _Values:
    """Return the values that were found or, without a finding, predicted; observed ones come first.

    A program in the place of a device has no findings, because nothing is predicted: its values are observed ones.
    """
    values: dict[Place | None, tuple[Estimate | None, Estimate | None]] = {}

    def add(key: SweepKey, at: FeaturePosition, predicted: Estimate | None, measured: Estimate | None) -> None:
        for sweep in (key.sweep, ""):
            values.setdefault(Place(key.workload, sweep, at.position, at.level), (predicted, measured))

    for f in sorted((f for f in report.findings if f.specified), key=lambda f: f.observed is None):
        predicted = Estimate(f.predicted, f.predicted_low, f.predicted_high) if f.predicted is not None else None
        add(f.key, f, predicted, Estimate(f.observed, f.ci_low, f.ci_high) if f.observed is not None else None)
    for observation in report.observations if report.of_software else ():
        for each in observation.features:
            add(observation.key, each, None, Estimate(each.value, each.ci_low, each.ci_high))
    for prediction in report.specified:
        for each in prediction.features:
            add(prediction.key, each, Estimate(each.value, each.ci_low, each.ci_high), None)
    return values


def _scaled(estimate: Estimate | None, factor: float) -> Estimate | None:
    if estimate is None:
        return None
    value, low, high = estimate.value, estimate.low, estimate.high
    return Estimate(value * factor, low and low * factor, high and high * factor)


def _joined(figures: Sequence[KeyFigure]) -> Iterator[KeyFigure]:
    """Yield *figures*; a latency that no plateau shows is part of that of the next level, whose plateau includes it."""
    nearer: KeyFigure | None = None
    for figure, following in zip(figures, (*figures, None)[1:], strict=True):
        latencies = following and figure.quantity is following.quantity is Quantity.LATENCY
        if latencies and not figure.measured and following and following.measured:
            nearer = figure
        elif nearer:
            yield replace(figure, nearer=nearer)
            nearer = None
        else:
            yield figure


def _wanted(report: Report, values: _Values) -> Iterator[KeyFigure]:
    device, units = report.device, report.device.compute_units
    found = (p for p in report.predictions if p.key.workload == _PRIVATE and p.points)
    every = (p.key.sweep for p in found if p.points[0].point.parameters.get("groups", units) == units)
    all_units = next(every, "every_unit")  # the sweep in which all compute units read
    yield from _memory(device)
    for cache in reversed(device.caches):
        level = Level(name=cache.name)
        place = Place(_PRIVATE, all_units, "plateau", level)
        if cache.scope != "compute_unit" and not values.get(place, (None, None))[1]:
            place = Place("memory/read", "", "plateau", level)
        bandwidth = device.level_bandwidth_bytes_per_s(cache)
        inputs = (f"caches.{cache.name}.bandwidth",)
        limit = _is_documented(device, *inputs)
        yield KeyFigure(Quantity.READ, cache.name, "B/s", bandwidth, limit, place, inputs=inputs)
    yield from _latencies(device)
    yield from _rates(device)
    yield from _transfers(device)
    for how, sweep, launch_s, key in (
        ("start to end", "isolated", device.launch.single_s, "single"),
        ("start to next start", "batched", device.launch.batched_s, "batched"),
    ):
        place = Place("launch/queued", sweep, "case", Level(name="1 group"))
        yield KeyFigure(Quantity.LAUNCH, how, "s", launch_s, place=place, inputs=(f"launch.{key}",))


def _is_documented(device: Device, path: str) -> bool:
    """Return whether the value at *path* comes from documents: a measured or assumed one is no limit."""
    origin = device.provenance.get(path)
    return origin is None or (origin.kind != "assumed" and not origin.measured_on)


def _memory(device: Device) -> Iterator[KeyFigure]:
    """Yield bandwidths of memory; where a write first reads its line, only a part of the traffic is counted."""
    fills, listed, writes = device.architecture.write_allocate, ("memory.bandwidth",), ("sector_writes_per_cycle",)
    for quantity, variant, counted, inputs in (
        (Quantity.READ, "read", 1.0, (*listed, "memory.efficiency")),
        (Quantity.WRITE, "write", 1 / 2 if fills else 1.0, (*listed, *writes)),
        (Quantity.COPY, "copy", 2 / 3 if fills else 1.0, (*listed, *writes)),
    ):
        rate = device.memory.bandwidth_bytes_per_s * counted
        place = Place(f"memory/{variant}", "", "plateau", DRAM)
        yield KeyFigure(quantity, MEMORY, "B/s", rate, limit=True, place=place, inputs=inputs)


def _latencies(device: Device) -> Iterator[KeyFigure]:
    levels: list[tuple[Level, float, str]] = []
    for cache in device.caches:
        far, path = cache.far_latency_cycles if cache.partitions > 1 else None, f"caches.{cache.name}"
        levels += [(Level(name=cache.name, near=True), cache.latency_cycles, f"{path}.latency")] if far else []
        levels.append((Level(name=cache.name), far or cache.latency_cycles, f"{path}.{'far_' if far else ''}latency"))
    for level, cycles, path in (*levels, (DRAM, device.memory.latency_cycles, "memory.latency")):
        name = "memory" if level == DRAM else str(level)
        place = Place("memory/latency", "", "plateau", level)
        yield KeyFigure(Quantity.LATENCY, name, "s", device.cycles(cycles), place=place, inputs=(path,))


def _rates(device: Device) -> Iterator[KeyFigure]:
    """Yield the rates of instruction classes, floating-point ones first; specified is what the vendor lists.

    That counts dual issue, packed instructions, and the fastest instructions of the matrix unit. Rates of the matrix
    unit come last, and are named after the instruction that was used.
    """
    listed = device.architecture.rates_per_cycle
    unit = unit_of(device.architecture)
    rates = {case: row.rate for case, row in INSTRUCTION_CLASSES.items() if row.rate}
    others = sorted((case for case in rates if case not in _MATRIX), key=lambda case: rates[case].unit == "op/s")
    for case in (*others, *_MATRIX):
        limited_by, form = listed_class(case, listed), _MATRIX.get(case)
        if limited_by not in listed or (form and unit is None) or (case == "fp32_three" and limited_by != case):
            continue
        name, of_unit, factor = rates[case]
        rate = factor * device.rate_per_s(limited_by) * (device.architecture.listed_fp32 if case == "fp32" else 1.0)
        inputs = (f"rates.{limited_by}",)
        limit = _is_documented(device, *inputs)
        workload = "instructions/formats" if INSTRUCTION_CLASSES[case].listed == "special" else "instructions/rate"
        place = Place("matrix/rate" if form else workload, "", "case", Level(name=case))
        by = maker(device.vendor).halves if factor == _PACKED else ""
        figure = KeyFigure(
            Quantity.RATE, name, of_unit, rate, limit, place, factor=factor, inputs=inputs, instruction=by
        )
        if unit and form:
            figure = replace(figure, quantity=Quantity.MATRIX, instruction=unit.instruction)
            if peak := device.matrix_peak_flop_per_s:  # then the rates of these instructions are no limits
                listed_peak = peak * form.per_word / _LISTED_PER_WORD
                figure = replace(figure, specification=listed_peak, limit=True, beyond=unit.beyond)
        yield figure
    if "local" in listed and device.architecture.local_memory_banks > 1:  # else it is ordinary memory
        rate = device.rate_per_s("local") * WORD_BYTES
        place = Place("local_memory/bandwidth", "", "case", Level(name="4 B, stride 1"))
        yield KeyFigure(Quantity.READ, LOCAL, "B/s", rate, limit=True, place=place, inputs=("rates.local",))


_MATRIX = {form.name: form for form in FORMATS}
_PACKED = 4.0  # operations of a multiply-add of two numbers in one register
_LISTED_PER_WORD = 2
"""Elements in a register of fp16 and bf16, whose peak an entry lists. Data sheets of these units list half of it for
tf32, twice as much for int8 and fp8: a matrix unit takes the same number of registers in each cycle."""
_BEYOND = 2.0  # capacities of the last cache, from which on little of the data are in it


def _transfers(device: Device) -> Iterator[KeyFigure]:
    """Yield the rates of large transfers; where memory is shared, the host's cores limit them.

    Entries of CPUs have no rate for them: how fast a core copies depends on the part that the last cache serves. Nor
    has an entry one for ordinary memory, which the host copies to pinned memory.
    """
    link = device.host_link
    limit = link.kind != "shared"
    rate = link.bandwidth_bytes_per_s if limit else None if device.architecture.on_host else link.host_copy_bytes_per_s
    ways = ("Host to device", "to_device"), ("Device to host", "to_host")
    for quantity, memory in ((Quantity.TRANSFER, "pinned"), (Quantity.ORDINARY, "pageable")):
        for name, sweep in ways:
            place = Place(f"transfer/{memory}", sweep, "plateau", Level(name=TRANSFER))
            yield KeyFigure(quantity, name, "B/s", rate, limit, place, inputs=("link.bandwidth",))
        rate, limit = None, False


def _energy(report: Report) -> Iterator[KeyFigure]:
    limit = report.device.board_power_w
    powers = {load.name: load.power_w for load in (report.energy.loads if report.energy else ()) if load.power_w}
    if idle := powers.pop(IDLE, None):
        yield KeyFigure(Quantity.POWER, IDLE, "W", None, measured=Estimate(idle))
    if highest := max(powers.values(), default=None):
        measured = Estimate(highest)
        yield KeyFigure(Quantity.POWER, HIGHEST, "W", limit, measured=measured, at_most=bool(limit))
    for name, work, unit in _ENERGIES:
        load = report.energy.load(name) if report.energy else None
        if load and load.energy_per_work_j:
            measured, predicted = Estimate(load.energy_per_work_j), predicted_energy_j(report.device, name)
            yield KeyFigure(Quantity.ENERGY, work, unit, None, predicted=predicted, measured=measured)
