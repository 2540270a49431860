"""What buyers compare of devices: rates, memory and power; measured where they are known."""

from collections.abc import Iterator

from gpureport.compare.records import MachineFigure
from gpureport.findings.key_figures import FP32, MEMORY, Quantity, key_figures
from gpureport.predict.ceilings import as_counted, ceilings
from gpureport.records.ceilings import INSTRUCTION_CLASSES
from gpureport.records.report import Report
from gpureport.spec.models import Device

_MATRIX = ("matrix_fp16", "matrix_bf16")


def figures(device: Device, machine: str, report: Report | None = None) -> Iterator[MachineFigure]:
    """Yield the figures of a device: measured ones of its *report*, else limits predicted from its specification."""
    measured = {(f.quantity, f.of): f.measured for f in key_figures(report) if f.measured} if report else {}
    limits = {c.name: as_counted(c) for c in ceilings(device) if c.kind in ("bandwidth", "rate")}
    matrix = max((name for name in _MATRIX if name in limits), key=lambda name: limits[name].value, default="")
    rate = INSTRUCTION_CLASSES[matrix].rate if matrix else None
    places: tuple[tuple[str, str, Quantity, str], ...] = (
        ("fp32", "fp32", Quantity.RATE, FP32),
        ("fp16 or bf16 matrix", matrix, Quantity.MATRIX, rate.name if rate else ""),
        ("memory bandwidth", "DRAM", Quantity.READ, MEMORY),
    )
    for name, ceiling, quantity, of in places:
        if limit := limits.get(ceiling):
            known = measured.get((quantity, of))
            value, (low, high) = (known.value, known.ends) if known else (limit.value, (limit.ci_low, limit.ci_high))
            yield MachineFigure(
                machine=machine,
                name=name,
                value=value,
                ci_low=low,
                ci_high=high,
                unit=limit.unit,
                basis="measured" if known else "predicted",
            )
    for name, listed, unit in (
        ("memory", device.memory.size_bytes, "B"),
        ("board power", device.board_power_w, "W"),
    ):
        if listed:
            yield MachineFigure(machine=machine, name=name, value=listed, unit=unit, basis="specification")
