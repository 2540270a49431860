"""Streams by working set: write, copy, ping-pong copy, triad."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device
from gpureport.units import format_bytes
from gpureport.workloads import grid
from gpureport.workloads.model import Argument, Buffer, Demand, Job, Limits, Parameters, Stream, Sweep, Workload

_WORDS = 4


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


WORKLOADS = (Copy(), PingPong(), Write(), Triad())
