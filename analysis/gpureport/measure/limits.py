"""How far a run may go, and what the live device offers, as plain data. Pure."""

from dataclasses import dataclass

from gpureport.errors import DeviceError
from gpureport.spec.models import Kind, PresentDevice
from gpureport.workloads.model import Features, Limits

_SHARE_OF_MEMORY = {"cpu": 0.4, "gpu": 0.6, "accelerator": 0.6}
_LEAST_BYTES = 64 * 2**20


LONGEST_POINT_S = 5.0
"""What a sample may take, seconds."""
QUICK_LONGEST_POINT_S = 2.0


@dataclass(frozen=True)
class SweepSettings:
    """What bounds the measuring of one sweep.

    Attributes:
        limits: memory, and whether the run is quick.
        budget_s: time that a sweep should take, seconds: building its kernels, filling its buffers, running. It takes
            longer where every point could not be sampled otherwise.
        seed: of all random data and orders.
        longest_point_s: a point of which one sample should take longer is left out.
    """

    limits: Limits
    budget_s: float = 10.0
    seed: int = 0
    longest_point_s: float = LONGEST_POINT_S

    @property
    def min_rounds(self) -> int:
        """Samples of a point before its interval may end its sampling."""
        return 5 if self.limits.quick else 7

    @property
    def max_rounds(self) -> int:
        """Most samples of a point."""
        return 20 if self.limits.quick else 60


RUN_S = {"cpu": 330.0, "gpu": 130.0, "accelerator": 130.0}
"""What a whole run may take, seconds, while sweeps still get :data:`LEAST_SWEEP_S` each."""
QUICK_RUN_S = {"cpu": 70.0, "gpu": 25.0, "accelerator": 25.0}
LONGEST_SWEEP_S = 10.0
LEAST_SWEEP_S = {"cpu": 2.0, "gpu": 0.5, "accelerator": 0.5}
"""Builds of a processor's kernels count, too."""


def sweep_budget_s(kind: Kind, *, quick: bool, spent_s: float, sweeps_left: int) -> float:
    """Return the seconds that the next sweep may take: an equal share of what is left of the run.

    What a sweep does not need goes to those after it.

    Args:
        kind: of the device; processors get more time, since each new work-group size is a new build there.
        quick: a quick run.
        spent_s: time since the run began.
        sweeps_left: how many are still to come, the next one included.
    """
    whole_s = (QUICK_RUN_S if quick else RUN_S)[kind]
    return min(LONGEST_SWEEP_S, max(LEAST_SWEEP_S[kind], (whole_s - spent_s) / max(1, sweeps_left)))


def run_limits(device: PresentDevice, free_bytes: float, *, quick: bool) -> Limits:
    """Return what a run may use: 60 % of the free memory of a GPU, 40 % on CPUs, which others use, too.

    Args:
        device: the live device.
        free_bytes: memory that is free now.
        quick: fewer points and smaller sizes.

    Raises:
        DeviceError: too little is left for any measurement.
    """
    usable = _SHARE_OF_MEMORY[device.kind] * min(free_bytes, device.global_memory_bytes)
    if usable < _LEAST_BYTES:
        raise DeviceError(
            f"{device.name} has {free_bytes / 2**20:.0f} MiB of memory free; "
            f"measuring needs {_LEAST_BYTES / _SHARE_OF_MEMORY[device.kind] / 2**20:.0f} MiB"
        )
    return Limits(
        max_bytes=usable,
        max_buffer_bytes=min(usable, device.max_allocation_bytes or usable),
        max_work_group=device.max_work_group,
        quick=quick,
    )


def features(device: PresentDevice) -> Features:
    """Return what variants ask for."""
    return Features(
        extensions=frozenset(device.extensions),
        vendor=device.vendor,
        kind=device.kind,
        local_memory_bytes=device.local_memory_bytes,
    )
