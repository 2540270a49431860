"""Latency of dependent loads (pointer chase): by working set; of pairs, which show sectors; from different pages."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Dispatch, Job, Limits, Parameters, Stream, Sweep, Workload

_APART_BYTES = 1024
"""Bytes from one element of a cycle to the next: at least two of the longest lines."""
_DISTANCES = (4, 28, 32, 60, 64, 124, 128, 256)
_PAIRS = 2048
_FAR = 2
"""Times the last cache: beyond, hardly any line is still in a cache when the chase reaches it, whoever read it last."""
_PARTS = 4
"""Buffers that form the range of addresses."""
_BEYOND = 4
"""The range of addresses on a CPU ends at this multiple of the last reach; a GPU's at its memory."""
_LAST_REACH_BYTES = 16 * 2**20
"""On a CPU whose entry lists none: 4096 small pages, more than most processors' entries."""
_MOST_GROUPS = 512
_MARGIN = constant(1.25)
"""Working set that may fit in a cache / its capacity: a cache may be larger than its entry says."""
_NAMES = tuple(f"pages{number}" for number in range(_PARTS))


class Chase(Workload):
    """One work-item follows a random cycle of dependent loads."""

    family = "memory"
    metric = Metric(kind="time", unit="loads", label="latency")
    counted = "the time of one load, including its address arithmetic."
    microbenchmark = True
    verification_dispatches = 3
    work_of = ("steps",)
    work_items_of = ()


def chased(buffer: str, elements: float, record_bytes: int, used_bytes: int, steps: float) -> Demand:
    """Return the demand of *steps* loads of a random cycle through *elements*, *record_bytes* apart."""
    passes = steps / elements
    stream = Stream(buffer, elements, record_bytes, used_bytes, False, passes, passes)
    return Demand(work_items=1, work_group=(1,), streams=(stream,), phases_aligned=False, loaded=False)


def single(kernel: str, *arguments: str | np.generic) -> Dispatch:
    """Return the dispatch of one work-item."""
    return Dispatch(kernel, (1,), (1,), arguments)


def cycle(rng: np.random.Generator, elements: int, apart: int) -> NDArray[np.uint32]:
    """Return the indices of words with a distance of *apart* words in a random order, shape (*elements*,)."""
    order = np.arange(elements, dtype=np.uint32)
    rng.shuffle(order)
    return order * np.uint32(apart)


def linked(buffer: str, order: str, elements: int, local: int) -> Dispatch:
    """Return the dispatch that links the words of *order* to a cycle."""
    groups = min(-(-elements // local), _MOST_GROUPS)
    return Dispatch("link", (groups * local,), (local,), (buffer, order, np.uint32(elements)))


class PointerChase(Chase):
    variant = "latency"
    essential = True
    title = "Load latency"
    description = "A random cycle of dependent loads through all lines of a buffer, after an untimed traversal."
    source = "memory/latency.cl"
    calibrates = ("load_latency", "cache_capacity")
    verified = (
        {"bytes": 97 * 64, "line": 64, "steps": 60, "warm_up": 64},
        {"bytes": 31 * 128, "line": 128, "steps": 211, "warm_up": 17, "warm_up_groups": 3},
    )
    """Cycles of odd lengths, fewer and more steps than one traversal."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The working set, from 4 KiB to several times the last cache."""
        line = device.line_bytes
        last = grid.last_cache_bytes(device)
        high = grid.most_bytes(device, limits, "latencies")
        shape = {"line": line, "warm_up": min(256, limits.max_work_group)}
        # One work-group fills the caches of one compute unit, and on a GPU the partition of the second-level cache near
        # to it. Others would leave lines in their own caches. One core of a CPU needs seconds for a working set far
        # beyond the last cache, so all cores share such sets.
        shared_above = grid.chosen(device, cpu=_FAR * last, gpu=inf)
        points = (
            {"bytes": size, **shape, "steps": _steps(size // line, device)}
            | ({"warm_up_groups": device.compute_units} if size > shared_above else {})
            for size in grid.sizes(4096, high, grid.multiple(line))
        )
        return (grid.by_working_set(points, limits),)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """A chain of loads, each after two operations that compute its address from an index.

        The parameter ``pointers`` marks published chases whose elements are addresses and need no such operations.
        """
        steps, line = parameters["steps"], parameters["line"]
        chain = {} if parameters.get("pointers") else {"int32": 2.0 * steps}
        lines = parameters["bytes"] / line
        return replace(chased("next", lines, line, 4, steps), chain=chain, memory_chain=steps, reused="kernel")

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        size, line, local = parameters["bytes"], parameters["line"], parameters["warm_up"]
        lines = size // line
        order = cycle(rng, lines, line // 4)
        next_, order_, state, count = f"next{size}", f"order{size}", f"state{size}", np.uint32(lines)
        warm_up = Dispatch(
            "warm_up", (local * parameters.get("warm_up_groups", 1),), (local,), (next_, order_, state, count, "sink")
        )
        return Job(
            buffers={
                next_: Buffer(size),
                order_: Buffer(4 * lines, order),
                state: Buffer(8, np.array([order[0], 0], dtype=np.uint32)),
                "sink": Buffer(4),
            },
            dispatches=(single("chase", next_, state, np.uint32(parameters["steps"]), count),),
            before=(warm_up,),
            once=(linked(next_, order_, lines, local),),
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        size = parameters["bytes"]
        order = job.buffers[f"order{size}"].filled()
        made = parameters["steps"] * dispatches % len(order)
        return {f"state{size}": np.array([order[made], made], dtype=np.uint32)}


def _steps(lines: int, device: Device) -> int:
    """Return the steps of one dispatch.

    Small cycles are traversed 128 times, since caches that keep nothing between dispatches are cold when one starts.
    Cycles that do not fit in these take at most 2^16 steps, and large ones 2^13, for the timer's resolution. A CPU's
    loads take less time, and its launch may take longer: that of 16 threads takes as long as 30,000 loads from the L1.
    """
    if device.architecture.groups_as_loops:
        return 2**19 if lines <= 4096 else 2**17 if lines <= 2**16 else 2**14
    cold = max((each.capacity_bytes for each in device.caches if not each.persistent), default=0.0)
    most = 2**18 if lines * device.line_bytes <= _MARGIN * cold else 2**16 if lines <= 2**14 else 2**13
    return max(2**13, min(128 * lines, most))


class Sectors(Chase):
    variant = "sectors"
    source = "memory/lines.cl"
    macros = ("distance",)
    not_on_cpu = "Not necessary: the entries of processors list the lines of their caches."
    verification_dispatches = 2
    title = "Latency of a second load nearby"
    description = "A random cycle of pairs of loads; the second is 4 to 256 bytes further, perhaps in the same sector."
    counted = "the time of a pair."

    verified = (
        {"distance": 1, "bytes": 37 * _APART_BYTES, "steps": 11},
        {"distance": 64, "bytes": 19 * _APART_BYTES, "steps": 45},
    )
    """Fewer and more pairs than one traversal."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """A case for each distance, in a buffer of four last caches; none on a CPU."""
        if not grid.coalesces(device):
            return ()
        size = int(min(limits.max_buffer_bytes, 2**28, grid.beyond_bytes(device))) // _APART_BYTES * _APART_BYTES
        points = ({"distance": d // 4, "bytes": size, "steps": _PAIRS} for d in _DISTANCES)
        return (grid.by_case("distance", "distance", points, "distance of the second load"),)

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        return f"{4 * parameters['distance']} B"

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """The first load comes from memory; the second from the nearest cache, the shared cache or memory."""
        steps, distance, size = parameters["steps"], 4 * parameters["distance"], parameters["bytes"]
        near = device.caches[0].sector_bytes if device.caches else 1
        memory = max(near, device.memory.access_bytes)
        served = (distance < near, near <= distance < memory, distance >= memory)
        return replace(
            chased("next", size / _APART_BYTES, _APART_BYTES, 8, steps),
            chain={"int32": 4.0 * steps},
            memory_chain=steps * (1 + served[2]),
            cached_chain=steps * served[1],
            nearest_chain=steps * served[0],
            reused="never",
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """A random cycle; all other words are zero.

        The caches contain what remains of the cycle's elements, a small part of the buffer: another one evicts them.
        """
        size = parameters["bytes"]
        order = cycle(rng, size // _APART_BYTES, _APART_BYTES // 4)
        pairs = single("pairs", f"next{size}", f"state{size}", np.uint32(parameters["steps"]))
        evict = Dispatch("evict", (size // 16,), (64,), (f"others{size}",))
        buffers = {
            f"next{size}": Buffer(size, np.zeros(1, np.uint32)),
            f"order{size}": Buffer(order.nbytes, order),
            f"state{size}": Buffer(4, order[:1].copy()),
            f"others{size}": Buffer(size),
        }
        return Job(buffers, (pairs,), before=(evict,), once=(linked(f"next{size}", f"order{size}", len(order), 64),))

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        size = parameters["bytes"]
        order = job.buffers[f"order{size}"].filled()
        return {f"state{size}": order[[parameters["steps"] * dispatches % len(order)]]}


class Translation(Chase):
    variant = "translation"
    title = "Load latency, one load per page"
    description = "A random cycle of dependent loads, one in each page of a range; all data fit in the caches."
    counted = "the time of one load."
    source = "memory/translation.cl"
    verified = (
        {"bytes": 37 * 4096, "page": 4096, "line": 64, "part": 64 * 4096, "steps": 50},
        {"bytes": 29 * 4096, "page": 4096, "line": 128, "part": 11 * 4096, "steps": 91},
    )
    """Cycles of odd lengths in one buffer and in three."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The range of addresses, from a few pages to most of the memory; on a CPU to a few times the last reach."""
        page, line = device.page_bytes, device.line_bytes
        part = int(min(limits.max_buffer_bytes, limits.max_bytes / _PARTS)) // page * page
        reaches = [tlb.covered_bytes for tlb in device.tlb if isfinite(tlb.covered_bytes)]
        # Most of a GPU's memory; the elements fit in half of the last cache.
        of_cpu = _BEYOND * max(reaches, default=_LAST_REACH_BYTES)
        last = page / line * grid.last_cache_bytes(device) / 2
        high = min(_PARTS * part, last, grid.chosen(device, cpu=of_cpu, gpu=inf), limits.max_bytes)
        steps = grid.chosen(device, cpu=1 << 15, gpu=1 << 12)  # enough to make the launch cost small
        shape = {"page": page, "line": line, "part": part, "steps": steps}
        sizes = grid.sizes(4 * page, high, grid.multiple(page))
        points = [{"bytes": size, **shape} for size in sizes if size <= _PARTS * part]
        return (grid.by_working_set(points, limits, "span", "range of addresses"),) if points else ()

    def build_options(self, parameters: Parameters) -> str:
        return " ".join(f"-D{name.upper()}={parameters[name]}ul" for name in ("page", "line", "part"))

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """A chain of loads without address arithmetic; caches of compute units do not serve it (``reused``)."""
        steps, page, size = parameters["steps"], parameters["page"], parameters["bytes"]
        return replace(chased("pages", size / page, page, 8, steps), memory_chain=steps, span_bytes=size)

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        size, part = parameters["bytes"], parameters["part"]
        pages = size // parameters["page"]
        order = f"order{size}"
        buffers = {
            name: Buffer(min(part, size - start)) for name, start in zip(_NAMES, range(0, size, part), strict=False)
        }
        places = tuple(name if name in buffers else _NAMES[0] for name in _NAMES)
        link = Dispatch("link", (pages,), (1,), (*places, order, "state", np.uint32(pages)))
        visit, warm_up = (
            single("visit", *places, "state", "reached", np.uint32(loads)) for loads in (parameters["steps"], pages)
        )
        return Job(
            buffers={
                **buffers,
                order: Buffer(4 * pages, rng.permutation(pages).astype(np.uint32)),
                "state": Buffer(8),
                "reached": Buffer(4),
            },
            dispatches=(visit,),
            before=(link, warm_up),
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        order = job.buffers[f"order{parameters['bytes']}"].filled()
        return {"reached": order[[parameters["steps"] * dispatches % len(order)]]}


WORKLOADS = (PointerChase(), Sectors(), Translation())
