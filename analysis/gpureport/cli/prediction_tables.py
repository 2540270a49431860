"""The tables of ``gpureport predict``: a summary, every feature, or devices side by side."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from gpureport.cli.console import print_line, print_text
from gpureport.cli.summary import feature_name, heading, short_unit
from gpureport.cli.tables import Row, print_document_table, print_table
from gpureport.predict.contrast import INTERVAL, capacity_difference
from gpureport.records.prediction import Prediction
from gpureport.records.report import Report
from gpureport.report.prediction import side_by_side
from gpureport.report.prediction.forecast import COPIES, ceilings_table, cliffs_table, facts_of, outlook_table
from gpureport.report.prediction.side_by_side import DeviceComparison, DevicePredictions
from gpureport.report.run.trust import sensitivity_table
from gpureport.spec.models import Device
from gpureport.text import N90
from gpureport.units import format_bytes, format_interval, format_percent

_FEW_FACTS = 5
_SENSITIVITIES = "What the predictions depend on"
_LIMITS = "Limits of the hardware from the specification, with 95 % intervals"


def print_prediction(report: Report) -> None:
    """Print ceilings, cliffs, a row for each workload, the most influential values of the entry."""
    _print_device(report.device)
    title = "Specification predictions: cliffs (capacity transitions), as working sets"
    print_document_table(title, cliffs_table(report.predictions))
    title = f"Specification predictions: best of each workload ({N90})"
    print_document_table(title, outlook_table(report.predictions), optional=["occupancy"])
    print_document_table(_SENSITIVITIES, sensitivity_table(report), most=_FEW_FACTS)
    print_text("--all lists every feature of every sweep. `gpureport glossary TERM` explains terms and bottlenecks.")


def print_everything(report: Report) -> None:
    """Print every feature of every sweep, and the occupancy of every work-group size."""
    _print_device(report.device)
    _print_features(report.predictions)
    print_document_table(_SENSITIVITIES, sensitivity_table(report))
    _print_occupancy(report.predictions)


def print_contrasts(first: DevicePredictions, others: Sequence[DeviceComparison]) -> None:
    """Print what changes and for which kernels; then the devices side by side, with speeds relative to the first."""
    sides = [first, *(other.predicted for other in others)]
    found = [side_by_side.limit_effects(first, other) for other in others]
    for other, effects in zip(others, found, strict=True):
        print_text(side_by_side.conclusion(first, other, effects), style="bold")
    print_line("")
    for side in sides:
        print_text(f"{side.letter}: {side.device.name} ({side.device.id}): {facts_of(side.device)}")
    for other in others:
        if sentence := capacity_difference((first.device, other.predicted.device)):
            print_text(sentence)
    print_line("")
    print_document_table("What buyers compare, with 95 % intervals", side_by_side.key_table(sides))
    for other, effects in zip(others, found, strict=True):
        a, b = first.letter, other.predicted.letter
        title = f"Speed of {b} / speed of {a}, by what limits the kernels on {a}"
        table = side_by_side.effects_table(first, other, effects)
        print_document_table(f"{title} (ratio of the median kernel; range over kernels)", table)
    print_document_table(f"{_LIMITS}, and ratios of speeds (inverse for times)", side_by_side.ceilings_table(sides))
    print_text(COPIES)
    print_line("")
    print_document_table(f"Specification predictions: cliffs and tapers ({N90})", side_by_side.features_table(sides))
    for other in others:
        a, b = first.letter, other.predicted.letter
        title = f"Specification predictions: speed of {b} / speed of {a} (above 1, {b} is faster)"
        best = tuple(f"best {letter}" for letter in (a, b))
        print_document_table(title, side_by_side.ratio_table(first, other, sizes=True), best)
        if other.left:
            print_text(f"Not compared (a different part of the compute units on each device): {', '.join(other.left)}.")
    print_text(f"{INTERVAL} Best rates may occur at different sizes; ratios by size compare equal sizes.")


def _print_device(device: Device) -> None:
    print_text(f"{device.name} ({device.id}): {facts_of(device)}")
    print_line("")
    print_document_table(_LIMITS, ceilings_table(device))
    print_text(COPIES)
    print_line("")


def _print_features(predictions: Sequence[Prediction]) -> None:
    rows: list[Row] = []
    for p in predictions:
        rows.append((heading(p.key.workload, p.key.sweep, p.features),))
        rows += [
            (f"  {feature_name(f)}", format_interval(f.value, f.ci_low, f.ci_high, short_unit(f.unit), "predicted"))
            for f in p.features
        ]
    title = f"Specification predictions, with 95 % intervals ({N90})"
    print_table(title, ("feature", "predicted"), rows, right=(1,))


def _print_occupancy(predictions: Sequence[Prediction]) -> None:
    columns = ("work-group", "registers", "local memory", "groups per compute unit", "occupancy", "limited by")
    title = "Occupancy, with the register count estimated before compilation"
    print_table(title, columns, list(_occupancy_rows(predictions)), right=(1, 2, 3, 4))


def _occupancy_rows(predictions: Sequence[Prediction]) -> Iterator[Row]:
    for name, group in groupby(predictions, lambda p: p.key.workload):
        yield (name,)
        yield from {
            (
                "  " + " x ".join(map(str, entry.work_group)),
                str(entry.registers_per_work_item),
                format_bytes(entry.local_memory_bytes),
                str(entry.groups_per_compute_unit),
                format_percent(entry.fraction),
                entry.limiter,
            ): None
            for p in group
            for entry in p.occupancy
        }
