"""Access patterns: strided reads and scattered writes, by stride."""

from collections.abc import Iterable, Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Job, Limits, Parameters, Stream, Sweep, UnstoredResults, Workload

_STRIDES = (1, 2, 4, 8, 16, 32, 64)


def _groups(parameters: Parameters) -> int:
    return -(-parameters["count"] // (parameters["local"] * parameters["per_item"]))


class _ByStride(Workload):
    """Base of the access patterns; the cases are strides."""

    family = "memory"
    source = "memory/access.cl"
    macros = ("per_item", "stride")
    metric = Metric(kind="rate", unit="B", label="useful bandwidth")
    microbenchmark = True
    labelled = "stride {stride:word/s}"
    work_of = (4, "count", "passes")
    verified = (
        {"stride": 1, "count": 1237, "bytes": 4 * 1237, "per_item": 4, "local": 96, "passes": 1},
        {"stride": 33, "count": 211, "bytes": 4 * 33 * 211, "per_item": 1, "local": 32, "passes": 1},
    )
    """Strides that do not divide the buffer, partial work-groups; one pass: stores of several would be a race."""

    def work_items(self, parameters: Parameters) -> int:
        return _groups(parameters) * parameters["local"] * parameters.get("passes", 1)

    def x(self, parameters: Parameters, sweep: Sweep) -> float:
        return 1 + _STRIDES.index(parameters["stride"])

    def _sweep(self, points: Iterable[Parameters]) -> tuple[Sweep, ...]:
        return (grid.by_case("stride", "words between neighbouring work-items", points, "stride"),)

    def _lines_per_access(self, parameters: Parameters, device: Device) -> int:
        lanes, line = device.architecture.wave_size, grid.first_line_bytes(device)
        return min(lanes, (4 * parameters["stride"] * lanes - 1) // line + 1)


class Strided(_ByStride, UnstoredResults):
    variant = kernel = "strided"
    title = "Strided reads from memory"
    description = (
        "Reads of 4-byte words 1 to 64 words apart, in a buffer far larger than all caches. Memory transfers whole "
        "sectors or lines."
    )
    counted = "the bytes of these words."

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        # Beyond all caches, in whole MiB; the accessed sectors are at least 4 times the last cache.
        least, most = grid.most_bytes(device, limits, "accesses"), 0.75 * limits.max_buffer_bytes
        skipping = {n: grid.beyond_bytes(device) * (4 * n) / grid.last_sector_bytes(device) for n in _STRIDES}
        sizes = {n: grid.multiple(2**20)(min(max(least, each), most)) for n, each in skipping.items()}
        shape = grid.launch(device, limits, "accesses")
        return self._sweep({"stride": n, "count": size // 4 // n, "bytes": size, **shape} for n, size in sizes.items())

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Records of *stride* words, of which one is used."""
        count, stride = parameters["count"], parameters["stride"]
        return Demand(
            *self.launched(parameters),
            streams=(Stream("data", count, 4 * stride, 4),),
            operations={"memory": float(count), "int32": 2.0 * count, "instruction": 6.0 * count},
            chain={"int32": 8.0},
            memory_chain=1.0,
            branches=True,  # the loop over words is the inner one
            lines_per_access=self._lines_per_access(parameters, device),
            line_conflicts=grid.stride_conflicts(stride, device),
        )

    def inputs(self, parameters: Parameters, rng: np.random.Generator) -> tuple[dict[str, Buffer], tuple[int, ...]]:
        data = Buffer(parameters["bytes"], grid.random_words(rng, 2**22))
        return {"data": data}, (parameters["count"], _groups(parameters))

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        words = job.buffers["data"].filled().astype(np.uint32)[:: parameters["stride"]][: parameters["count"]]
        local, per_item = parameters["local"], parameters["per_item"]
        read = np.zeros((_groups(parameters), per_item, local), dtype=np.uint32)
        read.ravel()[: len(words)] = words
        return {"folded": np.bitwise_xor.reduce(read, axis=1).ravel()}


class Scatter(_ByStride):
    variant = kernel = "scatter"
    calibrates = ("line_write_rate",)
    title = "Strided writes within the last cache"
    description = "Writes of 4-byte words 1 to 64 words apart, in several passes over a quarter of the last cache."

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """A case for each stride, with equal numbers of words; none on a CPU, whose cores combine their writes."""
        if not grid.coalesces(device):
            return ()
        size = grid.multiple(2**12)(min(grid.last_cache_bytes(device) / 4, limits.max_buffer_bytes))
        shape = grid.launch(device, limits, "accesses")
        words = device.memory.bandwidth_bytes_per_s * 5e-5 / 4
        counts = {stride: size // 4 // stride for stride in _STRIDES}
        return self._sweep(
            {"stride": stride, "count": count, "bytes": size, "passes": max(1, round(words / count)), **shape}
            for stride, count in counts.items()
        )

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Each access writes parts of lines."""
        count, stride, passes = parameters["count"], parameters["stride"], float(parameters["passes"])
        lines, each = self._lines_per_access(parameters, device), count * passes
        return Demand(
            *self.launched(parameters),
            streams=(Stream("data", count, 4 * stride, 4, write=True, passes=passes, outer_passes=passes),),
            operations={"memory": each, "int32": 4.0 * each, "instruction": 9.0 * each},
            chain={"int32": 8.0},
            lines_per_access=lines,
            line_conflicts=grid.stride_conflicts(stride, device),
            line_writes=each / device.architecture.wave_size * lines,
            reused="kernel",
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        counts = (np.uint32(parameters["count"]), np.uint32(_groups(parameters)))
        arguments = ("data", *counts, rng.integers(1, 2**32, dtype=np.uint32))
        zeros = Buffer(parameters["bytes"], np.zeros(1, dtype=np.uint32))
        return Job.linear({"data": zeros}, self.kernel, self.work_items(parameters), parameters["local"], arguments)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """Multiples of the factor, and zeros between them."""
        seed = cast("np.uint32", job.dispatches[0].arguments[-1])
        words = np.zeros(parameters["bytes"] // 4, dtype=np.uint32)
        numbers = np.arange(parameters["count"], dtype=np.uint32)
        words[: parameters["count"] * parameters["stride"] : parameters["stride"]] = seed * numbers
        return {"data": words}


WORKLOADS = (Strided(), Scatter())
