"""The sentences of page one on which users decide: working set, work-group size, amount of work, bottleneck."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gpureport.findings.advice import WITHIN, OneSize, one_size
from gpureport.findings.key_figures import FP32, MEMORY, KeyFigure, Quantity
from gpureport.findings.usable_cache import usable_part
from gpureport.findings.verdicts import ABOVE_CEILING
from gpureport.predict.occupancy import resident_work_items
from gpureport.records.ceilings import ceiling_text
from gpureport.records.features import CurveFeature, Position
from gpureport.records.finding import AGREEMENT, Finding
from gpureport.records.levels import DRAM, Level
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, is_certain, is_certain_n90, reading_units, specified_values
from gpureport.report.grouping import grouped
from gpureport.report.run import kernels as own_kernels
from gpureport.report.run.limits import Limit, limits
from gpureport.report.text.difference import value_text
from gpureport.report.text.words import family_name
from gpureport.spec.models import Cache, Device
from gpureport.text import listed
from gpureport.units import format_bytes, format_percent, format_range, format_ratio, format_value
from gpureport.workloads import all_workloads

_PRIVATE, _SHARED, _LATENCY = "memory/read_private", "memory/read", "memory/latency"
_FEW = 3  # the most names in a list
_OWN = 2  # the most kernels of the user with sentences
_WIDE = 1.5
_MUCH = 0.1
"""A loss by the wrong shape that is worth a warning."""
_ALIKE = {"ALU": "int32"}
"""Bottlenecks that users need not distinguish: the pipe of integer instructions, and a class that it executes."""


@dataclass(frozen=True)
class Decision:
    """One answer: what it is about, one or a few sentences, and the anchor of the chapter with the details, if any."""

    about: str
    text: str
    details: str = ""


def decisions(
    report: Report, found: Sequence[CurveRecords], figures: Sequence[KeyFigure], database: Sequence[Device] = ()
) -> tuple[Decision, ...]:
    """Return the answers that the report's values support; predictions without any observation are labelled.

    The devices of the *database* are candidates for :func:`another_device`. Kernels of the user take the place of this
    answer and of the bottleneck of all kernels.
    """
    own = own_kernels.answers(report, found)
    answers = (
        Decision("Your kernel" if len(own) == 1 else "Your kernels", _first(own), "own"),
        Decision("Working set", working_set(report, found), "caches"),
        Decision("Work-group size", work_group_size(report), "groups"),
        Decision("Amount of work", amount_of_work(report, found), "work"),
    )
    bandwidth = report.device.memory.bandwidth_bytes_per_s
    general = (
        Decision("Bottleneck", bottleneck(report, found, figures, device_bandwidth=bandwidth), "limits"),
        Decision("Another device", another_device(report, database)),
    )
    return tuple(each for each in (*answers, *(() if own else general)) if each.text)


def _first(own: Sequence[str]) -> str:
    """Return the sentences of up to two kernels, or of the first of many: page one has no room for more."""
    if len(own) <= _OWN:
        return " ".join(own)
    return f"{own[0]} The chapter “Your kernels” has {len(own) - 1} more."


def working_set(report: Report, found: Sequence[CurveRecords]) -> str:
    """Say below which working set each cache serves the reads, and how far bandwidth falls beyond."""
    measured = bool(report.observations)
    known = [
        (cache, _cliff(cache, found, report.device.compute_units, measured=measured)) for cache in report.device.caches
    ]
    usable = usable_sentence(report)
    usable += _leaving(report.device.caches[-1], found) if usable else ""
    known = known[:-1] if usable else known
    kept = [
        f"below {cliff.below}{_each(cache)} to stay in {cache.name}{cliff.beyond}{_later(cache, found, cliff)}"
        for cache, cliff in known
        if cliff
    ]
    missed = [text for cache, cliff in known if not cliff and (text := _not_observed(cache, found))]
    keep = "Keep the working set" if measured else "Predicted: keep the working set"
    stay = [f"{keep} {listed(kept)}."] if kept else []
    return " ".join(filter(None, (*stay, *missed, usable, *_unexplained(found, with_shared=not usable))))


_MOST = 0.6
"""Part of the listed capacity from which on it is not worth mentioning."""


def usable_sentence(report: Report) -> str:
    """Say how much of a CPU's last cache one thread can use, if that is little; empty otherwise."""
    found = usable_part(report.device, report.observations)
    cache = report.device.caches[-1] if found else None
    if not found or not cache or found.size_bytes >= _MOST * cache.capacity_bytes:
        return ""
    size, low, high = (_two_digits_of_mib(end) for end in (found.size_bytes, found.low_bytes, found.high_bytes))
    return (
        f"Usable {cache.name}: one thread can use about {size} of {format_bytes(cache.capacity_bytes)}. "
        "There, the latency of dependent loads is half-way to that of memory (logarithmic; a quarter at "
        f"{low}, three quarters at {high})."
    )


def _two_digits_of_mib(size: float) -> str:
    return format_bytes(float(f"{size / 2.0**20:.2g}") * 2.0**20)


@dataclass(frozen=True)
class _Cliff:
    """A cliff of reads in words: the working set at its onset, and the speed beyond.

    Attributes:
        onset_bytes: the working set at its onset.
        below: the same as text.
        beyond: the speed beyond, and the midpoint.
        measured: whether it was observed.
    """

    onset_bytes: float
    below: str
    beyond: str
    measured: bool


def _later(cache: Cache, found: Sequence[CurveRecords], cliff: _Cliff) -> str:
    """Say what slows down before plain reads do at the end of a shared cache."""
    if cache.scope != "device":
        return ""
    return f"{_earlier_latency(cache, found, cliff)}{_earliest(cache, found, cliff)}"


def _earliest(cache: Cache, found: Sequence[CurveRecords], cliff: _Cliff) -> str:
    """Name the kernel that leaves a shared cache first, if that is clearly before plain reads do."""
    least, where = min(_onsets(cache, found, measured=cliff.measured), default=(cliff.onset_bytes, ""))
    if least * (1 + _MUCH) >= cliff.onset_bytes:
        return ""
    return f"; apart from launch cost, some kernels slow down earlier, from {where}"


def _earlier_latency(cache: Cache, found: Sequence[CurveRecords], cliff: _Cliff) -> str:
    """Say where the latency of dependent loads rises, if that is clearly before bandwidth falls."""
    rises = [
        onset
        for curve in _sizes(found, _LATENCY)
        for near in (True, False)
        if (onset := _values(curve, measured=cliff.measured).get(("onset", Level(name=cache.name, near=near))))
    ]
    first = min(rises, key=_number, default=None)
    if first is None or not is_certain(first) or _number(first) * (1 + _MUCH) >= cliff.onset_bytes:
        return ""
    return f"; the latency of dependent loads rises from {_text(first)}"


def _leaving(cache: Cache, found: Sequence[CurveRecords]) -> str:
    """Say from which working sets on kernels slow down at a shared *cache*; empty if no curve shows it."""
    onsets = sorted(_onsets(cache, found, measured=True))
    first, last = (of[0][1] if of else "" for of in (onsets[:1], onsets[-1:]))
    further = f", the last at {last}" if last != first else ""
    return f" Of the kernels that use all cores, the first slows down at {first}{further}." if first else ""


def _onsets(cache: Cache, found: Iterable[CurveRecords], *, measured: bool) -> list[tuple[float, str]]:
    """Return where rates start to fall at the end of *cache*, with the workload; without uncertain ones."""
    level = Level(name=cache.name)
    return [
        (_number(onset), f"{_text(onset)} ({curve.key.workload})")
        for curve in found
        if curve.axis.quantity == "working_set" and curve.metric.kind == "rate"
        if (onset := _values(curve, measured=measured).get(("onset", level))) and is_certain(onset)
    ]


def _each(cache: Cache) -> str:
    return " per compute unit" if cache.scope == "compute_unit" else " in total"


def _read_by(cache: Cache) -> str:
    """Return the workload that measures the bandwidth of *cache*."""
    return _PRIVATE if cache.scope == "compute_unit" else _SHARED


def _sizes(found: Iterable[CurveRecords], workload: str) -> list[CurveRecords]:
    return [curve for curve in found if curve.key.workload == workload and curve.axis.quantity == "working_set"]


_Values = Mapping[tuple[Position, Level], Finding | CurveFeature]


def _cliff(cache: Cache, found: Sequence[CurveRecords], units: int, *, measured: bool) -> _Cliff | None:
    """Describe the cliff of *cache*: of its bandwidth, or of the latency if no bandwidth sweep covers it."""
    level = Level(name=cache.name)
    bandwidth = [curve for curve in _sizes(found, _read_by(cache)) if _covers(curve, level)]
    for curve in bandwidth or _sizes(found, _LATENCY):
        values = _values(curve, measured=measured)
        onset = values.get(("onset", level))
        if onset and is_certain(onset):
            beyond = _beyond(values, level, _readers(curve, units))
            below = _with_wide_interval(onset)
            if cache.capacity_bytes < _number(onset) <= AGREEMENT * cache.capacity_bytes:  # interpolated between sizes
                below = f"{format_bytes(cache.capacity_bytes)} (the capacity)"
            return _Cliff(_number(onset), below, beyond, measured)
    return None


def _covers(curve: CurveRecords, level: Level) -> bool:
    """Return whether the cliff of *level* was predicted or observed in a curve."""
    predicted = curve.specification.features if curve.specification else ()
    levels = (
        *(f.level for f in predicted if f.position == "onset"),
        *(f.level for f in specified_values([curve], "onset")),
    )
    return level in levels


def _values(curve: CurveRecords, *, measured: bool) -> _Values:
    """Return the observed or the predicted features of a curve."""
    if measured:
        pairs = (pair.specification for pair in curve.pairs)
        return {(f.position, f.level): f for f in pairs if f and f.observed}
    features = curve.specification.features if curve.specification else ()
    return {(f.position, f.level): f for f in features}


def _number(value: Finding | CurveFeature) -> float:
    return value.value if isinstance(value, CurveFeature) else value.observed or 0.0


def _text(value: Finding | CurveFeature) -> str:
    return format_value(value.value, value.unit) if isinstance(value, CurveFeature) else value_text(value)


def _with_wide_interval(value: Finding | CurveFeature) -> str:
    """Write a value, with its interval if that spans a factor of :data:`_WIDE` or more."""
    low, high = value.ci_low, value.ci_high
    if low and high and high >= _WIDE * low:
        return f"{_text(value)} (95 % interval: {format_bytes(low)} to {format_bytes(high)})"
    return _text(value)


def _readers(curve: CurveRecords, units: int) -> str:
    """Say how many of the compute *units* read, if one work-group on each of fewer reads at all points."""
    readers = reading_units(curve, units)
    return f" of {readers} compute units" if readers < units else ""


def _beyond(values: _Values, level: Level, readers: str) -> str:
    """Write the speed beyond the cliff, and the midpoint, which is halfway between both on a logarithmic axis."""
    middle, upper = values.get(("midpoint", level)), values.get(("plateau", level))
    if middle is None or upper is None:
        return ""
    top = _number(upper)
    plateaus = [_number(value) for (position, _), value in values.items() if position == "plateau"]
    if upper.unit == "s":
        slower = min((value for value in plateaus if value > top), default=0.0)
        longer = f"beyond, latency is {format_ratio(slower / top)} times as long" if slower else ""
        return f" ({longer}; half-way at {_text(middle)})" if slower else ""
    lower = max((value for value in plateaus if value < top), default=0.0)
    falls = f"beyond, read bandwidth{readers} falls to {format_percent(lower / top)}" if lower else ""
    return f" ({falls}; half-way at {_text(middle)})" if lower else ""


def _not_observed(cache: Cache, found: Sequence[CurveRecords]) -> str:
    """Say that a predicted cliff was not observed in the cache's bandwidth; empty if nothing is known."""
    missing = [
        onset
        for onset in specified_values(_sizes(found, _read_by(cache)), "onset")
        if onset.level == Level(name=cache.name) and onset.observed is None
    ]
    if not missing:
        return ""
    size = f"{format_bytes(missing[0].predicted)}{_each(cache)}"
    return f"Read bandwidth shows no transition of the {cache.name} (predicted from {size})."


def _unexplained(found: Sequence[CurveRecords], *, with_shared: bool) -> list[str]:
    """Name the working sets at which read bandwidth falls although the entry has no cache that ends there.

    Without those of reads of shared data, if the usable part of the last cache explains them.
    """
    places = [
        f"{value_text(onset)} {each}"
        for workload, each in ((_PRIVATE, "per compute unit"), *([(_SHARED, "in total")] if with_shared else []))
        for onset in specified_values(_sizes(found, workload), "onset")
        if onset.level.is_unexplained and onset.observed
    ]
    return [f"Read bandwidth also falls from {listed(places)}, which matches no cache of the entry."] if places else []


def work_group_size(report: Report) -> str:
    """Recommend one work-group size for all kernels, and name the kernels that lose most with it."""
    label, best = "", one_size(o for o in report.observations if o.key not in report.incomplete)
    if not report.observations:
        label, best = "Predicted: ", one_size(p for p in report.predictions if p.kind == "specification")
    if best is None:
        return ""
    searches = len(best.losses)
    near = searches - len(best.losing) - best.unclear
    count = f"{near} of {searches}" if near < searches else f"all {searches}" if searches > 1 else "the one"
    of_all = f"{count} search{'es' if searches > 1 else ''}"
    unclear = f"; in {best.unclear} more the difference is not significant" if best.unclear else ""
    without = f"; {best.without} lack this size" if best.without else ""
    good = f"{label}{best.size} work-items, in the best shape of each kernel, are within {format_percent(WITHIN)} of "
    good += f"the best size in {of_all}{unclear}{without}"
    return f"{good}{_losses(report, best)}.{_best_shape(best)}{_worst_shape(best)}"


def _losses(report: Report, best: OneSize) -> str:
    """Name the families that lose more, each with its worst kernel."""
    if not best.losing:
        return ""
    families = grouped((key.family, key) for key in best.losing)
    texts = [
        f"{family_name(report, family)}, {format_percent(best.losses[keys[0]])} ({keys[0].variant})"
        for family, keys in list(families.items())[:_FEW]
    ]
    return f". Largest losses: {listed(texts)}"


def _best_shape(best: OneSize) -> str:
    """Name the shape of the recommended size that suits most kernels, and its loss; empty if none has a choice."""
    shape = best.best_shape
    if shape is None:
        return ""
    searches = f"{shape.searches} {'search' if shape.searches == 1 else 'searches'} over shapes"
    count = f"all {searches}" if shape.suits == shape.searches > 1 else f"{shape.suits} of {searches}"
    lost = f"; largest loss: {format_percent(shape.most.loss)} ({shape.most.key.variant})"
    lost = lost if shape.most.loss > WITHIN else ""
    suits = f"is within {format_percent(WITHIN)} of the best, or not significantly slower, in {count}{lost}"
    return f" One shape for all: {_sides(shape.most.sides)} {suits}."


def _worst_shape(best: OneSize) -> str:
    """Warn of the largest loss by a shape of the recommended size; empty if shapes hardly differ."""
    worst = best.worst_shape
    if worst is None or worst.loss < _MUCH:
        return ""
    kernel = f"{format_percent(1 - worst.loss)} of the best rate of {worst.key.workload}"
    return f" Worst shape of {best.size}: {_sides(worst.sides)}, {kernel}."


def _sides(sides: Sequence[int]) -> str:
    """Write a shape of two dimensions or more: ``64 x 1``."""
    return " x ".join(map(str, sides if len(sides) > 1 else (*sides, 1)))


def amount_of_work(report: Report, found: Sequence[CurveRecords]) -> str:
    """Separate the work that fills the device from the work that amortises the launch cost."""
    capacity = resident_work_items(report.device)
    fills = f"{format_value(capacity, 'work-items')} fill all compute units (full occupancy). " if capacity else ""
    work, uncertain = _work(report, found)
    if not work:
        return fills.strip()
    (least, name_of_least), (most, name_of_most) = min(work), max(work)
    ends = f"{format_value(most, 'work-items')} ({name_of_most})"
    if len(work) > 1:
        middle = format_value(median(value for value, _ in work), "")
        ends = f"{format_value(least, '')} ({name_of_least}) to {ends}, median {middle}"
    reach = "Kernels reach" if report.observations else "Kernels are predicted to reach"
    left_out = f"; {uncertain} uncertain n90 {'is' if uncertain == 1 else 'are'} left out" if uncertain else ""
    span = f"{reach} 90 % of their peak (n90) at {ends}. The peak may be within a cache{left_out}."
    above = sum(value > capacity for value, _ in work) if capacity else 0
    if above:
        span += (
            f" In {above} of {len(work)} sweeps, n90 exceeds the resident capacity. More work amortises the launch "
            "cost and the partly filled last round of work-groups."
        )
    return f"{fills}{span}"


def _work(report: Report, found: Sequence[CurveRecords]) -> tuple[list[tuple[float, str]], int]:
    """Return the work for 90 % of the peak of each sweep over sizes, with the workload; the number of uncertain ones.

    Uncertain values are left out: those with wide intervals, and those at the beginning of their sweep.
    """
    kernels = [curve for curve in found if not (curve.is_work_group or curve.is_transfer)]
    curves = [curve for curve in kernels if curve.key.family != "launch"]
    tapers = [(n90, curve) for curve in curves for n90 in _n90(curve, observed=bool(report.observations))]
    certain = [(_number(n90), curve.key.workload) for n90, curve in tapers if is_certain_n90(n90, curve)]
    return certain, len(tapers) - len(certain)


def _n90(curve: CurveRecords, *, observed: bool) -> list[Finding | CurveFeature]:
    """Return the observed n90 that was compared with the specification's, or the predicted one."""
    if observed:
        return [finding for finding in specified_values([curve], "n90") if finding.observed]
    features = curve.specification.features if curve.specification else ()
    return [feature for feature in features if feature.position == "n90"]


def bottleneck(
    report: Report, found: Sequence[CurveRecords], figures: Iterable[KeyFigure], *, device_bandwidth: float
) -> str:
    """Name the most frequent bottleneck of each family at the largest sizes, and what memory-bound kernels reach.

    Microbenchmarks count only if there are no other kernels.
    """
    micro = {workload.name for workload in all_workloads() if workload.microbenchmark}
    known = _kernels(limits(found), micro)
    if not known:
        return ""
    families = grouped((limit.key.family, limit) for limit in known)
    most = [f"{family_name(report, family)}, {most_frequent(of)}" for family, of in families.items()]
    first = f"Most frequent bottleneck at the largest sizes, by the model: {'; '.join(most)}."
    figures = tuple(figures)
    reached = _reached(known, figures, device_bandwidth) or _efficiency(known)
    return " ".join(filter(None, (first, reached, _ridge(figures))))


def _ridge(figures: Iterable[KeyFigure]) -> str:
    """Say up to which arithmetic intensity memory limits kernels, from the measured rates; empty without them."""
    rates = {(figure.quantity, figure.of): figure.measured.value for figure in figures if figure.measured}
    fp32, read = (rates.get(each) for each in ((Quantity.RATE, FP32), (Quantity.READ, MEMORY)))
    if not fp32 or not read:
        return ""
    per_byte = format_value(fp32 / read, "")
    return (
        f"Below {per_byte} fp32 operations (multiply-adds) per byte read from memory, its bandwidth is the upper limit."
    )


def most_frequent(known: Sequence[Limit]) -> str:
    """Name the most frequent bottleneck and those that are as frequent, and say of how many kernels it is one.

    Kernels that no limit explains have none.
    """
    counts = Counter(_bottleneck(limit) for limit in known)
    most = max(counts.values())
    texts = [name for name, count in counts.items() if count == most]
    each = " each" if len(texts) > 1 else ""
    return f"{listed(texts[:_FEW])} ({most} of {len(known)}{each})" if len(known) > 1 else texts[0]


def _bottleneck(limit: Limit) -> str:
    if not limit.is_explained:
        return "no single limit"
    return ceiling_text(_ALIKE.get(limit.bottleneck, limit.bottleneck))


def _kernels(known: Sequence[Limit], micro: Collection[str]) -> list[Limit]:
    """Return the observed kernels, or all if none was observed; those that are no microbenchmarks if there are any."""
    seen = [limit for limit in known if limit.observed] or list(known)
    return [limit for limit in seen if limit.key.workload not in micro] or seen


def _reached(known: Iterable[Limit], figures: Iterable[KeyFigure], device_bandwidth: float) -> str:
    """Compare kernels that memory limits with the measured copy; traffic includes the fills of written lines."""
    copy = next((figure.efficiency for figure in figures if figure.quantity is Quantity.COPY), None)
    rates = [
        limit.predicted.memory_bytes / limit.observed.time_s
        for limit in known
        if limit.observed and limit.is_explained and limit.bottleneck == DRAM.name
    ]
    if not copy or not rates:
        return ""
    shares = [rate / (copy * device_bandwidth) for rate in rates]
    reached = format_range(shares, format_percent)
    return f"Memory-bound kernels reach {reached} of copy bandwidth (median {format_percent(median(shares))})."


def _efficiency(known: Sequence[Limit]) -> str:
    """Give the median efficiency, unless it shows that the limits are too low."""
    middle = median(limit.efficiency for limit in known)
    if middle > ABOVE_CEILING:
        return ""
    reach = "reach" if known[0].observed else "are predicted to reach"
    return f"Kernels {reach} {format_percent(middle)} of their nearest limit in the median."


def another_device(report: Report, database: Sequence[Device] = ()) -> str:
    """Count the devices of the *database* with higher specifications, and name the commands that compare kernels.

    The values of a drafted entry are no specification.
    """
    ways = []
    if report.match.entry and not report.device.is_cpu:  # the entry of a CPU predicts the present machine
        ways.append(f"“gpureport predict {report.match.entry} OTHER”")
    if not report.only_predicted:
        ways.append("“gpureport compare REPORT OTHER”")
    commands = f"Compare with {' or '.join(ways)}." if ways else ""
    above = "" if report.match.draft else _specified_above(report.device, database)
    return " ".join(filter(None, (above, commands)))


def _specified_above(device: Device, database: Sequence[Device]) -> str:
    """Name the devices of the same kind that are specified with the highest memory bandwidth and fp32 rate."""
    others = [each for each in database if each.is_cpu == device.is_cpu and each.id != device.id]
    if device.is_cpu or not others:  # entries of CPUs describe typical machines
        return ""
    better = [
        _above([(rate(each) / rate(device), each.name) for each in others], what)
        for what, rate in (("memory bandwidth", _bandwidth), ("fp32 rate", _fp32))
    ]
    return f"Of {len(others)} other GPUs in the database, by specification, {' and '.join(better)}."


def _bandwidth(device: Device) -> float:
    return device.memory.bandwidth_bytes_per_s


def _fp32(device: Device) -> float:
    return device.rate_per_s("fp32")


def _above(ratios: Sequence[tuple[float, str]], what: str) -> str:
    """Count the *ratios* that are clearly above 1, and name the highest."""
    more = sum(ratio > 1 + WITHIN for ratio, _ in ratios)
    highest, name = max(ratios)
    if not more:
        return f"none has a higher {what}"
    verb = "have" if more > 1 else "has"
    most = "at most " if more > 1 else ""
    return f"{more} {verb} a higher {what} ({most}{format_ratio(highest)} times: {name})"
