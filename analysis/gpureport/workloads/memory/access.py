"""Access patterns: strided reads, scattered writes and misaligned reads."""

from collections.abc import Iterable, Mapping
from itertools import product
from math import ceil
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Job, Limits, Parameters, Stream, Sweep, UnstoredResults

_STRIDES = (1, 2, 4, 8, 16, 32, 64)
_OFFSETS = (0, 4, 16, 32, 64, 100)
_SLACK_BYTES = 128


class _Access(UnstoredResults):
    """Base of the access patterns: whole words of a buffer, in one pass or several."""

    family = "memory"
    source = "memory/access.cl"
    macros = ("per_item", "stride", "width", "offset")
    usual: ClassVar[Parameters] = {"stride": 4, "width": 4, "offset": 4}
    metric = Metric(kind="rate", unit="B", label="useful bandwidth")
    microbenchmark = True

    def work_items(self, parameters: Parameters) -> int:
        return _groups(parameters) * parameters["local"] * parameters.get("passes", 1)

    def inputs(self, parameters: Parameters, rng: np.random.Generator) -> tuple[dict[str, Buffer], tuple[int, ...]]:
        data = Buffer(parameters["bytes"], grid.random_words(rng, 2**22))
        return {"data": data}, (parameters["count"], _groups(parameters))


def _beyond_bytes(device: Device, limits: Limits, stride_bytes: int = 4) -> int:
    """Return a size far beyond all caches, in whole MiB.

    If the stride skips sectors, the accessed sectors add up to at least 4 times the last cache.
    """
    skipping = grid.beyond_bytes(device) * stride_bytes / grid.last_sector_bytes(device)
    size = max(grid.most_bytes(device, limits, "accesses"), skipping)
    return grid.multiple(2**20)(min(size, 0.75 * limits.max_buffer_bytes))


def _groups(parameters: Parameters) -> int:
    return -(-parameters["count"] // (parameters["local"] * parameters["per_item"]))


def _lines(start: int, span: int, line: int) -> int:
    return (start % line + span - 1) // line + 1


def _folded(words: NDArray[np.uint32], parameters: Parameters) -> NDArray[np.uint32]:
    local, per_item, passes = parameters["local"], parameters["per_item"], parameters.get("passes", 1)
    read = np.zeros(_groups(parameters) * local * per_item, dtype=np.uint32)
    read[: len(words)] = words
    return np.tile(np.bitwise_xor.reduce(read.reshape(-1, per_item, local), axis=1).ravel(), passes)


class _ByStride(_Access):
    """The cases are strides."""

    labelled = "stride {stride:word/s}"
    work_of = (4, "count", "passes")
    verified = (
        {"stride": 1, "count": 1237, "bytes": 4 * 1237, "per_item": 4, "local": 96, "passes": 1},
        {"stride": 33, "count": 211, "bytes": 4 * 33 * 211, "per_item": 1, "local": 32, "passes": 1},
    )
    """Strides that do not divide the buffer, partial work-groups; one pass: stores of several would be a race."""

    def x(self, parameters: Parameters, sweep: Sweep) -> float:
        return 1 + _STRIDES.index(parameters["stride"])

    def _sweep(self, points: Iterable[Parameters]) -> tuple[Sweep, ...]:
        return (grid.by_case("stride", "words between neighbouring work-items", points, "stride"),)

    def _lines_per_access(self, parameters: Parameters, device: Device) -> int:
        lanes = device.architecture.wave_size
        return min(lanes, _lines(0, 4 * parameters["stride"] * lanes, grid.first_line_bytes(device)))


class Strided(_ByStride):
    variant = kernel = "strided"
    title = "Strided reads from memory"
    description = (
        "Neighbouring work-items read 4-byte words that are 1 to 64 words apart, in a buffer much larger than all "
        "caches. Memory transfers whole sectors or lines. Therefore the useful rate falls with the stride until each "
        "word needs a sector or line of its own."
    )
    counted = "the bytes of these words."

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        sizes = {stride: _beyond_bytes(device, limits, 4 * stride) for stride in _STRIDES}
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

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        words = job.buffers["data"].filled().astype(np.uint32)[:: parameters["stride"]][: parameters["count"]]
        return {"folded": _folded(words, parameters)}


class Scatter(_ByStride):
    variant = kernel = "scatter"
    calibrates = ("line_write_rate",)
    title = "Strided writes within the last cache"
    description = (
        "Neighbouring work-items write 4-byte words that are 1 to 64 words apart, in several passes over a quarter of "
        "the last cache. The cache needs a fixed time for each line that an access writes, even in part."
    )
    counted = "bytes written."

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

    verification_job = job

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """Multiples of the factor, and zeros between them."""
        seed = cast("np.uint32", job.dispatches[0].arguments[-1])
        words = np.zeros(parameters["bytes"] // 4, dtype=np.uint32)
        numbers = np.arange(parameters["count"], dtype=np.uint32)
        words[: parameters["count"] * parameters["stride"] : parameters["stride"]] = seed * numbers
        return {"data": words}


class Misaligned(_Access):
    variant = kernel = "misaligned"
    title = "Misaligned reads"
    description = (
        "Work-items read contiguous words of 4 or 16 bytes. The first is 0 to 100 bytes after a 128-byte boundary. The "
        "data are much larger than all caches or, in several passes, a quarter of the last cache. 16-byte words that "
        "are not on a 16-byte boundary are read by vload4, which compilers split into four loads."
    )
    counted = "bytes read."
    work_of = ("width", "count", "passes")
    verified = tuple(
        {"width": width, "offset": offset, "count": 517, "bytes": 16 * 517 + _SLACK_BYTES}
        | {"per_item": 4, "local": 96, "case": 1, "passes": 3}
        for width, offset in ((16, 16), (16, 100), (4, 4))
    )
    """Aligned and misaligned words, whole and split."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        memory, cached = _beyond_bytes(device, limits), grid.multiple(2**12)(grid.last_cache_bytes(device) / 4)
        read = device.memory.bandwidth_bytes_per_s * grid.seconds(device, limits, "accesses")
        points = (
            {
                "offset": offset,
                "width": width,
                "count": (size - _SLACK_BYTES) // width,
                "bytes": size,
                "passes": max(1, ceil(read / size)),
                "case": case,
                **grid.launch(device, limits, "accesses" if width == 4 else "wide accesses"),
            }
            for case, (size, width, offset) in enumerate(product((memory, cached), (16, 4), _OFFSETS), 1)
        )
        return (grid.by_case("offset", "width and offset", points, "offset of the first word"),)

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        within = "memory" if parameters["bytes"] == sweep.points[0]["bytes"] else "last cache"
        return f"{parameters['width']} B at +{parameters['offset']} B, {within}"

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Every byte is used. An offset makes an access of a wave touch one more line, or splits it."""
        count, width, offset = parameters["count"], parameters["width"], parameters["offset"]
        passes = float(parameters["passes"])
        each = passes * count
        split = 4 if offset % width else 1
        span = width * (device.architecture.wave_size - 1) + width // split
        touched = [_lines(offset + 4 * part, span, grid.first_line_bytes(device)) for part in range(split)]
        return Demand(
            *self.launched(parameters),
            streams=(Stream("data", count, width, width, passes=passes, outer_passes=passes),),
            operations={"memory": split * each, "int32": 2.0 * each, "instruction": 8.0 * each},
            chain={"int32": 8.0},
            memory_chain=1.0,
            branches=True,  # the loop over words is the inner one
            lines_per_access=sum(touched) / split,
            reused="dispatch" if passes == 1 else "kernel",
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        data = job.buffers["data"].filled().astype(np.uint32)
        first, words = parameters["offset"] // 4, parameters["width"] // 4
        read = data[first : first + words * parameters["count"]].reshape(-1, words)
        return {"folded": _folded(np.bitwise_xor.reduce(read, axis=1), parameters)}


WORKLOADS = (Strided(), Scatter(), Misaligned())
