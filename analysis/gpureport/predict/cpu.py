"""How a CPU executes the work-groups of OpenCL kernels: one after another on each core.

A core has one instruction stream. Starting a group, its instructions and its barriers add up; transfers of data overlap
with them. Loads whose addresses do not depend on other loads are prefetched, so that only chains of dependent loads
wait for their latency::

    W = smooth_p( smooth_4(starts + barriers + smooth_4(operations by pipe or class), memory), latency )

``smooth_p`` is that of GPUs. How many work-items run together as lanes of a vector, and how threads start, depends on
the compiler and its runtime: a class for each, with constants. A device names its compiler
(:attr:`.Architecture.compiler`). What a compiler changes in the device's own values is in
:mod:`gpureport.spec.compilers`.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import ceil, log2, prod, sqrt
from typing import ClassVar, TypeVar

from gpureport.predict.execution import THROUGHPUT_EXPONENT, Execution, IsolatedGroup, smooth_maximum
from gpureport.predict.gpu import overlap_exponent
from gpureport.predict.propagation import log, maximum, minimum, where
from gpureport.predict.residency import ServingLevel, fraction_beyond, mean_cost, streamed_misses
from gpureport.predict.traffic import requested_bytes
from gpureport.spec.drivers import CpuCompiler
from gpureport.spec.uncertainty import SIGMA_CPU_CODE, constant, sourced
from gpureport.trace.chains import REORDERED

T = TypeVar("T")

FILL_BUFFERS = sourced("predict.cpu.FILL_BUFFERS", int)
"""Lines for which a core waits at once."""
_WORD = 4
_LONG_VECTOR = constant(8, "assumed")
"""Words of vectors that kernels compute with, from which on the compiler does not combine work-items."""
_LONG_RECORD = constant(16, "assumed")
"""Words of records from which on each has a vector of its own."""


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


class PoclExecution(CpuExecution):
    """PoCL, with LLVM's vectoriser of loops."""

    waking_share_of_launch: ClassVar = sourced("predict.cpu.PoclExecution.waking_share_of_launch", float)
    """Time that it takes to wake all threads / time of the launch of one work-group."""
    groups_per_thread_awake: ClassVar = sourced("predict.cpu.PoclExecution.groups_per_thread_awake", float)
    """Work-groups for each thread from which on all threads are awake."""
    fetch_share_of_launch: ClassVar = sourced("predict.cpu.PoclExecution.fetch_share_of_launch", float)
    """Time that all threads wait for one of them to fetch its next work-groups / time of the launch of one."""
    waking_delay_s: ClassVar = sourced("predict.cpu.PoclExecution.waking_delay_s", float)
    """Time from a dispatch until the other threads work on it: the operating system wakes them."""
    masked_loop_slowdown: ClassVar = sourced("predict.cpu.PoclExecution.masked_loop_slowdown", float)
    """Time of a loop of vectors with masks / time to issue its instructions."""
    masked_code_slowdown: ClassVar = sourced("predict.cpu.PoclExecution.masked_code_slowdown", float)
    """Time of code with masks, which runs both sides of every condition / time without conditions."""
    scalar_code_slowdown: ClassVar = sourced("predict.cpu.PoclExecution.scalar_code_slowdown", float)
    """Time of code without vectors / time to issue its instructions."""
    gather_slowdown: ClassVar = sourced("predict.cpu.PoclExecution.gather_slowdown", float)
    """Time of a lane of a gather or scatter / time of a scalar access."""

    @cached_property
    def lanes(self) -> float:
        """Number of work-items that run together as lanes of a vector.

        Compilers vectorise along the first dimension. They do not vectorise code with different paths, unless they turn
        conditions into masks. Vectors of integers that are shorter than 4 bytes then have more lanes than a wave. Only
        some compilers vectorise loops between barriers. None vectorises code that already computes with vector types:
        LLVM's loop vectoriser accepts scalar types only.

        Compiled code without vectors runs work-items one by one, with three exceptions. The rate of shuffles contains
        their emulation. Between barriers, vectors access strided local memory word by word. Vector types may be narrow.
        Code with vectors does not show how many lanes its masks disable.
        """
        architecture, demand, wave = self.architecture, self.demand, float(self.architecture.wave_size)
        if "barrier" in demand.operations and not demand.branches:
            return max(1.0, min(architecture.barrier_lanes, wave))
        if demand.vector_words and not demand.branches:
            return min(wave, float(demand.vector_words))
        if demand.vectorised is False and "shuffle" not in demand.operations:
            return 1.0
        if demand.branches:
            if architecture.masked_lanes == 1 or not demand.maskable:
                return 1.0
            vector = min(architecture.masked_lanes, wave) * 4 / demand.lane_bytes
            return max(1.0, min(vector, float(demand.work_group[0])) / self.masked_code_slowdown)
        return wave

    @property
    def padding(self) -> float:
        """Work-items that take time / those with work.

        Code with masks runs all lanes of a work-group: idle work-items only mask their results. Branches skip them. On
        two cores, the time of a work-item that pads a work-group is 0.9 to 1.1 of that of others in all kernels of the
        Game of Life that compiled to masks, and below 0.05 in the others (reports/pocl-xeon-2-cores).
        """
        demand = self.demand
        vectors = self.architecture.masked_lanes > 1 if demand.vectorised is None else demand.vectorised
        return self._idle_factor if demand.branches and demand.maskable and vectors else 1.0

    @property
    def _idle_factor(self) -> float:
        return self.demand.work_items / maximum(1, self.demand.work_items - self.demand.idle_items)

    def class_times(self) -> dict[str, float]:
        """Return the times of classes, or of counted instructions if the compiled code is known well enough."""
        for counted_s in (self.loop_time_s, self.scalar_time_s):
            if counted_s is not None:
                return {"instruction": counted_s / self.busy_fraction}
        return super().class_times()

    @property
    def loop_time_s(self) -> float | None:
        """Seconds of all instructions on all cores, if the compiled code is one straight loop of vectors.

        Its conditions are masks, so that each turn executes all instructions. The bytes of its stores show how many
        work-items a turn advances; idle ones count. ``None``: the code is not of this form, or not known. The compiler
        emits other code for work-groups whose rows are shorter than a vector.
        """
        demand, wave = self.demand, self.architecture.wave_size
        if not (demand.instructions_per_stored_byte and demand.branches) or demand.work_group[0] < wave:
            return None
        stored = sum(stream.elements * stream.record_bytes for stream in demand.streams if stream.write)
        lanes = demand.instructions_per_stored_byte * stored * self._idle_factor * wave
        return self.masked_loop_slowdown * lanes / self.device.rate_per_s("instruction")

    @property
    def scalar_time_s(self) -> float | None:
        """Seconds of all instructions on all cores, if counted and without vectors; branches skip idle work-items."""
        if not self.demand.scalar_instructions or self.lanes > 1:
            return None
        slots = self.demand.scalar_instructions * self.architecture.wave_size
        return self.scalar_code_slowdown * slots / self.device.rate_per_s("instruction")

    def class_factors(self, vectors: Mapping[str, float]) -> dict[str, float]:
        """Return the factor of the time of each class, relative to whole vectors of independent accesses.

        *vectors* contains factors that apply to vectors, such as accesses of several lines. One by one, work-items take
        the same time in any order. Barriers and exchanges between work-items run one by one in any case, as their rates
        say.
        """
        names = self.demand.operations.keys() - {"barrier", "shuffle", "ballot", "masked"}
        scalar = self.architecture.wave_size / self.lanes * self.padding
        gathered = self.gather_slowdown if self.lanes > 1 else 1.0
        passes = {name: factor * gathered if factor > 1 else 1.0 for name, factor in vectors.items()}
        slower = {"instruction": self.scalar_code_slowdown} if self.demand.accesses and self.lanes == 1 else {}
        return {name: maximum(scalar, passes.get(name, 1.0)) * slower.get(name, 1.0) for name in names}

    def waking_s(self, work_s: float) -> float:
        """Return the seconds that threads which wake add to *work_s*, the time of the work on all threads.

        PoCL gives each thread several groups at once, so that few groups wake few threads. The first thread starts
        after the launch. It works alone until the others join it, or until it has finished. Each time, a thread fetches
        an equal part of the groups that are left, so that the number of fetches grows with the logarithm of the groups.
        All threads use the same lock.
        """
        launch_s = self.device.launch.batched_s
        threads, groups = self.device.compute_units, self.demand.groups
        awake = self.groups_per_thread_awake * threads
        share = minimum(1.0, (groups - 1) / awake)
        fetches = threads * log(maximum(1.0, groups / awake))
        others = minimum(threads, ceil(groups)) - 1
        # The delay is as uncertain as the launch, whose relative uncertainty this factor of 1 has.
        late_s = maximum(0.0, self.waking_delay_s * (launch_s / float(launch_s) if launch_s else 1.0) - launch_s)
        alone_s = others * minimum(work_s, late_s / (others + 1))
        return (self.waking_share_of_launch * share + self.fetch_share_of_launch * fetches) * launch_s + alone_s


class IntelExecution(CpuExecution):
    """Intel's runtime: its compiler turns the work-items of a row of a work-group into lanes; TBB runs work-groups.

    Conditions and loops become masks, and barriers end loops over vectors. An access under a mask, to local memory out
    of order or to a record of several words takes time for each lane. TBB's threads look for work while they wait, so
    that none is woken.
    """

    joining_share_of_launch: ClassVar = sourced("predict.cpu.IntelExecution.joining_share_of_launch", float)
    """Time until a second thread works / time of the launch of one work-group, for one thread."""
    splitting_share_of_launch: ClassVar = sourced("predict.cpu.IntelExecution.splitting_share_of_launch", float)
    """Time of each halving of the work-groups, half of which the next thread takes / the same."""
    gather_cycles: ClassVar = sourced("predict.cpu.IntelExecution.gather_cycles", float)
    """Cycles of a lane of a gather or scatter of words."""
    insert_cycles: ClassVar = sourced("predict.cpu.IntelExecution.insert_cycles", float)
    """Cycles of a lane that is moved alone, with one shuffle per cycle: no gather loads bytes or parts of a vector."""
    record_cycles: ClassVar = sourced("predict.cpu.IntelExecution.record_cycles", float)
    """Cycles of a word whose record has its words in different vectors, with one shuffle per cycle, for each doubling
    of the record's words."""
    move_cycles: ClassVar = sourced("predict.cpu.IntelExecution.move_cycles", float)
    """Cycles in which a lane loads or stores 8 bytes of a record under a mask: longer records are moved in turn."""
    long_shuffle_cycles: ClassVar = sourced("predict.cpu.IntelExecution.long_shuffle_cycles", float)
    """Cycles of a lane of a shuffle in a sub-group that is longer than a vector, with one shuffle per cycle: a function
    moves lane by lane."""

    @cached_property
    def lanes(self) -> float:
        """Number of work-items that run together as lanes of a vector.

        Kernels that compute with long vectors keep them. The work-items of short rows fill a part of a vector if they
        meet at barriers, and run one by one if they have conditions. All others fill vectors.
        """
        demand, wave = self.demand, float(self.architecture.wave_size)
        if demand.vector_words >= _LONG_VECTOR:
            return min(wave, float(demand.vector_words))
        if self.short and "barrier" in demand.operations:
            return float(demand.work_group[0])
        return 1.0 if self.short and demand.branches else wave

    @cached_property
    def short(self) -> bool:
        """Whether rows of work-groups are shorter than a vector."""
        return self.demand.work_group[0] < self.architecture.vector_lanes

    def class_factors(self, vectors: Mapping[str, float]) -> dict[str, float]:
        """Return the factor of the time of each class, relative to whole vectors of independent accesses."""
        rates, wave = self.architecture.rates_per_cycle, self.architecture.wave_size
        names = self.demand.operations.keys() - {"barrier", "shuffle", "ballot"}
        accesses = {name: cycles * rates[name] for name, cycles in self.lane_cycles(vectors).items() if name in names}
        factors = {name: maximum(wave / self.lanes, accesses.get(name, 1.0)) for name in names}
        if self.demand.sub_group > wave:
            factors["shuffle"] = self.long_shuffle_cycles * rates["shuffle"] / self.architecture.shuffles_per_cycle
        return factors

    def lane_cycles(self, vectors: Mapping[str, float]) -> dict[str, float]:
        """Return the cycles of each lane's access that is not a part of a vector of neighbouring words, by class."""
        demand, pipes, short = self.demand, self.architecture.shuffles_per_cycle, self.short
        if self.lanes == 1 or demand.vector_words >= _LONG_VECTOR or (short and "barrier" not in demand.operations):
            return {}
        each = self.insert_cycles / pipes if short or self.record_words < 1 else self.gather_cycles
        masked = each if demand.branches else 0.0
        strided = each if vectors.get("local", 1.0) > 1 else 0.0
        return {"local": max(masked, strided), "memory": max(masked, self.record_access_cycles)}

    @cached_property
    def record_access_cycles(self) -> float:
        """Cycles of a lane's access to a record of several words; 0 if the record has a vector of its own.

        Every kernel checks its bounds, so that accesses have masks. Kernels that compute with the words of a record
        also distribute them among vectors.
        """
        demand, accesses = self.demand, self.demand.operations.get("memory", 0.0)
        if not (accesses and 1 < self.record_words < _LONG_RECORD):
            return 0.0
        words = requested_bytes(demand.streams) / _WORD / accesses
        combines = sum(not stream.write for stream in demand.streams) > 1
        computes = combines or demand.vector_words or demand.operations.keys() - {"memory", "instruction"}
        moved = self.move_cycles / 2 if self.record_words > 2 else 0.0
        each = self.record_cycles / self.architecture.shuffles_per_cycle * log2(self.record_words) if computes else 0.0
        return words * max(moved, each)

    def isolated_group(self, load_cycles: float, class_times: Mapping[str, float]) -> IsolatedGroup:
        """Return the times of a work-group: its gathers and scatters wait for lines; long vectors follow each other."""
        group, demand, line = super().isolated_group(load_cycles, class_times), self.demand, self.device.line_bytes
        if self.lanes == 1 or not demand.loaded or demand.accesses:
            return group
        lines: float = sum(
            where(each.used_bytes < each.record_bytes, each.elements * each.passes, 0.0)
            * minimum(1.0, each.record_bytes / line)
            for each in demand.streams
        )
        waits_s = self.device.cycles(lines / demand.groups / FILL_BUFFERS * load_cycles)
        instructions = demand.operations.get("instruction", 0.0) / demand.work_items / self.lanes
        in_turn = prod(demand.work_group) if demand.vector_words >= _LONG_VECTOR else 1.0
        chain_s = group.chain_s * maximum(1.0, in_turn * minimum(1.0, instructions / REORDERED))
        return IsolatedGroup(group.loads_s + waits_s, chain_s, maximum(chain_s, group.instructions_s))

    @cached_property
    def record_words(self) -> float:
        """Words of a record of global memory."""
        return min((stream.record_bytes / _WORD for stream in self.demand.streams), default=1.0)

    def waking_s(self, work_s: float) -> float:
        """Return the seconds that threads which start add: they halve what is left of the work-groups again and again.

        Threads look for work at each other, so that a halving takes longer the more there are: with their square root
        (assumed). The work itself takes part of this time.
        """
        del work_s
        groups = self.demand.groups
        halvings = log(maximum(1.0, groups)) / log(2.0)
        share = self.joining_share_of_launch + self.splitting_share_of_launch * halvings
        return where(groups > 1, share * sqrt(self.device.compute_units) * self.device.launch.batched_s, 0.0)


EXECUTIONS: Mapping[CpuCompiler, type[CpuExecution]] = {"pocl": PoclExecution, "intel": IntelExecution}
