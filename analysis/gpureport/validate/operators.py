"""What the operators of published measurements move and compute, from their sources, and what their timing adds."""

from collections.abc import Callable, Mapping
from math import ceil
from typing import NamedTuple

from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant
from gpureport.workloads.model import Demand, Stream

Row = Mapping[str, float | str]
"""A row of a table of the scoreboard: texts, and the numbers that its operator needs."""
Operator = Callable[[Row, Device], Demand]


def number(row: Row, name: str) -> float:
    """Return a number of *row*; a KeyError if it has none of this name."""
    return float(row[name])


def elementwise(reads: int, per_item: int = 4, group: int = 128) -> Operator:
    """Return an operator on ``rows`` x ``columns`` of fp32 that reads *reads* arrays and writes one.

    PyTorch's ``vectorized_elementwise_kernel`` gives each work-item *per_item* elements, in one vector of 16 bytes, and
    has 128 work-items in a group (``aten/src/ATen/native/cuda/CUDALoops.cuh``).
    """

    def demand(row: Row, device: Device) -> Demand:  # noqa: ARG001 - as of all operators
        elements = number(row, "rows") * number(row, "columns")
        items, vectors, nbytes = ceil(elements / per_item / group) * group, ceil(elements / per_item), 4 * per_item
        read = (Stream(f"in{i}", vectors, nbytes, nbytes) for i in range(reads))
        return Demand(
            items,
            (group,),
            (*read, Stream("out", vectors, nbytes, nbytes, write=True)),
            {"memory": (reads + 1.0) * vectors, "fp32": elements, "instruction": 12.0 * items + 2.0 * elements},
            {"int32": 8.0},
            memory_chain=1.0,
        )

    return demand


_BINARY, _UNARY = elementwise(2), elementwise(1)
OPERATORS: Mapping[str, Operator] = {
    **dict.fromkeys(("add", "mul", "div", "pow"), _BINARY),
    **dict.fromkeys(("add_scalar", "mul_scalar", "div_scalar", "pow_scalar", "relu", "gelu", "tanh", "copy"), _UNARY),
}
"""By the name in column ``operator``."""


class Timing(NamedTuple):
    """What a way of timing adds to kernels: their time is at least *least_s*, and that of kernels + *before_s*."""

    before_s: float = 0.0
    least_s: float = 0.0
    deviation: float = 0.0
    """Relative standard deviation of both."""


_PYTORCH_NVIDIA = constant(
    Timing(15e-6, 26e-6, 0.2),
    "least times of add, and its times of 40 to 100 µs less bytes / bandwidth (sitar-lab/NeuSight @6945927)",
    measured_on=("nvidia/a100_pcie_40", "nvidia/t4"),
    held_out="not yet known",
    only="PyTorch",
)
"""Events of an idle stream around the call of an operator. The first one passes before the host reaches the kernel, and
the second one cannot pass before the host records it."""
_PYTORCH_AMD = constant(
    Timing(15e-6, 17e-6, 0.2),
    "the same of an MI100",
    measured_on=("amd/mi100",),
    held_out="no other device",
    only="PyTorch",
)


def _of_pytorch(row: Row, device: Device) -> Timing:  # noqa: ARG001 - as of all ways
    return _PYTORCH_AMD if device.vendor == "AMD" else _PYTORCH_NVIDIA


TIMINGS: Mapping[str, Callable[[Row, Device], Timing]] = {"PyTorch, events": _of_pytorch}
"""By name of the way of timing; a kernel's own time if it is not listed."""
