"""The figure of page one: where caches give out, how much work fills the device, how near kernels run to their limits.

Every row has two lines of marks: hollow what was predicted, filled what was observed, each mark a kernel.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from gpureport.records.features import CurveFeature
from gpureport.records.finding import Finding, Verdict
from gpureport.report.figures.canvas import Canvas, Pen
from gpureport.report.figures.panels import Panel, Scale, size_scale
from gpureport.report.figures.style import (
    FAINT,
    MUTED,
    OBSERVED,
    PREDICTED,
    SMALL_PT,
    WIDTH_IN,
    decimal_ticks,
    shorten,
    tick_text,
)
from gpureport.report.run.curves import CurveRecords, level_of
from gpureport.report.run.limits import Limit
from gpureport.report.text.words import agreeing
from gpureport.spec.models import Device
from gpureport.units import format_bytes, format_percent

MOST_ROWS = 8
"""Rows of one part; of more the first are drawn, which its title then says."""

_ROW_IN, _HEAD_IN, _FOOT_IN, _LEGEND_IN = 0.26, 0.26, 0.32, 0.24
_LEFT_IN, _RIGHT_IN, _APART_IN = 1.15, 0.95, 0.05
_LINES = {"predicted": Pen(PREDICTED, 0.9, alpha=0.4), "observed": Pen(OBSERVED, 0.9, alpha=0.5)}
_RIM, _HOLE = Pen(PREDICTED, 4.6, order=3, round=True), Pen("#ffffff", 3.0, order=4, round=True)
_DOT = Pen(OBSERVED, 4.2, order=5, round=True, alpha=0.9)
_WHOLE = Pen(MUTED, 0.8, dashes=(3, 2), order=1)


@dataclass(frozen=True)
class Mark:
    """One value with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """What is compared across kernels: a cache, or the kernels of a family."""

    name: str
    predicted: tuple[Mark, ...]
    observed: tuple[Mark, ...]
    remark: str = ""


@dataclass(frozen=True)
class Part:
    """One question, with a scale of its own."""

    title: str
    rows: tuple[Row, ...]
    scale: Callable[[Sequence[float]], Scale]


def essentials(
    found: Iterable[CurveRecords], known: Sequence[Limit], name: Callable[[str], str], device: Device
) -> tuple[Part, ...]:
    """Gather the parts that have anything to show.

    Args:
        found: all curves.
        known: how near kernels run to their limits.
        name: names a family in words.
        device: whose caches may cause transitions that were not predicted.
    """
    curves = [curve for curve in found if not curve.is_work_group]
    parts = (
        Part(
            "Where caches give out: working set",
            _feature_rows(curves, "midpoint", lambda curve, cliff: _level(curve, cliff, device)),
            _bytes,
        ),
        Part(
            "Work-items for 90 % of the plateau that is reached first",
            _feature_rows(curves, "n90", lambda curve, _: name(curve.key.family)),
            _counts,
        ),
        Part("Share of the limit that binds, at the largest size", _limit_rows(known, name), _shares),
    )
    return tuple(_cut(part) for part in parts if part.rows)


def _cut(part: Part) -> Part:
    count = len(part.rows)
    if count <= MOST_ROWS:
        return part
    return Part(f"{part.title} (the first {MOST_ROWS} of {count})", part.rows[:MOST_ROWS], part.scale)


_Compared = tuple[list[Mark], list[Mark], list[Verdict]]


def _level(curve: CurveRecords, cliff: Finding | CurveFeature, device: Device) -> str:
    """Name the row of a cliff: the cache that gives out, or may do so where none was predicted to."""
    level = level_of(cliff, curve, device)
    return str(level) if level else "no known cache"


def _feature_rows(
    curves: Iterable[CurveRecords], position: str, name: Callable[[CurveRecords, Finding | CurveFeature], str]
) -> tuple[Row, ...]:
    """Return a row for each name that a feature of a curve has."""
    rows: dict[str, _Compared] = {}
    for curve in curves:
        compared = {(p.main.level, p.main.position): p.main for p in curve.pairs if p.specification}
        mains = [main for (_, where), main in compared.items() if where == position]
        for main in mains:
            predicted, observed, agree = rows.setdefault(name(curve, main), ([], [], []))
            predicted += _marks(main.predicted, main.predicted_low, main.predicted_high)
            observed += _marks(main.observed, main.ci_low, main.ci_high)
            agree.append(main.verdict)
        if not curve.pairs and curve.specification:
            for feature in curve.specification.features:
                if feature.position == position:
                    predicted, *_ = rows.setdefault(name(curve, feature), ([], [], []))
                    predicted += _marks(feature.value, feature.ci_low, feature.ci_high)
    return tuple(
        Row(title, tuple(predicted), tuple(observed), f"{agreeing(agree)} agree" if agree else "")
        for title, (predicted, observed, agree) in rows.items()
    )


def _marks(value: float | None, low: float | None, high: float | None) -> list[Mark]:
    return [Mark(value, low or value, high or value)] if value else []


def _limit_rows(known: Iterable[Limit], name: Callable[[str], str]) -> tuple[Row, ...]:
    families: dict[str, list[Limit]] = {}
    for limit in known:
        families.setdefault(limit.key.family, []).append(limit)
    rows = []
    for family, found in families.items():
        predicted = (limit.predicted_share for limit in found)
        observed = tuple(Mark(each.share, *each.interval) for each in found if each.share and each.interval)
        shares = [mark.value for mark in observed]
        remark = f"median {format_percent(median(shares))}" if shares else ""
        rows.append(Row(name(family), tuple(Mark(share, share, share) for share in predicted), observed, remark))
    return tuple(rows)


def _bytes(values: Sequence[float]) -> Scale:
    return size_scale(values, format_bytes, 9)


def _counts(values: Sequence[float]) -> Scale:
    low, high = min(values) / 1.25, max(values) * 1.25
    ticks = decimal_ticks(low, high)
    return Scale(low, high, tuple(ticks), tuple(tick_text(tick, "") for tick in ticks))


def _shares(values: Sequence[float]) -> Scale:
    high = 1.05 * max(1.0, *values)
    ticks = tuple(tick / 100 for tick in range(0, round(100 * high) + 1, 25 if high < 2 else 100))
    return Scale(0.0, high, ticks, tuple(map(format_percent, ticks)), logarithmic=False)


def essentials_figure(parts: Sequence[Part], seen: str) -> str:
    """Draw *parts* (at least one) one below the other; *seen* is what the marks of observations are called."""
    canvas = Canvas(_LEGEND_IN + sum(_HEAD_IN + _ROW_IN * len(part.rows) + _FOOT_IN for part in parts))
    observed = any(row.observed for part in parts for row in part.rows)
    _draw_legend(canvas, seen if observed else "")
    top = canvas.height_in - _LEGEND_IN
    for part in parts:
        height = _ROW_IN * len(part.rows)
        ends = [end for row in part.rows for mark in (*row.predicted, *row.observed) for end in (mark.low, mark.high)]
        rows = Scale(0, len(part.rows), (), (), logarithmic=False)
        place = (_LEFT_IN, top - _HEAD_IN - height, WIDTH_IN - _LEFT_IN - _RIGHT_IN, height)
        panel = Panel(canvas, *place, part.scale(ends), rows)
        panel.frame(labels=(True, False))
        canvas.text((0, panel.top_in + 0.1), part.title, weight=600)
        for number, row in enumerate(part.rows):
            _draw_row(panel, row, len(part.rows) - number - 0.5, both=observed)
        if part.scale is _shares:
            panel.line(((1, 0), (1, len(part.rows))), _WHOLE)
        top = panel.bottom_in - _FOOT_IN
    return canvas.drawn()


def _draw_legend(canvas: Canvas, seen: str) -> None:
    height = canvas.height_in - 0.08
    texts: list[tuple[str, tuple[Pen, ...]]] = [("predicted from the specification, with 95 % interval", (_RIM, _HOLE))]
    texts += [(seen, (_DOT,))] if seen else []
    left = _LEFT_IN
    for text, pens in texts:
        for pen in pens:
            canvas.segment((left, height), (left, height), pen)
        canvas.text((left + 0.07, height), text, size_pt=SMALL_PT)
        left += 2.75


def _draw_row(panel: Panel, row: Row, middle: float, *, both: bool) -> None:
    """Draw predictions a little above the middle of the row, and observations a little below."""
    height = panel.up(middle)
    canvas = panel.canvas
    canvas.text((panel.left_in - 0.06, height), shorten(row.name, 20), size_pt=SMALL_PT, ha="right")
    canvas.text((panel.right_in + 0.06, height), row.remark, size_pt=SMALL_PT, colour=MUTED)
    canvas.segment(
        (panel.left_in, height - _ROW_IN / 2), (panel.right_in, height - _ROW_IN / 2), Pen(FAINT, 0.4, order=0.5)
    )
    apart = _APART_IN if both else 0.0
    for marks, up, line, pens in (
        (row.predicted, apart, _LINES["predicted"], (_RIM, _HOLE)),
        (row.observed, -apart, _LINES["observed"], (_DOT,)),
    ):
        for mark in marks:
            canvas.segment((panel.across(mark.low), height + up), (panel.across(mark.high), height + up), line)
            place = (panel.across(mark.value), height + up)
            for pen in pens:
                canvas.segment(place, place, pen)
