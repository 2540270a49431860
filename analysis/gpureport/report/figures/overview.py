"""The figure of page one: every observed value as a ratio to its prediction, a row a workload."""

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from gpureport.findings import AGREEMENT
from gpureport.records import Feature, Finding
from gpureport.report.curves import Comparison
from gpureport.report.figures.style import (
    FAINT,
    INK,
    MUTED,
    OBSERVED,
    PREDICTED,
    new_figure,
    shorten,
)
from gpureport.report.figures.svg import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 12
"""Of more rows, those farthest from 1 are drawn."""

_ROW_IN = 0.155
_FEATURES: tuple[tuple[Feature, str, str, str], ...] = (
    ("cliff", "v", OBSERVED, "cliffs: where a cache gives out"),
    ("taper", "^", "#009E73", "tapers: how much work fills the device"),
    ("rate", "o", PREDICTED, "rates: how fast it then runs"),
)
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
_FINE_TICKS = (0.33, 0.5, 0.67, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3)
_FINE_REACH = 2.5
_WIDEST = 12.0


def overview_rows(comparisons: Sequence[Comparison]) -> dict[str, list[Finding]]:
    """Group the findings that have a ratio: by variant, or by family where there are too many variants."""
    findings = [c.main for c in comparisons if c.main.ratio and c.main.predicted]
    by_variant = _grouped(findings, lambda finding: f"{finding.workload} / {finding.variant}")
    rows = by_variant if len(by_variant) <= MOST_ROWS else _grouped(findings, lambda finding: finding.workload)
    farthest = sorted(rows, key=lambda name: max(_distance(finding) for finding in rows[name]), reverse=True)
    kept = set(farthest[:MOST_ROWS])
    return {name: row for name, row in rows.items() if name in kept}


def _grouped(findings: Sequence[Finding], name: Callable[[Finding], str]) -> dict[str, list[Finding]]:
    rows: dict[str, list[Finding]] = {}
    for finding in findings:
        rows.setdefault(name(finding), []).append(finding)
    return rows


def _distance(finding: Finding) -> float:
    ratio = finding.ratio or 1.0
    return max(ratio, 1 / ratio)


@svg
def overview_figure(rows: dict[str, list[Finding]]) -> "Figure":
    """Draw observed / predicted of *rows* (at least one) with 95 % intervals."""
    height = _ROW_IN * len(rows) + 0.78
    figure = new_figure(height)
    axes = figure.subplots(
        gridspec_kw={"left": 0.235, "right": 0.985, "top": 1 - 0.22 / height, "bottom": 0.42 / height}
    )
    reach = min(_WIDEST, max(1.6, 1.15 * max(_distance(finding) for row in rows.values() for finding in row)))
    _scale(axes, reach, list(rows))
    for number, row in enumerate(rows.values()):
        for finding in row:
            _draw(axes, finding, number, reach)
    for _, marker, colour, label in _FEATURES:
        axes.plot([], [], linestyle="", marker=marker, color=colour, markersize=4, label=label)
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 0.99),
        ncols=3,
        borderpad=0,
        handletextpad=0.2,
        columnspacing=1.2,
    )
    return figure


def _scale(axes: "Axes", reach: float, names: Sequence[str]) -> None:
    axes.set_xscale("log")
    axes.set_xlim(1 / reach, reach)
    ticks = [tick for tick in (_FINE_TICKS if reach < _FINE_REACH else _TICKS) if 1 / reach <= tick <= reach]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), [shorten(name) for name in names])
    axes.axvspan(1 / AGREEMENT, AGREEMENT, color="#F2F2F2", linewidth=0, zorder=0)
    axes.axvline(1, color=MUTED, linewidth=0.8, zorder=1)
    axes.grid(axis="y", color=FAINT, linewidth=0.4)
    axes.tick_params(axis="y", length=0)
    axes.set_axisbelow(True)
    shaded = f"shaded: within a factor of {AGREEMENT:g}, where they agree"
    axes.set_xlabel(f"observed / predicted from the specification ({shaded})", color=INK)


def _draw(axes: "Axes", finding: Finding, row: int, reach: float) -> None:
    """Draw one ratio with its interval, each feature a little above or below its row."""
    offset, (marker, colour) = {
        name: (step, (marker, colour))
        for (name, marker, colour, _), step in zip(_FEATURES, cycle((-0.22, 0.0, 0.22)), strict=False)
    }[finding.feature]
    ratio, predicted = finding.ratio or 1.0, finding.predicted or 1.0
    inside = min(max(ratio, 1 / reach * 1.02), reach / 1.02)
    if finding.ci_low and finding.ci_high and inside == ratio:
        ends = [finding.ci_low / predicted, finding.ci_high / predicted]
        axes.plot(ends, [row + offset] * 2, color=colour, linewidth=0.8, alpha=0.8, zorder=2)
    axes.plot(inside, row + offset, marker=marker, color=colour, markersize=3.6, alpha=0.9, zorder=3)
