"""``gpureport predict``."""

from collections.abc import Sequence
from pathlib import Path

from gpureport.cli.console import out, print_json, print_table
from gpureport.cli.options import selected
from gpureport.predict import limits_of, predict
from gpureport.records import Prediction
from gpureport.spec.database import load_database
from gpureport.spec.models import Device
from gpureport.units import format_bandwidth, format_bytes, format_frequency, format_value


def predict_device(name: str, workloads: Sequence[str], quick: bool, as_json: bool, entries: Sequence[Path]) -> int:
    """Print what the database entry alone promises."""
    device = load_database(tuple(entries)).resolve(name)
    limits = limits_of(device, quick=quick)
    predictions = [p for workload in selected(workloads) for p in predict(device, workload, limits)]
    if as_json:
        print_json(
            {
                "device": device.model_dump(mode="json"),
                "predictions": [prediction.model_dump(mode="json") for prediction in predictions],
            }
        )
        return 0
    _print_device(device)
    _print_features(predictions)
    _print_occupancy(predictions)
    return 0


def _print_device(device: Device) -> None:
    caches = ", ".join(
        f"{cache.name} {format_bytes(cache.capacity_bytes)}{' a compute unit' if cache.scope == 'compute_unit' else ''}"
        for cache in device.caches
    )
    out().print(
        f"{device.name} ({device.id}): {device.compute_units} compute units at {format_frequency(device.clock_hz)}, "
        f"{caches or 'no caches that kernels see'}, {format_bytes(device.memory.size_bytes)} at "
        f"{format_bandwidth(device.memory.bandwidth_bytes_per_s)}",
        soft_wrap=True,
    )


def _print_features(predictions: Sequence[Prediction]) -> None:
    rows = [
        (
            f"{p.key.workload}/{p.key.variant}",
            p.key.sweep,
            f.feature,
            f.level,
            f.position,
            format_value(f.value, f.unit),
        )
        for p in predictions
        for f in p.features
    ]
    columns = ("workload", "sweep", "feature", "level", "position", "predicted")
    print_table("Predicted from the specification alone", columns, rows, right=(5,))


def _print_occupancy(predictions: Sequence[Prediction]) -> None:
    rows = {
        (
            f"{p.key.workload}/{p.key.variant}",
            " x ".join(map(str, entry.work_group)),
            f"{entry.registers_per_work_item} ({entry.source})",
            format_bytes(entry.local_memory_bytes),
            str(entry.groups_per_compute_unit),
            f"{100 * entry.fraction:.0f} %",
            entry.limiter,
        ): None
        for p in predictions
        for entry in p.occupancy
    }
    columns = (
        "workload",
        "work-group",
        "registers",
        "local memory",
        "groups a unit",
        "occupancy",
        "limited by",
    )
    print_table("Occupancy", columns, list(rows), right=(2, 3, 4, 5))
