"""Read bandwidth by working set: of the levels that all compute units share, and of the caches of compute units."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric, PointKey
from gpureport.spec.models import Device
from gpureport.units import format_bytes
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Job, Limits, Parameters, Stream, Sweep, UnstoredResults

_OF_A_UNIT = "working set of each compute unit"
_PREFETCHED = 40  # lines that the prefetchers of a CPU core keep in flight


def _shape(device: Device, limits: Limits) -> dict[str, int]:
    """Return the shape of a read kernel: 16 bytes per lane of a GPU; whole lines, in a loop, on a CPU."""
    if device.is_cpu:
        return {"local": 1, "vectors": 64, "chunks": 16, "words": 16}
    return {"local": min(256, limits.max_work_group), "vectors": 8, "chunks": 1, "words": 4}


class _Reading(UnstoredResults):
    """Base of the read kernels."""

    family = "memory"
    source = "memory/read.cl"
    macros = ("vectors", "chunks", "words")
    metric = Metric(kind="rate", unit="B", label="read bandwidth")
    microbenchmark = True
    unrolled: ClassVar[int] = 0
    """Loads of a work-item of a GPU that are independent; 0: all."""

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        return grid.residing(super().point(parameters, sweep), sweep)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """One stream; later passes of the same dispatch read the data again."""
        read, size, vector = self.work(parameters), self.data_bytes(parameters), 4 * parameters["words"]
        items, passes = self.work_items(parameters), read / size
        loads = read / vector / items
        in_flight = _PREFETCHED if parameters["local"] == 1 else self.unrolled or loads
        return Demand(
            work_items=items,
            work_group=(parameters["local"],),
            streams=(Stream("data", size / vector, vector, vector, passes=passes, outer_passes=passes),),
            operations={"int32": read / 4},
            memory_chain=loads / in_flight,
            reused="kernel",
            phases_aligned=False,
        )

    def inputs(self, parameters: Parameters, rng: np.random.Generator) -> tuple[dict[str, Buffer], tuple[int, ...]]:
        data = Buffer(self.data_bytes(parameters), grid.random_words(rng, 2**22))
        return {"data": data}, self.scalars(parameters)

    def data_bytes(self, parameters: Parameters) -> int:
        return parameters["bytes"]

    @abstractmethod
    def scalars(self, parameters: Parameters) -> tuple[int, ...]:
        """Return the kernel arguments after the data."""


class Read(_Reading):
    variant = "read"
    kernel = "read_shared"
    calibrates = ("device_cache_bandwidth", "cache_capacity")
    essential = True
    title = "Read bandwidth, data shared by all compute units"
    description = (
        "Work-groups read one buffer in several passes; successive groups read successive parts, so that every compute "
        "unit reads all data. The sweep starts at 16 times the capacity of the compute units' own caches. "
        "Counted: bytes read, from any level."
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The working set, through the device-wide caches; on a GPU also the work-group size."""
        shape = _shape(device, limits)
        chunk = _chunk_bytes(shape)
        low = max([16 * c.capacity_bytes for c in device.caches if c.scope == "compute_unit"], default=64 * chunk)
        beyond = 4 if limits.quick else 8
        high = min(limits.max_buffer_bytes, beyond * max(low, grid.last_cache_bytes(device)))
        points = tuple(_shared(device, limits, size, shape) for size in grid.sizes(low, high, grid.multiple(chunk)))
        sizes = grid.by_working_set(points, limits)
        tried = () if device.is_cpu else grid.work_groups(device, limits)
        sweeps = (sizes, _work_groups(device, limits, shape, tried)) if len(tried) > 1 else (sizes,)
        return tuple(sweep for sweep in sweeps if sweep.points)  # small devices may have no points

    def work(self, parameters: Parameters) -> float:
        """Work is the bytes of all chunks that are read."""
        return parameters["groups"] * parameters["chunks"] * _chunk_bytes(parameters)

    def scalars(self, parameters: Parameters) -> tuple[int, ...]:
        return (parameters["bytes"] // _chunk_bytes(parameters),)

    verified = (
        {"bytes": 7 * 3072, "groups": 5, "local": 96, "vectors": 2, "chunks": 3, "words": 4},
        {"bytes": 11 * 320, "groups": 7, "local": 1, "vectors": 5, "chunks": 4, "words": 16},
    )
    """Working sets that are not powers of two and at whose end work-groups wrap, for GPUs and CPUs."""

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        local, per_group = parameters["local"], parameters["chunks"]
        data = job.buffers["data"].filled().reshape(-1, parameters["vectors"], local, parameters["words"])
        first = np.arange(parameters["groups"])[:, None] * per_group
        chunk = (first + np.arange(per_group)) % len(data)
        return {"folded": np.bitwise_xor.reduce(data[chunk], axis=(1, 2, 4)).ravel()}


def _work_groups(device: Device, limits: Limits, shape: Parameters, tried: Sequence[int]) -> Sweep:
    """Return the sweep over the work-group size, beyond the caches."""
    shapes = [{**shape, "local": local} for local in tried]
    whole = max(_chunk_bytes(shape) for shape in shapes)
    size = grid.multiple(whole)(min(limits.max_buffer_bytes - whole, 4 * grid.last_cache_bytes(device)))
    return grid.by_group_size((_shared(device, limits, size, shape) for shape in shapes), format_bytes(size))


def _shared(device: Device, limits: Limits, size: int, shape: Parameters) -> Parameters:
    """Return a point of *size* bytes with enough work-groups for the timer's resolution."""
    least = device.memory.bandwidth_bytes_per_s * (1e-3 if not device.is_cpu and limits.quick else 2e-3)
    return {"bytes": size, "groups": round(max(size, least) / (_chunk_bytes(shape) * shape["chunks"])), **shape}


def _chunk_bytes(parameters: Parameters) -> int:
    return 4 * parameters["words"] * parameters["vectors"] * parameters["local"]


def _regions(
    device: Device, limits: Limits, shape: Parameters, low: float, high: float, groups: int
) -> tuple[Parameters, ...]:
    """Return points with regions of *low* to *high* bytes and enough passes for the timer's resolution."""
    step = 4 * shape["words"] * shape["local"]
    # A GPU's first cache is about seven times as fast as memory: 3 ms, to which start and first pass contribute little.
    unit_s = 2e-3 if device.is_cpu else 5e-3
    read = 4 * unit_s * device.memory.bandwidth_bytes_per_s / device.compute_units
    return tuple(
        {"bytes": size, "passes": max(1, round(read / size)), "groups": groups, **shape}
        for size in grid.sizes(max(step, low), max(step, high), grid.multiple(step))
        if size * groups <= limits.max_buffer_bytes
    )


class ReadPrivate(_Reading):
    variant = "read_private"
    kernel = "read_private"
    unrolled = 4
    calibrates = ("unit_cache_bandwidth", "cache_capacity")
    essential = True
    title = "Read bandwidth, own data of each compute unit"
    description = (
        "Large work-groups, one per compute unit, each read their own region repeatedly. The working set is the region "
        "of one compute unit. Counted: bytes read by all of them, from any level."
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Two sweeps over the region of a compute unit; none on devices whose compute units have no caches.

        ``working_set`` measures the capacity of these caches. It uses only so many compute units that all regions fit
        in half of the next cache, even at four times the capacity of the private one. ``every_unit`` measures the
        bandwidth of all compute units, with regions that fit in the next cache; it is omitted if ``working_set``
        already uses all of them.
        """
        private = [cache.capacity_bytes for cache in device.caches if cache.scope == "compute_unit"]
        if not private:
            return ()
        next_cache = min([limits.max_buffer_bytes, *(c.capacity_bytes for c in device.caches if c.scope == "device")])
        far = 4 * max(private)
        groups = int(max(1, min(device.compute_units, next_cache / 2 // far)))
        local = 1 if device.is_cpu else min(1024, limits.max_work_group)  # one group keeps a compute unit busy
        shape = {"local": local, "words": _shape(device, limits)["words"]}
        few = _regions(device, limits, shape, min(private) / 8, min(far, next_cache / groups), groups)
        title = "working set of a compute unit"
        sweeps = [grid.by_working_set(few, limits, "working_set", _OF_A_UNIT, title)]
        if groups < device.compute_units:
            # Longer loops have less overhead per byte; larger regions would exceed a cache.
            most = min(0.75 * max(private), 0.6 * next_cache / device.compute_units)
            every = _regions(device, limits, shape, min(private) / 8, most, device.compute_units)
            sweeps.append(grid.by_working_set(every, limits, "every_unit", _OF_A_UNIT, f"{title}, all units active"))
        return tuple(sweep for sweep in sweeps if len(sweep.points) > 1)

    def work(self, parameters: Parameters) -> float:
        """Work is the bytes of all regions in all passes."""
        return self.data_bytes(parameters) * parameters["passes"]

    def data_bytes(self, parameters: Parameters) -> int:
        return parameters["bytes"] * parameters["groups"]

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Each work-group reads its own region; the capacities of the compute units' caches add up."""
        return replace(super().demand(parameters, device), shared=False, loaded=False)

    def scalars(self, parameters: Parameters) -> tuple[int, ...]:
        return parameters["bytes"] // (4 * parameters["words"]), parameters["passes"], 0

    verified = (
        {"bytes": 16 * 211, "passes": 3, "groups": 5, "local": 64, "words": 4},
        {"bytes": 64 * 13, "passes": 4, "groups": 3, "local": 1, "words": 16},
    )
    """Regions that are not multiples of the work-group size, for GPUs and CPUs."""

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """Sums, folded; integers wrap around."""
        local, words = parameters["local"], parameters["words"]
        regions = job.buffers["data"].filled().reshape(parameters["groups"], -1, words).astype(np.uint32)
        sums = np.zeros((parameters["groups"], local, words), dtype=np.uint32)
        for _ in range(parameters["passes"]):
            for start in range(0, regions.shape[1], local):
                part = regions[:, start : start + local]
                sums[:, : part.shape[1]] += part
        return {"folded": np.bitwise_xor.reduce(sums, axis=2).ravel()}


WORKLOADS = (ReadPrivate(), Read())
