"""What ways of timing add to kernels: calls by the software, and the clock that measures them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant
from gpureport.validate.operators import Row, on_rocm


class Timing(NamedTuple):
    """What a way of timing adds to kernels: their time is at least *least_s*, and that of kernels + *before_s*."""

    before_s: float = 0.0
    least_s: float = 0.0
    deviation: float = 0.0
    """Relative standard deviation of both."""


_PYTORCH = (
    constant(
        Timing(12e-6, 30e-6, 0.15),
        "operators of all sizes (sitar-lab/NeuSight @6945927, dataset)",
        measured_on=("nvidia/a100_pcie_40", "nvidia/p4"),
        held_out="the least times of V100 and T4 are 32.7 and 26.8 µs",
        only="PyTorch",
    ),
    constant(
        Timing(10e-6, 19.5e-6, 0.15),
        "the same of an MI100",
        measured_on=("amd/mi100",),
        held_out="no other device",
        only="PyTorch",
    ),
)
"""Events of an idle stream around the call of an operator, on CUDA and on ROCm. The first one passes before the host
reaches the kernel, and the second one cannot pass before the host records it."""
_PYTORCH_GRAPH = (
    constant(
        Timing(5e-6, 17e-6, 0.3),
        "element-wise nodes of all sizes (sitar-lab/NeuSight @6945927, label); the least are 12.7, 17.4 and 24.7 µs",
        measured_on=("nvidia/a100_pcie_40", "nvidia/h100_sxm", "nvidia/p4"),
        held_out="the least times of A100 80 GB, T4 and V100 are 21.5, 24.6 and 25.6 µs",
        only="PyTorch",
    ),
    constant(
        Timing(9e-6, 19e-6, 0.15),
        "the same of an MI100",
        measured_on=("amd/mi100",),
        held_out="no other device",
        only="PyTorch",
    ),
)
"""The same around the nodes of a graph."""
_LONGER_CALLS = {
    name: constant(
        longer,
        "least times, of layer norm and linear 1.5 to 1.8 times those of element-wise operators (the same)",
        measured_on=("nvidia/a100_pcie_40", "nvidia/h100_sxm", "nvidia/p4", "amd/mi100"),
        held_out="layer norm on T4 and V100: 1.9 and 1.8 times",
        only="PyTorch",
    )
    for name, longer in {"softmax": 1.1, "layer_norm": 1.6, "embedding": 1.6, "linear": 1.7}.items()
}
"""Host time of operators with more outputs or steps / that of element-wise ones. The difference delays the kernel."""


def _of_pytorch(on_each: tuple[Timing, Timing], row: Row, device: Device) -> Timing:
    before_s, least_s, deviation = on_each[on_rocm(device)]
    longer = _LONGER_CALLS.get(str(row.get("operator")), 1.0)
    if row.get("operator") == "linear" and on_rocm(device):
        longer += 1.0  # the copy of the bias is a call of its own
    return Timing(before_s + (longer - 1) * least_s, longer * least_s, deviation)


_PYTORCH_HOST = {
    operator: constant(
        timing,
        "times of all sizes (PrincetonUniversity/LLMCompass @2e015fd, ae/figure5)",
        measured_on=("nvidia/a100_sxm_80",),
        held_out="no other device",
        only="PyTorch",
    )
    for operator, timing in {
        "softmax": Timing(8e-6, 13e-6, 0.1),
        "matmul": Timing(23e-6, 29e-6, 0.1),
        "gelu": Timing(33e-6, 47e-6, 0.1),
        "layer_norm": Timing(33e-6, 47e-6, 0.1),
    }.items()
}
"""The host's clock around a call and the wait for its end. PyTorch compiled the last two functions, which then check
their arguments."""


def _by_host(row: Row, device: Device) -> Timing:  # noqa: ARG001 - as of all ways
    return _PYTORCH_HOST.get(str(row.get("operator")), Timing())


_CUDA_LAUNCH_S = constant(
    1.8e-6,
    "smallest kernels in a queue: 1.5 us beside the kernel on an A40, 2.1 us on an H200 (RRZE-HPC/gpu-benches)",
    measured_on=("nvidia/a40", "nvidia/h200_sxm"),
    only="CUDA",
)
"""Time of a back-to-back dispatch of CUDA; that of entries of NVIDIA is OpenCL's."""


def _of_cuda(row: Row, device: Device) -> Timing:  # noqa: ARG001 - as of all ways
    return Timing(_CUDA_LAUNCH_S - device.launch.batched_s if device.vendor == "NVIDIA" else 0.0, deviation=0.2)


TIMINGS: Mapping[str, Callable[[Row, Device], Timing]] = {
    "CUDA, queued": _of_cuda,
    "PyTorch, events": partial(_of_pytorch, _PYTORCH),
    "PyTorch, events in a graph": partial(_of_pytorch, _PYTORCH_GRAPH),
    "PyTorch, host": _by_host,
}
"""By name of the way of timing; a kernel's own time if it is not listed."""
