"""Latency of dependent loads of lines whose addresses differ by a power of two: conflicts in the sets of caches."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.models import Device
from gpureport.units import format_bytes
from gpureport.workloads import grid
from gpureport.workloads.memory.chase import ADDRESSES, Chase, chased
from gpureport.workloads.model import Buffer, Demand, Dispatch, Job, Limits, Parameters, Sweep

APART = "apart"
"""Parameter: bytes from one line to the next, a power of two."""
_STRIDES = (1 << 12, 1 << 17)
"""Rows of 1024 and 32,768 words. Sets of caches of processors and of compute units repeat within the first; those of
larger caches within the second."""
_MOST_BYTES = 1 << 29
_BEYOND = 4
"""The most lines / lines of the nearest cache."""


class SetConflicts(Chase):
    """One work-item follows a random cycle through lines with a constant distance."""

    variant = "set_conflicts"
    title = "Load latency at a stride of a power of two"
    description = (
        "One work-item follows a random cycle through lines at a stride of a power of two, such as the first words of "
        "the rows of a matrix. A cache whose sets are selected by bits of the address keeps only some of these lines: "
        "as many as a set has ways, if the stride selects a single set. The latency then rises although most of the "
        "cache is empty. Counted: the time of one load, including its address arithmetic."
    )
    source = "memory/conflicts.cl"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """For each stride up to the size of a page: from two lines to several times those of the nearest cache."""
        largest = min(_MOST_BYTES, limits.max_buffer_bytes, limits.max_bytes / 2)
        most = _BEYOND * (device.caches[0].capacity_bytes / device.caches[0].line_bytes if device.caches else 512)
        sweeps = []
        for stride in (stride for stride in _STRIDES if stride <= device.page_bytes and 4 * stride <= largest):
            counts = grid.sizes(2, min(most, largest // stride), grid.multiple(1))
            shape = {APART: stride, "line": device.line_bytes}
            points = tuple({"lines": n, **shape, "steps": _steps(device, n)} for n in counts)
            title = f"{ADDRESSES.label} at a stride of {format_bytes(stride)}"
            sweeps.append(Sweep(f"stride_{stride}", ADDRESSES, points, title, coarse=grid.coarse(limits)))
        return tuple(sweeps)

    def label(self, parameters: Parameters) -> str:
        """Return number and distance of the lines."""
        return f"{parameters['lines']} x {format_bytes(parameters[APART])}"

    def range_bytes(self, parameters: Parameters) -> int:
        """Return the range of addresses."""
        return parameters["lines"] * parameters[APART]

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """A chain of loads; the first load of each line comes from the shared cache if the nearest one is empty.

        Loads of processors compute the address from an index themselves.
        """
        lines, steps = parameters["lines"], parameters["steps"]
        empty = bool(device.caches) and not device.caches[0].persistent
        first = min(lines, steps) if empty else 0
        return replace(
            chased("lines", lines, parameters[APART], 4, steps),
            chain={} if device.is_cpu else {"int32": 2.0 * steps},
            memory_chain=steps - first,
            cached_chain=first,
            reused="kernel",
            # Addresses of the nearest cache of an NVIDIA GPU are virtual (Jia et al., arXiv:1804.06826).
            span_bytes=self.range_bytes(parameters) if device.is_cpu else 0.0,
            stride_bytes=parameters[APART],
        )

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """A random cycle through all lines."""
        lines, words, steps = (np.uint32(n) for n in (parameters["lines"], parameters[APART] // 4, parameters["steps"]))
        order = f"order{lines}x{words}"
        buffers = {
            "lines": Buffer(self.range_bytes(parameters)),
            order: Buffer(4 * int(lines), rng.permutation(lines).astype(np.uint32)),
            "state": Buffer(4),
        }
        link = Dispatch("link", (int(lines),), (1,), ("lines", "state", order, lines, words))
        return Job(buffers, (Dispatch("visit", (1,), (1,), ("lines", "state", steps)),), (link,))

    verification_dispatches = 3

    def verification(self) -> Sequence[Parameters]:
        """Fewer and more loads than one traversal."""
        return (
            {"lines": 37, APART: 256, "line": 64, "steps": 11},
            {"lines": 5, APART: 4096, "line": 128, "steps": 93},
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """Follow the cycle."""
        (order,) = (buffer.filled() for name, buffer in job.buffers.items() if name.startswith("order"))
        reached = int(order[parameters["steps"] * dispatches % len(order)])
        return {"state": np.array([reached * (parameters[APART] // 4)], dtype=np.uint32)}


def _steps(device: Device, lines: int) -> int:
    """Return the loads of one dispatch: few first ones, and enough to make the launch cost of a CPU small."""
    return 1 << 16 if device.is_cpu else min(1 << 16, max(1 << 13, 64 * lines))


WORKLOADS = (SetConflicts(),)
