"""The points of sweeps: how far, how long and how finely they measure a device, random data.

One policy for all families: they give the device, the limits and a purpose, and get sizes and points. Only this module
asks whether a run is quick, or which kind of device a sweep is for.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, floor, inf, log2
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpureport.inputs import shipped_table
from gpureport.records.curves import Axis
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant
from gpureport.workloads.model import Limits, Parameters, Sweep

T = TypeVar("T")

_WORK_GROUPS_1D = (32, 64, 128, 256, 512, 1024)
_WORK_GROUPS_2D = ((64, 1), (256, 1), (1024, 1), (8, 8), (16, 16), (32, 32), (64, 4), (4, 64), (1, 256))
"""A few two-dimensional shapes (x, y): rows, squares, columns."""
WORKING_SET = Axis(quantity="working_set", label="working set")
FINE = 8
"""Sizes per factor of two; see also :attr:`~.model.Sweep.coarse`."""
_CPU_S = constant(2e-3)
"""Time of a dispatch on a CPU, whose launch takes longer than a GPU's."""


class Reach(NamedTuple):
    """The largest working set of a sweep, as multiples of the last cache."""

    quick: float
    full: float = inf
    on_cpu: float = inf
    """At most so much on a CPU, which is slower and has large caches."""


class Launch(NamedTuple):
    """Parameters of the points of a purpose on a GPU and on a CPU, and how long their dispatches take.

    ``per_unit`` are work-groups for each compute unit. A work-group is a wave, or has ``local`` work-items at most.
    """

    gpu: Mapping[str, int]
    cpu: Mapping[str, int]
    full_s: float = 0.0
    """On a GPU, long enough to outweigh the launch; 0: not known beforehand."""
    quick_s: float = 0.0
    """The same in a quick run; 0: as in a full run."""


class _Purposes(NamedTuple):
    reach: dict[str, Reach]
    launch: dict[str, Launch]


_PURPOSES = shipped_table("sweeps", _Purposes)


def launch(device: Device, limits: Limits, purpose: str) -> dict[str, int]:
    """Return the parameters of the points of a *purpose* (``tables/sweeps.yaml``), with the number of ``groups``."""
    points = _PURPOSES.launch[purpose]
    known = chosen(device, cpu=points.cpu, gpu=points.gpu)
    found = {"local": device.architecture.vector_lanes, **known}
    if per_unit := found.pop("per_unit", 0):
        found["groups"] = per_unit * device.compute_units
    return {**found, "local": min(found["local"], limits.max_work_group)}


def most_bytes(device: Device, limits: Limits, purpose: str, arrays: int = 1, capacity: float = 0.0) -> float:
    """Return the largest working set of a *purpose*, which consists of equal *arrays*.

    It is a multiple of the last cache, or of a larger *capacity*, within the limits of the device.
    """
    known = _PURPOSES.reach[purpose]
    times = min(known.quick if limits.quick else known.full, chosen(device, cpu=known.on_cpu, gpu=inf))
    largest = times * max(capacity, last_cache_bytes(device))
    return min(largest, limits.max_bytes, arrays * limits.max_buffer_bytes)


def beyond_bytes(device: Device) -> float:
    """Return a working set far beyond the caches, at which work-groups are compared, and memory is accessed."""
    return 4 * last_cache_bytes(device)


def is_short(device: Device, limits: Limits) -> bool:
    """Return whether a sweep has few points: in a quick run, and on a CPU.

    A CPU is slower, and its compiler builds the kernel for every work-group shape.
    """
    return limits.quick or device.architecture.groups_as_loops


def chosen(device: Device, *, cpu: T, gpu: T) -> T:
    """Return what suits the device: a core of a CPU runs the work-items of one group in turn, a GPU's many at once."""
    return cpu if device.architecture.groups_as_loops else gpu


def seconds(device: Device, limits: Limits, purpose: str) -> float:
    """Return the time that a dispatch should take, which outweighs its launch."""
    known = _PURPOSES.launch[purpose]
    return chosen(device, cpu=_CPU_S, gpu=(limits.quick and known.quick_s) or known.full_s)


def coalesces(device: Device) -> bool:
    """Return whether the lanes of a wave access memory together, line by line."""
    return not device.architecture.groups_as_loops


def sizes(low: float, high: float, to: Callable[[float], int]) -> tuple[int, ...]:
    """Return :data:`FINE` sizes per factor of two from *low* to *high*, rounded by *to*, ascending, without repeats."""
    first, last = ceil(log2(low) * FINE - 1e-9), floor(log2(high) * FINE + 1e-9)
    return tuple(sorted({to(float(size)) for size in np.exp2(np.arange(first, last + 1) / FINE)}))


def multiple(of: int) -> Callable[[float], int]:
    """Return a function that rounds to the nearest positive multiple of *of*."""
    return lambda size: max(1, round(size / of)) * of


def coarse(limits: Limits, quick: int = FINE, full: int = FINE // 2) -> int:
    """Return :attr:`.Sweep.coarse`, for :func:`sizes` so that one or two per factor of two are always measured."""
    return quick if limits.quick else full


def thinned(values: Sequence[T], limits: Limits, step: int) -> Sequence[T]:
    """Return *values*, in a quick run every *step*-th only."""
    return values[::step] if limits.quick else values


def work_groups(device: Device, limits: Limits) -> tuple[int, ...]:
    """Return the one-dimensional work-group sizes of a sweep; half of them where it :func:`is_short`."""
    tried = _WORK_GROUPS_1D[1::2] if is_short(device, limits) else _WORK_GROUPS_1D
    return tuple(local for local in tried if local <= limits.max_work_group)


def resident_groups(device: Device, local: int) -> int:
    """Return a number of work-groups that can all be resident: 1024 work-items per compute unit of a GPU.

    256 on an Intel GPU, whose subslice has 56 threads of eight lanes or more, with registers of their own. A CPU core
    processes four groups in turn.
    """
    if device.architecture.groups_as_loops:
        return 4 * device.compute_units
    rules = device.architecture.occupancy
    if not rules.registers:
        return max(1, int(device.compute_units / rules.units * 256 / local))
    return max(1, int(device.compute_units * 1024 / local))


def shapes(device: Device, limits: Limits) -> tuple[tuple[int, int], ...]:
    """Return two-dimensional shapes (x, y): pairs of powers of two, 32 items or more; few if :func:`is_short`."""
    every = tuple((2**i, 2**j) for i in range(11) for j in range(11))
    tried = _WORK_GROUPS_2D if is_short(device, limits) else every
    return tuple((x, y) for x, y in tried if 32 <= x * y <= limits.max_work_group)


def part_of_units(points: Iterable[Mapping[str, int]], compute_units: int) -> int | None:
    """Return the most work-groups of a sweep's points if they leave compute units idle; ``None`` if they do not.

    Such a rate is that of a part of the device. Points whose parameters have no number of work-groups use all units.
    """
    most = max((parameters.get("groups", compute_units) for parameters in points), default=compute_units)
    return most if most < compute_units else None


def last_cache_bytes(device: Device) -> float:
    """Return the capacity of the last cache in bytes (1 MiB if the device has none)."""
    return device.caches[-1].capacity_bytes if device.caches else 2.0**20


def last_sector_bytes(device: Device) -> int:
    """Return the bytes that an access without order moves from memory into the last cache."""
    return device.caches[-1].sector_bytes if device.caches else device.memory.access_bytes


def first_line_bytes(device: Device) -> int:
    """Return the length of a line of the first cache; without caches, that of an access to memory."""
    return device.caches[0].line_bytes if device.caches else device.memory.access_bytes


def bank_conflicts(words: Sequence[int], device: Device) -> float:
    """Return the time of one access of a wave, of 4-byte *words*, relative to one without bank conflicts.

    A bank of local memory delivers one word per cycle, to all work-items that want it (CUDA C++ Programming Guide,
    shared memory; AMD's ISA documents, LDS). Fewer lanes than banks conflict if they want words of one bank, too. One
    bank is cached memory without banks.
    """
    banks = device.architecture.local_memory_banks
    fullest = max(Counter(word % banks for word in set(words)).values())
    return fullest / ceil(len(words) / banks) if banks > 1 else 1.0


def stride_conflicts(stride: int, device: Device) -> float:
    """Return :func:`bank_conflicts` of a wave whose work-items access words with a *stride* in words."""
    return bank_conflicts(range(0, stride * device.architecture.wave_size, stride), device)


def by_case(name: str, label: str, points: Iterable[Parameters], title: str = "") -> Sweep:
    """Return a sweep over separate cases; *label* says what differs between them."""
    return Sweep(name, Axis(quantity="case", label=label), tuple(points), title or label)


def by_group_size(points: Iterable[Parameters], where: str) -> Sweep:
    """Return a sweep of the work-group size; *where* is the constant size of the problem, for the title."""
    axis = Axis(quantity="work_group", label="work-group size")
    return Sweep("work_group", axis, tuple(points), f"work-group size at {where}")


def by_work_items(name: str, points: Iterable[Parameters], title: str, coarse: int = 1) -> Sweep:
    """Return a sweep of the number of work-items."""
    return Sweep(name, Axis(quantity="work_items", label="work-items"), tuple(points), title, coarse)


def by_working_set(
    points: Iterable[Parameters],
    limits: Limits,
    name: str = "working_set",
    label: str = WORKING_SET.label,
    title: str = "",
) -> Sweep:
    """Return a sweep of the working set over :func:`sizes`; *label* says whose."""
    return Sweep(name, Axis(quantity="working_set", label=label), tuple(points), title or label, coarse(limits))


def random_words(rng: np.random.Generator, nbytes: int) -> NDArray[np.uint32]:
    """Return random 32-bit words for *nbytes*, at most 4 MiB, which larger buffers repeat."""
    return rng.integers(0, 2**32, size=max(1, min(nbytes, 2**22) // 4), dtype=np.uint32)
