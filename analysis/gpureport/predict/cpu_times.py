"""How a CPU runs the work-groups of OpenCL kernels: one after another on each core.

A core has one instruction stream. Starting a group, its instructions and its barriers add up; transfers of data overlap
with them. Loads whose addresses do not depend on other loads are prefetched, so that only chains of dependent loads
wait for their latency.

Constants that cite ``reports/pocl-xeon-2-cores`` were fitted to its first version, of another host; the kept run
replaced it.
"""

from collections.abc import Mapping
from math import ceil, log

from gpureport.spec.models import Device
from gpureport.workloads.model import Demand

WAKING_SHARE_OF_LAUNCH = 0.65
"""Time that it takes to wake all threads / time of the launch of one work-group. Fitted to empty kernels on 16 cores
(70 us instead of 43; a first quick run on the machine of reports/pocl-xeon-16-cores)."""
GROUPS_PER_THREAD_AWAKE = 4
"""Work-groups for each thread from which on all threads are awake (same data)."""

MASKED_LOOP_SLOWDOWN = 2.2
"""Time of a loop of vectors with masks / time to issue its instructions: 2.7 instructions per cycle of six. Fitted to
Game of Life with four bytes per cell on two cores (reports/pocl-xeon-2-cores)."""
MASKED_CODE_SLOWDOWN = 1.8
"""Time of code with masks, which runs both sides of every condition / time without conditions. Fitted to Game of Life
on two cores (reports/pocl-xeon-2-cores)."""

SCALAR_CODE_SLOWDOWN = 1.3
"""Time of code without vectors / time to issue its instructions: 4.6 of six per cycle. Between the values of
16 and of 2 cores of an Emerald Rapids, 1.5 and 1.1, for the Game of Life without vectors (reports/pocl-xeon-16-cores,
pocl-xeon-2-cores; the code of PoCL 3, on 2 cores, has fewer instructions than the counted code of PoCL 5)."""

GATHER_SLOWDOWN = 3.0
"""Time of a lane of a gather or scatter / time of a scalar access. Fitted to transposes with strided local memory
(reports/pocl-xeon-2-cores)."""


FETCH_SHARE_OF_LAUNCH = 0.0094
"""Time that all threads wait for one of them to fetch its next work-groups / time of the launch of one work-group.
Fitted to empty kernels of 64 to 4,096 work-groups on 16 cores: 63 to 94 us (the same run)."""

WAKING_DELAY_S = 25e-6
"""Time from a dispatch until the other threads work on it: the operating system wakes them. Fitted to memory/copy and
memory/write on two cores (reports/pocl-xeon-2-cores)."""


def waking_s(device: Device, demand: Demand, work_s: float) -> float:
    """Return the seconds that threads which wake add to *work_s*, the time of the work on all threads.

    A runtime gives each thread several groups at once, so that few groups wake few threads. The first thread starts
    after the launch. It works alone until the others join it, or until it has finished. Each time, a thread fetches an
    equal part of the groups that are left, so that the number of fetches grows with the logarithm of the groups. All
    threads use the same lock.
    """
    launch_s, awake = device.launch.batched_s, GROUPS_PER_THREAD_AWAKE * device.compute_units
    share = min(1.0, (demand.groups - 1) / awake)
    fetches = device.compute_units * log(max(1.0, demand.groups / awake))
    others = min(device.compute_units, ceil(demand.groups)) - 1
    # The delay is as uncertain as the launch, whose relative uncertainty this factor of 1 has.
    late_s = max(0.0, WAKING_DELAY_S * (launch_s / float(launch_s) if launch_s else 1.0) - launch_s)
    return (WAKING_SHARE_OF_LAUNCH * share + FETCH_SHARE_OF_LAUNCH * fetches) * launch_s + others * min(
        work_s, late_s / (others + 1)
    )


def lanes(device: Device, demand: Demand) -> float:
    """Return how many work-items run together as lanes of a vector.

    Compilers vectorise along the first dimension. They do not vectorise code with different paths, unless they turn
    conditions into masks. Vectors of integers that are shorter than 4 bytes then have more lanes than a wave. Only some
    compilers vectorise loops between barriers. None vectorises code that already computes with vector types: LLVM's
    loop vectoriser accepts scalar types only.

    Compiled code without vectors runs work-items one by one, with three exceptions. The rate of shuffles contains their
    emulation. Between barriers, vectors access strided local memory word by word. Vector types may be narrow. Code with
    vectors does not show how many lanes its masks disable.
    """
    architecture, wave = device.architecture, float(device.architecture.wave_size)
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
        return max(1.0, min(vector, float(demand.work_group[0])) / MASKED_CODE_SLOWDOWN)
    return wave


def loop_time_s(device: Device, demand: Demand) -> float | None:
    """Return the seconds of all instructions on all cores, if the compiled code is one straight loop of vectors.

    Its conditions are masks, so that each turn executes all instructions. The bytes of its stores show how many
    work-items a turn advances; idle ones count. ``None``: the code is not of this form, or not known. The compiler
    emits other code for work-groups whose rows are shorter than a vector.
    """
    narrow = demand.work_group[0] < device.architecture.wave_size
    if narrow or not (demand.instructions_per_stored_byte and demand.branches):
        return None
    stored = sum(stream.elements * stream.record_bytes for stream in demand.streams if stream.write)
    busy = demand.work_items / max(1, demand.work_items - demand.idle_items)
    lanes_s = demand.instructions_per_stored_byte * stored * busy * device.architecture.wave_size
    return MASKED_LOOP_SLOWDOWN * lanes_s / device.rate_per_s("instruction")


def scalar_time_s(device: Device, demand: Demand) -> float | None:
    """Return the seconds of all instructions on all cores, if the code has no vectors; ``None``: it has, or no count.

    Branches skip idle work-items.
    """
    if not demand.scalar_instructions or lanes(device, demand) > 1:
        return None
    slots = demand.scalar_instructions * device.architecture.wave_size
    return SCALAR_CODE_SLOWDOWN * slots / device.rate_per_s("instruction")


def padding(device: Device, demand: Demand) -> float:
    """Return the work-items that take time / those with work.

    Code with masks runs all lanes of a work-group: idle work-items only mask their results. Branches skip them. On two
    cores, the time of a work-item that pads a work-group is 0.9 to 1.1 of that of others in all kernels of the Game of
    Life that compiled to masks, and below 0.05 in the others (reports/pocl-xeon-2-cores).
    """
    possible = device.architecture.masked_lanes > 1 if demand.vectorised is None else demand.vectorised
    if not (demand.branches and demand.maskable and possible):
        return 1.0
    return demand.work_items / max(1, demand.work_items - demand.idle_items)


def class_factors(device: Device, demand: Demand, vectors: Mapping[str, float]) -> dict[str, float]:
    """Return the factor of the time of each instruction class, relative to whole vectors of independent accesses.

    *vectors* contains factors that apply to vectors, such as accesses of several lines. One by one, work-items take the
    same time in any order. Barriers and exchanges between work-items run one by one in any case, as their rates say.
    """
    together = lanes(device, demand)
    names = demand.operations.keys() - {"barrier", "shuffle", "ballot"}
    scalar = device.architecture.wave_size / together * padding(device, demand)
    gathered = GATHER_SLOWDOWN if together > 1 else 1.0
    passes = {name: factor * gathered if factor > 1 else 1.0 for name, factor in vectors.items()}
    return {name: max(scalar, passes.get(name, 1.0)) for name in names}
