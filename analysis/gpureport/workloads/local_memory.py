"""Local-memory bandwidth by access width, and the cost of bank conflicts."""

from collections.abc import Mapping
from math import ceil, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.model import Buffer, Demand, Job, Limits, Parameters, Sweep, UnstoredResults

_TABLE_BYTES = 4 * 64 * 33  # as in the kernel
_CASES = ((4, 1), (8, 1), (16, 1), (4, 2), (4, 4), (4, 8), (4, 16), (4, 32), (4, 33))  # bytes, stride in elements


class Bandwidth(UnstoredResults):
    family = "local_memory"
    variant = "bandwidth"
    title = "Local-memory bandwidth by access width and stride"
    description = (
        "Work-items follow chains of indices in local memory. Strides that share a factor with the number of banks "
        "cause bank conflicts."
    )
    source = "local_memory.cl"
    kernel = "bandwidth"
    macros = ("width", "chains", "steps")
    metric = Metric(kind="rate", unit="B", label="local-memory bandwidth")
    microbenchmark = True
    calibrates = ("instruction_rates",)
    labelled = "{width} B, stride {stride}"
    work_of = ("width", "chains", "steps", "rounds", "groups", "local")
    working_set_of = (_TABLE_BYTES,)
    verified = tuple(
        {"case": 1, "width": width, "stride": stride, "local": local, "chains": 3, "steps": 5, "rounds": 4, "groups": 3}
        for width, stride, local in ((4, 1, 64), (8, 1, 96), (16, 3, 32), (4, 33, 160))
    )
    """Every width, strides that wrap around the table, work-group sizes that do not divide it."""
    instruction_classes: ClassVar[Mapping[str, str]] = {"4 B, stride 1": "local"}

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        points = (
            {"case": case, "width": width, "stride": stride, **_shape(device, limits, width, stride)}
            for case, (width, stride) in enumerate(_CASES, 1)
        )
        return (grid.by_case("access", "width and stride", points),)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Chains of accesses and of the operations that fold their words.

        On a GPU a wide access counts as one access per word of a bank. A CPU loads a whole element at once, but cannot
        combine the accesses of several work-items at unrelated addresses. It runs the work-items of a group in turn.
        """
        items, words = self.work_items(parameters), parameters["width"] // 4
        in_turn, units = grid.chosen(device, cpu=(parameters["local"], 1), gpu=(1, words))
        accesses, folds = float(self.work(parameters) / parameters["width"]), words - 1.0
        in_a_chain = accesses / items / parameters["chains"] * in_turn
        return Demand(
            *self.launched(parameters),
            operations={"local": accesses * units, "int32": accesses * folds},
            chain={"local": in_a_chain, "int32": in_a_chain * folds},
            local_memory_bytes=_TABLE_BYTES,
            local_conflicts=grid.stride_conflicts(parameters["stride"], device),
            branches=True,
        )

    def inputs(self, parameters: Parameters, rng: np.random.Generator) -> tuple[dict[str, Buffer], tuple[int, ...]]:
        width = parameters["width"]
        table = {f"contents{width}": Buffer(_TABLE_BYTES, _table(rng, width))}
        return table, (parameters["stride"], parameters["rounds"])

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        width, items = parameters["width"], np.arange(parameters["local"], dtype=np.uint32)
        table = job.buffers[f"contents{width}"].filled().astype(np.uint32).reshape(-1, width // 4)
        following = np.bitwise_xor.reduce(table, axis=1)
        total = np.zeros(len(items), dtype=np.uint32)
        for chain in range(parameters["chains"]):
            at = (items * np.uint32(parameters["stride"]) + np.uint32(40 * chain)) % np.uint32(len(table))
            for _ in range(parameters["steps"] * parameters["rounds"]):
                at = following[at]
            total = np.uint32(3) * total ^ at
        return {"folded": np.tile(total, parameters["groups"])}


def _shape(device: Device, limits: Limits, width: int, stride: int) -> dict[str, int]:
    conflicting = width / 4 * grid.stride_conflicts(stride, device)
    lanes = grid.chosen(device, cpu=float(device.architecture.wave_size), gpu=conflicting)
    shape = {**grid.launch(device, limits, "local memory"), "chains": 4, "steps": 32}
    accesses = grid.seconds(device, limits, "local memory") * device.rate_per_s("local") / lanes
    return {**shape, "rounds": max(1, ceil(accesses / prod(shape.values())))}


def _table(rng: np.random.Generator, width: int) -> NDArray[np.uint32]:
    """Return elements, shape (n, words), whose folded words index the element a fixed random distance further."""
    elements = _TABLE_BYTES // width
    following = (np.arange(elements) + rng.integers(1, elements)) % elements
    words = rng.integers(0, 2**32, size=(elements, width // 4), dtype=np.uint32).copy()
    words[:, -1] = following ^ np.bitwise_xor.reduce(words[:, :-1], axis=1)
    return words


WORKLOADS = (Bandwidth(),)
