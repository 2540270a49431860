"""Published tables of many machines, CPUs and transfers of GPUs, compared with predictions from the database."""

from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from math import log
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.inputs import FileError
from gpureport.predict import cpu_memory
from gpureport.predict.transfers import BOTH_WAYS, Direction, link_bytes_per_s
from gpureport.spec.cores import core_of_machine
from gpureport.spec.database import Database
from gpureport.spec.host import ProcessorFacts, processor_facts
from gpureport.spec.models import CoreType, StreamType
from gpureport.units import format_bytes
from gpureport.validate.reading import check, check_known, read_table
from gpureport.validate.residuals import Residual, What, independence, of_device
from gpureport.validate.scoreboard import score_tables, scoreboard_residuals

CLOUD, BARE, CLOUD_GPU = "CPU, cloud machines", "CPU, bare metal", "NVIDIA GPU, cloud machines"
GENERIC = frozenset({"x86_64", "x86_64_avx512", "aarch64", "amd_cpu", "intel_cpu"})
"""Architectures for unknown types of cores."""
TRANSFERS = "transfers.csv.xz"
_TRANSFERS: dict[str, tuple[Direction, float]] = {
    "to_device": ("to_device", 1.0),
    "to_host": ("to_host", 1.0),
    "to_device_while_both": ("to_device", BOTH_WAYS),
    "to_host_while_both": ("to_host", BOTH_WAYS),
}
"""Direction and share of the link, by column."""
_NARROWER = (1.0, 0.5)
"""Rate of links with half of the lanes, or of an earlier generation, relative to the listed link."""
MACHINES, CURVES = "machines.csv.xz", "curves.csv.xz"
BARE_METAL, STREAMS = "bare_metal.csv.xz", "streams.csv.xz"
_CPUS = data_dir("reports") / "published" / "cpus"
_PLACES = tuple(Path(parent, name) for name in ("cpus", "transfers", "scoreboard") for parent in ("", "published"))


class CloudMachine(NamedTuple):
    """A machine, ``provider/type``, with its line in the table, its facts from ``lscpu``, and what was measured there.

    *values* have a row for each buffer of a thread, ``working_set_bytes``: ``latency_s`` of a dependent load of one
    thread, and bytes/s of all threads, by operation.
    """

    number: int
    name: str
    facts: ProcessorFacts
    values: pd.DataFrame


def cloud_machines(folder: Path = _CPUS) -> Iterator[CloudMachine]:
    """Yield the machines of a folder with the tables (default: the project's)."""
    machines = read_table(folder / MACHINES, ("machine",), ())
    rates = {f"{operation}_GB_per_s": operation for operation in cpu_memory.OPERATIONS}
    values = read_table(folder / CURVES, (), ("size_KiB", "latency_ns", *rates), zero=("machine",))
    values[["size_KiB", "latency_ns", *rates]] *= [1 << 10, 1e-9, *(1e9 for _ in rates)]
    values = values.rename(columns={"size_KiB": "working_set_bytes", "latency_ns": "latency_s", **rates})
    for number, row, own in _by_machine(folder / CURVES, values, machines):
        fields = {str(name): text for name, text in row.items()}
        yield CloudMachine(number, fields["machine"], processor_facts(fields), own)


class BareMachine(NamedTuple):
    """A machine without a hypervisor, one of its sockets, and the bandwidth of streaming kernels there.

    *core_type* is the name of its architecture. *values* are ``bytes_per_s`` of a ``kernel`` on ``cores``, each with
    ``bytes_per_core``, which fit a ``level``.
    """

    name: str
    core_type: str
    socket: cpu_memory.Socket
    values: pd.DataFrame


def bare_machines(folder: Path = _CPUS) -> Iterator[BareMachine]:
    """Yield the machines without a hypervisor of a folder with the tables (default: the project's)."""
    machines = read_table(
        folder / BARE_METAL, ("machine", "core_type"), ("clock_GHz", "cores", "domains"), zero=("L3_MiB",)
    )
    numbers = ("cores", "bytes_per_core", "GB_per_s")
    values = read_table(folder / STREAMS, ("level", "kernel"), numbers, zero=("machine",))
    check_known(folder / STREAMS, values["kernel"], cpu_memory.KERNELS)
    values["bytes_per_s"] = values["GB_per_s"] * 1e9
    for _, fields, own in _by_machine(folder / STREAMS, values, machines):
        socket = cpu_memory.Socket(
            clock_hz=fields["clock_GHz"] * 1e9,
            cores=int(fields["cores"]),
            domains=int(fields["domains"]),
            l3_bytes=fields["L3_MiB"] * (1 << 20),
        )
        yield BareMachine(fields["machine"], fields["core_type"], socket, own)


def _by_machine(
    path: Path, values: pd.DataFrame, machines: pd.DataFrame
) -> Iterator[tuple[int, dict[Hashable, Any], pd.DataFrame]]:
    """Yield number and fields of each of the *machines*, with its rows of *values*, the table at *path*."""
    cells, rows, last = values["machine"].map("{:g}".format), machines.to_dict("records"), len(machines) - 1
    check(path, cells, values["machine"].isin(machines.index), f" is no row of the machines, 0 to {last}")
    for number, own in values.groupby("machine", sort=False):
        row = int(cast("float", number))
        yield row, rows[row], own


def stream_prediction(
    machine: BareMachine, core: CoreType, streams: StreamType, *, write_allocate: bool
) -> cpu_memory.Curve:
    """Return the predicted bandwidth of each value of *machine*, in bytes/s."""
    predicted, kernels = np.zeros((3, len(machine.values))), machine.values["kernel"]
    for name in kernels.unique():
        own = (kernels == name).to_numpy()
        curve = cpu_memory.socket_streams(
            core,
            streams,
            machine.socket,
            cpu_memory.KERNELS[name],
            machine.values["cores"].to_numpy()[own],
            machine.values["bytes_per_core"].to_numpy()[own],
            write_allocate=write_allocate,
        ).curve()
        predicted[:, own] = curve.values, curve.low, curve.high
    return cpu_memory.Curve(*predicted)


def table_folders(path: Path) -> list[Path]:
    """Return the folders with tables at *path* or, in the usual places, below it."""
    names, folders = (MACHINES, BARE_METAL, TRANSFERS), [path / place for place in (Path(), *_PLACES)]
    return [each for each in folders if score_tables(each) or any((each / name).is_file() for name in names)]


def table_residuals(folder: Path, database: Database) -> Iterator[Residual]:
    """Yield the residuals of all machines of a folder; an InputError if a table has wrong columns or values."""
    try:
        for machine in cloud_machines(folder) if (folder / MACHINES).is_file() else ():
            yield from _of_cloud(machine, database)
        for bare in bare_machines(folder) if (folder / BARE_METAL).is_file() else ():
            yield from _of_bare(bare, database)
        if (folder / TRANSFERS).is_file():
            yield from transfer_residuals(folder, database)
        yield from scoreboard_residuals(folder, database)
    except InputError as error:
        raise error if isinstance(error, FileError) else FileError(str(folder), str(error)) from None


def _of_cloud(machine: CloudMachine, database: Database) -> Iterator[Residual]:
    host = core_of_machine(machine.facts, database)
    core, place, allocates = host.core, host.topology, database.write_allocate(host.architecture)
    values = machine.values
    sizes = values["working_set_bytes"].to_numpy()
    labels = [format_bytes(size) for size in sizes]
    curve = partial(_of_cpu, CLOUD, host.architecture, machine.name, "cpu_memory")
    yield from _residuals(
        curve("latency"), "latencies", labels, cpu_memory.latency_curve(core, place, sizes), values["latency_s"]
    )
    for operation, pattern in cpu_memory.OPERATIONS.items():
        predicted = cpu_memory.machine_streams(core, place, sizes, pattern, write_allocate=allocates).curve()
        yield from _residuals(curve(operation), "bandwidths", labels, predicted, values[operation])


def _of_bare(machine: BareMachine, database: Database) -> Iterator[Residual]:
    name = machine.core_type
    core, streams = database.core_type(name), database.stream_type(name)
    predicted = stream_prediction(machine, core, streams, write_allocate=database.write_allocate(name))
    points = zip(*(machine.values[column] for column in ("kernel", "level", "cores")), strict=True)
    labels = [f"{kernel}, {level}, {cores:.0f} cores" for kernel, level, cores in points]
    curve = _of_cpu(BARE, name, machine.name, "cpu_streams", "levels")
    yield from _residuals(curve, "bandwidths", labels, predicted, machine.values["bytes_per_s"])


def _of_cpu(device_class: str, architecture: str, machine: str, family: str, variant: str) -> Residual:
    return {
        "result": "cpus",
        "published": True,
        "device": f"architectures/{architecture}",
        "device_class": device_class,
        "workload": f"{family}/{variant}",
        "sweep": "working_set",
        "conditions": machine,
        "independence": "unseen architecture" if architecture in GENERIC else "seen",
        "architecture": architecture,
    }


def _residuals(
    curve: Residual, what: What, labels: Iterable[str], predicted: cpu_memory.Curve, observed: Iterable[float]
) -> Iterator[Residual]:
    values = zip(labels, predicted.values, predicted.low, predicted.high, observed, strict=True)
    for label, value, low, high, seen in values:
        yield curve | {
            "what": what,
            "label": label,
            "unit": "s" if what == "latencies" else "B/s",
            "predicted": float(value),
            "observed": float(seen),
            "expected": (float(low), float(high)),
        }


def transfer_residuals(folder: Path, database: Database) -> Iterator[Residual]:
    """Yield the residuals of the transfers of all cloud machines of a folder.

    The machines do not report the link in use. Many hosts have an earlier generation or fewer lanes than the GPU.
    Therefore the prediction is that of the listed link, or of half of it, whichever comes nearest to both directions of
    a machine: errors are those of the rate that a known link reaches.
    """
    frame = read_table(folder / TRANSFERS, ("machine", "device"), tuple(_TRANSFERS))
    check_known(folder / TRANSFERS, frame["device"], database.entries)
    for row in frame.to_dict("records"):
        device = database.device(row["device"])
        seen = {name: row[name] * 1e9 for name in _TRANSFERS}
        listed = {name: link_bytes_per_s(device.host_link, way) * both for name, (way, both) in _TRANSFERS.items()}
        one_way = listed["to_device"] * listed["to_host"] / (seen["to_device"] * seen["to_host"])
        part = min(_NARROWER, key=lambda part: abs(log(part**2 * one_way)))
        for name in _TRANSFERS:
            yield of_device(device) | {
                "result": "transfers",
                "published": True,
                "device_class": CLOUD_GPU,
                "workload": "transfer/pinned",
                "sweep": name,
                "conditions": row["machine"],
                "independence": independence(device, database),
                "what": "bandwidths",
                "label": "whole link" if part == 1 else f"{part:g} of the link",
                "unit": "B/s",
                "predicted": part * listed[name],
                "observed": seen[name],
            }
