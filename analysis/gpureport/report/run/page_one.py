"""Page one: whether the device is normal, its key figures, and how far to trust the predictions."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median, median_low

from gpureport.findings.accuracy import ErrorStatistics, error_statistics, time_errors
from gpureport.findings.key_figures import ComparedValue, KeyFigure, key_figures, with_others
from gpureport.observe.disturbance import running_clocks
from gpureport.records.finding import AGREEMENT, Finding, Verdict
from gpureport.records.report import Report
from gpureport.report.figures.style import shorten
from gpureport.report.run import statements, trust
from gpureport.report.run.conditions import load_sentences
from gpureport.report.run.curves import CurveRecords, specified
from gpureport.report.run.decisions import Decision, decisions
from gpureport.report.text.tables import UNKNOWN
from gpureport.report.text.words import MARKS, listed, low_to_high
from gpureport.spec.models import Device
from gpureport.units import (
    format_frequency,
    format_measured,
    format_percent,
    format_predicted,
    format_value,
)

_COMPARED = (Verdict.AGREES, Verdict.WITHIN, Verdict.OFF, Verdict.ERROR)
_NAMED = 2  # the most figures that a sentence names
_FEWEST_RANKED = 3  # other devices
_SLOW_CLOCK = 0.95
"""A median clock below this share of the entry's is reported."""
_ABOVE = 1.02
"""An efficiency above this is explained."""
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

    headline: str
    figures: tuple[FigureRow, ...]
    others: int
    decisions: tuple[Decision, ...]
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
    figures = with_others(key_figures(report), others)
    shown = figures if any(figure.origin for figure in figures) else ()
    return PageOne(
        headline=headline(report, figures, len(others)),
        figures=tuple(map(_row, shown)),
        others=len(others),
        decisions=decisions(report, found, figures, database),
        trust=" ".join(trust_sentences(report)),
        note=_note(report, shown, len(others)) if shown else "",
    )


def _note(report: Report, figures: Sequence[KeyFigure], others: int) -> str:
    """Explain the columns of the table."""
    assumed = report.device.provenance.get("memory.bandwidth")
    guess = ", which assumes the memory bandwidth" if assumed and assumed.kind == "assumed" else ""
    entry = "database entry" if report.match.entry else "drafted entry"
    texts = [f"Specification: from the {entry}{guess}."]
    if not report.only_predicted:
        apart = "intervals do not overlap"
        mark = f"{apart}, or outside the range of the others" if others else apart
        texts.append(f"Efficiency: measured / specification. {MARKS[Verdict.OFF]} {mark}.")
    if any(figure.efficiency and figure.efficiency > _ABOVE for figure in figures):
        texts.append("Above 100 %: faster than the entry, for example by a higher clock.")
    if others:
        texts.append(f"Others: kept reports of the same model ({others}).")
        ranks = [figure.rank for figure in figures if figure.rank and len(figure.others) >= _FEWEST_RANKED]
        if ranks:
            texts.append(f"Median rank of the device: {median_low(ranks)} of {others + 1}, 1 is the fastest.")
    if report.device.architecture.write_allocate:
        texts.append("Write and copy: without the reads of lines that are written.")
    return " ".join(texts)


def headline(report: Report, figures: Sequence[KeyFigure], others: int) -> str:
    """Say whether the device is normal, as far as intervals and kept reports show it."""
    if report.only_predicted:
        return "Predicted from the database entry; nothing was measured."
    if not report.observations:
        known = report.measurements or report.workloads
        return f"Nothing was measured: {'every workload was skipped' if known else 'no workload was run'}."
    in_error = [pair.main for pair in specified(report) if pair.main.verdict is Verdict.ERROR]
    texts = (
        *_statements(report),
        *_against_prediction(figures, _normal(report) if not in_error else ""),
        *_against_others(figures, others),
        *_clock(report),
        *_in_error(report, in_error),
    )
    return " ".join(texts)


def _statements(report: Report) -> Iterator[str]:
    """Yield how many statements of a published record have values as predicted."""
    text = statements.as_published(report, report.publication) if report.publication else ""
    if text:
        yield text


def _in_error(report: Report, found: Sequence[Finding]) -> Iterator[str]:
    """Yield the number of features in error: those of kernels with wrong results apart from the others."""
    wrong = {m.key.workload for m in report.measurements if m.verification and not m.verification.passed}
    count = sum(finding.key.workload in wrong for finding in found)
    if count:
        yield f"Features in error because results are wrong: {count}."
    if count < len(found):
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
    """Yield a sentence that lists the figures on one side of their predictions."""
    texts = [f"{each.name} ({_plain(each)}, not {_expected(each)})" for each in figures]
    if texts:
        yield f"{side.capitalize()} than predicted: {_first(texts)}."


def _first(texts: Sequence[str]) -> str:
    """List the first of *texts*, and count the others."""
    more = [f"{len(texts) - _NAMED} more"] if len(texts) > _NAMED else []
    return listed([*texts[:_NAMED], *more])


def _plain(figure: KeyFigure) -> str:
    return format_value(figure.measured.value if figure.measured else None, figure.unit)


def _expected(figure: KeyFigure) -> str:
    return format_value(figure.predicted.value if figure.predicted else None, figure.unit)


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


def _row(figure: KeyFigure) -> FigureRow:
    predicted, measured = figure.predicted, figure.measured
    unusual = bool(figure.unpredicted or figure.unusual)
    value = format_measured(measured.value, measured.low, measured.high, figure.unit) if measured else UNKNOWN
    return FigureRow(
        name=figure.name,
        workload=figure.origin.key.workload if figure.origin else "",
        specification=format_value(figure.specification, figure.unit),
        predicted=format_predicted(predicted.value, predicted.low, predicted.high, figure.unit)
        if predicted
        else UNKNOWN
        if figure.origin
        else "exact",
        measured=f"{MARKS[Verdict.OFF]} {value}" if unusual else value,
        efficiency=UNKNOWN if figure.efficiency is None else format_percent(figure.efficiency),
        others=_range(figure),
        unusual=unusual,
    )


def _range(figure: KeyFigure) -> str:
    """Write the range of other devices' values."""
    if not figure.others:
        return UNKNOWN
    least, most = (format_value(end(figure.others), figure.unit) for end in (min, max))
    number, _, unit = least.partition(" ")
    return low_to_high(number if most.endswith(f" {unit}") and least != most else least, most)


def trust_sentences(report: Report) -> Iterator[str]:
    """Yield the errors of predicted times, the features that agree, and the entry's values that are not independent."""
    errors = list(_errors(report))
    if errors:
        seen = "published" if report.publication else "measured"
        yield f"Errors of predicted times ({seen} points): {'; '.join(errors)}."
    counts = Counter(pair.main.verdict for pair in specified(report))
    compared = sum(counts[verdict] for verdict in _COMPARED)
    if compared:
        agree = f"{counts[Verdict.AGREES]} of {compared} compared features are within a factor of {AGREEMENT}"
        within = f"{counts[Verdict.WITHIN]} more only within the 95 % interval"
        off = compared - counts[Verdict.AGREES] - counts[Verdict.WITHIN]
        others = f"; {counts.total() - compared} have no counterpart" if counts.total() > compared else ""
        yield f"{agree} of the prediction, {within}, {off} {'is' if off == 1 else 'are'} off{others}."
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
        also = f"; from the specification, the same points have {_texts(fewer)}" if fewer else ""
        yield f"{_KINDS['calibrated']}, {_texts(found)} ({found.n} points{also})"


def _texts(found: ErrorStatistics) -> str:
    middle, mean, p90 = map(_percent, (found.median, found.mean, found.p90))
    return f"median {middle}, mean {mean}, 90th percentile {p90}"


def _percent(share: float) -> str:
    """Write a share in percent, with a decimal below 10 %."""
    return format_percent(share, 1 if share < 0.1 else 0)
