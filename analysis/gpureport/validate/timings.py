"""What ways of timing add to kernels: calls by the software, and the clock that measures them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from gpureport.inputs import read_table
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant, sourced
from gpureport.validate.operators import Row, on_rocm


class Timing(NamedTuple):
    """What a way of timing adds to kernels: their time is at least *least_s*, and that of kernels + *before_s*."""

    before_s: float = 0.0
    least_s: float = 0.0
    deviation: float = 0.0
    """Relative standard deviation of both."""


def _declared(row: Mapping[str, Any]) -> dict[str, Timing]:
    measured_on, held_out = tuple(row["measured_on"]), row["held_out"]
    return {
        name: constant(Timing(**timing), row["source"], measured_on=measured_on, held_out=held_out, only="PyTorch")
        for name, timing in row["timings"].items()
    }


_LISTED = {
    way: {name: timing for row in rows for name, timing in _declared(row).items()}
    for way, rows in read_table("timings").items()
}
"""``tables/timings.yaml``: by way of timing, that of a software stack or of an operator."""
_LONGER_CALLS: Mapping[str, float] = sourced("validate.timings._LONGER_CALLS")
"""Host time of operators with more outputs or steps / that of element-wise ones. The difference delays the kernel."""


def _of_pytorch(way: str, row: Row, device: Device) -> Timing:
    before_s, least_s, deviation = _LISTED[way]["ROCm" if on_rocm(device) else "CUDA"]
    longer = _LONGER_CALLS.get(str(row.get("operator")), 1.0)
    if row.get("operator") == "linear" and on_rocm(device):
        longer += 1.0  # the copy of the bias is a call of its own
    return Timing(before_s + (longer - 1) * least_s, longer * least_s, deviation)


def _by_host(row: Row, device: Device) -> Timing:  # noqa: ARG001 - as of all ways
    return _LISTED["PyTorch, host"].get(str(row.get("operator")), Timing())


_CUDA_LAUNCH_S: float = sourced("validate.timings._CUDA_LAUNCH_S")
"""Time of a back-to-back dispatch of CUDA; that of entries of NVIDIA is OpenCL's."""


def _of_cuda(row: Row, device: Device) -> Timing:  # noqa: ARG001 - as of all ways
    return Timing(_CUDA_LAUNCH_S - device.launch.batched_s if device.vendor == "NVIDIA" else 0.0, deviation=0.2)


TIMINGS: Mapping[str, Callable[[Row, Device], Timing]] = {
    "CUDA, queued": _of_cuda,
    **{way: partial(_of_pytorch, way) for way in ("PyTorch, events", "PyTorch, events in a graph")},
    "PyTorch, host": _by_host,
}
"""By name of the way of timing; a kernel's own time if it is not listed."""
