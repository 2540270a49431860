"""Page one: whether the device is normal, its key figures, and how far to trust the predictions."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median, median_low

from gpureport.findings.accuracy import ErrorStatistics, error_statistics, time_errors
from gpureport.findings.key_figures import ComparedValue, KeyFigure, Quantity, key_figures, with_others
from gpureport.findings.residency import most_counted
from gpureport.observe.disturbance import running_clocks
from gpureport.records.finding import AGREEMENT, Finding, Verdict
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, specified
from gpureport.report.run import statements, trust
from gpureport.report.run.conditions import load_sentences, other_load
from gpureport.report.run.decisions import Decision, decisions, usable_sentence
from gpureport.spec.models import Device
from gpureport.text import listed, sentence, shorten
from gpureport.units import (
    UNKNOWN,
    format_frequency,
    format_interval,
    format_pair,
    format_percent,
    format_value,
    interval_parts,
)
from gpureport.workloads.matrix.formats import FORMATS
from gpureport.workloads.matrix.units import UNITS

_NAMED = 2  # the most figures that a sentence names
_FEWEST_RANKED = 3  # other devices
_SLOW_CLOCK = 0.95
"""A median clock below this share of the entry's is reported."""
_ABOVE = 1.02
"""An efficiency above this is explained."""
_POCL_NAME = re.compile(r"cpu-([a-z][a-z0-9-]*)-(?=[A-Z])")
"""``cpu-``, the instruction set, and the name of the processor."""
_KINDS = {"specification": "from the specification", "calibrated": "after calibration"}


@dataclass(frozen=True)
class FigureRow:
    """One row of the table of key figures; a dash is unknown."""

    name: str
    workload: str
    specification: str
    predicted: str
    measured: str
    efficiency: str
    others: str
    unusual: bool


@dataclass(frozen=True)
class PageOne:
    """The contents of page one; *others* is the number of kept reports of the model."""

    names: str
    """Which part of the runtime's name of a CPU is not its type of core."""
    remarks: tuple[str, ...]
    """Differences from the database entry."""
    headline: str
    figures: tuple[FigureRow, ...]
    """The main ones."""
    every_figure: tuple[FigureRow, ...]
    """All of them; none if page one has them all."""
    rates: tuple[str, ...]
    """What the rates mean."""
    others: int
    decisions: tuple[Decision, ...]
    load: str
    """Other load during the measurements."""
    trust: str
    note: str
    """On the columns of the table."""


def page_one(
    report: Report,
    found: Sequence[CurveRecords],
    others: Sequence[Sequence[ComparedValue]],
    database: Sequence[Device] = (),
) -> PageOne:
    """Return the contents of page one.

    Args:
        report: of the device.
        found: its curves.
        others: the findings of kept reports of the same model.
        database: devices to compare specifications with.
    """
    figures = with_others(key_figures(report, most_counted(report)), others)
    shown = figures if any(figure.origin for figure in figures) else ()
    return PageOne(
        names=names(report),
        remarks=remarks(report),
        headline=headline(report, figures, len(others), found),
        figures=tuple(_row(figure, assumed=_assumes_bandwidth(report)) for figure in shown if figure.main),
        rates=tuple(_rate_sentences(report.device)),
        every_figure=()
        if all(figure.main for figure in shown)
        else tuple(_row(figure, assumed=_assumes_bandwidth(report)) for figure in shown),
        others=len(others),
        decisions=decisions(report, found, figures, database),
        load=other_load(report),
        trust=" ".join(trust_sentences(report)),
        note=_note(report, shown, len(others)) if shown else "",
    )


def names(report: Report) -> str:
    """Explain the name that PoCL gives a CPU; empty for other devices, and if the name has no other type of core."""
    processor = report.machine.processor if report.machine else None
    found = _POCL_NAME.match(report.machine.opencl.name) if report.machine and processor else None
    core = report.device.architecture.name
    if found is None or re.sub("[^a-z0-9]", "", found[1]) in re.sub("[^a-z0-9]", "", core.lower()):
        return ""
    return f"In this name, {found[1]} is the instruction set that PoCL compiles for, not the type of core ({core})."


def remarks(report: Report) -> tuple[str, ...]:
    """Return the differences from the entry; the decisions give the usable part of a cache, once it is measured."""
    cache = report.device.caches[-1].name if usable_sentence(report) else ""
    return tuple(note for note in report.match.notes if not cache or f" of {cache}" not in note)


def _note(report: Report, figures: Sequence[KeyFigure], others: int) -> str:
    """Explain the columns of the table."""
    texts = [f"Specification: {_source(report)}."]
    if not report.only_predicted:
        apart = "intervals do not overlap"
        mark = f"{apart}, or the value is more than 5 % outside the range of the others" if others else apart
        efficiency = "not given for an assumed entry" if _assumes_bandwidth(report) else "measured / specification"
        texts.append(f"Efficiency: {efficiency}. {Verdict.OFF.mark} {mark}.")
    if not _assumes_bandwidth(report) and any(figure.efficiency and figure.efficiency > _ABOVE for figure in figures):
        texts.append("Above 100 %: faster than the entry.")
    if any(figure.nearer for figure in figures):
        texts.append("Latencies of two levels in one row: the measured curve shows no transition between them.")
    if others:
        texts.append(f"Others: kept reports of the same model ({others}).")
        ranks = [figure.rank for figure in figures if figure.rank and len(figure.others) >= _FEWEST_RANKED]
        if ranks:
            texts.append(f"Median rank of the device: {median_low(ranks)} of {others + 1}, 1 is the fastest.")
    if report.device.architecture.write_allocate:
        texts.append("Specified write and copy bandwidth excludes write-allocate traffic.")
    return " ".join(texts)


def _source(report: Report) -> str:
    """Say where the values of the entry are from."""
    if report.device.is_typical:
        return f"typical values of the core type ({report.device.architecture.name}), not peaks of the vendor"
    guess = ", which assumes the memory bandwidth" if _assumes_bandwidth(report) else ""
    return f"from the {'database' if report.match.entry else 'drafted'} entry{guess}"


def _assumes_bandwidth(report: Report) -> bool:
    origin = report.device.provenance.get("memory.bandwidth")
    return bool(origin and origin.kind == "assumed")


def _rate_sentences(device: Device) -> Iterator[str]:
    """Yield what is counted in the rates, and why listed peaks may be higher."""
    yield ("A multiply-add counts as two operations, a packed one as four, and a dot product of four bytes as eight.")
    architecture = device.architecture
    unit = next((unit for unit in UNITS if unit.serves(architecture)), None)
    if unit and any(form.name in architecture.rates_per_cycle for form in FORMATS):
        yield f"Matrix rates are those of {unit.instruction}, with operands in registers."
    for name in ("dual_issue", *architecture.rates_per_cycle):
        provenance = device.provenance.get(name if name == "dual_issue" else f"rates.{name}")
        if provenance and provenance.note and name in _EXPLAINED:
            yield f"{_EXPLAINED[name]}: {sentence(provenance.note)}"


_EXPLAINED = {"dual_issue": "Dual issue", "matrix_fp16": "Matrix fp16", "add": "Additions"}
"""Values of the architecture whose notes explain the difference to listed peaks."""


def headline(report: Report, figures: Sequence[KeyFigure], others: int, found: Sequence[CurveRecords] = ()) -> str:
    """Say whether the device is normal, as far as intervals and kept reports show it.

    Only published records need the curves that were *found*.
    """
    if report.only_predicted:
        return "Predicted from the database entry; nothing was measured."
    if not report.observations:
        known = report.measurements or report.workloads
        return f"Nothing was measured: {'every workload was skipped' if known else 'no workload was run'}."
    in_error = [pair.main for pair in specified(report) if pair.main.verdict is Verdict.ERROR]
    texts = (
        *_statements(report, found),
        *_against_prediction(figures, _normal(report) if not in_error else ""),
        *_against_others(figures, others),
        *_clock(report),
        *_in_error(report, in_error),
    )
    return " ".join(texts)


def _statements(report: Report, found: Sequence[CurveRecords]) -> Iterator[str]:
    """Yield how many statements of a published record have values as predicted."""
    text = statements.as_published(report.publication, found) if report.publication else ""
    if text:
        yield text


def _in_error(report: Report, found: Sequence[Finding]) -> Iterator[str]:
    """Yield the number of features in error: those of kernels with wrong results apart from the others."""
    wrong = {m.key.workload for m in report.measurements if m.verification and not m.verification.passed}
    count = sum(finding.key.workload in wrong for finding in found)
    if count:
        yield f"Features in error because results are wrong: {count}."
    if count < len(found) and report.match.draft:
        yield f"Features that are faster than limits of the drafted entry: {len(found) - count}."
    elif count < len(found):
        yield f"Features in error because they are faster than a limit of the database entry: {len(found) - count}."


def _against_prediction(figures: Sequence[KeyFigure], conclusion: str) -> Iterator[str]:
    compared = [figure for figure in figures if figure.measured and figure.predicted]
    outside = [figure for figure in compared if figure.unpredicted]
    if not compared:
        return
    if not outside:
        none = f"No key figure is outside its predicted 95 % interval ({len(compared)} compared)"
        yield f"{none}{conclusion}."
        return
    inside = len(compared) - len(outside)
    yield f"{inside} of {len(compared)} key figures are consistent with their predicted 95 % intervals."
    for side in ("slower", "faster"):
        yield from _side(side, [figure for figure in outside if figure.unpredicted == side])


def _side(side: str, figures: Sequence[KeyFigure]) -> Iterator[str]:
    """Yield sentences that list the figures on one side of their predictions: speeds, then power and energy."""
    for word, power in ((side, False), ({"slower": "higher", "faster": "lower"}[side], True)):
        texts = [f"{each.name} ({_plain(each)}, not {_expected(each)})" for each in figures if _is_power(each) == power]
        if texts:
            yield f"{word.capitalize()} than predicted: {_first(texts)}."


def _is_power(figure: KeyFigure) -> bool:
    return figure.quantity in (Quantity.POWER, Quantity.ENERGY)


def _first(texts: Sequence[str]) -> str:
    """List the first of *texts*, and count the others."""
    more = [f"{len(texts) - _NAMED} more"] if len(texts) > _NAMED else []
    return listed([*texts[:_NAMED], *more])


def _plain(figure: KeyFigure) -> str:
    return format_value(figure.measured.value if figure.measured else None, figure.unit)


def _expected(figure: KeyFigure) -> str:
    return _span([each.predicted.value for each in (figure.nearer, figure) if each and each.predicted], figure.unit)


def _normal(report: Report) -> str:
    """Conclude that the device is normal, unless a draft entry, missing results or other load forbid it."""
    if report.match.draft or report.publication or report.status == "partial" or load_sentences(report):
        return ""
    return f": the device behaves like a normal {shorten(report.device.name, 60)}"


def _against_others(figures: Sequence[KeyFigure], others: int) -> Iterator[str]:
    compared = [figure for figure in figures if figure.others and figure.measured]
    if not compared:
        return
    reports = f"{others} kept report{'s' if others > 1 else ''} of this model"
    unusual = [figure for figure in compared if figure.unusual]
    if not unusual:
        yield f"No key figure is more than 5 % outside the range of {reports} ({len(compared)} compared)."
        return
    names = [f"{each.name} ({_plain(each)}, {each.unusual}; others {_range(each)})" for each in unusual]
    yield f"Outside the range of {reports}: {_first(names)}."


def _clock(report: Report) -> Iterator[str]:
    clocks = running_clocks([reading for conditions in report.conditions for reading in conditions.readings])
    share = median(clocks) / report.device.clock_hz if clocks else 1.0
    if share < _SLOW_CLOCK:
        clock = format_frequency(median(clocks))
        yield f"The median clock was {clock}, {format_percent(1 - share)} below that of the entry."


def _row(figure: KeyFigure, *, assumed: bool) -> FigureRow:
    """Write a key figure; without efficiency if the entry is *assumed*."""
    predicted, measured = figure.predicted, figure.measured
    unusual = bool(figure.unpredicted or figure.unusual)
    listed = [each.specification for each in (figure.nearer, figure) if each and each.specification]
    value = UNKNOWN
    if measured:
        value = format_interval(measured.value, measured.low, measured.high, figure.unit, "estimate")
    return FigureRow(
        name=figure.name,
        workload=figure.origin.key.workload if figure.origin else "",
        specification=f"{'≤ ' if figure.at_most else ''}{_span(listed, figure.unit)}" if listed else UNKNOWN,
        predicted=_prediction(figure) if predicted else UNKNOWN if figure.origin or figure.measured else "exact",
        measured=f"{Verdict.OFF.mark} {value}" if unusual else value,
        efficiency=UNKNOWN if assumed or figure.efficiency is None else format_percent(figure.efficiency),
        others=_range(figure),
        unusual=unusual,
    )


def _prediction(figure: KeyFigure) -> str:
    """Write the prediction with its interval; of two levels, the range of both."""
    values = [each.predicted for each in (figure.nearer, figure) if each and each.predicted]
    first, last = values[0], values[-1]
    if first is last:
        return format_interval(last.value, last.low, last.high, figure.unit, "estimate")
    (low, _), (_, high) = first.ends, last.ends
    _, interval = interval_parts(last.value, low, high, figure.unit, "estimate")
    return f"{_span([first.value, last.value], figure.unit)} {interval}".rstrip()


def _range(figure: KeyFigure) -> str:
    """Write the range of other devices' values."""
    return _span(figure.others, figure.unit) if figure.others else UNKNOWN


def _span(values: Sequence[float], unit: str) -> str:
    """Write the least and the most of *values*, one or more."""
    return format_pair(min(values), max(values), unit)


def trust_sentences(report: Report) -> Iterator[str]:
    """Yield the errors of predicted times, the features that agree, and the entry's values that are not independent."""
    errors = list(_errors(report))
    if errors:
        seen = "published" if report.publication else "measured"
        yield f"Errors of predicted times ({seen} points): {'; '.join(errors)}."
    inside = next(trust.coverage(report), "")
    if inside:
        yield f"{inside}."
    counts = Counter(pair.main.verdict for pair in specified(report))
    compared = sum(count for verdict, count in counts.items() if verdict.outcome != "no counterpart")
    if compared:
        agree = f"{counts[Verdict.AGREES]} of {compared} compared features are within a factor of {AGREEMENT}"
        within = f"{counts[Verdict.WITHIN]} more only within the 95 % interval"
        off = sum(count for verdict, count in counts.items() if verdict.outcome == "off")
        wide = counts[Verdict.UNDETERMINED]
        unknown = f", {wide} {'is' if wide == 1 else 'are'} not determined" if wide else ""
        missing = counts.total() - compared
        others = f"; {missing} {'has' if missing == 1 else 'have'} no counterpart" if missing else ""
        yield f"{agree} of the prediction, {within}, {off} {'is' if off == 1 else 'are'} off{unknown}{others}."
    yield from trust.own_values(report)


def _errors(report: Report) -> Iterator[str]:
    """Yield the errors by kind. Calibration excludes microbenchmarks, so the specification's are also given without."""
    by_kind = {kind: [prediction for prediction in report.predictions if prediction.kind == kind] for kind in _KINDS}
    calibrated = {prediction.key for prediction in by_kind["calibrated"]}
    same = [prediction for prediction in by_kind["specification"] if prediction.key in calibrated]
    of_all, of_same, found = (
        error_statistics(list(time_errors(predictions, report.observations)))
        for predictions in (by_kind["specification"], same, by_kind["calibrated"])
    )
    if of_all:
        yield f"{_KINDS['specification']}, {_texts(of_all)} ({of_all.n} points)"
    if found:
        fewer = of_same if of_same and of_all and of_same.n < of_all.n else None
        also = f"; the same points from the specification: {_numbers(fewer)}" if fewer else ""
        yield f"{_KINDS['calibrated']}, {_texts(found)} ({found.n} points{also})"


def _texts(found: ErrorStatistics) -> str:
    middle, mean, p90 = map(_percent, (found.median, found.mean, found.p90))
    return f"median {middle}, mean {mean}, 90th percentile {p90}"


def _numbers(found: ErrorStatistics) -> str:
    return ", ".join(map(_percent, (found.median, found.mean, found.p90)))


def _percent(share: float) -> str:
    """Write a share in percent, with a decimal below 10 %."""
    return format_percent(share, ".1f" if share < 0.1 else ".0f")
