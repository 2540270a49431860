"""The figure of a sweep over work-group shapes: a row a shape, the best on top."""

from typing import TYPE_CHECKING, Any

from gpureport.records import ObservedPoint, PredictedPoint, Prediction
from gpureport.report.curves import Curve
from gpureport.report.figures.style import FAINT, MUTED, OBSERVED, PREDICTED, new_figure, shorten, tick_text
from gpureport.report.figures.svg import svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SHAPES = 30
"""Of more, the middle of the ranking is left out."""

_ROW_IN = 0.145


@svg
def work_group_figure(curve: Curve) -> "Figure":
    """Draw predicted and observed values of each shape. The curve must have at least one point."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    labels = shown(ranked(curve))
    height = _ROW_IN * (len(labels) + 1) + 0.75
    figure = new_figure(height)
    axes = figure.subplots(gridspec_kw={"left": 0.16, "right": 0.94, "top": 1 - 0.28 / height, "bottom": 0.42 / height})
    rows = {label: number for number, label in enumerate(labels)}
    styles: tuple[tuple[Prediction | None, dict[str, Any]], ...] = (
        (curve.specification, {"marker": "|", "markersize": 8, "color": PREDICTED, "label": "specification"}),
        (
            curve.calibrated,
            {"marker": "o", "markersize": 5, "mfc": "none", "color": PREDICTED, "label": "calibrated"},
        ),
    )
    handles = []
    for prediction, style in styles:
        if prediction is not None:
            points = [point for point in prediction.points if point.point.label in rows]
            axes.plot([p.value for p in points], [rows[p.point.label] for p in points], linestyle="", **style)
            handles.append(Line2D([], [], linestyle="", **style))
    if curve.observation is not None:
        seen = [point for point in curve.observation.points if point.point.label in rows]
        errors = ([max(0.0, p.value - p.ci_low) for p in seen], [max(0.0, p.ci_high - p.value) for p in seen])
        axes.errorbar(
            [p.value for p in seen],
            [rows[p.point.label] for p in seen],
            xerr=errors,
            fmt="o",
            markersize=3,
            elinewidth=0.8,
            color=OBSERVED,
        )
        handles.append(Line2D([], [], linestyle="", marker="o", markersize=3, color=OBSERVED, label="observed"))
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), [shorten(label, 20) for label in labels])
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(lambda value, _: tick_text(value, curve.value_unit) if value else "0")
    axes.set_xlabel(shorten(curve.metric.label, 80))
    axes.set_ylabel(shorten(curve.axis.label))
    axes.grid(axis="y", color=FAINT, linewidth=0.4)
    axes.set_axisbelow(True)
    axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=3,
        borderpad=0.2,
        labelcolor=MUTED,
    )
    return figure


def ranked(curve: Curve) -> list[PredictedPoint | ObservedPoint]:
    """Return one point a shape, the best first: observed, or else predicted where nothing was observed."""
    record = curve.observation or curve.prediction
    points: tuple[PredictedPoint | ObservedPoint, ...] = record.points if record else ()
    return sorted(points, key=lambda point: point.value, reverse=curve.metric.kind == "rate")


def shown(points: list[PredictedPoint | ObservedPoint]) -> list[str]:
    """Return the labels of the shapes to draw: all, or the best and the worst of too many."""
    labels = [point.point.label for point in points]
    if len(labels) <= MOST_SHAPES:
        return labels
    worst = MOST_SHAPES // 3
    return labels[: MOST_SHAPES - worst] + labels[-worst:]
