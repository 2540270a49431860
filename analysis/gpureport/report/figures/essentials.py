"""The figure of page one: cliffs (capacity transitions), tapers (saturation points) and efficiencies of kernels.

Every row has two lines of marks: hollow marks are predicted, filled ones observed. Each mark is one kernel.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from gpureport.records.features import CurveFeature
from gpureport.records.finding import Finding, Verdict
from gpureport.report.figures.canvas import Canvas, Pen
from gpureport.report.figures.panels import Panel, Scale, decimal_scale, size_scale
from gpureport.report.figures.style import FAINT, MUTED, OBSERVED, PREDICTED, SMALL_PT, WIDTH_IN, shorten
from gpureport.report.grouping import grouped
from gpureport.report.run.curves import CurveRecords, level_of
from gpureport.report.run.limits import Limit
from gpureport.report.text.words import agreeing
from gpureport.spec.models import Device
from gpureport.units import format_bytes, format_percent

MOST_ROWS = 8
"""Rows of one part; if there are more, the first are drawn and the title says so."""

_ROW_IN, _HEAD_IN, _FOOT_IN, _LEGEND_IN = 0.26, 0.26, 0.32, 0.24
_LEFT_IN, _RIGHT_IN, _APART_IN = 1.15, 0.95, 0.05
_LINES = {"predicted": Pen(PREDICTED, 0.9, alpha=0.4), "observed": Pen(OBSERVED, 0.9, alpha=0.5)}
_RIM, _HOLE = Pen(PREDICTED, 4.6, order=3, round=True), Pen("#ffffff", 3.0, order=4, round=True)
_DOT = Pen(OBSERVED, 4.2, order=5, round=True, alpha=0.9)
_FULL_EFFICIENCY = Pen(MUTED, 0.8, dashes=(3, 2), order=1)


@dataclass(frozen=True)
class Drawn:
    """One value with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """One row: a cache, or the kernels of a family."""

    name: str
    predicted: tuple[Drawn, ...]
    observed: tuple[Drawn, ...]
    remark: str = ""


@dataclass(frozen=True)
class Part:
    """One group of rows with its own scale."""

    title: str
    rows: tuple[Row, ...]
    scale: Callable[[Sequence[float]], Scale]


def essentials(
    found: Iterable[CurveRecords], known: Sequence[Limit], name: Callable[[str], str], device: Device
) -> tuple[Part, ...]:
    """Return the parts that have any rows.

    Args:
        found: all curves.
        known: efficiencies of the kernels.
        name: returns the name of a family.
        device: the device; its caches may cause transitions that were not predicted.
    """
    curves = [curve for curve in found if not curve.is_work_group]
    parts = (
        Part(
            "Cliffs (capacity transitions): working set at the midpoint",
            _feature_rows(
                curves, "midpoint", lambda curve, cliff: str(level_of(cliff, curve, device) or "unexplained")
            ),
            partial(size_scale, text=format_bytes, most=9),
        ),
        Part(
            "Tapers (saturation points): work-items for 90 % of peak, on the first plateau",
            _feature_rows(curves, "n90", lambda curve, _: name(curve.key.family)),
            _counts,
        ),
        Part("Efficiency (speed / limit) at the largest size", _limit_rows(known, name), _efficiencies),
    )
    return tuple(_cut(part) for part in parts if part.rows)


def _cut(part: Part) -> Part:
    count = len(part.rows)
    if count <= MOST_ROWS:
        return part
    return Part(f"{part.title} (the first {MOST_ROWS} of {count})", part.rows[:MOST_ROWS], part.scale)


_Compared = tuple[list[Drawn], list[Drawn], list[Verdict]]


def _feature_rows(
    curves: Iterable[CurveRecords], position: str, name: Callable[[CurveRecords, Finding | CurveFeature], str]
) -> tuple[Row, ...]:
    """Return a row for each name of a feature."""
    rows: dict[str, _Compared] = {}
    for curve in curves:
        compared = {(p.main.level, p.main.position): p.main for p in curve.pairs if p.specification}
        mains = [main for (_, where), main in compared.items() if where == position]
        for main in mains:
            predicted, observed, agree = rows.setdefault(name(curve, main), ([], [], []))
            predicted += _estimates(main.predicted, main.predicted_low, main.predicted_high)
            observed += _estimates(main.observed, main.ci_low, main.ci_high)
            agree.append(main.verdict)
        if not curve.pairs and curve.specification:
            for feature in curve.specification.features:
                if feature.position == position:
                    predicted, *_ = rows.setdefault(name(curve, feature), ([], [], []))
                    predicted += _estimates(feature.value, feature.ci_low, feature.ci_high)
    return tuple(
        Row(title, tuple(predicted), tuple(observed), f"{agreeing(agree)} agree" if agree else "")
        for title, (predicted, observed, agree) in rows.items()
    )


def _estimates(value: float | None, low: float | None, high: float | None) -> list[Drawn]:
    return [Drawn(value, low or value, high or value)] if value else []


def _limit_rows(known: Iterable[Limit], name: Callable[[str], str]) -> tuple[Row, ...]:
    rows = []
    for family, found in grouped((limit.key.family, limit) for limit in known).items():
        predicted = (limit.predicted_share for limit in found)
        observed = tuple(Drawn(each.share, *each.interval) for each in found if each.share and each.interval)
        shares = [each.value for each in observed]
        remark = f"median {format_percent(median(shares))}" if shares else ""
        rows.append(Row(name(family), tuple(Drawn(share, share, share) for share in predicted), observed, remark))
    return tuple(rows)


def _counts(values: Sequence[float]) -> Scale:
    return decimal_scale(min(values) / 1.25, max(values) * 1.25, "")


def _efficiencies(values: Sequence[float]) -> Scale:
    high = 1.05 * max(1.0, *values)
    ticks = tuple(tick / 100 for tick in range(0, round(100 * high) + 1, 25 if high < 2 else 100))
    return Scale(0.0, high, ticks, tuple(map(format_percent, ticks)), logarithmic=False)


def essentials_figure(parts: Sequence[Part], observed_text: str) -> str:
    """Draw *parts* (at least one) one below the other; *observed_text* is the legend of observed values."""
    canvas = Canvas(_LEGEND_IN + sum(_HEAD_IN + _ROW_IN * len(part.rows) + _FOOT_IN for part in parts))
    observed = any(row.observed for part in parts for row in part.rows)
    _draw_legend(canvas, observed_text if observed else "")
    top = canvas.height_in - _LEGEND_IN
    for part in parts:
        height = _ROW_IN * len(part.rows)
        ends = [end for row in part.rows for each in (*row.predicted, *row.observed) for end in (each.low, each.high)]
        rows = Scale(0, len(part.rows), (), (), logarithmic=False)
        place = (_LEFT_IN, top - _HEAD_IN - height, WIDTH_IN - _LEFT_IN - _RIGHT_IN, height)
        panel = Panel(canvas, *place, part.scale(ends), rows)
        panel.frame(labels=(True, False))
        canvas.text((0, panel.top_in + 0.1), part.title, weight=600)
        for number, row in enumerate(part.rows):
            _draw_row(panel, row, len(part.rows) - number - 0.5, both=observed)
        if part.scale is _efficiencies:
            panel.line(((1, 0), (1, len(part.rows))), _FULL_EFFICIENCY)
        top = panel.bottom_in - _FOOT_IN
    return canvas.drawn()


def _draw_legend(canvas: Canvas, observed_text: str) -> None:
    height = canvas.height_in - 0.08
    texts: list[tuple[str, tuple[Pen, ...]]] = [("predicted from the specification, with 95 % interval", (_RIM, _HOLE))]
    texts += [(observed_text, (_DOT,))] if observed_text else []
    left = _LEFT_IN
    for text, pens in texts:
        for pen in pens:
            canvas.segment((left, height), (left, height), pen)
        canvas.text((left + 0.07, height), text, size_pt=SMALL_PT)
        left += 2.75


def _draw_row(panel: Panel, row: Row, middle: float, *, both: bool) -> None:
    """Draw predictions slightly above the middle of the row, observations slightly below."""
    height = panel.up(middle)
    canvas = panel.canvas
    canvas.text((panel.left_in - 0.06, height), shorten(row.name, 20), size_pt=SMALL_PT, ha="right")
    canvas.text((panel.right_in + 0.06, height), row.remark, size_pt=SMALL_PT, colour=MUTED)
    canvas.segment(
        (panel.left_in, height - _ROW_IN / 2), (panel.right_in, height - _ROW_IN / 2), Pen(FAINT, 0.4, order=0.5)
    )
    apart = _APART_IN if both else 0.0
    for estimates, up, line, pens in (
        (row.predicted, apart, _LINES["predicted"], (_RIM, _HOLE)),
        (row.observed, -apart, _LINES["observed"], (_DOT,)),
    ):
        for each in estimates:
            canvas.segment((panel.across(each.low), height + up), (panel.across(each.high), height + up), line)
            place = (panel.across(each.value), height + up)
            for pen in pens:
                canvas.segment(place, place, pen)
