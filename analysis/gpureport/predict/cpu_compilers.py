"""What compilers for CPUs make of kernels, and how threads of their runtimes start: a class for each, with constants.

A device names its compiler (:attr:`.Architecture.compiler`), by which :func:`gpureport.predict.model.execution_kind`
chooses. What a compiler changes in the device's own values is in :mod:`gpureport.spec.compilers`.
"""

from collections.abc import Mapping
from functools import cached_property, partial
from math import ceil, log
from typing import ClassVar

from gpureport.predict.cpu import CpuExecution
from gpureport.spec.compilers import EMERALD_RAPIDS
from gpureport.spec.drivers import CpuCompiler
from gpureport.spec.uncertainty import constant

_fitted = partial(constant, measured_on=EMERALD_RAPIDS)


class PoclExecution(CpuExecution):
    """PoCL, with LLVM's vectoriser of loops."""

    waking_share_of_launch: ClassVar[float] = _fitted(
        0.65, "empty kernels on 16 cores: 70 us instead of 43 (a first quick run)"
    )
    """Time that it takes to wake all threads / time of the launch of one work-group."""
    groups_per_thread_awake: ClassVar[float] = _fitted(4.0, "the same run")
    """Work-groups for each thread from which on all threads are awake."""
    fetch_share_of_launch: ClassVar[float] = _fitted(
        0.0094, "empty kernels of 64 to 4,096 work-groups on 16 cores: 63 to 94 us (the same run)"
    )
    """Time that all threads wait for one of them to fetch its next work-groups / time of the launch of one."""
    waking_delay_s: ClassVar[float] = _fitted(
        25e-6, "memory/copy and memory/write on two cores (reports/pocl-xeon-2-cores)"
    )
    """Time from a dispatch until the other threads work on it: the operating system wakes them."""
    masked_loop_slowdown: ClassVar[float] = _fitted(
        2.2,
        "Game of Life, four bytes per cell, two cores: 2.7 of six instructions per cycle (reports/pocl-xeon-2-cores)",
    )
    """Time of a loop of vectors with masks / time to issue its instructions."""
    masked_code_slowdown: ClassVar[float] = _fitted(1.8, "Game of Life on two cores (reports/pocl-xeon-2-cores)")
    """Time of code with masks, which runs both sides of every condition / time without conditions."""
    scalar_code_slowdown: ClassVar[float] = _fitted(
        1.3,
        "Game of Life without vectors: between 1.5 on 16 and 1.1 on 2 cores (reports/pocl-xeon-16-cores, "
        "pocl-xeon-2-cores; the code of PoCL 3, on 2 cores, has fewer instructions than the counted code of PoCL 5)",
    )
    """Time of code without vectors / time to issue its instructions."""
    gather_slowdown: ClassVar[float] = _fitted(3.0, "transposes with strided local memory (reports/pocl-xeon-2-cores)")
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
        return self.demand.work_items / max(1, self.demand.work_items - self.demand.idle_items)

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
        if demand.work_group[0] < wave or not (demand.instructions_per_stored_byte and demand.branches):
            return None
        stored = sum(stream.elements * stream.record_bytes for stream in demand.streams if stream.write)
        lanes = demand.instructions_per_stored_byte * stored * self._idle_factor * wave
        return self.masked_loop_slowdown * lanes / self.device.rate_per_s("instruction")

    @property
    def scalar_time_s(self) -> float | None:
        """Seconds of all instructions on all cores, if the code has no vectors; ``None``: it has, or no count.

        Branches skip idle work-items.
        """
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
        names = self.demand.operations.keys() - {"barrier", "shuffle", "ballot"}
        scalar = self.architecture.wave_size / self.lanes * self.padding
        gathered = self.gather_slowdown if self.lanes > 1 else 1.0
        passes = {name: factor * gathered if factor > 1 else 1.0 for name, factor in vectors.items()}
        return {name: max(scalar, passes.get(name, 1.0)) for name in names}

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
        share = min(1.0, (groups - 1) / awake)
        fetches = threads * log(max(1.0, groups / awake))
        others = min(threads, ceil(groups)) - 1
        # The delay is as uncertain as the launch, whose relative uncertainty this factor of 1 has.
        late_s = max(0.0, self.waking_delay_s * (launch_s / float(launch_s) if launch_s else 1.0) - launch_s)
        alone_s = others * min(work_s, late_s / (others + 1))
        return (self.waking_share_of_launch * share + self.fetch_share_of_launch * fetches) * launch_s + alone_s


EXECUTIONS: Mapping[CpuCompiler, type[CpuExecution]] = {"pocl": PoclExecution}
