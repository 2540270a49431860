"""Latencies and bandwidths of many CPUs, compared with their predictions from ``lscpu`` facts and the database."""

from collections.abc import Iterator
from pathlib import Path

from gpureport.observe.statistics import Floats
from gpureport.predict.cpu_memory import OPERATIONS, Curve, bandwidth_curve, latency_curve
from gpureport.records.keys import SweepKey
from gpureport.results.cpus import (
    BARE_METAL,
    MACHINES,
    BareMachine,
    CloudMachine,
    bare_machines,
    cloud_machines,
    stream_prediction,
)
from gpureport.spec.core_types import core_of_machine, topology
from gpureport.spec.database import Database
from gpureport.units import format_bytes
from gpureport.validate.residuals import PredictedCurve, Residual, What

CLOUD, BARE = "CPU, cloud machines", "CPU, bare metal"
GENERIC = frozenset({"x86_64", "x86_64_avx512", "aarch64", "amd_cpu", "intel_cpu"})
"""Architectures for unknown types of cores."""


def cpu_residuals(folder: Path, database: Database) -> Iterator[Residual]:
    """Yield the residuals of all machines of a folder.

    Raises:
        InputError: a table cannot be read.
    """
    if (folder / MACHINES).is_file():
        for machine in cloud_machines(folder):
            yield from _of_cloud(machine, database)
    if (folder / BARE_METAL).is_file():
        for bare in bare_machines(folder):
            yield from _of_bare(bare, database)


def _of_cloud(machine: CloudMachine, database: Database) -> Iterator[Residual]:
    name, core = core_of_machine(machine.facts, database)
    place, allocates = topology(machine.facts, core), database.write_allocate(name)
    sizes = machine.working_sets_bytes
    labels = [format_bytes(size) for size in sizes]
    curve = _curve(CLOUD, name, "cpu_memory", "latency", machine.name)
    yield from _residuals(curve, "latencies", "s", labels, latency_curve(core, place, sizes), machine.latency_s)
    for operation in OPERATIONS:
        curve = _curve(CLOUD, name, "cpu_memory", operation, machine.name)
        predicted = bandwidth_curve(core, place, sizes, operation, write_allocate=allocates)
        yield from _residuals(curve, "bandwidths", "B/s", labels, predicted, machine.bandwidth_bytes_per_s[operation])


def _of_bare(machine: BareMachine, database: Database) -> Iterator[Residual]:
    name = machine.core_type
    core, streams = database.core_type(name), database.stream_type(name)
    predicted = stream_prediction(machine, core, streams, write_allocate=database.write_allocate(name))
    points = zip(machine.kernels, machine.levels, machine.cores, strict=True)
    labels = [f"{kernel}, {level}, {cores:.0f} cores" for kernel, level, cores in points]
    curve = _curve(BARE, name, "cpu_streams", "levels", machine.name)
    yield from _residuals(curve, "bandwidths", "B/s", labels, predicted, machine.bandwidth_bytes_per_s)


def _curve(device_class: str, architecture: str, family: str, variant: str, machine: str) -> PredictedCurve:
    return PredictedCurve(
        result="cpus",
        published=True,
        device=f"architectures/{architecture}",
        device_class=device_class,
        key=SweepKey(family=family, variant=variant, sweep="working_set"),
        conditions=machine,
        kind="specification",
        independence="unseen architecture" if architecture in GENERIC else "seen",
        architecture=architecture,
    )


def _residuals(
    curve: PredictedCurve, what: What, unit: str, labels: list[str], predicted: Curve, observed: Floats
) -> Iterator[Residual]:
    values = zip(labels, predicted.values, predicted.low, predicted.high, observed, strict=True)
    for label, value, low, high, seen in values:
        yield Residual(
            curve=curve,
            what=what,
            label=label,
            unit=unit,
            predicted=float(value),
            observed=float(seen),
            expected=(float(low), float(high)),
        )
