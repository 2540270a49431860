"""Shared by workloads in which one work-item follows a random cycle of dependent loads."""

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis, Metric, PointKey
from gpureport.units import format_bytes
from gpureport.workloads import grid
from gpureport.workloads.model import Demand, Parameters, Stream, Sweep, Workload

ADDRESSES = Axis(quantity="working_set", label="range of addresses")


class Chase(Workload):
    """Dependent loads of one work-item."""

    family = "memory"
    metric = Metric(kind="time", unit="loads", label="latency")
    microbenchmark = True

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Work is loads."""
        loads, size = self.loads(parameters), self.range_bytes(parameters)
        x = sweep.points.index(parameters) if sweep.axis.quantity == "case" else None
        return grid.key(parameters, self.label(parameters), work=loads, items=1, nbytes=size, x=x)

    def label(self, parameters: Parameters) -> str:
        """Return the label of a point."""
        return format_bytes(self.range_bytes(parameters))

    def loads(self, parameters: Parameters) -> int:
        """Return the loads, or pairs of loads, of one dispatch."""
        return parameters["steps"]

    def range_bytes(self, parameters: Parameters) -> int:
        """Return the range of addresses."""
        return parameters["bytes"]


def chased(
    buffer: str, elements: float, record_bytes: int, used_bytes: int, steps: int, *, repeated: bool = True
) -> Demand:
    """Return the demand of *steps* loads of a random cycle through *elements*.

    Args:
        buffer: with the elements.
        elements: number of elements.
        record_bytes: distance between elements.
        used_bytes: bytes of an element that are loaded.
        steps: loads of one dispatch.
        repeated: whether the levels beyond the first transfer each element in each traversal, else once.
    """
    passes = steps / elements
    stream = Stream(buffer, elements, record_bytes, used_bytes, False, passes, passes if repeated else 1.0)
    return Demand(work_items=1, work_group=(1,), streams=(stream,), phases_aligned=False, loaded=False)


def cycle(rng: np.random.Generator, elements: int, apart: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return a random cycle through words with a distance of *apart* words.

    Returns:
        The words' indices in the order of the cycle, shape (*elements*,); and an array that has, in each of these
        words, the index of the next one, shape (*elements* x *apart*,). All others are zero.
    """
    order = np.arange(elements, dtype=np.uint32)
    rng.shuffle(order)
    order *= np.uint32(apart)
    following = np.zeros(elements * apart, dtype=np.uint32)
    following[order] = np.roll(order, -1)
    return order, following
