"""What ways of timing add to kernels: calls by the software, and the clock that measures them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from gpureport.spec.models import Device
from gpureport.spec.uncertainty import sourced
from gpureport.validate.operators import Row, on_rocm


class Timing(NamedTuple):
    """What a way of timing adds to kernels: their time is at least *least_s*, and that of kernels + *before_s*."""

    before_s: float = 0.0
    least_s: float = 0.0
    deviation: float = 0.0
    """Relative standard deviation of both."""


_EVENTS = {stack: Timing(**sourced(f"validate.timings.events.{stack}")) for stack in ("CUDA", "ROCm")}
"""Events of an idle stream around the call of an operator. The first one passes before the host reaches the kernel, and
the second one cannot pass before the host records it."""
_GRAPH = {stack: Timing(**sourced(f"validate.timings.graph.{stack}")) for stack in ("CUDA", "ROCm")}
"""The same around the nodes of a graph."""
_HOST = {operator: Timing(**timing) for operator, timing in sourced("validate.timings.host").items()}
"""The host's clock around a call and the wait for its end. PyTorch compiled the last two functions, which then check
their arguments."""
_LONGER_CALLS: Mapping[str, float] = sourced("validate.timings._LONGER_CALLS")
"""Host time of operators with more outputs or steps / that of element-wise ones. The difference delays the kernel."""


def _of_pytorch(by_stack: Mapping[str, Timing], row: Row, device: Device) -> Timing:
    before_s, least_s, deviation = by_stack["ROCm" if on_rocm(device) else "CUDA"]
    longer = _LONGER_CALLS.get(str(row.get("operator")), 1.0)
    if row.get("operator") == "linear" and on_rocm(device):
        longer += 1.0  # the copy of the bias is a call of its own
    return Timing(before_s + (longer - 1) * least_s, longer * least_s, deviation)


def _by_host(row: Row, device: Device) -> Timing:  # noqa: ARG001 - as of all ways
    return _HOST.get(str(row.get("operator")), Timing())


_CUDA_LAUNCH_S: float = sourced("validate.timings._CUDA_LAUNCH_S")
"""Time of a back-to-back dispatch of CUDA; that of entries of NVIDIA is OpenCL's."""


def _of_cuda(row: Row, device: Device) -> Timing:  # noqa: ARG001 - as of all ways
    return Timing(_CUDA_LAUNCH_S - device.launch.batched_s if device.vendor == "NVIDIA" else 0.0, deviation=0.2)


TIMINGS: Mapping[str, Callable[[Row, Device], Timing]] = {
    "CUDA, queued": _of_cuda,
    "PyTorch, events": partial(_of_pytorch, _EVENTS),
    "PyTorch, events in a graph": partial(_of_pytorch, _GRAPH),
    "PyTorch, host": _by_host,
}
"""By name of the way of timing; a kernel's own time if it is not listed."""
