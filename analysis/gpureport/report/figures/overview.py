"""The figure of all observed values as ratios to their predictions, one row per workload."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpureport.records.curves import Feature
from gpureport.records.finding import AGREEMENT, Finding
from gpureport.report.curves import FindingPair
from gpureport.report.figures.theme import (
    MUTED,
    OBSERVED,
    PREDICTED,
    Margins,
    across,
    dots,
    first_fitting,
    inches,
    readable,
    sheet,
    text_in,
    value_ticks,
    write_above,
)
from gpureport.report.grouping import grouped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 12
"""If there are more rows, those farthest from 1 are drawn."""

_ROW_IN = 0.17
_MARGINS = Margins(left=1.7, right=0.1, top=0.22, bottom=0.38)
_FEATURES: dict[Feature, tuple[str, str, str, float, str]] = {
    "cliff": ("v", "▼", OBSERVED, -0.24, "cliffs (capacity transitions)"),
    "taper": ("^", "▲", "#009E73", 0.0, "tapers (saturation points)"),
    "rate": ("o", "●", PREDICTED, 0.24, "rates"),
}
"""Marker, its character, colour, distance below the middle of the row in rows, and legend."""

_NAME = "{} / predicted from the specification (shaded: agreement within a factor of {:g})"
_WIDEST, _LEAST = 12.0, 1.6


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


def overview_figure(rows: dict[str, list[Finding]], seen: str = "observed") -> "Figure":
    """Draw *seen* / predicted of *rows* (at least one) with 95 % intervals; ratios beyond the axis at its edge."""
    figure, (axis,) = sheet([(0, _ROW_IN * len(rows))], margins=_MARGINS)
    reach = min(_WIDEST, max(_LEAST, 1.15 * max(_distance(finding) for row in rows.values() for finding in row)))
    axis.set(xscale="log", xlim=(1 / reach, reach), ylim=(len(rows) - 0.5, -0.5))
    names = [first_fitting((name, name.partition(" / ")[2] or name), _MARGINS.left - 0.1) for name in rows]
    axis.set_yticks(range(len(rows)), names)
    value_ticks(axis.xaxis, (1 / reach, reach), (1.0, ""), logarithmic=True, most=8)
    axis.axvspan(1 / AGREEMENT, AGREEMENT, color="#F2F2F2", linewidth=0)
    axis.axvline(1, color=MUTED, linewidth=0.8)
    width, _ = inches(axis)
    right = 1.0
    for feature, (marker, sign, colour, below, text) in reversed(_FEATURES.items()):
        found = [(row + below, each) for row, of in enumerate(rows.values()) for each in of if each.feature == feature]
        inside = [
            (y, each.ci_low / each.predicted, each.ci_high / each.predicted)
            for y, each in found
            if each.ci_low and each.ci_high and each.predicted and _distance(each) < reach
        ]
        if inside:
            y, low, high = np.transpose(inside)
            across(axis, y, low, high, colour, 0.8, alpha=0.8)
        ratios = [min(max(each.ratio or 1.0, 1.02 / reach), reach / 1.02) for _, each in found]
        if marker == "o":
            dots(axis, ratios, [y for y, _ in found], colour, 3.4)
        else:
            axis.plot(ratios, [y for y, _ in found], marker, color=colour, markersize=3.4, alpha=0.9)
        write_above(axis, f"{sign} {text}", 0.1, x=right, colour=readable(colour), ha="right")
        right -= (text_in(text) + 0.15) / width
    axis.set_xlabel(_NAME.format(seen, AGREEMENT), labelpad=2)
    return figure
