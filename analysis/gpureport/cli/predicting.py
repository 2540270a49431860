"""``gpureport predict``."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from gpureport.cli.console import print_json, print_line, print_text
from gpureport.cli.database import note_override, open_database
from gpureport.cli.options import selected
from gpureport.cli.summary import TITLE_NOTE, feature_name, heading, short_unit
from gpureport.cli.tables import Row, print_table
from gpureport.predict import limits_of, predict
from gpureport.predict.uncertainty import ranked
from gpureport.records import Prediction
from gpureport.report.values import fact_name, fact_value
from gpureport.spec.models import Device
from gpureport.units import format_bandwidth, format_bytes, format_frequency, format_predicted, format_share

_MOST_FACTS = 12


def predict_device(name: str, workloads: Sequence[str], quick: bool, as_json: bool, entries: Sequence[Path]) -> int:
    """Print what the database entry alone promises."""
    chosen = selected(workloads, quick=quick)
    database = open_database(entries)
    device = database.resolve(name)
    note_override(database, device.id)
    limits = limits_of(device, quick=quick)
    predictions = [p for workload in chosen for p in predict(device, workload, limits)]
    if as_json:
        print_json(
            {
                "device": device.model_dump(mode="json"),
                "predictions": [prediction.model_dump(mode="json") for prediction in predictions],
                "sensitivities": [sensitivity.model_dump(mode="json") for sensitivity in ranked(predictions)],
            }
        )
        return 0
    _print_device(device)
    _print_features(predictions)
    _print_sensitivities(device, predictions)
    _print_occupancy(predictions)
    return 0


def _print_device(device: Device) -> None:
    caches = ", ".join(
        f"{cache.name} {format_bytes(cache.capacity_bytes)}{' a compute unit' if cache.scope == 'compute_unit' else ''}"
        for cache in device.caches
    )
    print_text(
        f"{device.name} ({device.id}): {device.compute_units} compute units at {format_frequency(device.clock_hz)}, "
        f"{caches or 'no caches that kernels see'}, {format_bytes(device.memory.size_bytes)} at "
        f"{format_bandwidth(device.memory.bandwidth_bytes_per_s)}"
    )
    print_line("")


def _print_features(predictions: Sequence[Prediction]) -> None:
    rows: list[Row] = []
    for p in predictions:
        rows.append((heading(f"{p.key.workload}/{p.key.variant}", p.key.sweep, p.features),))
        rows += [
            (f"  {feature_name(f)}", format_predicted(f.value, f.ci_low, f.ci_high, short_unit(f.unit)))
            for f in p.features
        ]
    title = f"Predicted from the specification alone, with 95 % intervals ({TITLE_NOTE})"
    print_table(title, ("feature", "predicted"), rows, right=(1,))


def _print_sensitivities(device: Device, predictions: Sequence[Prediction]) -> None:
    """Print the facts that the predictions hang on most."""
    rows = [
        (
            fact_name(found.fact),
            fact_value(device, found.fact),
            found.kind,
            format_share(found.uncertainty),
            format_share(found.effect),
            f"{found.share:.0%}",
        )
        for found in ranked(predictions)[:_MOST_FACTS]
    ]
    columns = ("fact", "is", "kind", "known to", "moves times by", "share of the variance")
    print_table("What the predictions hang on", columns, rows, right=(1, 3, 4, 5))


def _print_occupancy(predictions: Sequence[Prediction]) -> None:
    columns = ("work-group", "registers", "local memory", "groups a unit", "occupancy", "limited by")
    title = "Occupancy, with registers as estimated before compiling"
    print_table(title, columns, list(_occupancy_rows(predictions)), right=(1, 2, 3, 4))


def _occupancy_rows(predictions: Sequence[Prediction]) -> Iterator[Row]:
    for name, group in groupby(predictions, lambda p: f"{p.key.workload}/{p.key.variant}"):
        yield (name,)
        yield from {
            (
                "  " + " x ".join(map(str, entry.work_group)),
                str(entry.registers_per_work_item),
                format_bytes(entry.local_memory_bytes),
                str(entry.groups_per_compute_unit),
                f"{100 * entry.fraction:.0f} %",
                entry.limiter,
            ): None
            for p in group
            for entry in p.occupancy
        }
