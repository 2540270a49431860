"""Read bandwidth by working set: of the levels that all compute units share, and of the caches of compute units."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device
from gpureport.units import format_bytes
from gpureport.workloads import grid
from gpureport.workloads.model import (
    Buffer,
    Demand,
    Factors,
    Job,
    Limits,
    Parameters,
    Stream,
    Sweep,
    UnstoredResults,
    product,
)

_OF_A_UNIT = "working set of each compute unit"
_PREFETCHED = 40  # lines that the prefetchers of a CPU core keep in flight
_CHUNK = (4, "words", "vectors", "local")
"""What is multiplied for the bytes that a work-group reads at once."""


class _Reading(UnstoredResults):
    family = "memory"
    source = "memory/read.cl"
    macros = ("vectors", "chunks", "words")
    metric = Metric(kind="rate", unit="B", label="read bandwidth")
    microbenchmark = True
    essential = True
    unrolled: ClassVar[int] = 0
    """Loads of a work-item of a GPU that are independent; 0: all."""
    data_of: ClassVar[Factors] = ("bytes",)
    """What is multiplied for the bytes of the buffer."""

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """One stream; later passes of the same dispatch read the data again."""
        read, size, vector = self.work(parameters), product(parameters, self.data_of), 4 * parameters["words"]
        items, passes = self.work_items(parameters), read / size
        loads = read / vector / items
        in_flight = _PREFETCHED if parameters["local"] == 1 else self.unrolled or loads
        return Demand(
            *self.launched(parameters),
            streams=(Stream("data", size / vector, vector, vector, passes=passes, outer_passes=passes),),
            operations={"int32": read / 4},
            memory_chain=loads / in_flight,
            reused="kernel",
            phases_aligned=False,
        )

    def inputs(self, parameters: Parameters, rng: np.random.Generator) -> tuple[dict[str, Buffer], tuple[int, ...]]:
        data = Buffer(product(parameters, self.data_of), grid.random_words(rng, 2**22))
        return {"data": data}, self.scalars(parameters)

    @abstractmethod
    def scalars(self, parameters: Parameters) -> tuple[int, ...]:
        """Return the kernel arguments after the data."""


class Read(_Reading):
    variant = "read"
    kernel = "read_shared"
    calibrates = ("device_cache_bandwidth", "cache_capacity")
    title = "Read bandwidth, data shared by all compute units"
    description = (
        "Successive work-groups read successive parts of one buffer, in several passes; every compute unit reads all "
        "data."
    )
    counted = "bytes read, from any level."
    work_of = ("groups", "chunks", *_CHUNK)
    verified = (
        {"bytes": 7 * 3072, "groups": 5, "local": 96, "vectors": 2, "chunks": 3, "words": 4},
        {"bytes": 11 * 320, "groups": 7, "local": 1, "vectors": 5, "chunks": 4, "words": 16},
    )
    """Working sets that are not powers of two and at whose end work-groups wrap, for GPUs and CPUs."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The working set, through the device-wide caches; on a GPU also the work-group size, beyond the caches."""
        shape = grid.launch(device, limits, "reads")
        chunk = product(shape, _CHUNK)
        low = max([16 * c.capacity_bytes for c in device.caches if c.scope == "compute_unit"], default=64 * chunk)
        high = grid.most_bytes(device, limits, "reads", capacity=low)
        # Enough work-groups for the timer's resolution.
        least = device.memory.bandwidth_bytes_per_s * grid.seconds(device, limits, "reads")

        def points(sizes: Sequence[int], shape: Parameters) -> list[Parameters]:
            group = product(shape, _CHUNK) * shape["chunks"]
            return [{"bytes": size, "groups": round(max(size, least) / group), **shape} for size in sizes]

        sweeps = [grid.by_working_set(points(grid.sizes(low, high, grid.multiple(chunk)), shape), limits)]
        tried = grid.chosen(device, cpu=(), gpu=grid.work_groups(device, limits))
        if len(tried) > 1:
            shapes = [{**shape, "local": local} for local in tried]
            whole = max(product(each, _CHUNK) for each in shapes)
            size = grid.multiple(whole)(min(limits.max_buffer_bytes - whole, grid.beyond_bytes(device)))
            sweeps.append(grid.by_group_size((points([size], each)[0] for each in shapes), format_bytes(size)))
        return tuple(sweep for sweep in sweeps if sweep.points)  # small devices may have no points

    def scalars(self, parameters: Parameters) -> tuple[int, ...]:
        return (parameters["bytes"] // product(parameters, _CHUNK),)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        local, per_group = parameters["local"], parameters["chunks"]
        data = job.buffers["data"].filled().reshape(-1, parameters["vectors"], local, parameters["words"])
        first = np.arange(parameters["groups"])[:, None] * per_group
        chunk = (first + np.arange(per_group)) % len(data)
        return {"folded": np.bitwise_xor.reduce(data[chunk], axis=(1, 2, 4)).ravel()}


class ReadPrivate(_Reading):
    variant = "read_private"
    kernel = "read_private"
    unrolled = 4
    data_of = ("bytes", "groups")
    calibrates = ("unit_cache_bandwidth", "cache_capacity")
    title = "Read bandwidth, own data of each compute unit"
    description = "Large work-groups, one per compute unit, each read their own region repeatedly."
    counted = "bytes read by all of them, from any level."
    work_of = ("bytes", "groups", "passes")
    verified = (
        {"bytes": 16 * 211, "passes": 3, "groups": 5, "local": 64, "words": 4},
        {"bytes": 64 * 13, "passes": 4, "groups": 3, "local": 1, "words": 16},
    )
    """Regions that are not multiples of the work-group size, for GPUs and CPUs."""

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
        units, far = device.compute_units, 4 * max(private)
        groups = int(max(1, min(units, next_cache / 2 // far)))
        shape = grid.launch(device, limits, "own reads")
        step = 4 * shape["words"] * shape["local"]
        # Four times as much as from memory: 3 ms, to which launch and first pass contribute little.
        read = 4 * grid.seconds(device, limits, "own reads") * device.memory.bandwidth_bytes_per_s / units

        def regions(name: str, high: float, groups: int, title: str) -> Sweep:
            sizes = grid.sizes(max(step, min(private) / 8), max(step, high), grid.multiple(step))
            points = (
                {"bytes": size, "passes": max(1, round(read / size)), "groups": groups, **shape}
                for size in sizes
                if size * groups <= limits.max_buffer_bytes
            )
            return grid.by_working_set(points, limits, name, _OF_A_UNIT, f"working set of a compute unit{title}")

        sweeps = [regions("working_set", min(far, next_cache / groups), groups, "")]
        if groups < units:
            # Longer loops have less overhead per byte; larger regions would exceed a cache.
            most = min(0.75 * max(private), 0.6 * next_cache / units)
            sweeps.append(regions("every_unit", most, units, ", all units active"))
        return tuple(sweep for sweep in sweeps if len(sweep.points) > 1)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Each work-group reads its own region; the capacities of the compute units' caches add up."""
        return replace(super().demand(parameters, device), shared=False, loaded=False)

    def scalars(self, parameters: Parameters) -> tuple[int, ...]:
        return parameters["bytes"] // (4 * parameters["words"]), parameters["passes"], 0

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
