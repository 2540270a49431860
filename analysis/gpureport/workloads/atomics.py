"""Global atomic adds: to few and to many addresses, to one address per work-group, and after a local reduction.

The model's assumptions:

- The second-level cache performs adds to the same address one after another, one per clock cycle (NVIDIA's GK110 white
  paper, 2012, for Kepler; assumed for newer devices).
- That cache consists of slices. A slice processes one sector after another and adds to all its words at once, at the
  rate at which it writes sectors (one per cycle if unknown). 512 adjacent bytes belong to one slice. The mapping of
  addresses to slices is not public: the model assumes that each 512 bytes are in a random slice, so that the busiest
  slice has more than its share.
- Atomic adds also use the cache's bandwidth: four bytes written. No work-item uses the previous value.
- If the compiler sees that all lanes of a wave add to one address, it adds their values first and issues one atomic
  add: LLVM does so for AMD (AMDGPUAtomicOptimizer). One address of an RTX 4090 receives some 25 adds per cycle
  (PWhiddy/webgpu-atomics-benchmark).
- A CPU core performs one locked add in about 20 cycles (A. Fog, Instruction tables). If another core owned the line, it
  is transferred through the last cache first.
"""

from abc import abstractmethod
from collections.abc import Mapping
from math import ceil, inf, log2, sqrt
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.cores import LINE_BYTES
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import EMERALD_RAPIDS, constant
from gpureport.workloads import grid
from gpureport.workloads.model import Argument, Buffer, Demand, Job, Limits, Local, Parameters, Stream, Sweep, Workload

_POWERS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
WORDS_APART = 32
"""Words between the addresses of work-groups, so that each has its own line."""
_LOCKED_ADD_CYCLES = constant(20.0)
_HANDED_OVER = constant(
    0.3,
    "geometric mean of 18 ns on 2 cores of an Emerald Rapids and 25 ns on 16, with 70 ns (atomics/spread; "
    "reports/pocl-xeon-2-cores, an earlier run on 16 cores)",
    measured_on=EMERALD_RAPIDS,
    held_out="two cores of a Zen 4 take 4 to 5 ns; 10 ns are predicted",
)
"""Time of an atomic add to a line that the cores of a CPU share / latency of the last cache, through which they hand it
over. It is the same for 1 to 16 addresses, which are in one line."""
SLICE_BYTES = 512
"""Adjacent bytes in one slice of the second-level cache: on an H200, adds to 1 KiB take half as long as adds to 256
bytes, in which eight sectors take turns (atomics/spread; reports/nvidia-h200). AMD documents 256 bytes."""


class Atomics(Workload):
    """One way to add numbers: all work-groups are resident, and their work-items add repeatedly."""

    family = "atomics"
    source = "atomics.cl"
    counted = "numbers added."
    metric = Metric(kind="rate", unit="adds", label="atomic adds")
    microbenchmark = True
    kernel: ClassVar[str]
    verification_dispatches = 2
    macros = ("words_apart",)
    usual: ClassVar[Parameters] = {"words_apart": WORDS_APART}
    work_of = ("passes", "groups", "local")
    labelled = "groups of {local}"
    verified = (
        {"passes": 5, "local": 37, "groups": 3},
        {"passes": 3, "local": 64, "groups": 5},
        {"passes": 2, "local": 1, "groups": 7},
    )
    """Work-groups of odd sizes, and of one work-item."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        tried = sorted({min(local, limits.max_work_group) for local in (64, 256, 1024)})
        points = ({"passes": 256, "local": local, "groups": grid.resident_groups(device, local)} for local in tried)
        return (grid.by_case("group_size", "work-group size", points),)

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Return the kernel arguments between the counters and the number of passes."""
        return ()

    @abstractmethod
    def addresses(self, parameters: Parameters) -> NDArray[np.int64]:
        """Return the counter that each work-item adds to in each pass: shape (passes, items)."""

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Counters with random initial values; sums wrap around."""
        size = self.nbytes(parameters)
        buffers = {"counters": Buffer(size, grid.random_words(rng, size))}
        arguments = ("counters", *self.arguments(parameters), np.uint32(parameters["passes"]))
        return Job.linear(buffers, self.kernel, self.work_items(parameters), parameters["local"], arguments)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        items = np.arange(self.work_items(parameters), dtype=np.uint32)
        passes = np.arange(parameters["passes"], dtype=np.uint32)
        addends = items * np.uint32(2654435761) + passes[:, None]
        counters = job.buffers["counters"].filled().astype(np.uint32)
        np.add.at(counters, self.addresses(parameters), addends * np.uint32(dispatches))
        return {"counters": counters}

    def _demand(
        self,
        parameters: Parameters,
        device: Device,
        *,
        counters: int,
        sent: float,
        operations: Mapping[str, float],
        serial_cycles: float = 0.0,
        shared_lines: int = 0,
    ) -> Demand:
        """Return the demand of a dispatch that sends atomic operations to *counters* addresses, besides *operations*.

        *serial_cycles* are those of dependent work, on a GPU. *shared_lines*: cache lines of a CPU to which all cores
        add; 0: each core has its own.
        """
        each = sent / counters
        streams: tuple[Stream, ...] = (Stream("counters", counters, 4, 4, True, each, each),)
        if device.architecture.groups_as_loops:
            # Cores read the previous value; a GPU's cache returns nothing, as no work-item uses it.
            streams = (Stream("counters", counters, 4, 4, False, each, each), *streams)
            cores = min(device.compute_units, parameters["groups"])
            # Cores take turns: while one adds, the others wait for the line.
            handed_over = _HANDED_OVER * device.caches[-1].latency_cycles if device.caches else 0.0
            turn = handed_over * cores / shared_lines if shared_lines and cores > 1 else 0.0
            serial_cycles = sent / parameters["groups"] * max(_LOCKED_ADD_CYCLES, turn)
        return Demand(
            *self.launched(parameters),
            streams=streams,
            operations={**operations, "memory": sent},
            # The model expresses waiting as a chain of operations with a known latency.
            chain={"int32": serial_cycles / device.architecture.latency_cycles["int32"]},
            registers=16,
            local_memory_bytes=4 * parameters["local"] if "local" in operations else 0,
            phases_aligned=False,
        )


def waiting_cycles(device: Device, sent: float, counters: int, apart: int = 1) -> float:
    """Return the clock cycles for which atomic adds wait for each other on a GPU, in the busiest slice of the cache.

    The adds that are *sent* are evenly distributed over the *counters*, which are *apart* by this number of words. A
    slice writes one sector per cycle if its rate is unknown.
    """
    shared = device.shared_cache
    sector = shared.sector_bytes if shared else device.memory.access_bytes
    together = min(counters, max(1, sector // (4 * apart)))
    parts, slices = ceil(4 * apart * counters / SLICE_BYTES), shared.slices if shared else None
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


class ByGroup(Atomics):
    variant = "by_group"
    title = "Global atomic adds, one address per work-group"
    description = (
        "All work-items of a work-group add to the same address, which the compiler can see. Each address has its own "
        "line. Assumed: shuffles add the lanes of a wave first, and each wave issues one atomic add. (NVIDIA devices "
        "of compute capability 8.0 and later have an instruction for this, whose rate is not known.) Adds to one "
        "address follow one another."
    )
    kernel = "add_by_group"
    working_set_of = (4, "groups", WORDS_APART)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Shuffles, then one atomic add per wave; on a CPU one for each work-item."""
        adds, groups = self.work(parameters), parameters["groups"]
        if device.architecture.groups_as_loops:
            return self._demand(parameters, device, counters=groups, sent=adds, operations={"int32": adds})
        wave = min(parameters["local"], device.architecture.wave_size)
        waves, rounds = adds / wave, log2(wave)
        return self._demand(
            parameters,
            device,
            counters=groups,
            sent=waves,
            serial_cycles=waiting_cycles(device, waves, groups, WORDS_APART),
            operations={"int32": (2 + rounds) * adds, "shuffle": rounds * adds},
        )

    def addresses(self, parameters: Parameters) -> NDArray[np.int64]:
        group = np.arange(self.work_items(parameters)) // parameters["local"]
        return np.tile(group * WORDS_APART, (parameters["passes"], 1))


class Reduced(Atomics):
    variant = "reduced"
    title = "Global atomic adds after a reduction in local memory"
    description = (
        "In each pass a work-group reduces one number of each work-item in local memory, and one work-item adds the "
        "sum to the single global counter."
    )
    kernel = "add_reduced"
    working_set_of = (4,)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Each round of the reduction has two loads, a store and a barrier.

        Dependent in each round: the index, its bounds, a branch that some lanes take, a load, the sum, and a barrier,
        which the last work-item of the group reaches only after all others have issued theirs.
        """
        adds, local, passes = self.work(parameters), parameters["local"], parameters["passes"]
        rounds = ceil(log2(local)) if local > 1 else 0
        latency = device.architecture.latency_cycles
        ends = local / device.architecture.rates_per_cycle.get("barrier", inf)
        waits = sum(latency.get(name, 0.0) for name in ("branch", "local", "barrier"))
        halving_cycles = 5 * latency["int32"] + waits + ends
        sent = passes * parameters["groups"]
        return self._demand(
            parameters,
            device,
            counters=1,
            sent=sent,
            serial_cycles=max(waiting_cycles(device, sent, 1), passes * (rounds + 1) * halving_cycles),
            shared_lines=1,
            operations={"int32": (4.0 + 2 * rounds) * adds, "local": 4.0 * adds, "barrier": (rounds + 1) * adds},
        )

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """One word of local memory per work-item."""
        return (Local(4 * parameters["local"]),)

    def addresses(self, parameters: Parameters) -> NDArray[np.int64]:
        return np.zeros((parameters["passes"], self.work_items(parameters)), dtype=np.int64)


class Spread(Atomics):
    variant = "spread"
    title = "Global atomic adds by number of addresses"
    description = (
        "Neighbouring work-items add to neighbouring addresses, modulo the number of addresses: one, one per lane of a "
        "wave, up to 4 MiB of addresses. The compiler cannot see which work-items add to the same address. Assumed: "
        "adds to one address follow one another, and so do adds to different sectors of one slice of the cache; all "
        "adds use the cache's bandwidth."
    )
    kernel = "add_spread"
    labelled = "{addresses:address/es}"
    working_set_of = (4, "addresses")
    verified = (
        {"addresses": 1, "passes": 3, "local": 33, "groups": 5},
        {"addresses": 32, "passes": 7, "local": 50, "groups": 3},
        {"addresses": 1024, "passes": 5, "local": 33, "groups": 7},
    )
    """One address for all, a few addresses, more addresses than work-items."""

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
        adds = self.work(parameters)
        used = int(min(parameters["addresses"], adds))
        return self._demand(
            parameters,
            device,
            counters=used,
            sent=adds,
            serial_cycles=waiting_cycles(device, adds, used),
            shared_lines=ceil(4 * used / LINE_BYTES),
            operations={"int32": 5.0 * adds},
        )

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """The mask of addresses, whose number is a power of two."""
        return (np.uint32(parameters["addresses"] - 1),)

    def addresses(self, parameters: Parameters) -> NDArray[np.int64]:
        items = self.work_items(parameters)
        return np.arange(parameters["passes"] * items).reshape(-1, items) % parameters["addresses"]


WORKLOADS = (ByGroup(), Reduced(), Spread())
