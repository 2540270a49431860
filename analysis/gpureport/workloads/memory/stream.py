"""Bandwidth by working set: reads of shared data and of compute units' own; write, copy, ping-pong copy, triad."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device
from gpureport.units import format_bytes
from gpureport.workloads import grid
from gpureport.workloads.model import (
    Argument,
    Buffer,
    Demand,
    Factors,
    Job,
    Limits,
    Parameters,
    Stream,
    Sweep,
    UnstoredResults,
    Workload,
    product,
)

_WORDS = 4
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


class _Streaming(Workload):
    """Base of the streams. The parameter ``words`` of published points: 4-byte words of a vector (default 4)."""

    family = "memory"
    source = "memory/stream.cl"
    macros = ("per_item", "words")
    microbenchmark = True
    kernel: ClassVar[str]
    arrays: ClassVar[tuple[str, ...]]
    """Names of the arrays, in the order of the kernel arguments."""
    written: ClassVar[str]
    """Name of the array written; the others are read."""
    purpose: ClassVar[str] = "streams"
    verified = (
        {"vectors": 1237, "per_item": 1, "local": 96},
        {"vectors": 59, "per_item": 4, "local": 32},
        {"vectors": 613, "per_item": 2, "local": 64, "words": 2},
    )
    """Partial work-groups; fewer vectors than one work-group; short vectors."""

    @property
    def read(self) -> tuple[str, ...]:
        return tuple(name for name in self.arrays if name != self.written)

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        local = min(256, limits.max_work_group)
        far = grid.most_bytes(device, limits, self.purpose, len(self.arrays))
        high, whole = self._at_most(far, local, limits)
        points = (self._sized(size, local) for size in grid.sizes(2**16, high, whole))
        return (grid.by_working_set(points, limits),)

    def _at_most(self, nbytes: float, local: int, limits: Limits) -> tuple[float, Callable[[float], int]]:
        """Limit *nbytes* of all arrays to what the device allows; return how to round them to work-groups, too."""
        group_bytes = len(self.arrays) * 4 * _WORDS * local
        most = min(limits.max_bytes, len(self.arrays) * limits.max_buffer_bytes) - group_bytes
        return min(nbytes, most), grid.multiple(group_bytes)

    def _sized(self, nbytes: int, local: int) -> Parameters:
        """Return the point of *nbytes* with one vector per work-item, as in published stream benchmarks."""
        return {"vectors": nbytes // len(self.arrays) // (4 * _WORDS), "per_item": 1, "local": local}

    def nbytes(self, parameters: Parameters) -> int:
        return len(self.arrays) * _vector_bytes(parameters) * parameters["vectors"]

    def work_items(self, parameters: Parameters) -> int:
        local = parameters["local"]
        return -(-parameters["vectors"] // (local * parameters["per_item"])) * local

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        count, items, vector = parameters["vectors"], self.work_items(parameters), _vector_bytes(parameters)
        into = Stream(self.written, count, vector, vector, write=True)
        return Demand(
            *self.launched(parameters),
            streams=(*(Stream(name, count, vector, vector) for name in self.read), into),
            operations={"memory": float(len(self.arrays)) * count, "instruction": 6.0 * items + 6.0 * count},
            chain={"int32": 8.0},
            memory_chain=1.0 if self.read else 0.0,
            registers=16 + vector // 4 * parameters["per_item"] * len(self.read),
        )

    def build_options(self, parameters: Parameters) -> str:
        return super().build_options({"words": _WORDS, **parameters})

    def contents(self, rng: np.random.Generator, nbytes: int) -> NDArray[np.generic]:
        """Return the initial data of an array that is read: random words."""
        return grid.random_words(rng, nbytes)

    def scalars(self, rng: np.random.Generator) -> tuple[np.generic, ...]:
        """Return the kernel arguments after the arrays and the number of vectors."""
        return ()

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Initialised arrays to read; the written one is not initialised."""
        size = parameters["vectors"] * _vector_bytes(parameters)
        buffers = {name: Buffer(size, self.contents(rng, size)) for name in self.read}
        buffers[self.written] = Buffer(size)
        arguments: tuple[Argument, ...] = (*self.arrays, np.uint32(parameters["vectors"]), *self.scalars(rng))
        return Job.linear(buffers, self.kernel, self.work_items(parameters), parameters["local"], arguments)


def _vector_bytes(parameters: Parameters) -> int:
    return 4 * parameters.get("words", _WORDS)


class Copy(_Streaming):
    variant = kernel = "copy"
    calibrates = ("memory_efficiency", "write_transition")
    essential = True
    title = "Stream copy"
    description = "Each dispatch reads 16-byte vectors from one buffer and writes them to another."
    counted = "bytes read plus written (the STREAM convention; lines fetched before being written do not count)."
    metric = Metric(kind="rate", unit="B", label="copy bandwidth")
    arrays = ("from", "to")
    written = "to"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        sizes, tried = super().sweeps(device, limits), grid.work_groups(device, limits)
        if len(tried) <= 1:
            return sizes
        most, whole = self._at_most(grid.beyond_bytes(device), max(tried), limits)
        size = whole(most)
        return (*sizes, grid.by_group_size((self._sized(size, local) for local in tried), format_bytes(size)))

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        return {"to": job.buffers["from"].filled()}


class PingPong(_Streaming):
    variant = "ping_pong"
    kernel = "copy"
    calibrates = ("ping_pong_transition",)
    title = "Stream copy, ping-pong"
    description = "As the stream copy, but every second dispatch copies back: each reads what the previous one wrote."
    metric = Metric(kind="rate", unit="B", label="copy bandwidth")
    verification_dispatches = 2
    arrays = ("one", "other")
    written = "other"
    purpose = "ping-pong"

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        return replace(super().demand(parameters, device), ping_pong=True)

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        return super().job(parameters, rng).ping_pong(["one"], ["other"])

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        return dict.fromkeys(self.arrays, job.buffers["one"].filled())


class Write(_Streaming):
    variant = kernel = "write"
    calibrates = ("sector_write_rate",)
    title = "Stream write"
    description = "Each dispatch writes 16-byte vectors, computed from their index, to one buffer."
    counted = "bytes written (lines fetched before being written do not count)."
    metric = Metric(kind="rate", unit="B", label="write bandwidth")
    arrays = ("to",)
    written = "to"

    def scalars(self, rng: np.random.Generator) -> tuple[np.generic, ...]:
        return (rng.integers(1, 2**32, dtype=np.uint32),)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """Integers wrap around."""
        seed = cast("np.uint32", job.dispatches[0].arguments[-1])
        numbers = np.arange(parameters["vectors"], dtype=np.uint32)
        factors = np.array([1, 3, 5, 7], dtype=np.uint32)[: parameters.get("words", _WORDS)]
        return {"to": (seed * factors + numbers[:, None]).ravel()}


class Triad(_Streaming):
    variant = kernel = "triad"
    title = "Stream triad"
    description = "a = b + s c in single precision with 16-byte vectors and three buffers."
    counted = "bytes read plus written (the STREAM convention; lines fetched before being written do not count)."
    metric = Metric(kind="rate", unit="B", label="triad bandwidth")
    arrays = ("a", "b", "c")
    written = "a"

    def contents(self, rng: np.random.Generator, nbytes: int) -> NDArray[np.generic]:
        """Random integers, small enough that product and sum are exact with and without fusing."""
        return rng.integers(1, 2**20, size=max(1, min(nbytes, 2**22) // 4)).astype(np.float32)

    def scalars(self, rng: np.random.Generator) -> tuple[np.generic, ...]:
        return (np.float32(rng.integers(2, 9)),)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        s = cast("np.float32", job.dispatches[0].arguments[-1])
        b, c = (job.buffers[name].filled().astype(np.float32) for name in self.read)
        return {"a": b + s * c}


WORKLOADS = (ReadPrivate(), Read(), Copy(), PingPong(), Write(), Triad())
