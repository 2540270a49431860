"""How a device executes the work-groups of a dispatch: what one costs, what overlaps, how groups are started.

:class:`Execution` has what holds for every device: where groups run, and how long each instruction class, pipe and
isolated group takes. Its two kinds are :class:`.GpuExecution` and :class:`.CpuExecution`; ``model.execution`` chooses.
An effect of one kind of device belongs in its class, an effect of all here.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, prod
from typing import ClassVar

from gpureport.predict.accesses import constant_cycles, further_load_cycles, global_passes, local_passes
from gpureport.predict.propagation import as_norm, maximum, where
from gpureport.predict.residency import staircase
from gpureport.records.prediction import Occupancy
from gpureport.spec.models import Architecture, Device, traced_lanes
from gpureport.spec.uncertainty import sourced
from gpureport.workloads.model import Demand

THROUGHPUT_EXPONENT = sourced("predict.execution.THROUGHPUT_EXPONENT", float)
"""p-norm that joins throughput ceilings."""


def smooth_maximum(times: Iterable[float], exponent: float) -> float:
    """Return the p-norm of *times* with p = *exponent*: slightly more than their maximum if several are large."""
    values = list(times)
    largest, sharp = maximum(0.0, *values), exponent == inf
    if sharp is True or not largest:
        return largest
    p = where(sharp, 1.0, exponent)
    total: float = sum((value / largest) ** p for value in values) ** (1 / p)
    return where(sharp, largest, as_norm(largest * total, values, p))


@dataclass(frozen=True)
class IsolatedGroup:
    """Seconds of dependent loads and of dependent instructions of a work-group that has a compute unit for itself.

    *instructions_s* are those of its chain, or of the issue of all its instructions if that takes longer; *local_s* are
    those of local memory and barriers in its chain.
    """

    loads_s: float
    chain_s: float
    instructions_s: float
    local_s: float = 0.0

    @property
    def time_s(self) -> float:
        """Of loads and instructions, one after the other."""
        return self.loads_s + self.instructions_s


@dataclass(frozen=True)
class Execution(ABC):
    """One dispatch on a device; *resident* are its work-groups and waves on a compute unit."""

    device: Device
    demand: Demand
    resident: Occupancy

    sigma: ClassVar[float] = 0.0
    """Standard deviation of the model beyond that of GPUs."""
    fills_every_level: ClassVar[bool] = False
    """Whether a line that a store fetches from memory passes through every cache."""

    @property
    def architecture(self) -> Architecture:
        """Of the device."""
        return self.device.architecture

    # Where work-groups run

    @cached_property
    def places(self) -> float:
        """Number of places for a work-group: compute units, Intel's subslices or AMD's work-group processors."""
        return maximum(1.0, self.device.compute_units / self.architecture.occupancy.units)

    @cached_property
    def groups_per_place(self) -> int:
        """Number of work-groups of the most loaded place."""
        return ceil(self.demand.groups / self.places)

    @cached_property
    def busy_fraction(self) -> float:
        """Mean fraction of the places that work until the most loaded one has finished its groups."""
        return self.demand.groups / (self.groups_per_place * self.places)

    @cached_property
    def waves_per_group(self) -> int:
        """Number of waves of a work-group."""
        return ceil(prod(self.demand.work_group) / self.architecture.wave_size)

    @property
    def waves_per_place(self) -> int:
        """Number of waves of the most loaded place."""
        return self.waves_per_group * self.groups_per_place

    @property
    def resident_groups(self) -> float:
        """Number of groups that are resident on the device at once, at least one for each place."""
        return maximum(1, self.resident.groups_per_compute_unit) * self.places

    @cached_property
    def rounds(self) -> float:
        """Work-groups for each resident group; a group's successor starts after its last wave has ended."""
        return maximum(1.0, self.demand.groups / self.resident_groups)

    # Instructions

    def class_times(self) -> dict[str, float]:
        """Return the seconds of each instruction class on the most loaded compute unit, with all its pipes busy."""
        device, operations, rates = self.device, self.demand.operations, self.architecture.rates_per_cycle
        traced = self.demand.accesses
        local = local_passes(self.demand, self.architecture) if traced else self.demand.local_conflicts
        factors = self.class_factors({"local": local, "memory": self._access_passes()})
        times = {
            name: count * factors.get(name, 1.0) / (device.rate_per_s(name) * self.busy_fraction)
            for name, count in operations.items()
            if name in rates
        }
        barriers = operations.get("barrier", 0.0) / prod(self.demand.work_group)
        units = device.compute_units * self.busy_fraction
        further = {
            "local": device.cycles(barriers * self.architecture.barrier_cycles / units),
            "constant": device.cycles(constant_cycles(self.demand, self.architecture) / units),
        }
        return {**times, **{name: times.get(name, 0.0) + time_s for name, time_s in further.items() if time_s}}

    def class_factors(self, vectors: Mapping[str, float]) -> Mapping[str, float]:
        """Return the factor of the time of each instruction class; *vectors* has those of the accesses of a wave."""
        return vectors

    def _access_passes(self) -> float:
        """Return the time of a wave's access relative to one to neighbouring words, see :func:`.global_passes`."""
        architecture, demand, caches = self.architecture, self.demand, self.device.caches
        if demand.accesses:
            return global_passes(demand, self.device)
        passes = maximum(1.0, demand.lines_per_access / architecture.lines_per_access)
        if caches and caches[0].unified_with_local_memory:
            cycles = architecture.wave_size / architecture.rates_per_cycle["memory"]
            return where(demand.line_conflicts > 1, maximum(passes, demand.line_conflicts / cycles), passes)
        return passes

    def pipe_times(self, by_class: Mapping[str, float]) -> dict[str, float]:
        """Replace the times of classes that share one pipe by their sum, under the pipe's name."""
        times = dict(by_class)
        for pipe, members in self.architecture.pipes.items():
            used = [name for name in members if times.get(name)]
            if len(used) > 1:
                times[pipe] = sum(times.pop(name) for name in used)
        return times

    def scheduled(self, class_times: Mapping[str, float], waves: int) -> Mapping[str, float]:
        """Return the times of instruction classes if a compute unit executes *waves*; by default they do not matter."""
        return class_times

    # One group, and its successor

    def isolated_group(self, load_cycles: float, class_times: Mapping[str, float]) -> IsolatedGroup:
        """Return the times of a work-group that has a compute unit to itself."""
        device, demand = self.device, self.demand
        chain = {name: count * self.architecture.latency_cycles.get(name, 0.0) for name, count in demand.chain.items()}
        chain_s = device.cycles(sum(chain.values()))
        cycles, near_cycles = self.loads_cycles(load_cycles)
        nearest_cycles = device.caches[0].latency_cycles if device.caches else 0.0
        further = further_load_cycles(demand, device)
        rounds = demand.memory_chain * (cycles + further) + demand.cached_chain * near_cycles
        rounds += demand.nearest_chain * (nearest_cycles + further)
        loads_s, issue_s = device.cycles(rounds), self.issue_time_s(class_times)
        if demand.accesses:
            # While a wave waits, others issue; only at the first load all wait together.
            count = max(1.0, demand.memory_chain + demand.cached_chain + demand.nearest_chain)
            issue_s = max(0.0, issue_s - loads_s * (1 - 1 / count))
        local_s = device.cycles(chain.get("local", 0.0) + chain.get("barrier", 0.0))
        return IsolatedGroup(loads_s, chain_s, maximum(chain_s, issue_s), local_s)

    @abstractmethod
    def loads_cycles(self, load_cycles: float) -> tuple[float, float]:
        """Return the cycles for which a group waits for its loads: of *load_cycles* each, and of the shared cache."""

    def issue_time_s(self, class_times: Mapping[str, float]) -> float:
        """Return the seconds to issue a group's instructions; 0 if no other group is needed to keep a unit busy."""
        return 0.0

    @property
    def turnover_s(self) -> float:
        """Seconds from the last instruction of a work-group to the first one of its successor.

        Waves of some architectures keep their place until the cache that all compute units share has accepted their
        stores. These pass through the same queues as loads, so that load lengthens both alike.
        """
        cycles = self.architecture.turnover_cycles
        if self.demand.writes:
            cycles += self.architecture.store_cycles * self.loaded_factor
        return self.device.cycles(cycles)

    @property
    def loaded_factor(self) -> float:
        """Latency of memory under the traffic of the dispatch itself / unloaded latency.

        Groups start together, so that their first loads meet; the later ones of a chain are spread over time: loops of
        an H200 that wait for a word in each iteration take 307 to 323 cycles in the L2, and 723 to 800 for 2 TB/s.
        """
        rounds = maximum(1.0, self.demand.memory_chain) if self.demand.accesses else 1.0
        return 1 + (self.architecture.loaded_latency_factor - 1) / rounds if self.demand.loaded else 1.0

    @cached_property
    def waits(self) -> float:
        """Waits of all waves for loads that miss the nearest cache, those for several loads together counted once."""
        demand = self.demand
        lanes = traced_lanes(self.architecture, branches=demand.branches, barriers="barrier" in demand.operations)
        return demand.groups * ceil(prod(demand.work_group) / lanes) * demand.memory_chain

    @cached_property
    def start_s(self) -> float:
        """Seconds that it takes to start all work-groups.

        The dispatcher starts one group after another, and each compute unit one wave after another. Empty groups of
        1024 work-items on an H200 take 8.9 cycles of a compute unit for each wave, from 2^10 to 2^20 groups within 2 %.
        Groups of 512 keep up with the dispatcher.
        """
        dispatched_s = self.demand.groups / (self.device.launch.groups_per_cycle * self.device.clock_hz)
        rate = self.architecture.wave_starts_per_cycle
        return maximum(dispatched_s, self.device.cycles(self.waves_per_place / rate)) if rate else dispatched_s

    loads_served = streams_served = staticmethod(staircase)
    """Cost of dependent loads, or of streams, and the level that serves most of them."""

    # What overlaps

    @abstractmethod
    def computing_s(self, by_pipe: Mapping[str, float]) -> float:
        """Return the seconds of all instructions on the most loaded compute unit."""

    @abstractmethod
    def work_s(
        self, computing_s: float, memory_s: float, latency_s: float, group: IsolatedGroup, *, from_memory: bool
    ) -> float:
        """Return the seconds that work-groups take after they were started, with overlap of work and waits.

        The times are those of all instructions, of all traffic, and of all groups, one round after another; *group* is
        an isolated one. *from_memory*: memory, not a cache, limits the traffic.
        """

    def launch_s(self, work_s: float) -> float:
        """Return the cost of the launch before *work_s*."""
        return self.device.launch.single_s if self.demand.isolated else self.device.launch.batched_s

    @property
    def last_stores_s(self) -> float:
        """Seconds from the last store of the dispatch until all compute units can read it."""
        return 0.0

    @property
    def memory_efficiency(self) -> float:
        """Fraction of the listed bandwidth of memory that the dispatch reaches."""
        return self.device.memory.efficiency
