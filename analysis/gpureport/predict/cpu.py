"""How a CPU executes the work-groups of OpenCL kernels: one after another on each core.

A core has one instruction stream. Starting a group, its instructions and its barriers add up; transfers of data overlap
with them. Loads whose addresses do not depend on other loads are prefetched, so that only chains of dependent loads
wait for their latency::

    W = smooth_p( smooth_4(starts + barriers + smooth_4(operations by pipe or class), memory), latency )

``smooth_p`` is that of GPUs. How many work-items run together as lanes of a vector, and how threads start, depends on
the compiler and its runtime (:mod:`gpureport.predict.cpu_compilers`).
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import ClassVar, TypeVar

from gpureport.predict.execution import THROUGHPUT_EXPONENT, Execution, IsolatedGroup, smooth_maximum
from gpureport.predict.gpu import overlap_exponent
from gpureport.predict.residency import ServingLevel, fraction_beyond, mean_cost, streamed_misses
from gpureport.predict.uncertainty.propagation import maximum
from gpureport.spec.uncertainty import SIGMA_CPU_CODE, constant
from gpureport.trace.chains import REORDERED

T = TypeVar("T")

FILL_BUFFERS = constant(16, "12 (Skylake), 16 (Golden Cove), 24 (Zen 4): optimisation manuals of the vendors")
"""Lines for which a core waits at once."""


class CpuExecution(Execution):
    """One dispatch on the cores of a CPU; a subclass for each compiler."""

    sigma: ClassVar[float] = SIGMA_CPU_CODE
    fills_every_level: ClassVar[bool] = True

    @cached_property
    @abstractmethod
    def lanes(self) -> float:
        """Number of work-items that run together as lanes of a vector."""

    @abstractmethod
    def waking_s(self, work_s: float) -> float:
        """Return the seconds that threads which start add to *work_s*, the time of the work on all threads."""

    def isolated_group(self, load_cycles: float, class_times: Mapping[str, float]) -> IsolatedGroup:
        """Return the times of a work-group; if it was traced, its vectors or work-items follow each other.

        Several overlap if a core reorders so many instructions. A core waits for the lines that nothing prefetches. The
        chain has at most as many instructions of each class as the mean work-item.
        """
        demand, operations, latencies = self.demand, self.demand.operations, self.architecture.latency_cycles
        group, vectors = super().isolated_group(load_cycles, class_times), prod(demand.work_group) / self.lanes
        if not demand.accesses:
            return group
        phases = 1 + operations.get("barrier", 0.0) / demand.work_items
        instructions = operations.get("instruction", 0.0) / demand.work_items
        rounds = max(1.0, vectors * min(1.0, instructions / (REORDERED * phases)))
        each = {name: min(count, operations.get(name, 0.0) / demand.work_items) for name, count in demand.chain.items()}
        cycles = demand.nearest_chain * self.device.caches[0].latency_cycles
        cycles += sum(count * latencies.get(name, 0.0) for name, count in each.items())
        chain_s = max(group.chain_s, self.device.cycles(rounds * cycles))
        loads_s = self.device.cycles(vectors * demand.memory_chain / FILL_BUFFERS * load_cycles)
        return IsolatedGroup(loads_s, chain_s, chain_s)

    def loads_cycles(self, load_cycles: float) -> tuple[float, float]:
        """Return the latencies; 0 if loads are prefetched."""
        shared = self.device.shared_cache
        return (0.0, 0.0) if self.demand.loaded else (load_cycles, shared.latency_cycles if shared else 0.0)

    def loads_served(self, working_set_bytes: float, levels: Sequence[ServingLevel[T]]) -> tuple[float, T]:
        """Return the mean latency (:mod:`gpureport.predict.cpu_memory`) over the transition ranges of levels."""
        beyond = (fraction_beyond(working_set_bytes, each.capacity_bytes, each.transition) for each in levels[:-1])
        return mean_cost(levels, list(beyond))

    def streams_served(self, working_set_bytes: float, levels: Sequence[ServingLevel[T]]) -> tuple[float, T]:
        """Return the mean time; half of a stream hits a cache at the middle of its transition range."""
        capacities = accumulate((each.capacity_bytes * each.transition.midpoint for each in levels[:-1]), maximum)
        misses = [streamed_misses(each, working_set_bytes) if working_set_bytes else 0.0 for each in capacities]
        return mean_cost(levels, misses)

    def computing_s(self, by_pipe: Mapping[str, float]) -> float:
        """Return the seconds that a core executes: it starts its groups itself, and barriers end its loops."""
        others = (time_s for name, time_s in by_pipe.items() if name != "barrier")
        return self.start_s + by_pipe.get("barrier", 0.0) + smooth_maximum(others, THROUGHPUT_EXPONENT)

    def work_s(
        self, computing_s: float, memory_s: float, latency_s: float, group: IsolatedGroup, *, from_memory: bool
    ) -> float:
        """Return the smooth maximum of instructions, traffic and latency."""
        throughput_s = smooth_maximum((computing_s, memory_s), THROUGHPUT_EXPONENT)
        return smooth_maximum((throughput_s, latency_s), overlap_exponent(self.groups_per_place))

    def launch_s(self, work_s: float) -> float:
        """Return the listed cost, and the time that waking threads add."""
        return super().launch_s(work_s) + self.waking_s(work_s)
