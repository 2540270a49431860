"""Lines, sectors and write policy of caches, from the latency of dependent loads."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.memory.latency import Chase, chased, cycle, single
from gpureport.workloads.model import Buffer, Demand, Dispatch, Job, Limits, Parameters, Sweep

_STRIDE = 1024
"""Bytes from one element of a cycle to the next: at least two of the longest lines."""
_DISTANCES = (4, 28, 32, 60, 64, 124, 128, 256)
_MOST_BYTES = 2**28
_PAIRS = 2048
_LINES = 512
_CASES = {(1, 0): "load, load", (0, 1): "store, load", (1, 1): "load, store, load"}
"""Labels of the cases: whether loads and stores come before the last loads."""


class _Loads(Chase):
    source = "memory/lines.cl"
    macros = ("distance", "first_loads", "stores")
    not_on_cpu = "The entries of processors list the lines of their caches."


class Sectors(_Loads):
    verification_dispatches = 2
    variant = "sectors"
    title = "Latency of a second load nearby"
    description = (
        "One work-item follows a random cycle through a buffer that is larger than the caches. After each element it "
        "loads a word at a distance of 4 to 256 bytes. The pair takes longer as soon as the second word is not in the "
        "sector that the first load brought into the nearest cache, and longer still if memory must be accessed again. "
        "Before each sample, stores to another buffer fill the caches. Counted: the time of a pair."
    )

    verified = (
        {"distance": 1, "bytes": 37 * _STRIDE, "steps": 11},
        {"distance": 64, "bytes": 19 * _STRIDE, "steps": 45},
    )
    """Fewer and more pairs than one traversal."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """A case for each distance, in a buffer of four last caches; none on a CPU."""
        if device.is_cpu:
            return ()
        size = int(min(limits.max_buffer_bytes, _MOST_BYTES, 4 * grid.last_cache_bytes(device))) // _STRIDE * _STRIDE
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
            chased("next", size / _STRIDE, _STRIDE, 8, steps),
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
        order, following = cycle(rng, size // _STRIDE, _STRIDE // 4)
        pairs = single("pairs", f"next{size}", f"state{size}", np.uint32(parameters["steps"]))
        evict = Dispatch("evict", (size // 16,), (64,), (f"others{size}",))
        buffers = {
            f"next{size}": Buffer(size, following),
            f"state{size}": Buffer(4, order[:1].copy()),
            f"others{size}": Buffer(size),
        }
        return Job(buffers, (pairs,), before=(evict,))

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        size = parameters["bytes"]
        following, (at,) = job.buffers[f"next{size}"].filled(), job.buffers[f"state{size}"].filled().tolist()
        for _ in range(parameters["steps"] * dispatches):
            at = int(following[at])
        return {f"state{size}": np.array([at], dtype=np.uint32)}


class SecondAccess(_Loads):
    verification_dispatches = 1
    variant = "second_access"
    title = "Latency of loads after loads or stores"
    description = (
        "One work-item accesses each line of a small buffer, then loads each line again; each load depends on the "
        "previous one. The latency shows whether the cache of the compute unit keeps data that were loaded, and data "
        "that were stored. Counted: the dependent loads."
    )
    working_set_of = ("lines", "line")
    verified = tuple({"first_loads": a, "stores": b, "lines": 31, "line": 64} for a, b in _CASES)
    """An odd number of lines."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        if device.is_cpu:
            return ()
        shape = {"lines": _LINES, "line": device.line_bytes}
        points = ({"first_loads": a, "stores": b, **shape} for a, b in _CASES)
        return (grid.by_case("first_access", "accesses", points, "kind of the first access"),)

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        return _CASES[parameters["first_loads"], parameters["stores"]]

    def work(self, parameters: Parameters) -> float:
        return parameters["lines"] * (1 + parameters["first_loads"])

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """First loads come from the shared cache if the nearest one is empty when a dispatch starts.

        A cache that does not allocate on writes passes them on; then the loads after stores come from the next cache.
        """
        lines, loads = parameters["lines"], self.work(parameters)
        kept = bool(device.caches) and device.caches[0].persistent
        hits = loads if kept or device.architecture.write_allocate else lines * parameters["first_loads"]
        return replace(
            chased("next", lines, parameters["line"], 4, loads, repeated=False),
            operations={"memory": float(lines * parameters["stores"])},
            chain={"int32": 2.0 * loads},
            cached_chain=loads - hits,
            nearest_chain=hits,
            reused="kernel",
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        lines, words = parameters["lines"], parameters["line"] // 4
        order, following = cycle(rng, lines, words)
        name = f"next{lines}x{words}"
        again = single("again", name, "state", *map(np.uint32, (lines, words, order[0])))
        return Job({name: Buffer(following.nbytes, following), "state": Buffer(4)}, (again,))

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """The cycle ends where it starts."""
        return {"state": np.array([job.dispatches[0].arguments[-1]], dtype=np.uint32)}


WORKLOADS = (Sectors(), SecondAccess())
