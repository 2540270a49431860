"""Access patterns: neighbours that read or write words apart, and words that are not aligned."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import cast

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis, Metric, PointKey
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.model import (
    Buffer,
    Demand,
    Dispatch,
    Job,
    Limits,
    Parameters,
    Stream,
    Sweep,
    Workload,
)

_STRIDES = (1, 2, 4, 8, 16, 32, 64)
_OFFSETS = (0, 4, 16, 32, 64, 100)
_SLACK_BYTES = 128


def _beyond_bytes(device: Device, limits: Limits, stride_bytes: int = 4) -> int:
    """Return a size that no cache holds even in part, whole MiB: 16 (on a CPU 4) times the last cache.

    Of words so far apart that not every sector is touched, the touched ones are at least 4 times the last cache.
    """
    sector = device.caches[-1].sector_bytes if device.caches else device.memory.access_bytes
    few = device.kind == "cpu" or limits.quick
    times = max(4 if few else 16, 4 * stride_bytes / sector)
    return grid.multiple(2**20)(min(times * grid.last_cache_bytes(device), 0.75 * limits.max_buffer_bytes))


def _shape(device: Device, limits: Limits, width: int) -> dict[str, int]:
    """Return how accesses of *width* bytes are cut up: work-groups do enough to be worth their start."""
    if device.kind == "cpu":
        return {"per_item": 64, "local": min(64, limits.max_work_group)}
    return {"per_item": 8 if width == 4 else 4, "local": min(256, limits.max_work_group)}


def _groups(parameters: Parameters) -> int:
    """Return work-groups enough for one pass over all words."""
    return -(-parameters["count"] // (parameters["local"] * parameters["per_item"]))


def _work_items(parameters: Parameters) -> int:
    """Return the work-items of all passes."""
    return _groups(parameters) * parameters["local"] * parameters.get("passes", 1)


def _lines(start: int, span: int, line: int) -> int:
    """Return how many lines *span* bytes touch that begin *start* bytes into one."""
    return (start % line + span - 1) // line + 1


def _strided_lines(stride: int, device: Device) -> int:
    """Return how many lines a wave touches whose words lie *stride* words apart."""
    width = device.architecture.wave_size
    return min(width, _lines(0, 4 * stride * width, _line_bytes(device)))


def _line_bytes(device: Device) -> int:
    return device.caches[0].line_bytes if device.caches else device.memory.access_bytes


class _Access(Workload):
    """What patterns of reads share: what is read is kept only when results are checked."""

    family = "memory"
    source = "memory/access.cl"
    metric = Metric(kind="rate", unit="B", label="useful bandwidth")
    microbenchmark = True

    def build_options(self, parameters: Parameters) -> str:
        """What the whole file is parametrised by; patterns that do not use one of them do not mind."""
        names = ("per_item", "stride", "width", "offset")
        return " ".join(f"-D{name.upper()}={parameters.get(name, 4)}" for name in names)

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Random data; nothing is stored."""
        return self._job(parameters, rng, written=0)

    def verification_job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """The same kernel, told to store what it read."""
        return self._job(parameters, rng, _work_items(parameters))

    def _job(self, parameters: Parameters, rng: np.random.Generator, written: int) -> Job:
        scalars = (np.uint32(parameters["count"]), np.uint32(_groups(parameters)), np.uint32(written))
        data = Buffer(parameters["bytes"], grid.random_words(rng, 2**22))
        items, local = _work_items(parameters), parameters["local"]
        return Job(
            buffers={"data": data, "folded": Buffer(4 * max(1, written))},
            dispatches=(Dispatch(self.variant, (items,), (local,), ("data", *scalars, "folded")),),
        )


def _strided_point(parameters: Parameters) -> PointKey:
    """Return the point of a stride; its work is the bytes that one pass asks for."""
    stride = parameters["stride"]
    return PointKey(
        label="stride 1 word" if stride == 1 else f"stride {stride} words",
        parameters=dict(parameters),
        work=4 * parameters["count"],
        work_items=_work_items(parameters),
        working_set_bytes=parameters["bytes"],
        x=1 + _STRIDES.index(stride),
    )


def _folded(words: NDArray[np.uint32], parameters: Parameters) -> NDArray[np.uint32]:
    """Fold what each work-item reads of *words*, an array of as many elements as are read."""
    local, per_item, passes = parameters["local"], parameters["per_item"], parameters.get("passes", 1)
    read = np.zeros(_groups(parameters) * local * per_item, dtype=np.uint32)
    read[: len(words)] = words
    return np.tile(np.bitwise_xor.reduce(read.reshape(-1, per_item, local), axis=1).ravel(), passes)


class Strided(_Access):
    """Neighbouring work-items read words that lie apart."""

    variant = "strided"
    title = "Strided reads beyond all caches"
    description = (
        "Work-items read 4-byte words; those of neighbours lie 1 to 64 words apart, in a buffer beyond all caches. "
        "Memory moves whole sectors or lines, so the useful rate falls with the stride until each word has one to "
        "itself. Counted: the bytes that were asked for."
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """One case a stride."""
        sizes = {stride: _beyond_bytes(device, limits, 4 * stride) for stride in _STRIDES}
        shape = _shape(device, limits, 4)
        points = tuple({"stride": n, "count": size // 4 // n, "bytes": size, **shape} for n, size in sizes.items())
        return (Sweep("stride", Axis(quantity="case", label="words from neighbour to neighbour"), points, "stride"),)

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:  # noqa: ARG002 - one sweep only
        """Work is useful bytes."""
        return _strided_point(parameters)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Records of *stride* words, of which one is used; a wave's access touches as many lines as it spans."""
        count, stride = parameters["count"], parameters["stride"]
        return Demand(
            work_items=_work_items(parameters),
            work_group=(parameters["local"],),
            streams=(Stream("data", count, 4 * stride, 4),),
            operations={"memory": float(count), "int32": 2.0 * count, "instruction": 6.0 * count},
            chain={"int32": 8.0},
            memory_chain=1.0,
            lines_per_access=_strided_lines(stride, device),
            line_conflicts=grid.bank_conflicts(stride, device),
        )

    def verification(self) -> Sequence[Parameters]:
        """Strides that do not divide the buffer, counts that fill no work-group."""
        return (
            {"stride": 1, "count": 1237, "bytes": 4 * 1237, "per_item": 4, "local": 96},
            {"stride": 33, "count": 211, "bytes": 4 * 33 * 211, "per_item": 1, "local": 32},
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """Every so many-th word."""
        words = job.buffers["data"].filled().astype(np.uint32)[:: parameters["stride"]][: parameters["count"]]
        return {"folded": _folded(words, parameters)}


class Scatter(_Access):
    """Neighbouring work-items write words that lie apart."""

    variant = "scatter"
    calibrates = ("line_write_rate",)
    title = "Scattered writes within the last cache"
    description = (
        "Work-items write 4-byte words; those of neighbours lie 1 to 64 words apart, pass after pass within a quarter "
        "of the last cache. What is written of a line takes the cache a time of its own, however little it is. "
        "Counted: the bytes that are written."
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """One case a stride, of equally many words in all; none on a CPU, whose cores gather what they write."""
        if device.kind == "cpu":
            return ()
        size = grid.multiple(2**12)(min(grid.last_cache_bytes(device) / 4, limits.max_buffer_bytes))
        shape = _shape(device, limits, 4)
        words = device.memory.bandwidth_bytes_per_s * 5e-5 / 4
        counts = {stride: size // 4 // stride for stride in _STRIDES}
        points = tuple(
            {"stride": stride, "count": count, "bytes": size, "passes": max(1, round(words / count)), **shape}
            for stride, count in counts.items()
        )
        return (Sweep("stride", Axis(quantity="case", label="words from neighbour to neighbour"), points, "stride"),)

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:  # noqa: ARG002 - one sweep only
        """Work is useful bytes."""
        key = _strided_point(parameters)
        return key.model_copy(update={"work": key.work * parameters["passes"]})

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Parts of lines, each written for itself."""
        count, stride, passes = parameters["count"], parameters["stride"], float(parameters["passes"])
        lines = _strided_lines(stride, device)
        each = count * passes
        stream = Stream("data", count, 4 * stride, 4, write=True, passes=passes, outer_passes=passes)
        return Demand(
            work_items=_work_items(parameters),
            work_group=(parameters["local"],),
            streams=(stream,),
            operations={"memory": each, "int32": 4.0 * each, "instruction": 9.0 * each},
            chain={"int32": 8.0},
            lines_per_access=lines,
            line_conflicts=grid.bank_conflicts(stride, device),
            line_writes=each / device.architecture.wave_size * lines,
            reused="kernel",
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """A random factor."""
        seed = rng.integers(1, 2**32, dtype=np.uint32)
        scalars = (np.uint32(parameters["count"]), np.uint32(_groups(parameters)), seed)
        items, local = _work_items(parameters), parameters["local"]
        return Job(
            buffers={"data": Buffer(parameters["bytes"], np.zeros(1, dtype=np.uint32))},
            dispatches=(Dispatch(self.variant, (items,), (local,), ("data", *scalars)),),
        )

    verification_job = job

    def verification(self) -> Sequence[Parameters]:
        """Strides that do not divide the buffer, counts that fill no work-group.

        One pass: more would write the same words side by side, the same values, which simulators call a race.
        """
        return (
            {"stride": 1, "count": 1237, "bytes": 4 * 1237, "per_item": 4, "local": 96, "passes": 1},
            {"stride": 33, "count": 211, "bytes": 4 * 33 * 211, "per_item": 1, "local": 32, "passes": 1},
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """Multiples of the factor, with nothing between them."""
        seed = cast("np.uint32", job.dispatches[0].arguments[-1])
        words = np.zeros(parameters["bytes"] // 4, dtype=np.uint32)
        numbers = np.arange(parameters["count"], dtype=np.uint32)
        words[: parameters["count"] * parameters["stride"] : parameters["stride"]] = seed * numbers
        return {"data": words}


class Misaligned(_Access):
    """Contiguous words that begin off alignment."""

    variant = "misaligned"
    title = "Misaligned reads, beyond the caches and within the last one"
    description = (
        "Work-items read neighbouring words of 4 or 16 bytes that begin 0 to 100 bytes off a 128-byte boundary, beyond "
        "all caches and, pass after pass, within a quarter of the last. 16-byte words off a 16-byte boundary are read "
        "by vload4, which compilers turn into four loads. Counted: bytes read."
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Cases: every offset, for both widths, in memory and in the last cache."""
        memory, cached = _beyond_bytes(device, limits), grid.multiple(2**12)(grid.last_cache_bytes(device) / 4)
        read = device.memory.bandwidth_bytes_per_s * (2e-3 if device.kind == "cpu" else 2e-4)
        points = tuple(
            {
                "offset": offset,
                "width": width,
                "count": (size - _SLACK_BYTES) // width,
                "bytes": size,
                "passes": max(1, ceil(read / size)),
                "case": 1 + case,
                **_shape(device, limits, width),
            }
            for case, (size, width, offset) in enumerate(
                (size, width, offset) for size in (memory, cached) for width in (16, 4) for offset in _OFFSETS
            )
        )
        return (Sweep("offset", Axis(quantity="case", label="width and offset"), points, "offset of the first word"),)

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Work is bytes read."""
        within = "memory" if parameters["bytes"] == sweep.points[0]["bytes"] else "last cache"
        return PointKey(
            label=f"{parameters['width']} B at +{parameters['offset']} B, {within}",
            parameters=dict(parameters),
            work=parameters["width"] * parameters["count"] * parameters["passes"],
            work_items=_work_items(parameters),
            working_set_bytes=parameters["bytes"],
            x=parameters["case"],
        )

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Every byte is used; what an offset costs is that a wave's access touches one line more, or is split."""
        count, width, offset = parameters["count"], parameters["width"], parameters["offset"]
        passes = float(parameters["passes"])
        each = passes * count
        split = 4 if offset % width else 1
        lanes, line = device.architecture.wave_size, _line_bytes(device)
        span = width * (lanes - 1) + width // split
        touched = [_lines(offset + 4 * part, span, line) for part in range(split)]
        return Demand(
            work_items=_work_items(parameters),
            work_group=(parameters["local"],),
            streams=(Stream("data", count, width, width, passes=passes, outer_passes=passes),),
            operations={"memory": split * each, "int32": 2.0 * each, "instruction": 8.0 * each},
            chain={"int32": 8.0},
            memory_chain=1.0,
            lines_per_access=sum(touched) / split,
            reused="dispatch" if passes == 1 else "kernel",
        )

    def verification(self) -> Sequence[Parameters]:
        """Whole and split words, aligned and not."""
        shape = {"count": 517, "bytes": 16 * 517 + _SLACK_BYTES, "per_item": 4, "local": 96, "case": 1, "passes": 3}
        cases = ((16, 16), (16, 100), (4, 4))
        return tuple({"width": width, "offset": offset, **shape} for width, offset in cases)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """The words from the offset on, each folded to 4 bytes."""
        data = job.buffers["data"].filled().astype(np.uint32)
        first, words = parameters["offset"] // 4, parameters["width"] // 4
        read = data[first : first + words * parameters["count"]].reshape(-1, words)
        return {"folded": _folded(np.bitwise_xor.reduce(read, axis=1), parameters)}


WORKLOADS = (Strided(), Scatter(), Misaligned())
