"""Page one: whether the device is normal, what to tune for, its main figures, and how far to trust predictions."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from itertools import chain
from math import ceil, log, sqrt
from statistics import median
from typing import NamedTuple

from gpureport.findings.advice import OneSize
from gpureport.findings.key_figures import (
    FP32,
    HIGHEST,
    LOCAL,
    MEMORY,
    THREE,
    KeyFigure,
    Quantity,
    Side,
    beyond_caches,
    key_figures,
)
from gpureport.findings.verdicts import time_errors
from gpureport.findings.whole_device import most_counted
from gpureport.observe.disturbance import running_clocks
from gpureport.observe.statistics import Estimate
from gpureport.records.finding import Verdict
from gpureport.records.quantities import Labelled
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, of_user, specified
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.runs import working_set_chart, working_sets
from gpureport.report.forecast import accuracies
from gpureport.report.run.caches import ReadCliff, read_cliffs, usable_cache
from gpureport.report.run.conditions import affected, disturbed, highest_load, readings
from gpureport.report.run.efficiency import own_answers
from gpureport.report.run.published import matching_statements
from gpureport.report.run.sweeps import curve_pictures
from gpureport.report.run.trust import ratio_picture
from gpureport.report.run.work import SMALL_GROUP, best_size, enough_work, full_occupancy
from gpureport.report.text.sentences import paragraphs, text
from gpureport.report.text.tables import Table
from gpureport.report.text.words import known_range, seen_in
from gpureport.spec.models import Device, resident_work_items
from gpureport.units import UNKNOWN, abbreviated, format_interval, format_percent
from gpureport.workloads.matrix import FORMATS

_OWN = 2  # the most kernels of the user with sentences and curves
_LOW_CLOCK, _LOW = 0.95, 0.8
"""Share of the entry's clock below which a device is not called normal, and of a typical value that is worth a word."""
_READS, _RATES = {"memory/read", "memory/read_private", "memory/latency"}, {"memory/read", "instructions/rate"}
"""The workloads that advice on working sets, and on the balance of operations and bytes, rests on."""
_STREAMS = {"memory/read", "memory/write", "memory/copy"}
"""The workloads that access each byte of their working set; pointer chases over more memory touch only few."""
_MOST = 0.9  # share of the kernels that the recommended number of work-items suffices for
_MUCH, _FEW = 4.0, 3
"""A slowdown that is worth a warning, and the most of them."""


class State(Labelled):
    """What page one concludes, in the first words of its strip, and the style of the strip."""

    style: str

    NORMAL = "Normal.", "agrees"
    PLAUSIBLE = "No defect found.", "open"
    SLOWER = "Slower than expected.", "off"
    FASTER = "Faster than expected.", "open"
    MIXED = "Partly slower, partly faster than expected.", "off"
    DEVIATES = "Not as expected.", "off"
    UNCLEAR = "Not conclusive.", "off"
    SOFTWARE = "No hardware.", "off"
    PUBLISHED = "Published values.", "open"
    PREDICTED = "Prediction.", "open"
    NOTHING = "Not measured.", "off"


_ODD = (State.SLOWER, State.FASTER, State.MIXED, State.DEVIATES)
"""Another run may differ; other programs may be the reason, unless the device is faster."""


class Advice(NamedTuple):
    """One row of what to tune for; *disturbed*: whether it rests on a workload that other load disturbed."""

    subject: str
    text: str
    chapter: str
    disturbed: bool


class PageOne(NamedTuple):
    """The contents of page one."""

    remarks: tuple[str, ...]
    """Differences from the database entry."""
    state: State
    headline: tuple[str, ...]
    """The conclusion, what qualifies it, and what to do if the device is not called normal."""
    large: dict[str, tuple[KeyFigure, ...]]
    """Memory, fp32, matrix unit: the figure of each; none: not supported, or neither predicted nor measured."""
    last_cache: ReadCliff | None
    usable_bytes: float | None
    """What one thread finds in the last cache of a CPU that others use."""
    own: str
    """About kernels of the user."""
    advice: tuple[Advice, ...]
    rows: dict[str, tuple[KeyFigure, ...]]
    """The other figures, those of both directions in one row; none: not measured."""
    trust: str
    figures: tuple[KeyFigure, ...]
    """All of them, for the chapter of key figures."""
    note: str


def page_one(report: Report, found: Sequence[CurveRecords]) -> PageOne:
    """Return the contents of page one of a *report* with the curves that were *found*."""
    figures = key_figures(report, most_counted(report))
    bandwidth = report.device.provenance.get("memory.bandwidth")
    if assumed := bool(bandwidth and bandwidth.kind == "assumed"):  # then efficiencies have no meaning
        figures = tuple(replace(figure, limit=False) for figure in figures)
    cliffs, usable = read_cliffs(report, found), usable_cache(report)
    last = report.device.caches[-1] if report.device.caches else None
    own, clock_hz = own_answers(report, found), median_clock_hz(report)
    last_cliff = next((cliff for cliff in cliffs if cliff.cache == last), None)
    shown = figures if any(figure.place for figure in figures) else ()
    in_full = not shown or _READS & {each.name for each in affected(report)}  # a large figure has no mark
    return PageOne(
        # the only remark on a CPU with typical values is on its last cache, which the page describes once measured
        remarks=() if report.device.is_typical and usable and not report.match.draft else tuple(report.match.notes),
        state=state(report, figures, clock_hz),
        headline=headline(report, figures, found, clock_hz),
        large=_rows(report, figures, _LARGE) if shown else {},
        last_cache=last_cliff,
        usable_bytes=usable.value if usable else None,
        own=first_kernels(own),
        advice=advice(report, found, figures, [each for each in cliffs if in_full or each is not last_cliff]),
        rows=_rows(report, figures, _table(report.device)) if shown else {},
        trust=trust(report),
        figures=shown,
        note=_note(report, shown, assumed=assumed) if shown else "",
    )


def figure_table(report: Report, figures: Sequence[KeyFigure]) -> Table:
    """List key figures, with efficiencies if there are any; of levels that the curve does not separate, ranges."""
    efficient = any(figure.measured and figure.efficiency is not None for figure in figures)
    return Table.of(_figure_row(report, figure, efficient=efficient) for figure in figures)


def _figure_row(report: Report, figure: KeyFigure, *, efficient: bool) -> dict[str, str]:
    listed = known_range((each.specification for each in figure.levels), figure.unit)
    sign = f"{Verdict.OFF.mark} " if figure.unpredicted else ""
    share = figure.efficiency if figure.measured else None
    measured = {
        "published" if report.publication else "measured (95 %)": sign + _estimate(figure.measured, figure.unit),
        **({"efficiency": UNKNOWN if share is None else format_percent(share)} if efficient else {}),
    }
    return {
        "key figure": figure.name,
        "specification": f"limit {listed}" if figure.at_most else listed,
        "predicted (95 %)": _predicted(figure),
        **({} if report.only_predicted else measured),
    }


def _predicted(figure: KeyFigure) -> str:
    if figure.predicted and figure.nearer and figure.nearer.predicted:
        values = known_range((each.predicted.value for each in figure.levels if each.predicted), figure.unit)
        return f"{values} ({known_range((figure.nearer.predicted.ends[0], figure.predicted.ends[1]), figure.unit)})"
    exact = not (figure.predicted or figure.place or figure.measured)
    return "exact" if exact else _estimate(figure.predicted, figure.unit)


def _estimate(found: Estimate | None, unit: str) -> str:
    return format_interval(found.value, found.low, found.high, abbreviated(unit)) if found else UNKNOWN


def first_figure(report: Report, found: Sequence[CurveRecords]) -> Picture | None:
    """Return the figure of page one: curves of a few kernels of the user, else of working sets, else all ratios."""
    own = [curve for curve in of_user(report, found) if not curve.is_work_group]
    if 0 < len(own) <= _OWN and (drawn_own := curve_pictures(report, own)):
        return drawn_own[0]
    if drawn := working_sets(found):
        caption = text(
            "working_sets_caption",
            observed=bool(report.observations),
            predicted=bool(report.predictions),
            seen=seen_in(report),
            own=any(curve.key.workload == "memory/read_private" for curves in drawn for curve in curves),
        )
        remarked = report.match.notes and not report.device.is_typical  # then fewer lines are left
        roomy = state(report, ()) in (State.PLAUSIBLE, State.PREDICTED) and not remarked
        return Picture(working_set_chart(drawn, report.device, 1.4 if roomy else 1.0), caption)
    return ratio_picture(report)


_Wanted = tuple[str, Quantity, *tuple[str, ...]]
"""Name of a row, and its figures."""
_LARGE: tuple[_Wanted, ...] = (
    ("memory read", Quantity.READ, MEMORY),
    ("fp32", Quantity.RATE, FP32, THREE),
    ("matrix unit", Quantity.MATRIX, "bf16"),
)


def _table(device: Device) -> tuple[_Wanted, ...]:
    transfers = () if device.architecture.on_host else (("pinned", Quantity.TRANSFER), ("ordinary", Quantity.ORDINARY))
    return (
        ("Memory copy", Quantity.COPY, MEMORY),
        ("Memory latency", Quantity.LATENCY, "memory"),  # shown if the figure has no latencies
        *((("Local memory", Quantity.READ, LOCAL),) if device.architecture.local_memory_banks > 1 else ()),
        ("fp16", Quantity.RATE, "Packed fp16 FMA" if "fp16x2" in device.architecture.rates_per_cycle else "fp16 FMA"),
        ("fp64", Quantity.RATE, "fp64 FMA"),
        *((f"To/from device ({name})", of, "Host to device", "Device to host") for name, of in transfers),
        ("Launch interval", Quantity.LAUNCH, "start to next start"),
        ("Power", Quantity.POWER, HIGHEST),
    )


def _rows(report: Report, figures: Iterable[KeyFigure], wanted: Iterable[_Wanted]) -> dict[str, tuple[KeyFigure, ...]]:
    known = {(f.quantity, f.of): f for f in figures if f.measured or report.only_predicted}
    architecture = report.device.architecture
    listed = any(form.name in architecture.rates_per_cycle for form in FORMATS) and not report.publication
    lacking = {Quantity.MATRIX} if listed or architecture.groups_as_loops else set()
    lacking |= {*Quantity} - {Quantity.MATRIX} if report.machine else set()
    found = (
        (name, [known.get((quantity, of)) for of in every], quantity in lacking) for name, quantity, *every in wanted
    )
    return {name: tuple(filter(None, own)) if own[0] else () for name, own, absent in found if own[0] or absent}


def state(report: Report, figures: Sequence[KeyFigure], clock_hz: float | None = None) -> State:
    """Return what the figures say about the device, unless a draft entry, errors or other load forbid a conclusion."""
    compared = [figure for figure in figures if figure.measured and figure.predicted]
    errors = any(finding.verdict is Verdict.ERROR for finding in report.findings)
    doubtful = report.match.draft or report.status == "partial" or affected(report)
    if report.only_predicted or not report.observations:
        return State.PREDICTED if report.only_predicted else State.NOTHING
    if report.publication:
        return State.PUBLISHED
    if doubtful or errors:
        return State.SOFTWARE if report.of_software else State.UNCLEAR
    off = sides(report, figures)
    if off["slower"] or _is_low(report, clock_hz):
        return State.MIXED if off["faster"] else State.SLOWER
    if off["faster"] or off["other"]:
        return State.FASTER if off["faster"] else State.DEVIATES
    return State.NORMAL if any(figure.is_strong_test for figure in compared) else State.PLAUSIBLE


def median_clock_hz(report: Report) -> float | None:
    """Return the median clock while kernels ran; ``None`` if it was not read."""
    clocks = running_clocks(readings(report))
    return median(clocks) if clocks else None


def _is_low(report: Report, clock_hz: float | None) -> bool:
    return clock_hz is not None and clock_hz < _LOW_CLOCK * report.device.clock_hz


def headline(
    report: Report, figures: Sequence[KeyFigure], found: Sequence[CurveRecords] = (), clock_hz: float | None = None
) -> tuple[str, ...]:
    """Say which figures are not as predicted, what limits this, and what to do; published records use *found*."""
    errors = [pair.main.key.workload for pair in specified(report) if pair.main.verdict is Verdict.ERROR]
    wrong = {m.key.workload for m in report.measurements if m.is_wrong}
    compared = [figure for figure in figures if figure.measured and figure.predicted]
    reasons = [r.throttle_reasons for r in readings(report) if r.measuring and r.throttle_reasons is not None]
    loads = (load.readings for load in (report.energy.loads if report.energy else ()))
    return paragraphs(
        "headline",
        report=report,
        statements=matching_statements(report.publication, found) if report.publication else (0, 0),
        compared=compared,
        sides=sides(report, figures),
        typical=[figure for figure in compared if typical_value(report, figure)],
        hottest_c=max((r.temperature_c for r in chain(readings(report), *loads) if r.temperature_c), default=None),
        is_odd=(concluded := state(report, figures, clock_hz)) in _ODD,
        is_doubtful=concluded in (State.PLAUSIBLE, State.UNCLEAR),
        clock_hz=clock_hz,
        is_clock_low=_is_low(report, clock_hz),
        complete=report.machine is not None and not (wrong or report.failed_variants or report.incomplete),
        loads=dict(highest_load(report)),
        disturbed=disturbed(report),
        unthrottled=bool(reasons) and not any(reasons),
        impossible=sum(workload not in wrong for workload in errors),
        streamed_bytes=max(
            (p.point.working_set_bytes for o in report.observations if o.key.workload in _STREAMS for p in o.points),
            default=0.0,
        ),
    )


def sides(report: Report, figures: Iterable[KeyFigure]) -> dict[Side, list[KeyFigure]]:
    """Return the figures on each side of what was expected, the largest deviation first.

    They are outside their predicted intervals. The large figures of a CPU are compared with what is typical of its
    core instead, which page one shows with them, unless the values at the largest size are too unstable.
    """
    found: dict[Side, list[KeyFigure]] = {"slower": [], "faster": [], "other": []}
    known = [
        (abs(log(f.measured.value / f.predicted.value)), f.measured, f) for f in figures if f.measured and f.predicted
    ]
    for _, measured, figure in sorted(known, key=lambda each: -each[0]):
        if typical := typical_value(report, figure):
            seen = beyond_caches(report, figure.place.workload if figure.place else "") or measured
            low, high = min(measured.ends[0], seen.ends[0]), max(measured.ends[1], seen.ends[1])
            is_clear = not low <= typical <= high and not _LOW <= measured.value / typical <= 1 / _LOW
            side: Side | None = ("slower" if high < typical else "faster") if is_clear else None
        else:
            side = figure.unpredicted
        if side:
            found[side].append(figure)
    return found


def typical_value(report: Report, figure: KeyFigure) -> float | None:
    """Return what a large figure of a CPU is typically; ``None``: the figure is compared with its prediction."""
    large = {(quantity, of) for _, quantity, *every in _LARGE for of in every} if report.device.is_typical else set()
    return figure.specification if (figure.quantity, figure.of) in large else None


def advice(
    report: Report, found: Sequence[CurveRecords], figures: Iterable[KeyFigure], cliffs: Sequence[ReadCliff]
) -> tuple[Advice, ...]:
    """Return what to tune for, as far as it was measured or predicted."""
    best, work = best_size(report), enough_work(report, found)
    rates = {(figure.quantity, figure.of): figure.shown for figure in figures}
    read, fp32 = rates.get((Quantity.READ, MEMORY)), rates.get((Quantity.RATE, FP32))
    copy = rates.get((Quantity.COPY, MEMORY)) if report.only_predicted else None  # else page one has no room
    slow = slowdowns(report, best)
    work_facts = {
        "capacity": resident_work_items(report.device),
        "limits": full_occupancy(report.device, best.size if best else SMALL_GROUP),
        "enough": work[ceil(_MOST * len(work)) - 1][0] if work else None,
        "kernels": len(work),
    }
    losses, balance = best.losses if best else {}, fp32.value / read.value if fp32 and read else None
    rows: tuple[tuple[str, str, str, Set[str]], ...] = (
        ("Working set", text("tune_working_set", cliffs=cliffs), "caches", _READS),
        ("Work-group", text("tune_work_group", best=best) if best else "", "groups", {k.workload for k in losses}),
        ("Work-items", text("tune_work_items", **work_facts) if work else "", "work", {name for _, name in work}),
        ("Balance", text("tune_balance", intensity=balance) if balance else "", "limits", _RATES),
        ("Example", text("tune_example", bandwidth=copy.value) if copy else "", "key-figures", set()),
        ("Avoid", text("tune_avoid", slow=slow), "limits", {each.workload for each in slow}),
    )
    hit = {each.name for each in affected(report)}
    return tuple(Advice(subject, words, at, bool(hit & on)) for subject, words, at, on in rows if words)


class Slowdown(NamedTuple):
    """Something to avoid: how much slower the worst case of a workload is than its *best*; *sides*: of a work-group."""

    workload: str
    factor: float
    case: str = ""
    best: float = 0.0
    sides: tuple[int, ...] = ()


def slowdowns(report: Report, best: OneSize | None) -> list[Slowdown]:
    """Return what slows kernels down most, by :data:`_MUCH` or more, the largest factor first."""
    found: list[Slowdown] = []
    for workload in ("atomics/spread", "local_memory/bandwidth", "memory/strided"):
        curves = (curve for curve in report.curves if curve.key.workload == workload)
        records = [curve.observation if report.observations else curve.specification for curve in curves]
        values = {point.point.label: float(point.value) for record in records if record for point in record.points}
        if values and all(values.values()):
            worst_case, top = min(values, key=lambda label: values[label]), max(values.values())
            found.append(Slowdown(workload, top / values[worst_case], worst_case, top))
    worst = best and best.worst_shape
    if worst and worst.loss < 1:
        found.append(Slowdown(worst.key.workload, worst.gain, sides=worst.sides))
    return sorted((each for each in found if each.factor >= _MUCH), key=lambda each: -each.factor)[:_FEW]


def first_kernels(own: Sequence[str]) -> str:
    """Return the sentences of up to two kernels, or of the first of many: page one has no room for more."""
    return text("first_kernels", own=own[: 1 if len(own) > _OWN else _OWN], more=len(own) - 1 if len(own) > _OWN else 0)


def trust(report: Report) -> str:
    """Give the errors of predicted times, here or on measured devices of the class, and how repetitions differ."""
    name = report.device.device_class
    widths = [point.ci_high / point.ci_low for each in report.observations for point in each.points]
    return text(
        "trust",
        of_software=report.of_software,
        errors=time_errors(report.curves, "specification"),
        device_class=name,
        of_class=accuracies().get(name),
        noise=sqrt(median(widths)) - 1 if widths and report.machine else None,
    )


def _note(report: Report, figures: Sequence[KeyFigure], *, assumed: bool) -> str:
    plateaus = {feature.value for observation in report.observations for feature in observation.features}
    name = report.device.caches[-1].name if report.device.caches else ""
    last = [each for each in figures if (each.quantity, each.of) == (Quantity.LATENCY, name)]
    return text(
        "key_figures",
        report=report,
        assumed=assumed,
        joined=any(figure.nearer for figure in figures),
        efficient=any(figure.measured and figure.efficiency is not None for figure in figures),
        is_usable=any(each.measured and each.measured.value not in plateaus for each in last),
        off=Verdict.OFF.mark,
    )
