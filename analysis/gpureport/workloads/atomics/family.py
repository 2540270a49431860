"""Shared by all atomic adds: dispatches whose work-groups are all resident, and their demand."""

from abc import abstractmethod
from collections.abc import Mapping
from math import ceil, sqrt
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Metric, PointKey
from gpureport.spec.models import Device, IntelOccupancy
from gpureport.workloads import grid
from gpureport.workloads.model import Argument, Buffer, Demand, Job, Parameters, Stream, Sweep, Workload

WORDS_APART = 32
"""Words between the addresses of work-groups, so that each has its own line."""
_LOCKED_ADD_CYCLES = 20.0
_HANDED_OVER = 0.3
"""Time of an atomic add to a line that the cores of a CPU share / latency of the last cache, through which they hand it
over. From the geometric mean of 18 ns on 2 cores of an Emerald Rapids and 25 ns on 16, with 70 ns (atomics/spread;
reports/pocl-xeon-2-cores, an earlier run on 16 cores). It is the same for 1 to 16 addresses, which are in one line. Two
cores of a Zen 4, to which it was not fitted, take 4 to 5 ns; 10 ns are predicted."""
_SLICE_BYTES = 512
"""Adjacent bytes in one slice of the second-level cache: on an H200, adds to 1 KiB take half as long as adds to 256
bytes, in which eight sectors take turns (atomics/spread; reports/nvidia-h200). AMD documents 256 bytes."""


class Atomics(Workload):
    """One way to add numbers: all work-groups are resident, and their work-items add repeatedly."""

    family = "atomics"
    source = "atomics.cl"
    metric = Metric(kind="rate", unit="adds", label="atomic adds")
    microbenchmark = True
    kernel: ClassVar[str]

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Work is the numbers added, independent of the number of atomic operations."""
        return grid.key(
            parameters,
            self.label(parameters),
            work=total_adds(parameters),
            items=parameters["groups"] * parameters["local"],
            nbytes=4 * self.words(parameters),
            x=sweep.points.index(parameters),
        )

    @abstractmethod
    def label(self, parameters: Parameters) -> str:
        """Return the label of a case."""

    @abstractmethod
    def words(self, parameters: Parameters) -> int:
        """Return the words of the buffer of counters."""

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:  # noqa: ARG002
        """Return the kernel arguments between the counters and the number of passes."""
        return ()

    @abstractmethod
    def addresses(self, parameters: Parameters) -> NDArray[np.int64]:
        """Return the counter that each work-item adds to in each pass: shape (passes, items)."""

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002
        """The distance between counters."""
        return f"-DWORDS_APART={WORDS_APART}"

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Counters with random initial values; sums wrap around."""
        size, local = 4 * self.words(parameters), parameters["local"]
        buffers = {"counters": Buffer(size, grid.random_words(rng, size))}
        arguments = ("counters", *self.arguments(parameters), np.uint32(parameters["passes"]))
        return Job.of(buffers, self.kernel, (parameters["groups"] * local,), (local,), arguments)

    verification_dispatches = 2

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """The sums modulo 2^32."""
        items = np.arange(parameters["groups"] * parameters["local"], dtype=np.uint32)
        passes = np.arange(parameters["passes"], dtype=np.uint32)
        addends = items * np.uint32(2654435761) + passes[:, None]
        counters = job.buffers["counters"].filled().astype(np.uint32)
        np.add.at(counters, self.addresses(parameters), addends * np.uint32(dispatches))
        return {"counters": counters}


def total_adds(parameters: Parameters) -> int:
    """Return how many numbers one dispatch adds."""
    return parameters["passes"] * parameters["groups"] * parameters["local"]


def resident_groups(device: Device, local: int) -> int:
    """Return a number of work-groups that can all be resident: 1024 work-items per compute unit of a GPU.

    256 on an Intel GPU, whose subslice has 56 threads of eight lanes or more. A CPU core processes four groups in turn.
    """
    if device.is_cpu:
        return 4 * device.compute_units
    rules = device.architecture.occupancy
    units = device.compute_units / (rules.units_per_subslice if isinstance(rules, IntelOccupancy) else 1)
    items = 256 if isinstance(rules, IntelOccupancy) else 1024
    return max(1, int(units * items / local))


def waiting_cycles(device: Device, sent: float, counters: int, apart: int = 1) -> float:
    """Return the clock cycles for which atomic adds wait for each other on a GPU, in the busiest slice of the cache.

    Args:
        device: determines the size of a sector, the number of slices, and their rate (one sector per cycle if unknown).
        sent: number of atomic adds, evenly distributed over the counters.
        counters: number of counters.
        apart: words from one counter to the next.
    """
    shared = device.shared_cache
    sector = shared.sector_bytes if shared else device.memory.access_bytes
    together = min(counters, max(1, sector // (4 * apart)))
    parts, slices = ceil(4 * apart * counters / _SLICE_BYTES), shared.slices if shared else None
    rate = device.architecture.sector_writes_per_cycle if slices else None
    return sent / together * busiest_share(parts, slices) / (rate or 1.0)


def busiest_share(parts: int, slices: int | None) -> float:
    """Return the share of *parts* of a buffer in the slice with most of them, if slices are drawn at random.

    The number of parts in a slice has mean m and standard deviation sqrt(m). The median of the largest of n such
    numbers lies where all n are smaller with a probability of one half (normal approximation). With an unknown number
    of slices each part has its own.
    """
    if not slices:
        return 1.0 / parts
    mean = parts / slices
    most = mean + NormalDist().inv_cdf(0.5 ** (1.0 / slices)) * sqrt(mean)
    return max(1.0, most) / parts


def demand_of(
    parameters: Parameters,
    device: Device,
    *,
    counters: int,
    sent: float,
    operations: Mapping[str, float],
    serial_cycles: float = 0.0,
    shared_lines: int = 0,
) -> Demand:
    """Return the demand of a dispatch whose work-groups are all resident.

    Args:
        parameters: of the point.
        device: determines the latencies.
        counters: number of addresses.
        sent: number of atomic operations.
        operations: other operations, by class.
        serial_cycles: clock cycles of dependent work, on a GPU.
        shared_lines: cache lines of a CPU to which all cores add; 0: each core has its own.
    """
    group_bytes = 4 * parameters["local"] if "local" in operations else 0
    if device.is_cpu:
        cores = min(device.compute_units, parameters["groups"])
        # Cores take turns: while one adds, the others wait for the line.
        handed_over = _HANDED_OVER * device.caches[-1].latency_cycles if device.caches else 0.0
        turn = handed_over * cores / shared_lines if shared_lines and cores > 1 else 0.0
        serial_cycles = sent / parameters["groups"] * max(_LOCKED_ADD_CYCLES, turn)
    each = Stream("counters", counters, 4, 4, passes=sent / counters, outer_passes=sent / counters)
    written = Stream("counters", counters, 4, 4, True, each.passes, each.outer_passes)
    return Demand(
        work_items=parameters["groups"] * parameters["local"],
        work_group=(parameters["local"],),
        # No work-item uses the previous value, so that a GPU's cache returns nothing.
        streams=(each, written) if device.is_cpu else (written,),
        operations={**operations, "memory": sent},
        # The model expresses waiting as a chain of operations with a known latency.
        chain={"int32": serial_cycles / device.architecture.latency_cycles["int32"]},
        registers=16,
        local_memory_bytes=group_bytes,
        phases_aligned=False,
    )
