"""Published measurements of the memory hierarchy of many CPUs: ``reports/published/cpus``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from gpureport.data import data_dir
from gpureport.inputs import read_table
from gpureport.observe.statistics import Floats
from gpureport.predict.cpu_memory import KERNELS, OPERATIONS, Curve, Operation, Socket, stream_curve
from gpureport.spec.host import ProcessorFacts, processor_facts
from gpureport.spec.models import CoreType, StreamType

Row = Mapping[str, str]
_KIB = 1 << 10
MACHINES, CURVES = "machines.csv.xz", "curves.csv.xz"
BARE_METAL, STREAMS = "bare_metal.csv.xz", "streams.csv.xz"


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
    bandwidth_bytes_per_s: Mapping[Operation, Floats]

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
            working_sets_bytes=np.array([float(row["size_KiB"]) * _KIB for row in rows]),
            latency_s=np.array([float(row["latency_ns"]) * 1e-9 for row in rows]),
            bandwidth_bytes_per_s={o: np.array([float(r[f"{o}_GB_per_s"]) * 1e9 for r in rows]) for o in OPERATIONS},
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
                clock_hz=float(fields["clock_GHz"]) * 1e9,
                cores=int(fields["cores"]),
                domains=int(fields["domains"]),
                l3_bytes=float(fields["L3_MiB"]) * (1 << 20),
            ),
            kernels=tuple(row["kernel"] for row in rows),
            levels=tuple(row["level"] for row in rows),
            cores=np.array([float(row["cores"]) for row in rows]),
            bytes_per_core=np.array([float(row["bytes_per_core"]) for row in rows]),
            bandwidth_bytes_per_s=np.array([float(row["GB_per_s"]) * 1e9 for row in rows]),
        )


def _tables(folder: Path | None, machines: str, values: str) -> Iterator[tuple[int, Row, list[Row]]]:
    """Yield number and fields of each machine of a table, with its rows of the table of *values*."""
    folder = folder or data_dir("reports") / "published" / "cpus"
    listed = read_table(folder / machines)
    for number, rows in groupby(read_table(folder / values), key=lambda row: int(row["machine"])):
        yield number, listed[number], list(rows)


def stream_prediction(machine: BareMachine, core: CoreType, streams: StreamType, *, write_allocate: bool) -> Curve:
    """Return the predicted bandwidth of each value of *machine*, in bytes/s."""
    predicted = np.zeros((3, len(machine.kernels)))
    for name in dict.fromkeys(machine.kernels):
        own = np.array([kernel == name for kernel in machine.kernels])
        curve = stream_curve(
            core,
            streams,
            machine.socket,
            KERNELS[name],
            machine.cores[own],
            machine.bytes_per_core[own],
            write_allocate=write_allocate,
        )
        predicted[:, own] = curve.values, curve.low, curve.high
    return Curve(*predicted)
