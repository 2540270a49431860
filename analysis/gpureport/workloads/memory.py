"""Memory primitives: read bandwidth and dependent-load latency against working set, and the stream copy."""

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


class Read(Workload):
    """Read bandwidth against working set."""

    family = "memory"
    variant = "read"
    title = "Read bandwidth against working set"
    description = (
        "Work-groups stream through one buffer, pass after pass, each group the part after its predecessor's; every "
        "compute unit meets all of it. Bytes counted: bytes read by work-items, whichever level serves them."
    )
    source = "memory.cl"
    metric = Metric(kind="rate", unit="B", label="read bandwidth")
    primitive = True

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """One sweep over the working set, from a few chunks to many times the last cache."""
        # A GPU's group is 256 work-items that read coalesced vectors; a CPU's is one work-item that runs a loop.
        gpu = device.kind != "cpu"
        shape = {"local": 256, "vectors": 2, "chunks": 4} if gpu else {"local": 1, "vectors": 256, "chunks": 16}
        chunk = shape["local"] * shape["vectors"] * _VECTOR_BYTES
        high = min(limits.max_buffer_bytes, (4 if limits.quick else 16) * grid.last_cache_bytes(device))
        sizes = grid.octaves(
            2 * chunk,
            high,
            2 if limits.quick else 4,
            grid.cliffs(device, private=True),
            4 if limits.quick else 8,
        )
        dispatch_s = 250e-6 if gpu else 2e-3
        least = device.memory.bandwidth_bytes_per_s * dispatch_s
        points = []
        for size in grid.rounded(sizes, grid.multiple(chunk)):
            groups = max(1, round(max(1.0, least / size) * size / (chunk * shape["chunks"])))
            points.append({"bytes": size, "groups": groups, **shape})
        return (Sweep("working_set", _WORKING_SET, tuple(points), "working set"),)

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:  # noqa: ARG002 - one sweep only
        """Work is bytes read."""
        size = parameters["bytes"]
        return PointKey(
            label=format_bytes(size),
            parameters=dict(parameters),
            work=_read_bytes(parameters),
            work_items=parameters["groups"] * parameters["local"],
            working_set_bytes=size,
            x=size,
        )

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
        """One stream, many passes, found again by the same kernel."""
        read, size = _read_bytes(parameters), parameters["bytes"]
        vectors = read / _VECTOR_BYTES
        loads = parameters["vectors"] * parameters["chunks"]
        stream = Stream(
            "data",
            size / _VECTOR_BYTES,
            _VECTOR_BYTES,
            _VECTOR_BYTES,
            passes=read / size,
            outer_passes=read / size,
        )
        return Demand(
            work_items=parameters["groups"] * parameters["local"],
            work_group=(parameters["local"],),
            streams=(stream,),
            operations={"int32": 4 * vectors},
            chain={"int32": 4.0 * loads},
            # A lone work-item's loop keeps several lines in flight; a GPU's loads are unrolled and independent.
            memory_chain=1.0 if parameters["local"] > 1 else loads / 32,
            reused="kernel",
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """All work-items store nothing; random data."""
        return self._job(parameters, rng, written=0)

    def _job(self, parameters: Parameters, rng: np.random.Generator, written: int) -> Job:
        items = parameters["groups"] * parameters["local"]
        chunk = parameters["local"] * parameters["vectors"] * _VECTOR_BYTES
        chunks = np.uint32(parameters["bytes"] // chunk)
        options = f"-DVECTORS={parameters['vectors']} -DCHUNKS={parameters['chunks']}"
        if parameters["local"] > 1:
            options += " -DCOALESCED"
        return Job(
            buffers={
                "data": Buffer(parameters["bytes"], grid.random_words(rng, 2**22)),
                "folded": Buffer(4 * max(1, written)),
            },
            dispatches=(
                Dispatch(
                    "read_chunks",
                    (items,),
                    (parameters["local"],),
                    ("data", chunks, np.uint32(written), "folded"),
                ),
            ),
            options=options,
        )

    def verification(self) -> Sequence[Parameters]:
        """Working sets that are no power of two and that the groups wrap around, coalesced and not."""
        return (
            {"bytes": 7 * 3072, "groups": 5, "local": 96, "vectors": 2, "chunks": 3, "written": 480},
            {"bytes": 11 * 80, "groups": 7, "local": 1, "vectors": 5, "chunks": 4, "written": 7},
        )

    def verification_job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """The same kernel, told to store what it read."""
        return self._job(parameters, rng, parameters["written"])

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """Fold the vectors that each work-item reads."""
        local, vectors, per_group = parameters["local"], parameters["vectors"], parameters["chunks"]
        data = job.buffers["data"].filled().reshape(-1, vectors, local, 4)
        first = np.arange(parameters["groups"])[:, None] * per_group
        chunk = (first + np.arange(per_group)) % len(data)
        folded = np.bitwise_xor.reduce(data[chunk], axis=(1, 2))
        return {"folded": np.bitwise_xor.reduce(folded, axis=-1).ravel()}


def _read_bytes(parameters: Parameters) -> int:
    per_group = parameters["local"] * parameters["vectors"] * parameters["chunks"] * _VECTOR_BYTES
    return parameters["groups"] * per_group


class Latency(Workload):
    """Dependent-load latency against working set."""

    family = "memory"
    variant = "latency"
    title = "Dependent-load latency against working set"
    description = (
        "One work-item follows a random cycle through all lines of a buffer, each load's address depending on the load "
        "before. An untimed kernel first touches every line in the cycle's order, so that the caches hold what they "
        "would after a lap. Time counted: one load, with its address arithmetic."
    )
    source = "memory.cl"
    metric = Metric(kind="time", unit="loads", label="latency")
    primitive = True
    _LAP_GROUP: ClassVar[int] = 64

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
        """Nothing but a chain of loads."""
        return Demand(
            work_items=1,
            work_group=(1,),
            streams=(Stream("next", parameters["bytes"] / parameters["line"], parameters["line"], 4),),
            memory_chain=parameters["steps"],
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
        groups = -(-lines // self._LAP_GROUP)
        lap = Dispatch(
            "lap",
            (groups * self._LAP_GROUP,),
            (self._LAP_GROUP,),
            (f"next{size}", f"order{size}", f"state{size}", count, "sink"),
        )
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
            options="-DVECTORS=1 -DCHUNKS=1",
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
    title = "Stream copy against working set"
    description = (
        "One 16-byte vector a work-item is read from one buffer and written to another, dispatch after dispatch. "
        "Bytes counted: read plus written (the STREAM convention; lines fetched before being written do not count)."
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
            options="-DVECTORS=1 -DCHUNKS=1",
        )

    def verification(self) -> Sequence[Parameters]:
        """A count that fills no work-group."""
        return ({"vectors": 1237, "local": 96},)

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """The same bytes."""
        return {"to": job.buffers["from"].filled()}
