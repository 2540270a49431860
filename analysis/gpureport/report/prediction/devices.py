"""The document that compares the predictions of a few devices, as HTML and PDF."""

from collections.abc import Sequence
from datetime import UTC, datetime
from math import log
from pathlib import Path

from gpureport import __version__
from gpureport.compare.runs import machine_curve
from gpureport.glossary import terms
from gpureport.predict.contrast import INTERVAL, capacity_difference
from gpureport.report import Paper
from gpureport.report.comparison.document import curve_pictures
from gpureport.report.comparison.sentences import FILE
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
    names = [shorten(side.device.name, 40) for side in sides]
    content: dict[str, object] = {
        "title": " and ".join(names),
        "created": readable_time(datetime.now(UTC).isoformat(timespec="seconds")),
        "version": __version__,
        "sides": [(side, facts_of(side.device)) for side in sides],
        "key_figures": key_table(sides),
        "figures_caption": text("figures", FILE),
        "ceilings": ceilings_table(sides),
        "features": features_table(sides),
        "chapters": [_chapter(first, other) for other in others],
        "interval": INTERVAL,
        "copies": COPIES,
        "n90": N90,
        "glossary": terms(),
        "workloads": workload_table(contrast.key.workload for other in others for contrast in other.contrasts),
    }
    return write_filled(_TEMPLATE, content, directory, paper=paper)


def _chapter(first: DevicePredictions, other: DeviceComparison) -> dict[str, object]:
    """Return what the template shows of a device compared with the first."""
    names = [shorten(side.device.name, 40) for side in (other.predicted, first)]
    sizes = [contrast for contrast in other.contrasts if contrast.axis.quantity != "case"]
    different = [contrast for contrast in sizes if any(abs(log(p.ratio.value)) > EQUAL for p in contrast.points)]
    found, drawn = limit_effects(first, other), {contrast.key for contrast in different}
    sides = {f"{side.letter}: {side.device.name}": side for side in (first, other.predicted)}
    curves = (machine_curve(p, label) for label, side in sides.items() for p in side.predictions if p.key in drawn)
    return {
        "anchor": f"against-{other.predicted.letter}",
        "title": f"{names[0]} ({other.predicted.letter}) compared with {names[1]} ({first.letter})",
        "conclusion": conclusion(first, other, found),
        "capacity": capacity_difference((first.device, other.predicted.device)),
        "impact": effects_table(first, other, found),
        "effects": effects_table(first, other, effects(other.contrasts)),
        "ratios": ratio_table(first, other),
        "stretches": stretch_table(first, other),
        "figures": tuple(curve_pictures(curves, list(sides), first.families)),
        "equal": dict.fromkeys(contrast.key.workload for contrast in sizes if contrast not in different),
        "left": other.left,
    }
