"""Dependent-load latency against working set."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis, Metric, PointKey
from gpureport.spec.models import Device
from gpureport.units import format_bytes
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Dispatch, Job, Limits, Parameters, Stream, Sweep, Workload


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
    source = "memory/latency.cl"
    metric = Metric(kind="time", unit="loads", label="latency")
    microbenchmark = True
    calibrates = ("load_latency", "cache_capacity")

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """One sweep over the working set, from 4 KiB to several times the last cache."""
        line = max((cache.line_bytes for cache in device.caches), default=64)
        high = min(limits.max_buffer_bytes, (4 if limits.quick else 8) * grid.last_cache_bytes(device))
        lap = min(256, limits.max_work_group)
        points = tuple(
            {"bytes": size, "line": line, "steps": _steps(size // line), "lap": lap}
            for size in grid.sizes(4096, high, grid.multiple(line))
        )
        axis = Axis(quantity="working_set", label="working set")
        return (Sweep("working_set", axis, points, "working set", coarse=grid.coarse(limits)),)

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
        """Nothing but a chain of loads, each after two operations that make its address of an element's number.

        The parameter ``pointers`` stands for chases elsewhere whose elements are addresses: there is nothing to make.
        """
        steps, line = parameters["steps"], parameters["line"]
        lines = parameters["bytes"] / line
        return Demand(
            work_items=1,
            work_group=(1,),
            streams=(Stream("next", lines, line, 4, passes=steps / lines, outer_passes=steps / lines),),
            chain={} if parameters.get("pointers") else {"int32": 2.0 * steps},
            memory_chain=steps,
            reused="kernel",
            in_step=False,
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
        lap = Dispatch("lap", (parameters["lap"],), (parameters["lap"],), arguments)
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
        )

    verification_dispatches = 3

    def verification(self) -> Sequence[Parameters]:
        """Cycles of odd lengths, fewer and more steps than a lap."""
        return (
            {"bytes": 97 * 64, "line": 64, "steps": 60, "lap": 64},
            {"bytes": 31 * 128, "line": 128, "steps": 211, "lap": 17},
        )

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


WORKLOADS = (Latency(),)
