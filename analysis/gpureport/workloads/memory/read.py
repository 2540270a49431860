"""Read bandwidth against working set: of what all compute units share, and of what each has for itself."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis, Metric, PointKey
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
_OF_A_UNIT = Axis(quantity="working_set", label="working set of each compute unit")


def _shape(device: Device, limits: Limits) -> dict[str, int]:
    """Return how a read kernel is cut up: a GPU's lanes read 16 bytes each, a CPU's work-item whole lines in a loop."""
    if device.kind == "cpu":
        return {"local": 1, "vectors": 64, "chunks": 16, "words": 16}
    return {"local": min(256, limits.max_work_group), "vectors": 8, "chunks": 1, "words": 4}


def _loads_in_flight(parameters: Parameters, loads: float) -> float:
    """Return the dependent rounds of loads: a GPU's are unrolled; a CPU's prefetchers keep about 40 lines in flight."""
    return 1.0 if parameters["local"] > 1 else loads / 40


class _Reading(Workload):
    """What read kernels share: they keep what they read only when results are checked."""

    family = "memory"
    source = "memory/read.cl"
    metric = Metric(kind="rate", unit="B", label="read bandwidth")
    microbenchmark = True

    def build_options(self, parameters: Parameters) -> str:
        """What the whole file is parametrised by; kernels that do not use one of them do not mind."""
        return " ".join(f"-D{name.upper()}={parameters.get(name, 1)}" for name in ("vectors", "chunks", "words"))

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
    calibrates = ("device_cache_bandwidth", "cache_capacity")
    essential = True
    title = "Read bandwidth against working set, shared by all compute units"
    description = (
        "Work-groups stream through one buffer, pass after pass, each group the part after its predecessor's, so that "
        "a pass ends before the next begins and every compute unit meets all data. The sweep begins where the compute "
        "units' own caches can hold no more than a sixteenth. Counted: bytes read, whichever level serves them."
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The working set, through the device-wide caches; and a GPU's work-groups, a CPU's being single items."""
        shape = _shape(device, limits)
        chunk = _chunk_bytes(shape)
        low = max([16 * c.capacity_bytes for c in device.caches if c.scope == "compute_unit"], default=64 * chunk)
        beyond = 4 if limits.quick else 8
        high = min(limits.max_buffer_bytes, beyond * max(low, grid.last_cache_bytes(device)))
        points = tuple(_shared(device, limits, size, shape) for size in grid.sizes(low, high, grid.multiple(chunk)))
        sizes = Sweep("working_set", _WORKING_SET, points, "working set", coarse=grid.coarse(limits))
        tried = () if device.kind == "cpu" else grid.work_groups(device, limits)
        sweeps = (sizes, _work_groups(device, limits, shape, tried)) if len(tried) > 1 else (sizes,)
        return tuple(sweep for sweep in sweeps if sweep.points)  # the last cache may be too small for many work-groups

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Work is bytes read."""
        size = parameters["bytes"]
        key = PointKey(
            label=format_bytes(size),
            parameters=dict(parameters),
            work=_shared_bytes(parameters),
            work_items=parameters["groups"] * parameters["local"],
            working_set_bytes=size,
            x=size,
        )
        return grid.residing(key, sweep)

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
            in_step=False,
        )

    def _job(self, parameters: Parameters, rng: np.random.Generator, written: int) -> Job:
        items = parameters["groups"] * parameters["local"]
        chunks = np.uint32(parameters["bytes"] // _chunk_bytes(parameters))
        arguments = ("data", chunks, np.uint32(written), "folded")
        return Job(
            buffers=_read_buffers(parameters["bytes"], rng, written),
            dispatches=(Dispatch("read_shared", (items,), (parameters["local"],), arguments),),
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


def _work_groups(device: Device, limits: Limits, shape: Parameters, tried: Sequence[int]) -> Sweep:
    """Return the sweep over the size of the work-group, beyond the caches."""
    shapes = [{**shape, "local": local} for local in tried]
    whole = max(_chunk_bytes(shape) for shape in shapes)
    size = grid.multiple(whole)(min(limits.max_buffer_bytes - whole, 4 * grid.last_cache_bytes(device)))
    return Sweep(
        "work_group",
        Axis(quantity="work_group", label="work-group size"),
        tuple(_shared(device, limits, size, shape) for shape in shapes),
        f"work-group size at {format_bytes(size)}",
    )


def _shared(device: Device, limits: Limits, size: int, shape: Parameters) -> Parameters:
    """Return a point of *size* bytes with groups enough for the timer."""
    least = device.memory.bandwidth_bytes_per_s * (1e-3 if device.kind != "cpu" and limits.quick else 2e-3)
    return {"bytes": size, "groups": round(max(size, least) / (_chunk_bytes(shape) * shape["chunks"])), **shape}


def _chunk_bytes(parameters: Parameters) -> int:
    return 4 * parameters["words"] * parameters["vectors"] * parameters["local"]


def _shared_bytes(parameters: Parameters) -> int:
    return parameters["groups"] * parameters["chunks"] * _chunk_bytes(parameters)


def _read_buffers(nbytes: int, rng: np.random.Generator, written: int) -> dict[str, Buffer]:
    return {"data": Buffer(nbytes, grid.random_words(rng, 2**22)), "folded": Buffer(4 * max(1, written))}


def _private_local(device: Device, limits: Limits) -> int:
    """Return a work-group that fills a compute unit well enough on its own."""
    return 1 if device.kind == "cpu" else min(1024, limits.max_work_group)


def _regions(
    device: Device, limits: Limits, shape: Parameters, low: float, high: float, groups: int
) -> tuple[Parameters, ...]:
    """Return points with regions of *low* to *high* bytes; passes enough for the timer, whatever serves them."""
    step = 4 * shape["words"] * shape["local"]
    # A GPU's first cache is some seven times as fast as memory: 3 ms, so that starting and filling it weigh nothing.
    unit_s = 2e-3 if device.kind == "cpu" else 5e-3
    read = 4 * unit_s * device.memory.bandwidth_bytes_per_s / device.compute_units
    return tuple(
        {"bytes": size, "passes": max(1, round(read / size)), "groups": groups, **shape}
        for size in grid.sizes(max(step, low), max(step, high), grid.multiple(step))
        if size * groups <= limits.max_buffer_bytes
    )


class ReadPrivate(_Reading):
    """Read bandwidth of what each compute unit has for itself."""

    variant = "read_private"
    calibrates = ("unit_cache_bandwidth", "cache_capacity")
    essential = True
    title = "Read bandwidth against working set of each compute unit"
    description = (
        "Large work-groups, one a compute unit, each read a region of their own again and again. Working set: of one "
        "compute unit. Counted: bytes read by all of them, whichever level serves them."
    )

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Two sweeps over the region of a compute unit; none on devices without caches of compute units.

        ``working_set`` shows where the caches give out; only so many compute units read that all regions together
        stay within half of the next cache, even at four times the private one: what lies behind is not this sweep's
        matter. ``every_unit`` shows what all compute units reach together, with regions that leave the next cache
        room; it is left out where ``working_set`` already keeps all of them busy.
        """
        private = [cache.capacity_bytes for cache in device.caches if cache.scope == "compute_unit"]
        if not private:
            return ()
        room = min([limits.max_buffer_bytes, *(c.capacity_bytes for c in device.caches if c.scope == "device")])
        far = 4 * max(private)
        groups = int(max(1, min(device.compute_units, room / 2 // far)))
        shape = {"local": _private_local(device, limits), "words": _shape(device, limits)["words"]}
        few = _regions(device, limits, shape, min(private) / 8, min(far, room / groups), groups)
        sweeps = [Sweep("working_set", _OF_A_UNIT, few, "working set of a compute unit", coarse=grid.coarse(limits))]
        if groups < device.compute_units:
            # Longer loops cost less a byte, until a cache begins to give out.
            most = min(0.75 * max(private), 0.6 * room / device.compute_units)
            every = _regions(device, limits, shape, min(private) / 8, most, device.compute_units)
            title = "working set of a compute unit, all of them at work"
            sweeps.append(Sweep("every_unit", _OF_A_UNIT, every, title, coarse=grid.coarse(limits)))
        return tuple(sweep for sweep in sweeps if len(sweep.points) > 1)

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
            in_step=False,
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


WORKLOADS = (ReadPrivate(), Read())
