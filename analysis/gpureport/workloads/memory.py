"""Memory primitives: read bandwidth and dependent-load latency against working set, and the stream copy."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records import Axis, Metric, PointKey
from gpureport.spec.models import Device
from gpureport.units import format_bytes
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

_WORKING_SET = Axis(quantity="working_set", label="working set")
_VECTOR_BYTES = 16


def _shape(device: Device) -> dict[str, int]:
    """Return how a read kernel is cut up: a GPU's lanes read 16 bytes each, a CPU's work-item whole lines in a loop."""
    if device.kind == "cpu":
        return {"local": 1, "vectors": 64, "chunks": 16, "words": 16}
    return {"local": 256, "vectors": 2, "chunks": 4, "words": 4}


def _loads_in_flight(parameters: Parameters, loads: float) -> float:
    """Return the dependent rounds of loads: a GPU's are unrolled; a CPU's prefetchers keep about 40 lines in flight."""
    return 1.0 if parameters["local"] > 1 else loads / 40


class _Reading(Workload):
    """What read kernels share: they keep what they read only when results are checked."""

    family = "memory"
    source = "memory.cl"
    metric = Metric(kind="rate", unit="B", label="read bandwidth")
    primitive = True

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Random data; nothing is stored."""
        return self._job(parameters, rng, written=0)

    def verification_job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """The same kernel, told to store what it read."""
        return self._job(parameters, rng, parameters["groups"] * parameters["local"])

    @abstractmethod
    def _job(self, parameters: Parameters, rng: np.random.Generator, written: int) -> Job:
        """Make a point ready whose first *written* work-items store what they read."""


class Read(_Reading):
    """Read bandwidth of what all compute units share."""

    variant = "read"
    essential = True
    title = "Read bandwidth against working set, shared by all compute units"
    description = (
        "Work-groups stream through one buffer, pass after pass, each group the part after its predecessor's, so that "
        "a pass ends before the next begins and every compute unit meets all data. The sweep begins where the compute "
        "units' own caches can hold no more than a sixteenth. Counted: bytes read, whichever level serves them."
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """One sweep over the working set, through the device-wide caches."""
        shape = _shape(device)
        chunk = _chunk_bytes(shape)
        low = max([16 * c.capacity_bytes for c in device.caches if c.scope == "compute_unit"], default=64 * chunk)
        high = min(limits.max_buffer_bytes, (4 if limits.quick else 16) * grid.last_cache_bytes(device))
        sizes = grid.octaves(low, high, 2 if limits.quick else 4, grid.cliffs(device), 4 if limits.quick else 8)
        least = device.memory.bandwidth_bytes_per_s * (250e-6 if device.kind != "cpu" else 2e-3)
        points = [
            {"bytes": size, "groups": round(max(size, least) / (chunk * shape["chunks"])), **shape}
            for size in grid.rounded(sizes, grid.multiple(chunk))
        ]
        return (Sweep("working_set", _WORKING_SET, tuple(points), "working set"),)

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:  # noqa: ARG002 - one sweep only
        """Work is bytes read."""
        size = parameters["bytes"]
        return PointKey(
            label=format_bytes(size),
            parameters=dict(parameters),
            work=_shared_bytes(parameters),
            work_items=parameters["groups"] * parameters["local"],
            working_set_bytes=size,
            x=size,
        )

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
        """One stream, many passes, found again by the same kernel."""
        read, size = _shared_bytes(parameters), parameters["bytes"]
        vector = 4 * parameters["words"]
        passes = read / size
        return Demand(
            work_items=parameters["groups"] * parameters["local"],
            work_group=(parameters["local"],),
            streams=(Stream("data", size / vector, vector, vector, passes=passes, outer_passes=passes),),
            operations={"int32": read / 4},
            memory_chain=_loads_in_flight(parameters, parameters["vectors"] * parameters["chunks"]),
            reused="kernel",
        )

    def _job(self, parameters: Parameters, rng: np.random.Generator, written: int) -> Job:
        items = parameters["groups"] * parameters["local"]
        chunks = np.uint32(parameters["bytes"] // _chunk_bytes(parameters))
        arguments = ("data", chunks, np.uint32(written), "folded")
        return Job(
            buffers=_read_buffers(parameters["bytes"], rng, written),
            dispatches=(Dispatch("read_shared", (items,), (parameters["local"],), arguments),),
            options=_options(parameters),
        )

    def verification(self) -> Sequence[Parameters]:
        """Working sets that are no power of two and that the groups wrap around, for GPUs and for CPUs."""
        return (
            {"bytes": 7 * 3072, "groups": 5, "local": 96, "vectors": 2, "chunks": 3, "words": 4},
            {"bytes": 11 * 320, "groups": 7, "local": 1, "vectors": 5, "chunks": 4, "words": 16},
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """Fold the vectors that each work-item reads."""
        local, per_group = parameters["local"], parameters["chunks"]
        data = job.buffers["data"].filled().reshape(-1, parameters["vectors"], local, parameters["words"])
        first = np.arange(parameters["groups"])[:, None] * per_group
        chunk = (first + np.arange(per_group)) % len(data)
        return {"folded": np.bitwise_xor.reduce(data[chunk], axis=(1, 2, 4)).ravel()}


def _chunk_bytes(parameters: Parameters) -> int:
    return 4 * parameters["words"] * parameters["vectors"] * parameters["local"]


def _shared_bytes(parameters: Parameters) -> int:
    return parameters["groups"] * parameters["chunks"] * _chunk_bytes(parameters)


def _options(parameters: Parameters) -> str:
    """Return the build options of the whole file; kernels that do not use one of them do not mind."""
    names = {"VECTORS": "vectors", "CHUNKS": "chunks", "WORDS": "words"}
    return " ".join(f"-D{macro}={parameters.get(name, 1)}" for macro, name in names.items())


def _read_buffers(nbytes: int, rng: np.random.Generator, written: int) -> dict[str, Buffer]:
    return {"data": Buffer(nbytes, grid.random_words(rng, 2**22)), "folded": Buffer(4 * max(1, written))}


class ReadPrivate(_Reading):
    """Read bandwidth of what each compute unit has for itself."""

    variant = "read_private"
    essential = True
    title = "Read bandwidth against working set of each compute unit"
    description = (
        "One large work-group for each compute unit reads a region of its own again and again. Working set: of one "
        "compute unit. Counted: bytes read by all of them, whichever level serves them."
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """One sweep over the region of a compute unit; none on devices without caches of compute units."""
        private = [cache.capacity_bytes for cache in device.caches if cache.scope == "compute_unit"]
        if not private:
            return ()
        shape = {
            "local": min(1024, limits.max_work_group) if device.kind != "cpu" else 1,
            "words": _shape(device)["words"],
        }
        step = 4 * shape["words"] * shape["local"]
        # All regions together stay within the next cache: what lies behind it is not this sweep's matter.
        room = min([limits.max_buffer_bytes, *(0.6 * c.capacity_bytes for c in device.caches if c.scope == "device")])
        sizes = grid.octaves(
            max(step, min(private) / 8),
            min(4 * max(private), room / device.compute_units),
            2 if limits.quick else 4,
            grid.cliffs(device, private=True)[: len(private)],
            4 if limits.quick else 8,
        )
        per_pass_s = (
            device.memory.bandwidth_bytes_per_s / device.compute_units * (2e-3 if device.kind == "cpu" else 5e-4)
        )
        points = [
            {"bytes": size, "passes": max(1, round(4 * per_pass_s / size)), "groups": device.compute_units, **shape}
            for size in grid.rounded(sizes, grid.multiple(step))
        ]
        axis = Axis(quantity="working_set", label="working set of each compute unit")
        return (Sweep("working_set", axis, tuple(points), "working set of a compute unit"),)

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:  # noqa: ARG002
        """Work is bytes read by all groups; the working set is one group's."""
        size = parameters["bytes"]
        return PointKey(
            label=format_bytes(size),
            parameters=dict(parameters),
            work=size * parameters["passes"] * parameters["groups"],
            work_items=parameters["groups"] * parameters["local"],
            working_set_bytes=size,
            x=size,
        )

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
        """Each group reads its own region; together the units' caches hold all regions."""
        size, vector, passes = parameters["bytes"] * parameters["groups"], 4 * parameters["words"], parameters["passes"]
        items = parameters["groups"] * parameters["local"]
        loads = size * passes / vector / items
        return Demand(
            work_items=items,
            work_group=(parameters["local"],),
            streams=(Stream("data", size / vector, vector, vector, passes=passes, outer_passes=passes),),
            operations={"int32": size * passes / 4},
            memory_chain=loads / (4 if parameters["local"] > 1 else 40),
            reused="kernel",
            shared=False,
            loaded=False,
        )

    def _job(self, parameters: Parameters, rng: np.random.Generator, written: int) -> Job:
        groups, local = parameters["groups"], parameters["local"]
        vectors = parameters["bytes"] // (4 * parameters["words"])
        scalars = (np.uint32(vectors), np.uint32(parameters["passes"]), np.uint32(0), np.uint32(written))
        return Job(
            buffers=_read_buffers(parameters["bytes"] * groups, rng, written),
            dispatches=(Dispatch("read_private", (groups * local,), (local,), ("data", *scalars, "folded")),),
            options=_options(parameters),
        )

    def verification(self) -> Sequence[Parameters]:
        """Regions that work-items do not share evenly, for GPUs and for CPUs."""
        return (
            {"bytes": 16 * 211, "passes": 3, "groups": 5, "local": 64, "words": 4},
            {"bytes": 64 * 13, "passes": 4, "groups": 3, "local": 1, "words": 16},
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """Add, fold; integers wrap around."""
        local, words = parameters["local"], parameters["words"]
        regions = job.buffers["data"].filled().reshape(parameters["groups"], -1, words).astype(np.uint32)
        sums = np.zeros((parameters["groups"], local, words), dtype=np.uint32)
        for _ in range(parameters["passes"]):
            for start in range(0, regions.shape[1], local):
                part = regions[:, start : start + local]
                sums[:, : part.shape[1]] += part
        return {"folded": np.bitwise_xor.reduce(sums, axis=2).ravel()}


class Latency(Workload):
    """Dependent-load latency against working set."""

    family = "memory"
    variant = "latency"
    essential = True
    title = "Dependent-load latency against working set"
    description = (
        "One work-item follows a random cycle through all lines of a buffer, each load's address depending on the load "
        "before. An untimed work-group first touches every line in the cycle's order, so that the caches hold what "
        "they would after a lap. Counted: the time of one load, with its address arithmetic."
    )
    source = "memory.cl"
    metric = Metric(kind="time", unit="loads", label="latency")
    primitive = True
    _LAP_GROUP: ClassVar[int] = 256

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """One sweep over the working set, from 4 KiB to several times the last cache."""
        line = max((cache.line_bytes for cache in device.caches), default=64)
        high = min(limits.max_buffer_bytes, (4 if limits.quick else 8) * grid.last_cache_bytes(device))
        near = [c.capacity_bytes / c.partitions for c in device.caches]
        dense = (*grid.cliffs(device, private=True), *near)
        sizes = grid.octaves(4096, high, 2 if limits.quick else 4, dense, 4 if limits.quick else 8)
        points = [
            {"bytes": size, "line": line, "steps": _steps(size // line)}
            for size in grid.rounded(sizes, grid.multiple(line))
        ]
        return (Sweep("working_set", _WORKING_SET, tuple(points), "working set"),)

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:  # noqa: ARG002
        """Work is loads."""
        return PointKey(
            label=format_bytes(parameters["bytes"]),
            parameters=dict(parameters),
            work=parameters["steps"],
            work_items=1,
            working_set_bytes=parameters["bytes"],
            x=parameters["bytes"],
        )

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
        """Nothing but a chain of loads, each after two operations that make its address of an element's number."""
        steps, line = parameters["steps"], parameters["line"]
        lines = parameters["bytes"] / line
        return Demand(
            work_items=1,
            work_group=(1,),
            streams=(Stream("next", lines, line, 4, passes=steps / lines, outer_passes=steps / lines),),
            chain={"int32": 2.0 * steps},
            memory_chain=steps,
            reused="kernel",
            loaded=False,
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """A random cycle (Sattolo's algorithm by way of a random order) through all lines."""
        size, line = parameters["bytes"], parameters["line"]
        lines, stride = size // line, line // 4
        order = (rng.permutation(lines) * stride).astype(np.uint32)
        following = np.zeros(size // 4, dtype=np.uint32)
        following[order] = np.roll(order, -1)
        state = np.array([order[0], 0], dtype=np.uint32)
        count = np.uint32(lines)
        arguments = (f"next{size}", f"order{size}", f"state{size}", count, "sink")
        lap = Dispatch("lap", (self._LAP_GROUP,), (self._LAP_GROUP,), arguments)
        chase = Dispatch("chase", (1,), (1,), (f"next{size}", f"state{size}", np.uint32(parameters["steps"]), count))
        return Job(
            buffers={
                f"next{size}": Buffer(size, following),
                f"order{size}": Buffer(4 * lines, order),
                f"state{size}": Buffer(8, state),
                "sink": Buffer(4),
            },
            dispatches=(chase,),
            before=(lap,),
            options=_options({}),
        )

    verification_dispatches = 3

    def verification(self) -> Sequence[Parameters]:
        """Cycles of odd lengths, fewer and more steps than a lap."""
        return ({"bytes": 97 * 64, "line": 64, "steps": 60}, {"bytes": 31 * 128, "line": 128, "steps": 211})

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """Follow the cycle on the host."""
        size = parameters["bytes"]
        order = job.buffers[f"order{size}"].filled()
        made = parameters["steps"] * dispatches % len(order)
        return {f"state{size}": np.array([order[made], made], dtype=np.uint32)}


def _steps(lines: int) -> int:
    """Return the steps of one dispatch.

    Caches of compute units may start cold in each dispatch: small cycles go round often enough that the first lap
    does not count. Large ones need only as many steps as the timer wants.
    """
    if lines <= 4096:
        return int(min(2**18, max(2**13, 128 * lines)))
    return 2**16 if lines <= 16384 else 2**13


class Copy(Workload):
    """Stream copy against working set."""

    family = "memory"
    variant = "copy"
    essential = True
    title = "Stream copy against working set"
    description = (
        "One 16-byte vector a work-item is read from one buffer and written to another, dispatch after dispatch. "
        "Counted: bytes read plus written (the STREAM convention; lines fetched before being written do not count)."
    )
    source = "memory.cl"
    metric = Metric(kind="rate", unit="B", label="copy bandwidth")
    primitive = True

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """One sweep over the working set (both buffers)."""
        high = min(
            limits.max_bytes,
            2 * limits.max_buffer_bytes,
            (8 if limits.quick else 32) * grid.last_cache_bytes(device),
        )
        sizes = grid.octaves(2**16, high, 1 if limits.quick else 2, grid.cliffs(device), 4 if limits.quick else 6)
        whole = grid.rounded(sizes, grid.multiple(8192))
        points = tuple({"vectors": size // 2 // _VECTOR_BYTES, "local": 256} for size in whole)
        return (Sweep("working_set", _WORKING_SET, points, "working set"),)

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:  # noqa: ARG002
        """Work is bytes read and written."""
        size = 2 * _VECTOR_BYTES * parameters["vectors"]
        return PointKey(
            label=format_bytes(size),
            parameters=dict(parameters),
            work=size,
            work_items=parameters["vectors"],
            working_set_bytes=size,
            x=size,
        )

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
        """One stream in, one out."""
        count = parameters["vectors"]
        return Demand(
            work_items=count,
            work_group=(parameters["local"],),
            streams=(
                Stream("from", count, _VECTOR_BYTES, _VECTOR_BYTES),
                Stream("to", count, _VECTOR_BYTES, _VECTOR_BYTES, write=True),
            ),
            operations={"memory": 2.0 * count, "instruction": 12.0 * count},
            chain={"int32": 8.0},
            memory_chain=1.0,
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Random data in, anything out."""
        count, local = parameters["vectors"], parameters["local"]
        items = -(-count // local) * local
        return Job(
            buffers={
                "from": Buffer(count * _VECTOR_BYTES, grid.random_words(rng, 2**22)),
                "to": Buffer(count * _VECTOR_BYTES),
            },
            dispatches=(Dispatch("copy", (items,), (local,), ("from", "to", np.uint32(count))),),
            options=_options({}),
        )

    def verification(self) -> Sequence[Parameters]:
        """A count that fills no work-group."""
        return ({"vectors": 1237, "local": 96},)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """The same bytes."""
        return {"to": job.buffers["from"].filled()}


WORKLOADS = (Copy(), ReadPrivate(), Read(), Latency())
