"""The document that compares the predictions of several devices, as HTML and PDF."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import log
from pathlib import Path

from gpureport import __version__
from gpureport.compare.records import CurvePoint, MachineCurve
from gpureport.glossary import terms
from gpureport.predict.contrast import INTERVAL, Contrast, capacity_difference
from gpureport.records.ceilings import KIND_TEXTS
from gpureport.records.prediction import Prediction
from gpureport.report import Paper
from gpureport.report.comparison.sentences import FILE
from gpureport.report.figures.chart import MACHINES, Picture
from gpureport.report.figures.machines import (
    MOST_PANELS,
    MOST_ROWS,
    HeatBlock,
    HeatRow,
    heat_chart,
    machine_chart,
    reach_of,
)
from gpureport.report.figures.sweeps import drawable
from gpureport.report.grouping import grouped, in_figures
from gpureport.report.prediction.forecast import COPIES, facts_of
from gpureport.report.prediction.side_by_side import (
    EQUAL,
    DeviceComparison,
    DevicePredictions,
    ceilings_table,
    conclusion,
    effects,
    effects_table,
    features_table,
    key_table,
    limit_effects,
    ratio_table,
    stretch_table,
)
from gpureport.report.render import readable_time, write_filled
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import workload_table
from gpureport.report.text.words import family_title
from gpureport.text import N90, shorten

_TEMPLATE = "side_by_side.html.j2"


def write_devices(
    first: DevicePredictions, others: Sequence[DeviceComparison], directory: Path, paper: Paper = "a4"
) -> list[Path]:
    """Write the document of *first* and *others* to *directory*.

    Returns:
        The files written.

    Raises:
        GpuReportError: a file cannot be written, or the PDF cannot be made; the files before it are there.
    """
    sides = [first, *(other.predicted for other in others)]
    many = len(sides) > len(MACHINES)
    names = [shorten(side.device.name, 40) for side in sides]
    content: dict[str, object] = {
        "title": f"{names[0]} and {len(others)} other devices" if many else " and ".join(names),
        "created": readable_time(datetime.now(UTC).isoformat(timespec="seconds")),
        "version": __version__,
        "sides": [(side, facts_of(side.device)) for side in sides],
        "key_figures": key_table(sides),
        "figures_caption": text("figures", FILE),
        "ceilings": None if many else ceilings_table(sides),
        "features": None if many else features_table(sides),
        "chapters": [] if many else [_chapter(first, other) for other in others],
        "maps": list(_maps(first, others)) if many else [],
        "most": len(MACHINES),
        "interval": INTERVAL,
        "copies": COPIES,
        "n90": N90,
        "glossary": terms(),
        "workloads": workload_table(contrast.key.workload for other in others for contrast in other.contrasts),
    }
    return write_filled(_TEMPLATE, content, directory, paper=paper)


def _maps(first: DevicePredictions, others: Sequence[DeviceComparison]) -> Iterator[Picture]:
    """Draw the ratios of many devices to the first: by limit, and of the best values."""
    limits, best = [], []
    names = tuple(f"{other.predicted.letter}: {shorten(other.predicted.device.name, 40)}" for other in others)
    for name, other in zip(names, others, strict=True):
        limits += [(KIND_TEXTS[e.bottleneck], (name, e.ratio.value)) for e in limit_effects(first, other)]
        best += [(str(contrast.key), (name, contrast.best.value)) for contrast in other.contrasts]
    kinds = {f"kernels by limit on {first.letter}": limits, "best value of each sweep": best}
    rows = [
        HeatRow(name, "", (dict(cells),), heading=heading)
        for heading, found in kinds.items()
        for name, cells in grouped(found).items()
    ]
    block = HeatBlock(f"speed / speed of {first.letter}", names)
    for part in in_figures(rows, MOST_ROWS):
        yield Picture(heat_chart(part, [block], reach_of(rows)), f"Predicted speed / speed of {first.device.name}.")


def _chapter(first: DevicePredictions, other: DeviceComparison) -> dict[str, object]:
    """Return what the template shows of a device compared with the first."""
    names = [shorten(side.device.name, 40) for side in (other.predicted, first)]
    sizes = [contrast for contrast in other.contrasts if contrast.axis.quantity != "case"]
    different = [contrast for contrast in sizes if any(abs(log(p.ratio.value)) > EQUAL for p in contrast.points)]
    found = limit_effects(first, other)
    return {
        "anchor": f"against-{other.predicted.letter}",
        "title": f"{names[0]} ({other.predicted.letter}) compared with {names[1]} ({first.letter})",
        "conclusion": conclusion(first, other, found),
        "capacity": capacity_difference((first.device, other.predicted.device)),
        "impact": effects_table(first, other, found),
        "effects": effects_table(first, other, effects(other.contrasts)),
        "ratios": ratio_table(first, other, sizes=False),
        "stretches": stretch_table(first, other),
        "figures": _figures(first, other.predicted, different),
        "equal": dict.fromkeys(contrast.key.workload for contrast in sizes if contrast not in different),
        "left": other.left,
    }


def _figures(first: DevicePredictions, other: DevicePredictions, drawn: Sequence[Contrast]) -> tuple[Picture, ...]:
    """Draw sweeps over sizes, by kind."""
    sides, marks = (first, other), f"bands: 95 % intervals; below: values / those of {first.letter}"
    names = [f"{side.letter}: {side.device.name}" for side in sides]
    found = [{p.key: machine_curve(p, name) for p in side.predictions} for side, name in zip(sides, names, strict=True)]
    kinds = grouped(
        ((c.key.family, c.key.sweep, c.axis.label, c.metric.unit), [of[c.key] for of in found]) for c in drawn
    )
    return tuple(
        Picture(
            machine_chart(part, names),
            f"{family_title(family, first.families)}, {sweep.replace('_', ' ')}; {marks}.",
        )
        for (family, sweep, *_), sweeps in kinds.items()
        for part in in_figures(sweeps, MOST_PANELS)
    )


def machine_curve(prediction: Prediction, name: str) -> MachineCurve:
    """Return a predicted curve with its intervals, without points that do not fit on logarithmic axes."""
    points = (
        CurvePoint(p.point.label, p.point.x, p.value, p.value / p.spread, p.value * p.spread)
        for p in drawable(prediction.points)
    )
    return MachineCurve(
        key=prediction.key,
        axis=prediction.axis,
        metric=prediction.metric,
        observed=False,
        points=tuple(points),
        machine=name,
    )
