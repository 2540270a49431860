"""What buyers compare of devices: rates, memory and power; measured where they are known."""

from collections.abc import Iterator

from gpureport.compare.records import MachineFigure
from gpureport.findings.key_figures import key_figures
from gpureport.predict.ceilings import as_counted, ceilings, listed_rates
from gpureport.records.measurement import Energy
from gpureport.records.report import Report
from gpureport.spec.models import Device

_MATRIX = ("matrix_fp16", "matrix_bf16")


def figures(device: Device, machine: str, report: Report | None = None) -> Iterator[MachineFigure]:
    """Yield the figures of a device: measured ones of its *report*, else limits predicted from its specification."""
    found = key_figures(report) if report and report.observations else ()
    measured = {(f.origin.key.workload, f.origin.level.name): f.measured for f in found if f.origin and f.measured}
    limits = {c.name: as_counted(c) for c in ceilings(device) if c.kind in ("bandwidth", "rate")}
    units = sorted((name for name in _MATRIX if name in limits), key=lambda name: ("matrix/rate", name) not in measured)
    places = (
        ("fp32", "instructions/rate", "fp32", limits["fp32"].value * device.architecture.dual_issue),
        *(("fp16 or bf16 matrix", "matrix/rate", unit, device.matrix_peak_flop_per_s) for unit in units[:1]),
        ("memory bandwidth", "memory/read", "DRAM", device.memory.bandwidth_bytes_per_s),
    )
    for name, workload, ceiling, listed in places:
        limit, known = limits[ceiling], measured.get((workload, ceiling))
        low, high = known.ends if known else (limit.ci_low, limit.ci_high)
        yield MachineFigure(
            machine=machine,
            name=name,
            value=known.value if known else limit.value,
            ci_low=low,
            ci_high=high,
            listed=listed,
            unit=limit.unit,
            basis="measured" if known else "predicted",
        )
    for name, listed, unit in (("memory", device.memory.size_bytes, "B"), ("board power", device.board_power_w, "W")):
        if listed:
            yield MachineFigure(machine=machine, name=name, value=listed, unit=unit, basis="specification")
    yield from per_watt(device, report.energy if report else None, machine)


def per_watt(device: Device, energy: Energy | None, machine: str) -> Iterator[MachineFigure]:
    """Yield the performance per watt of memory reads and multiply-adds.

    With measured power where it is known, otherwise of the listed rates and the listed power limit of the board.
    """
    rates, limit_w = listed_rates(device), device.board_power_w
    for name, unit in (("memory read", "B/s/W"), ("fp32 FMA", "FLOP/s/W")):
        load = energy.load(name) if energy else None
        if load and load.rate and load.power_w:
            value = load.rate / load.power_w
            yield MachineFigure(machine=machine, name=name, value=value, unit=unit, basis="measured power")
        elif limit_w:
            yield MachineFigure(machine=machine, name=name, value=rates[name] / limit_w, unit=unit, basis="board limit")
