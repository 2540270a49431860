"""Published tables of many machines, CPUs and transfers of GPUs, compared with predictions from the database."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import log
from pathlib import Path
from typing import NoReturn

import numpy as np

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.inputs import FileError, read_table
from gpureport.observe.statistics import Floats
from gpureport.predict.cpu_memory import (
    KERNELS,
    OPERATIONS,
    Curve,
    Socket,
    latency_curve,
    machine_streams,
    socket_streams,
)
from gpureport.predict.transfers import BOTH_WAYS, Direction, link_bytes_per_s
from gpureport.records.curves import SweepKey
from gpureport.spec.cores import core_of_machine, topology
from gpureport.spec.database import Database
from gpureport.spec.host import ProcessorFacts, processor_facts
from gpureport.spec.models import CoreType, StreamType
from gpureport.text import quoted, suggestion
from gpureport.units import format_bytes
from gpureport.validate.residuals import PredictedCurve, Residual, What, independence

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
_LEAST, _MOST = 1e-30, 1e30  # number of a cell
MACHINES, CURVES = "machines.csv.xz", "curves.csv.xz"
BARE_METAL, STREAMS = "bare_metal.csv.xz", "streams.csv.xz"
_PLACES = tuple(Path(parent, name) for name in ("cpus", "transfers") for parent in ("", "published"))


class _Row(dict[str, str]):
    """The cells of a row, by column; errors name file and line."""

    def __init__(self, file: Path, line: int, cells: Mapping[str, str]) -> None:
        super().__init__(cells)
        self._file, self._line = str(file), line

    def __missing__(self, column: str) -> NoReturn:
        raise self.error(column, "is missing")

    def error(self, column: str, message: str) -> FileError:
        return FileError(self._file, f"{column}: {message}", self._line)

    def number(self, column: str, *, zero: bool = False) -> float:
        with suppress(ValueError):
            value = float(self[column])
            if _LEAST <= value <= _MOST or (zero and value == 0):
                return value
        raise self.error(column, f"{quoted(self[column])} is no number above zero")

    def choice(self, column: str, known: Collection[str]) -> str:
        if (text := self[column]) not in known:
            raise self.error(column, f"{quoted(text)} is unknown{suggestion(text, known)}")
        return text


def _read(path: Path) -> list[_Row]:
    return [_Row(path, line, cells) for line, cells in read_table(path)]


@dataclass(frozen=True)
class CloudMachine:
    """A machine, as ``lscpu`` lists it, and what was measured there.

    Attributes:
        number: its line in the table.
        name: provider and type of the machine.
        facts: of its processors.
        working_sets_bytes: buffer of each thread.
        latency_s: of a dependent load of one thread, by working set.
        bandwidth_bytes_per_s: of all threads, by operation and working set.
    """

    number: int
    name: str
    facts: ProcessorFacts
    working_sets_bytes: Floats
    latency_s: Floats
    bandwidth_bytes_per_s: Mapping[str, Floats]

    @property
    def provider(self) -> str:
        """The cloud provider."""
        return self.name.partition("/")[0]


def cloud_machines(folder: Path | None = None) -> Iterator[CloudMachine]:
    """Yield the machines of a folder with the tables (default: the project's)."""
    for number, fields, rows in _tables(folder, MACHINES, CURVES):
        yield CloudMachine(
            number=number,
            name=fields["machine"],
            facts=processor_facts(fields),
            working_sets_bytes=_column(rows, "size_KiB", 1 << 10),
            latency_s=_column(rows, "latency_ns", 1e-9),
            bandwidth_bytes_per_s={o: _column(rows, f"{o}_GB_per_s", 1e9) for o in OPERATIONS},
        )


@dataclass(frozen=True)
class BareMachine:
    """A machine without a hypervisor, and the bandwidth of streaming kernels there.

    Attributes:
        name: of the machine.
        core_type: name of its architecture, by the name of its processor.
        socket: one of its sockets.
        kernels: name of the kernel of each value.
        levels: memory level that the kernel's data fit, by value.
        cores: that run the kernel, by value.
        bytes_per_core: data of each core, by value.
        bandwidth_bytes_per_s: observed, by value.
    """

    name: str
    core_type: str
    socket: Socket
    kernels: tuple[str, ...]
    levels: tuple[str, ...]
    cores: Floats
    bytes_per_core: Floats
    bandwidth_bytes_per_s: Floats


def bare_machines(folder: Path | None = None) -> Iterator[BareMachine]:
    """Yield the machines without a hypervisor of a folder with the tables (default: the project's)."""
    for _, fields, rows in _tables(folder, BARE_METAL, STREAMS):
        yield BareMachine(
            name=fields["machine"],
            core_type=fields["core_type"],
            socket=Socket(
                clock_hz=fields.number("clock_GHz") * 1e9,
                cores=int(fields.number("cores")),
                domains=int(fields.number("domains")),
                l3_bytes=fields.number("L3_MiB", zero=True) * (1 << 20),
            ),
            kernels=tuple(row.choice("kernel", KERNELS) for row in rows),
            levels=tuple(row["level"] for row in rows),
            cores=_column(rows, "cores"),
            bytes_per_core=_column(rows, "bytes_per_core"),
            bandwidth_bytes_per_s=_column(rows, "GB_per_s", 1e9),
        )


def _tables(folder: Path | None, machines: str, values: str) -> Iterator[tuple[int, _Row, list[_Row]]]:
    """Yield number and fields of each machine of a table, with its rows of the table of *values*."""
    folder = folder or data_dir("reports") / "published" / "cpus"
    listed = _read(folder / machines)
    for number, rows in groupby(_read(folder / values), key=lambda row: row.number("machine", zero=True)):
        own = list(rows)
        if number not in range(len(listed)):
            raise own[0].error("machine", f"{machines} has no row {number:g}; it has {len(listed)}")
        yield int(number), listed[int(number)], own


def _column(rows: Iterable[_Row], name: str, scale: float = 1.0) -> Floats:
    return np.array([row.number(name) * scale for row in rows])


def stream_prediction(machine: BareMachine, core: CoreType, streams: StreamType, *, write_allocate: bool) -> Curve:
    """Return the predicted bandwidth of each value of *machine*, in bytes/s."""
    predicted = np.zeros((3, len(machine.kernels)))
    for name in dict.fromkeys(machine.kernels):
        own = np.array([kernel == name for kernel in machine.kernels])
        curve = socket_streams(
            core,
            streams,
            machine.socket,
            KERNELS[name],
            machine.cores[own],
            machine.bytes_per_core[own],
            write_allocate=write_allocate,
        ).curve()
        predicted[:, own] = curve.values, curve.low, curve.high
    return Curve(*predicted)


def table_folders(path: Path) -> list[Path]:
    """Return the folders with tables at *path* or, in the usual places, below it."""
    names = (MACHINES, BARE_METAL, TRANSFERS)
    return [path / place for place in (Path(), *_PLACES) if any((path / place / name).is_file() for name in names)]


def table_residuals(folder: Path, database: Database) -> Iterator[Residual]:
    """Yield the residuals of all machines of a folder.

    Raises:
        InputError: a table cannot be read, or has wrong columns or values.
    """
    try:
        yield from cpu_residuals(folder, database)
        if (folder / TRANSFERS).is_file():
            yield from transfer_residuals(folder, database)
    except InputError as error:
        raise error if isinstance(error, FileError) else FileError(str(folder), str(error)) from None


def cpu_residuals(folder: Path, database: Database) -> Iterator[Residual]:
    """Yield the residuals of all CPUs of a folder, predicted from ``lscpu`` facts and the database.

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
    curve = partial(_of_cpu, CLOUD, name, machine.name, "cpu_memory")
    yield from _residuals(curve("latency"), "latencies", labels, latency_curve(core, place, sizes), machine.latency_s)
    for operation, pattern in OPERATIONS.items():
        predicted = machine_streams(core, place, sizes, pattern, write_allocate=allocates).curve()
        observed = machine.bandwidth_bytes_per_s[operation]
        yield from _residuals(curve(operation), "bandwidths", labels, predicted, observed)


def _of_bare(machine: BareMachine, database: Database) -> Iterator[Residual]:
    name = machine.core_type
    core, streams = database.core_type(name), database.stream_type(name)
    predicted = stream_prediction(machine, core, streams, write_allocate=database.write_allocate(name))
    points = zip(machine.kernels, machine.levels, machine.cores, strict=True)
    labels = [f"{kernel}, {level}, {cores:.0f} cores" for kernel, level, cores in points]
    curve = _of_cpu(BARE, name, machine.name, "cpu_streams", "levels")
    yield from _residuals(curve, "bandwidths", labels, predicted, machine.bandwidth_bytes_per_s)


def _of_cpu(device_class: str, architecture: str, machine: str, family: str, variant: str) -> PredictedCurve:
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
    curve: PredictedCurve, what: What, labels: Iterable[str], predicted: Curve, observed: Iterable[float]
) -> Iterator[Residual]:
    values = zip(labels, predicted.values, predicted.low, predicted.high, observed, strict=True)
    for label, value, low, high, seen in values:
        yield Residual(
            curve=curve,
            what=what,
            label=label,
            unit="s" if what == "latencies" else "B/s",
            predicted=float(value),
            observed=float(seen),
            expected=(float(low), float(high)),
        )


def transfer_residuals(folder: Path, database: Database) -> Iterator[Residual]:
    """Yield the residuals of the transfers of all cloud machines of a folder.

    The machines do not report the link in use. Many hosts have an earlier generation or fewer lanes than the GPU.
    Therefore the prediction is that of the listed link, or of half of it, whichever comes nearest to both directions of
    a machine: errors are those of the rate that a known link reaches.

    Raises:
        InputError: the table cannot be read, or an entry does not exist.
    """
    for row in _read(folder / TRANSFERS):
        device = database.device(row.choice("device", database.entries))
        seen = {name: row.number(name) * 1e9 for name in _TRANSFERS}
        listed = {name: link_bytes_per_s(device.host_link, way) * both for name, (way, both) in _TRANSFERS.items()}
        one_way = listed["to_device"] * listed["to_host"] / (seen["to_device"] * seen["to_host"])
        part = min(_NARROWER, key=lambda part: abs(log(part**2 * one_way)))
        for name in _TRANSFERS:
            yield Residual(
                curve=PredictedCurve(
                    result="transfers",
                    published=True,
                    device=device.id,
                    device_class=CLOUD_GPU,
                    key=SweepKey(family="transfer", variant="pinned", sweep=name),
                    conditions=row["machine"],
                    kind="specification",
                    independence=independence(device, database),
                    architecture=device.architecture.id,
                ),
                what="bandwidths",
                label="whole link" if part == 1 else f"{part:g} of the link",
                unit="B/s",
                predicted=part * listed[name],
                observed=seen[name],
            )
