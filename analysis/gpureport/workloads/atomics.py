"""Global atomic adds to few and to many addresses.

The model's assumptions:

- The second-level cache performs adds to the same address one after another, one per clock cycle (NVIDIA's GK110 white
  paper, 2012, for Kepler; assumed for newer devices).
- That cache consists of slices. A slice processes one sector after another and adds to all its words at once, at the
  rate at which it writes sectors (one per cycle if unknown). 512 adjacent bytes belong to one slice. The mapping of
  addresses to slices is not public: the model assumes that each 512 bytes are in a random slice, so that the busiest
  slice has more than its share.
- Atomic adds also use the cache's bandwidth: four bytes written. No work-item uses the previous value.
- A CPU core performs one locked add in about 20 cycles (A. Fog, Instruction tables). If another core owned the line, it
  is transferred through the last cache first.
"""

from collections.abc import Mapping
from math import ceil, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.cores import LINE_BYTES
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant, sourced
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Job, Limits, Parameters, Stream, Sweep, Workload

_POWERS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
_LOCKED_ADD_CYCLES = constant(20.0)
_HANDED_OVER = sourced("workloads.atomics._HANDED_OVER", float)
"""Time of an atomic add to a line that the cores of a CPU share / latency of the last cache, through which they hand it
over. It is the same for 1 to 16 addresses, which are in one line."""
SLICE_BYTES = 512
"""Adjacent bytes in one slice of the second-level cache: on an H200, adds to 1 KiB take half as long as adds to 256
bytes, in which eight sectors take turns (atomics/spread; reports/nvidia-h200). AMD documents 256 bytes."""


def waiting_cycles(device: Device, sent: float, counters: int) -> float:
    """Return the clock cycles for which atomic adds wait for each other on a GPU, in the busiest slice of the cache.

    The adds that are *sent* are evenly distributed over the adjacent *counters*. A slice writes one sector per cycle if
    its rate is unknown.
    """
    shared = device.shared_cache
    sector = shared.sector_bytes if shared else device.memory.access_bytes
    together = min(counters, sector // 4)
    parts, slices = ceil(4 * counters / SLICE_BYTES), shared.slices if shared else None
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


class Spread(Workload):
    """All work-groups are resident, and their work-items add repeatedly."""

    family = "atomics"
    variant = "spread"
    source = "atomics.cl"
    title = "Global atomic adds by number of addresses"
    description = "Neighbouring work-items add to neighbouring addresses, modulo the number of addresses."
    metric = Metric(kind="rate", unit="adds", label="atomic adds")
    microbenchmark = True
    verification_dispatches = 2
    work_of = ("passes", "groups", "local")
    labelled = "{addresses:address/es}"
    working_set_of = (4, "addresses")
    verified = (
        {"addresses": 1, "passes": 3, "local": 33, "groups": 5},
        {"addresses": 32, "passes": 7, "local": 50, "groups": 3},
        {"addresses": 1024, "passes": 5, "local": 33, "groups": 7},
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """A case for each number of addresses; with more addresses, which are faster, more adds."""
        local = min(256, limits.max_work_group)
        shape = {"local": local, "groups": grid.resident_groups(device, local)}
        powers = grid.thinned(_POWERS, limits, 3)
        passes = {power: grid.chosen(device, cpu=256, gpu=16 * 2 ** min(power, 5)) for power in powers}
        points = ({"addresses": 2**power, "passes": passes[power], **shape} for power in powers)
        return (grid.by_case("addresses", "addresses", points, "number of addresses"),)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Every add is one atomic operation in the cache."""
        adds, architecture = self.work(parameters), device.architecture
        used = int(min(parameters["addresses"], adds))
        each = adds / used
        streams: tuple[Stream, ...] = (Stream("counters", used, 4, 4, True, each, each),)
        if architecture.groups_as_loops:
            # Cores read the previous value; a GPU's cache returns nothing, as no work-item uses it.
            streams = (Stream("counters", used, 4, 4, False, each, each), *streams)
            cores = min(device.compute_units, parameters["groups"])
            # Cores take turns: while one adds, the others wait for the line.
            handed_over = _HANDED_OVER * device.caches[-1].latency_cycles if device.caches else 0.0
            turn = handed_over * cores / ceil(4 * used / LINE_BYTES) if cores > 1 else 0.0
            waiting = adds / parameters["groups"] * max(_LOCKED_ADD_CYCLES, turn)
        else:
            waiting = waiting_cycles(device, adds, used)
        return Demand(
            *self.launched(parameters),
            streams=streams,
            operations={"int32": 5.0 * adds, "memory": adds},
            # The model expresses waiting as a chain of operations with a known latency.
            chain={"int32": waiting / architecture.latency_cycles["int32"]},
            registers=16,
            phases_aligned=False,
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Counters with random initial values; sums wrap around. The mask of addresses: a power of two, less one."""
        size = self.nbytes(parameters)
        buffers = {"counters": Buffer(size, grid.random_words(rng, size))}
        arguments = ("counters", np.uint32(parameters["addresses"] - 1), np.uint32(parameters["passes"]))
        return Job.linear(buffers, "add_spread", self.work_items(parameters), parameters["local"], arguments)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        items = np.arange(self.work_items(parameters), dtype=np.uint32)
        passes = np.arange(parameters["passes"], dtype=np.uint32)[:, None]
        addends = items * np.uint32(2654435761) + passes
        counters = job.buffers["counters"].filled().astype(np.uint32)
        addresses = (passes * len(items) + items) % parameters["addresses"]
        np.add.at(counters, addresses, addends * np.uint32(dispatches))
        return {"counters": counters}


WORKLOADS = (Spread(),)
