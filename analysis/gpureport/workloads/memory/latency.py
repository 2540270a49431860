"""Latency of dependent loads (pointer chase) by working set."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.memory.chase import Chase, chased, cycle
from gpureport.workloads.model import Buffer, Demand, Dispatch, Job, Limits, Parameters, Sweep


class PointerChase(Chase):
    """One work-item follows a random cycle of dependent loads."""

    variant = "latency"
    essential = True
    title = "Load latency"
    description = (
        "One work-item follows a random cycle through all lines of a buffer; the address of each load depends on the "
        "previous load. An untimed warm-up traversal first reads every line in the same order, so that the caches "
        "contain what one traversal leaves there. Counted: the time of one load, including its address arithmetic."
    )
    source = "memory/latency.cl"
    calibrates = ("load_latency", "cache_capacity")

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The working set, from 4 KiB to several times the last cache."""
        line = device.line_bytes
        high = min(limits.max_buffer_bytes, (4 if limits.quick else 8) * grid.last_cache_bytes(device))
        warm_up = min(256, limits.max_work_group)
        points = tuple(
            {"bytes": size, "line": line, "steps": _steps(size // line, device), "warm_up": warm_up}
            | _warming(size, device)
            for size in grid.sizes(4096, high, grid.multiple(line))
        )
        return (grid.by_working_set(points, limits),)

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
        """A chain of loads, each after two operations that compute its address from an index.

        The parameter ``pointers`` marks published chases whose elements are addresses and need no such operations.
        """
        steps, line = parameters["steps"], parameters["line"]
        chain = {} if parameters.get("pointers") else {"int32": 2.0 * steps}
        lines = parameters["bytes"] / line
        return replace(chased("next", lines, line, 4, steps), chain=chain, memory_chain=steps, reused="kernel")

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """A random cycle through all lines, in the order of a random permutation."""
        size, line = parameters["bytes"], parameters["line"]
        lines = size // line
        order, following = cycle(rng, lines, line // 4)
        state = np.array([order[0], 0], dtype=np.uint32)
        count = np.uint32(lines)
        arguments = (f"next{size}", f"order{size}", f"state{size}", count, "sink")
        items = (parameters["warm_up"],)
        all_items = (parameters["warm_up"] * parameters.get("warm_up_groups", 1),)
        chase = Dispatch("chase", (1,), (1,), (f"next{size}", f"state{size}", np.uint32(parameters["steps"]), count))
        return Job(
            buffers={
                f"next{size}": Buffer(size, following),
                f"order{size}": Buffer(4 * lines, order),
                f"state{size}": Buffer(8, state),
                "sink": Buffer(4),
            },
            dispatches=(chase,),
            before=(Dispatch("warm_up", all_items, items, arguments),),
        )

    verification_dispatches = 3

    def verification(self) -> Sequence[Parameters]:
        """Cycles of odd lengths, fewer and more steps than one traversal."""
        return (
            {"bytes": 97 * 64, "line": 64, "steps": 60, "warm_up": 64},
            {"bytes": 31 * 128, "line": 128, "steps": 211, "warm_up": 17, "warm_up_groups": 3},
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """Follow the cycle."""
        size = parameters["bytes"]
        order = job.buffers[f"order{size}"].filled()
        made = parameters["steps"] * dispatches % len(order)
        return {f"state{size}": np.array([order[made], made], dtype=np.uint32)}


_FAR = 2
"""Times the last cache: beyond, hardly any line is still in a cache when the chase reaches it, whoever read it last."""


def _warming(size: int, device: Device) -> dict[str, int]:
    """Return the number of work-groups that warm up, if it is not one.

    One fills the caches of one compute unit, and on a GPU the partition of the second-level cache near to it. Others
    would leave lines in their own caches. One core of a CPU needs seconds for a working set far beyond the last cache,
    so all cores share such sets.
    """
    far = device.is_cpu and size > _FAR * grid.last_cache_bytes(device)
    return {"warm_up_groups": device.compute_units} if far else {}


def _steps(lines: int, device: Device) -> int:
    """Return the steps of one dispatch.

    Caches of compute units may be cold when a dispatch starts, so small cycles are traversed many times. The steps of
    large cycles are limited by the timer's resolution only. A CPU's loads take less time, and its launch may take
    longer: that of 16 threads takes as long as 30,000 loads from the L1.
    """
    if device.is_cpu:
        return 2**19 if lines <= 4096 else 2**17 if lines <= 65536 else 2**14
    if lines <= 4096:
        return int(min(2**18, max(2**13, 128 * lines)))
    return 2**16 if lines <= 16384 else 2**13


WORKLOADS = (PointerChase(),)
