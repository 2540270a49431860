"""How a GPU executes work-groups: many waves on each compute unit hide each other's waits.

::

    W = max( smooth_p( smooth_4(operations by pipe or class, memory), latency ),
             smooth_4(operations + last waves, memory), smooth_4(operations + exposed waits, memory) ) + aligned

``smooth_p`` is a smooth maximum: the p-norm with exponent p.

- ``p`` approaches 3 from above as more work-groups share a compute unit (for streams beyond the caches, the value of
  :attr:`~GpuExecution.saturation_exponent`). It is infinite for one group per compute unit: nothing disturbs that
  group.
- If only one group can be resident, its operations and its latency do not disturb each other either. Then
  W = smooth_p( memory, max( operations, latency ) ).
- If no group waits for loads, memory and latency do not disturb each other: W = max( memory, smooth_p( operations,
  latency ) ). Bandwidth of writes then grows in proportion to the work up to its peak, as published for V100, A100,
  A40, L40, H100, MI100 and MI210 (RRZE-HPC/gpu-benches @1038c5d, gpu-stream). This does not hold for devices of several
  dies (:attr:`.Device.dies`).
- ``aligned``: groups of the first round start together, so their loads and computations do not overlap yet.
- ``last waves``: GPU schedulers are assumed to prefer the oldest waves. In kernels without barriers the last waves are
  then too few to keep the schedulers busy.
"""

from collections.abc import Mapping
from math import ceil, inf

from gpureport.predict import traffic
from gpureport.predict.accesses import moved_at_random
from gpureport.predict.execution import THROUGHPUT_EXPONENT, Execution, IsolatedGroup, smooth_maximum
from gpureport.predict.propagation import maximum, minimum, where
from gpureport.spec.models import schedulers_of
from gpureport.spec.uncertainty import constant, sourced

LATENCY_EXPONENT = sourced("predict.gpu.LATENCY_EXPONENT", float)
"""p-norm that joins latency with throughput, unless memory limits it."""
ISOLATED_EXPONENT = sourced("predict.gpu.ISOLATED_EXPONENT", float)
"""p-norm that joins an isolated wave's waits with its own instructions. With at most two groups a compute unit, it also
joins their waits for loads with all work: loads queue behind those of the same groups. For this use, the exponent and
the limit were chosen from a few values on public kernels; microbenchmarks gave exponents of 1.1 and 1.7."""
WITHOUT_ORDER = sourced("predict.gpu.WITHOUT_ORDER", float)
"""Bandwidth of memory of unknown channels for random accesses / for accesses in order."""
SEVERAL_LOADS = sourced("predict.gpu.SEVERAL_LOADS", float)
"""Latency of independent loads from several streams / of loads from one: a work-group waits for the last one."""
WRITES_EXPONENT = sourced("predict.gpu.WRITES_EXPONENT", float)
"""p-norm that joins latency with memory bandwidth if a dispatch only writes: stores do not wait for each other."""
READS_EXPONENT = sourced("predict.gpu.READS_EXPONENT", float)
"""The same if it only reads, with stacked memory. Latency rises before the bandwidth is reached."""
MIXED_EXPONENT = sourced("predict.gpu.MIXED_EXPONENT", float)
"""The same if it reads and writes, with stacked memory: reads also wait while the bus writes."""
FEWER_CHANNELS = sourced("predict.gpu.FEWER_CHANNELS", float)
"""Factor of both for other memory, whose load is distributed more evenly among its few channels."""
DIES_EXPONENT = constant(
    MIXED_EXPONENT,
    "eight dies of an MI300X saturate like copies",
    measured_on=("amd/mi300x",),
    held_out="MI300A (six dies): its curve has the same shape",
)
"""The same if it only writes, from several dies: each has its own way to memory, where their stores meet."""
EXPOSED = sourced("predict.gpu.EXPOSED", float)
"""Share of a group's waits for loads, local memory and barriers that the instructions of other groups do not hide:
``exposed waits``. These waits count as half of the group's time if they are longer."""
STAGED_EXPONENT = sourced("predict.gpu.STAGED_EXPONENT", float)
"""p-norm that joins computation with memory if all waves of a group wait for each stage of its data: groups of one
length start together, so that many load, or store their results, at the same time."""
_SHARED_PIPES = frozenset({"local", "shuffle", "memory", "barrier"})
"""Classes whose pipe all schedulers of a compute unit share. Each scheduler has its own part of all other pipes."""


def overlap_exponent(groups: int, of_many: float = LATENCY_EXPONENT) -> float:
    """Return the exponent that joins latency and throughput: the fewer *groups* share a compute unit, the larger."""
    return where(groups > 1, of_many * groups / maximum(groups - 1, 1), inf)


class GpuExecution(Execution):
    """One dispatch on a GPU."""

    def scheduled(self, class_times: Mapping[str, float], waves: int) -> dict[str, float]:
        """Return the times of instruction classes if *waves* are distributed among a compute unit's schedulers.

        A wave stays with one scheduler. The pipes of the others idle while those with one wave more, or with more work,
        finish.
        """
        schedulers = schedulers_of(self.architecture)
        longer = schedulers * ceil(waves / schedulers) / waves * self.demand.uneven
        return {name: time_s if name in _SHARED_PIPES else time_s * longer for name, time_s in class_times.items()}

    def issue_time_s(self, class_times: Mapping[str, float]) -> float:
        """Return the time of the slowest pipe for one group, whose waves the schedulers share."""
        times = self.pipe_times(self.scheduled(class_times, self.waves_per_group))
        return maximum(0.0, *times.values()) / self.groups_per_place

    def loads_cycles(self, load_cycles: float) -> tuple[float, float]:
        """Return the latencies; traffic of the dispatch itself, and several streams, lengthen that of loads."""
        shared = self.device.shared_cache
        reads = sum(not stream.write for stream in self.demand.streams)
        several = SEVERAL_LOADS if reads > 1 and not self.demand.accesses else 1.0
        return load_cycles * self.loaded_factor * several, shared.latency_cycles if shared else 0.0

    def computing_s(self, by_pipe: Mapping[str, float]) -> float:
        """Return the smooth maximum of the pipes. The work-group dispatcher runs in parallel with everything else."""
        return smooth_maximum(by_pipe.values(), THROUGHPUT_EXPONENT)

    def work_s(
        self, computing_s: float, memory_s: float, latency_s: float, group: IsolatedGroup, *, from_memory: bool
    ) -> float:
        """Return the smooth maximum of work and waits that the module's docstring describes."""
        demand = self.demand
        from_memory = from_memory & (memory_s > computing_s)
        many = where(from_memory, self.saturation_exponent, LATENCY_EXPONENT)
        exponent = overlap_exponent(self.groups_per_place, many)
        throughput_s = smooth_maximum(
            (computing_s, memory_s), STAGED_EXPONENT if demand.staged else THROUGHPUT_EXPONENT
        )
        work_s = smooth_maximum((throughput_s, latency_s), exponent)
        if not (self.device.dies > 1 or demand.memory_chain or demand.cached_chain):
            # No group waits for data, so its time does not grow while memory is busy with the stores of others.
            work_s = maximum(throughput_s, smooth_maximum((computing_s, latency_s), exponent))
        # Without another group on the compute unit, memory still serves other units.
        alone_s = smooth_maximum(
            (memory_s, maximum(computing_s, latency_s)), STAGED_EXPONENT if demand.staged else exponent
        )
        work_s = where(self.resident.groups_per_compute_unit == 1, alone_s, work_s)
        if demand.accesses and demand.memory_chain + demand.nearest_chain > 1 and self.groups_per_place <= 2:
            waiting_s = group.loads_s * ceil(self.rounds)
            work_s = maximum(work_s, smooth_maximum((throughput_s, waiting_s), ISOLATED_EXPONENT))
        if demand.accesses and group.time_s:
            waits_s = latency_s * minimum(0.5, (group.loads_s + group.local_s) / group.time_s)
            work_s = maximum(work_s, smooth_maximum((computing_s + EXPOSED * waits_s, memory_s), THROUGHPUT_EXPONENT))
        if computing_s and not demand.chain.get("barrier"):
            with_last_s = computing_s + self.last_waves_s(computing_s, group.chain_s)
            work_s = maximum(work_s, smooth_maximum((with_last_s, memory_s), THROUGHPUT_EXPONENT))
        if demand.phases_aligned:
            # Groups of the first round start together: they wait, load and compute at the same time, without overlap.
            # Every further round and every further dependent load desynchronises them.
            aligned_s = group.loads_s + memory_s + maximum(group.instructions_s, computing_s)
            work_s += maximum(0.0, aligned_s - work_s) / (self.rounds * maximum(1.0, demand.memory_chain))
        return work_s

    @property
    def saturation_exponent(self) -> float:
        """Exponent of the p-norm that joins latency with memory bandwidth: the larger, the sharper the transition.

        Not used for the constants: RX 6900 XT, MI300A, and MI300X except for :data:`DIES_EXPONENT`.
        """
        directions = {stream.write for stream in self.demand.streams if stream.memory_passes != 0}
        if directions == {True}:
            return DIES_EXPONENT if self.device.dies > 1 else WRITES_EXPONENT
        exponent = READS_EXPONENT if directions == {False} else MIXED_EXPONENT
        return exponent if self.device.memory.stacked else FEWER_CHANNELS * exponent

    def last_waves_s(self, computing_s: float, chain_s: float) -> float:
        """Return the seconds that schedulers idle at the end because too few waves are left.

        The oldest waves go first, so waves end one after another (assumed; with fair scheduling all would end
        together). An isolated wave takes as long as r waves' shares of the issue slots. With k < r waves left, a
        scheduler is busy for k / r of the time, until the next wave ends. If all waves together barely keep the
        scheduler busy, no idle time is added. Waves that meet at barriers end together.
        """
        waves = ceil(self.waves_per_place / schedulers_of(self.architecture))
        share_s = computing_s / waves
        isolated_s = smooth_maximum((share_s, chain_s), ISOLATED_EXPONENT)
        last = ceil(isolated_s / share_s) - 1
        idle_s = last * share_s * (1 - (last + 1) / 2 * share_s / isolated_s)
        return maximum(0.0, minimum(idle_s, computing_s - isolated_s))

    @property
    def last_stores_s(self) -> float:
        """Latency of the cache of all compute units, if the dispatch writes."""
        shared = self.device.shared_cache
        return self.device.cycles(shared.latency_cycles) if shared and self.demand.writes else 0.0

    @property
    def memory_efficiency(self) -> float:
        """The listed fraction, or more if all data move in one direction; less with error correction."""
        memory = self.device.memory
        one_way = traffic.one_way(self.demand.streams, self.device)
        efficiency = memory.one_way_efficiency if one_way else memory.efficiency
        efficiency *= 1 - (memory.ecc or 0.0)
        if memory.channels:  # rows that are opened take their time
            return efficiency
        return efficiency * (1 - (1 - WITHOUT_ORDER) * moved_at_random(self.demand.accesses, self.device.line_bytes)[1])
