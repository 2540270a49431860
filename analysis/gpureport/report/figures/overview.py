"""The figure of all observed values as ratios to their predictions, one row per workload."""

from collections.abc import Sequence

from gpureport.records.features import Feature
from gpureport.records.finding import AGREEMENT, Finding
from gpureport.report.figures.canvas import Canvas, Ink, Pen, Shape
from gpureport.report.figures.panels import Panel, Scale
from gpureport.report.figures.style import MUTED, OBSERVED, PREDICTED, SMALL_PT, WIDTH_IN, shorten, text_in
from gpureport.report.grouping import grouped
from gpureport.report.run.curves import FindingPair

MOST_ROWS = 12
"""If there are more rows, those farthest from 1 are drawn."""

_ROW_IN, _MARK_IN = 0.155, 0.027
_LEFT_IN, _RIGHT_IN, _FOOT_IN, _HEAD_IN = 1.6, 0.1, 0.38, 0.22
_FEATURES: dict[Feature, tuple[Shape, str, float, str]] = {
    "cliff": ("down", OBSERVED, 0.22, "cliffs (capacity transitions)"),
    "taper": ("up", "#009E73", 0.0, "tapers (saturation points)"),
    "rate": ("circle", PREDICTED, -0.22, "rates"),
}
"""Shape, colour, offset above the middle of the row in rows, and legend."""

_NAME = "observed / predicted from the specification (shaded: agreement within a factor of {:g})"
_AGREED, _EQUAL = Ink("#F2F2F2", order=0.1), Pen(MUTED, 0.8)
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
_FINE_TICKS = (0.33, 0.5, 0.67, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3)
_FINE_REACH = 2.5
_WIDEST = 12.0


def overview_rows(pairs: Sequence[FindingPair]) -> dict[str, list[Finding]]:
    """Group the findings that have a ratio: by variant, or by family if there are too many variants."""
    findings = [c.main for c in pairs if c.main.ratio and c.main.predicted]
    by_variant = grouped((f"{finding.key.family} / {finding.key.variant}", finding) for finding in findings)
    by_family = grouped((finding.key.family, finding) for finding in findings)
    rows = by_variant if len(by_variant) <= MOST_ROWS else by_family
    farthest = sorted(rows, key=lambda name: max(_distance(finding) for finding in rows[name]), reverse=True)
    kept = set(farthest[:MOST_ROWS])
    return {name: row for name, row in rows.items() if name in kept}


def _distance(finding: Finding) -> float:
    ratio = finding.ratio or 1.0
    return max(ratio, 1 / ratio)


def overview_figure(rows: dict[str, list[Finding]]) -> str:
    """Draw observed / predicted of *rows* (at least one) with 95 % intervals."""
    canvas = Canvas(_ROW_IN * len(rows) + _HEAD_IN + _FOOT_IN)
    reach = min(_WIDEST, max(1.6, 1.15 * max(_distance(finding) for row in rows.values() for finding in row)))
    width, height = WIDTH_IN - _LEFT_IN - _RIGHT_IN, _ROW_IN * len(rows)
    panel = Panel(canvas, _LEFT_IN, _FOOT_IN, width, height, _ratios(reach), _names(list(rows)))
    panel.frame(labels=(True, True))
    canvas.rectangle(panel.at(1 / AGREEMENT, panel.y.low), panel.at(AGREEMENT, panel.y.high), _AGREED)
    panel.line(((1, panel.y.low), (1, panel.y.high)), _EQUAL)
    for number, row in enumerate(rows.values()):
        for finding in row:
            _draw(panel, finding, len(rows) - 1 - number, reach)
    _draw_legend(canvas)
    canvas.text((panel.left_in + width / 2, 0.03), _NAME.format(AGREEMENT), ha="center", va="bottom")
    return canvas.drawn()


def _ratios(reach: float) -> Scale:
    ticks = tuple(tick for tick in (_FINE_TICKS if reach < _FINE_REACH else _TICKS) if 1 / reach <= tick <= reach)
    return Scale(1 / reach, reach, ticks, tuple(f"{tick:g}" for tick in ticks))


def _names(names: Sequence[str]) -> Scale:
    """Return the scale of rows, with the first at the top."""
    texts = tuple(shorten(name) for name in reversed(names))
    return Scale(-0.5, len(names) - 0.5, tuple(map(float, range(len(names)))), texts, logarithmic=False)


def _draw(panel: Panel, finding: Finding, row: int, reach: float) -> None:
    """Draw one ratio with its interval; the height within the row depends on the feature."""
    shape, colour, rise, _ = _FEATURES[finding.feature]
    ratio, predicted = finding.ratio or 1.0, finding.predicted or 1.0
    inside = min(max(ratio, 1 / reach * 1.02), reach / 1.02)
    if finding.ci_low and finding.ci_high and inside == ratio:
        ends = ((finding.ci_low / predicted, row + rise), (finding.ci_high / predicted, row + rise))
        panel.line(ends, Pen(colour, 0.8, alpha=0.8))
    panel.canvas.mark(panel.at(inside, row + rise), shape, _MARK_IN, Ink(colour, alpha=0.9, order=3))


def _draw_legend(canvas: Canvas) -> None:
    """Draw the legend above the plot, right-aligned."""
    right, height = WIDTH_IN - _RIGHT_IN, canvas.height_in - 0.1
    for shape, colour, _, text in reversed(_FEATURES.values()):
        canvas.text((right, height), text, size_pt=SMALL_PT, ha="right")
        right -= 0.93 * text_in(text, SMALL_PT) + 0.05
        canvas.mark((right, height), shape, _MARK_IN, Ink(colour, order=3))
        right -= 0.12
