"""Key figures of a device: bandwidths, latencies, rates and launch cost, predicted and measured. Pure functions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from gpureport.findings.whole_device import idle_power_w, predicted_energy_j
from gpureport.observe.features import TRANSFER
from gpureport.observe.statistics import Estimate
from gpureport.predict.ceilings import WORD_BYTES, most_energy_j
from gpureport.predict.occupancy import resident_work_items
from gpureport.records.ceilings import INSTRUCTION_CLASSES
from gpureport.records.curves import DRAM, CurveFeature, Level, SweepKey
from gpureport.records.finding import Finding
from gpureport.records.report import Report
from gpureport.spec.models import Device
from gpureport.workloads.instructions.cases import listed_class
from gpureport.workloads.matrix import FORMATS, UNITS

VARIATION = 1.05
"""Largest factor by which a figure may lie outside the range of other devices of the model and still count as in it:
runs and devices differ by a few percent."""

_DIGITS = 3
"""Intervals are compared with as many digits as documents show."""

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
    "transfer/devices",
)
"""The workloads that key figures are taken from."""

Side = Literal["slower", "faster"]
MEMORY, FP32 = "Memory", "fp32 FMA"
"""What a quantity may be of."""
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
    PEER_TRANSFER = "{}"
    LAUNCH = "Empty kernel, {}"
    POWER = "Power, {}"
    ENERGY = "Energy of {}"
    CAPACITY = "Resident capacity"

    @property
    def less_is_better(self) -> bool:
        """Whether a smaller value is a faster or more efficient device."""
        return self in (Quantity.LATENCY, Quantity.LAUNCH, Quantity.ENERGY)


@dataclass(frozen=True)
class Origin:
    """What a key figure is taken from: one feature of one sweep."""

    key: SweepKey
    position: str
    level: Level

    @property
    def identity(self) -> tuple[SweepKey, str, str]:
        """Sweep, position and level, as a store has them."""
        return self.key, self.position, str(self.level)


@dataclass(frozen=True)
class KeyFigure:
    """One property of a device.

    Attributes:
        quantity: what it is.
        of: what the quantity is of: a cache, an instruction, a direction.
        unit: of all values: ``B/s``, ``s``, ``FLOP/s``, ``op/s``, ``work-items``.
        specification: value of the device's entry: a limit, or a latency; ``None``: an entry has no such value.
        limit: whether the specification is the highest possible value, so that an efficiency has a meaning.
        origin: ``None`` if the value follows exactly from the entry.
        predicted: from the specification.
        measured: ``None`` if it was not measured.
        nearer: the figure of a nearer level, if the measured curve shows no transition between both.
        factor: of the feature's value, such as 2 operations for a multiply-add.
        others: the values of other devices of the same model.
        main: whether page one shows it; the chapter of all key figures shows all.
        at_most: whether the specification is only an upper bound, such as the listed power limit.
    """

    quantity: Quantity
    of: str
    unit: str
    specification: float | None
    limit: bool = False
    origin: Origin | None = None
    predicted: Estimate | None = None
    measured: Estimate | None = None
    nearer: "KeyFigure | None" = None
    factor: float = 1.0
    others: tuple[float, ...] = ()
    main: bool = True
    at_most: bool = False

    @property
    def name(self) -> str:
        """As users say it: ``Memory read``, ``Latency of L1``."""
        return self.quantity.format(self.of)

    @property
    def levels(self) -> tuple["KeyFigure", ...]:
        """The figures of all levels that the measured curve does not separate, the nearest first."""
        return (self.nearer, self) if self.nearer else (self,)

    @property
    def efficiency(self) -> float | None:
        """Measured / limit; ``None`` without one of them."""
        return self.measured.value / self.specification if self.limit and self.specification and self.measured else None

    @property
    def unpredicted(self) -> Side | None:
        """On which side the measured interval lies completely outside the predicted one; ``None``: they overlap."""
        if self.predicted is None:
            return None
        nearest = self.nearer.predicted if self.nearer else None
        least, most = self.predicted.ends
        return self._outside(nearest.ends[0] if nearest else least, most)

    @property
    def unusual(self) -> Side | None:
        """On which side the measured interval lies outside the range of other devices; ``None``: it does not."""
        return self._outside(min(self.others) / VARIATION, max(self.others) * VARIATION) if self.others else None

    @property
    def is_off(self) -> bool:
        """Whether the measured value lies outside the prediction or the range of other devices."""
        return bool(self.unpredicted or self.unusual)

    @property
    def rank(self) -> int | None:
        """Position among the other devices and this one, 1 for the fastest; ``None`` without measured values."""
        if not self.others or self.measured is None:
            return None
        own, sign = self.measured.value, -1 if self.quantity.less_is_better else 1
        return 1 + sum(sign * other > sign * own for other in self.others)

    def _outside(self, least: float, most: float) -> Side | None:
        if self.measured is None:
            return None
        low, high, least, most = (float(f"{end:.{_DIGITS}g}") for end in (*self.measured.ends, least, most))
        if low > most:
            return "slower" if self.quantity.less_is_better else "faster"
        if high < least:
            return "faster" if self.quantity.less_is_better else "slower"
        return None


@dataclass(frozen=True)
class OtherValue:
    """A measured rate of another device, from the store of a fleet."""

    key: SweepKey
    position: str
    level: str
    observed: float


ComparedValue = Finding | OtherValue
"""What the values of other devices are read from."""


_Place = tuple[str, str, str, Level]
"""Where a key figure is found: workload, sweep (empty: any one), position and level of a feature."""
_Row = tuple[SweepKey, Finding | CurveFeature, Estimate | None, Estimate | None]
_Value = tuple[Origin | None, Estimate | None, Estimate | None]
"""The feature, its predicted and its measured value."""


def key_figures(report: Report, counted: int | None = None) -> tuple[KeyFigure, ...]:
    """Return the key figures that were predicted or measured, and the exact ones.

    *counted* is the largest number of work-items that were resident at once, if they were counted.
    """
    values, found = _values(report), []
    for figure, place in _wanted(report, values):
        origin, predicted, measured = values.get(place, (None, None, None))
        if predicted or measured:
            predicted, measured = (_scaled(each, figure.factor) for each in (predicted, measured))
            found.append(replace(figure, origin=origin, predicted=predicted, measured=measured))
    return (*_joined(found), *_energy(report), *_exact(report.device, counted))


def _values(report: Report) -> dict[_Place, _Value]:
    """Return the values that were found or, without a finding, predicted; observed ones come first."""
    findings = sorted((f for f in report.findings if f.basis == "specification"), key=lambda f: f.observed is None)
    rows: list[_Row] = []
    for f in findings:
        predicted = _estimate(f.predicted, f.predicted_low, f.predicted_high)
        rows.append((f.key, f, predicted, _estimate(f.observed, f.ci_low, f.ci_high)))
    predictions = (p for p in report.predictions if p.kind == "specification")
    rows += [(p.key, f, Estimate(f.value, f.ci_low, f.ci_high), None) for p in predictions for f in p.features]
    values: dict[_Place, _Value] = {}
    for key, feature, predicted, measured in rows:
        origin = Origin(key, feature.position, feature.level)
        for sweep in (key.sweep, ""):
            place = (key.workload, sweep, feature.position, feature.level)
            values.setdefault(place, (origin, predicted, measured))
    return values


def _estimate(value: float | None, low: float | None, high: float | None) -> Estimate | None:
    return None if value is None else Estimate(value, low, high)


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
            yield replace(figure, of=f"{nearer.of} and {figure.of}", nearer=nearer)
            nearer = None
        else:
            yield figure


def with_others(figures: Iterable[KeyFigure], others: Iterable[Sequence[ComparedValue]]) -> tuple[KeyFigure, ...]:
    """Return *figures* with the values of other devices, each given by its findings."""
    values = [{(f.key, f.position, str(f.level)): f.observed for f in findings if f.observed} for findings in others]
    return tuple(
        replace(each, others=tuple(v * each.factor for found in values if (v := found.get(each.origin.identity))))
        if each.origin
        else each
        for each in figures
    )


def _wanted(report: Report, values: Mapping[_Place, _Value]) -> Iterator[tuple[KeyFigure, _Place]]:
    device, private = report.device, (_PRIVATE, _private_sweep(report))
    yield from _memory(device)
    for cache in reversed(device.caches):
        level = Level(name=cache.name)
        *_, measured = values.get((*private, "plateau", level), (None, None, None))
        workload, sweep = private if cache.scope == "compute_unit" or measured else ("memory/read", "")
        bandwidth = device.level_bandwidth_bytes_per_s(cache)
        figure = KeyFigure(Quantity.READ, cache.name, "B/s", bandwidth, limit=True)
        yield figure, (workload, sweep, "plateau", level)
    yield from _latencies(device)
    yield from _rates(device)
    yield from _transfers(device)
    for how, sweep, launch_s in (
        ("single launch", "isolated", device.launch.single_s),
        ("back to back", "batched", device.launch.batched_s),
    ):
        figure = KeyFigure(Quantity.LAUNCH, how, "s", launch_s)
        yield figure, ("launch/queued", sweep, "case", Level(name="1 group"))


def _memory(device: Device) -> Iterator[tuple[KeyFigure, _Place]]:
    """Yield bandwidths of memory; where a write first reads its line, only a part of the traffic is counted."""
    fills = device.architecture.write_allocate
    for quantity, variant, counted in (
        (Quantity.READ, "read", 1.0),
        (Quantity.WRITE, "write", 1 / 2 if fills else 1.0),
        (Quantity.COPY, "copy", 2 / 3 if fills else 1.0),
    ):
        figure = KeyFigure(quantity, MEMORY, "B/s", device.memory.bandwidth_bytes_per_s * counted, limit=True)
        yield figure, (f"memory/{variant}", "", "plateau", DRAM)


def _private_sweep(report: Report) -> str:
    """Return the sweep that reads the caches of all compute units at once."""
    units = report.device.compute_units
    groups = {
        p.key.sweep: p.points[0].point.parameters.get("groups", units)
        for p in report.predictions
        if p.key.workload == _PRIVATE and p.points
    }
    return next((sweep for sweep, count in groups.items() if count == units), "every_unit")


def _latencies(device: Device) -> Iterator[tuple[KeyFigure, _Place]]:
    levels: list[tuple[Level, float]] = []
    for cache in device.caches:
        far = cache.far_latency_cycles if cache.partitions > 1 else None
        levels += [(Level(name=cache.name, near=True), cache.latency_cycles)] if far else []
        levels.append((Level(name=cache.name), far or cache.latency_cycles))
    for level, cycles in (*levels, (DRAM, device.memory.latency_cycles)):
        name = "memory" if level == DRAM else str(level)
        yield KeyFigure(Quantity.LATENCY, name, "s", device.cycles(cycles)), ("memory/latency", "", "plateau", level)


def _rates(device: Device) -> Iterator[tuple[KeyFigure, _Place]]:
    """Yield the rates of instruction classes, floating-point ones first.

    Those of the matrix unit come last, and are named after the instruction.
    """
    listed = device.architecture.rates_per_cycle
    unit = next((unit for unit in UNITS if unit.serves(device.architecture)), None)
    rates = {case: row.rate for case, row in INSTRUCTION_CLASSES.items() if row.rate}
    others = sorted((case for case in rates if case not in _MATRIX), key=lambda case: rates[case].unit == "op/s")
    for case in (*others, *_MATRIX):
        limited_by, is_matrix = listed_class(case, listed), case in _MATRIX
        if limited_by not in listed or (is_matrix and unit is None):
            continue
        name, of_unit, factor, main = rates[case]
        rate = factor * device.rate_per_s(limited_by)
        figure = KeyFigure(Quantity.RATE, name, of_unit, rate, limit=True, factor=factor, main=main)
        workload = "instructions/formats" if INSTRUCTION_CLASSES[case].listed == "special" else "instructions/rate"
        if unit and is_matrix:
            figure = replace(figure, quantity=Quantity.MATRIX, of=f"{name} ({unit.instruction})")
            workload = "matrix/rate"
        yield figure, (workload, "", "case", Level(name=case))
    if "local" in listed and not device.is_cpu:  # local memory of a CPU is ordinary memory
        rate = device.rate_per_s("local") * WORD_BYTES
        figure = KeyFigure(Quantity.READ, "Local memory", "B/s", rate, limit=True)
        yield figure, ("local_memory/bandwidth", "", "case", Level(name="4 B, stride 1"))


_MATRIX = tuple(form.name for form in FORMATS)


def _transfers(device: Device) -> Iterator[tuple[KeyFigure, _Place]]:
    """Yield the rates of large transfers of pinned memory; where memory is shared, the host's cores limit them.

    Then those of copies to and from a second device: the fastest way is a direct link, or else the link to the host.

    Entries of CPUs have no rate for them: how fast a core copies depends on the part that the last cache serves.
    """
    link = device.host_link
    limit = link.kind != "shared"
    rate = link.bandwidth_bytes_per_s if limit else None if device.is_cpu else link.host_copy_bytes_per_s
    for name, sweep in (("Host to device", "to_device"), ("Device to host", "to_host")):
        figure = KeyFigure(Quantity.TRANSFER, name, "B/s", rate, limit=limit, main=sweep == "to_device")
        yield figure, ("transfer/pinned", sweep, "plateau", Level(name=TRANSFER))
    fastest = link.peer_bandwidth_bytes_per_s or link.bandwidth_bytes_per_s
    for name, sweep in (("Device to second device", "to_peer"), ("Second device to device", "from_peer")):
        figure = KeyFigure(Quantity.PEER_TRANSFER, name, "B/s", fastest, limit=True, main=False)
        yield figure, ("transfer/devices", sweep, "plateau", Level(name=TRANSFER))


def _energy(report: Report) -> Iterator[KeyFigure]:
    """Yield idle power, and the energy of a byte from memory and of an operation; nothing where it was not measured."""
    limit, idle = report.device.board_power_w, idle_power_w(report.energy)
    if limit and idle:
        yield KeyFigure(Quantity.POWER, "idle", "W", limit, measured=Estimate(idle), at_most=True, main=False)
    for name, work, unit in (
        ("memory read", "a byte from memory", "J/B"),
        ("fp32 FMA", "an fp32 operation", "J/FLOP"),
    ):
        load, most = report.energy.load(name) if report.energy else None, most_energy_j(report.device, name)
        if load and most and load.energy_per_work_j:
            measured, predicted = Estimate(load.energy_per_work_j), predicted_energy_j(report.device, name)
            yield KeyFigure(
                Quantity.ENERGY, work, unit, most, predicted=predicted, measured=measured, at_most=True, main=False
            )


def _exact(device: Device, counted: int | None) -> Iterator[KeyFigure]:
    count = resident_work_items(device)
    if count:
        measured = Estimate(counted) if counted else None
        yield KeyFigure(Quantity.CAPACITY, "", "work-items", count, limit=counted is not None, measured=measured)
