"""Limits of time and memory of a run. Pure."""

from typing import NamedTuple

from gpureport.errors import DeviceError, limit_remark
from gpureport.spec.models import Kind, PresentDevice
from gpureport.units import format_bytes
from gpureport.workloads.model import Limits

_SHARE_OF_MEMORY = {"cpu": 0.4, "gpu": 0.6, "accelerator": 0.6}
_LEAST_BYTES = 64 * 2**20


class SweepSettings(NamedTuple):
    """Limits for measuring one sweep."""

    limits: Limits
    """Memory, and whether the run is quick."""
    budget_s: float = 10.0
    """Time budget of a sweep, seconds, for building kernels, initialising buffers and running. A sweep takes longer if
    otherwise not every point would get a sample."""
    seed: int = 0
    """Seed of all random data and orders."""

    @property
    def longest_s(self) -> float:
        """Longest permitted sample, seconds; a point is skipped if one of its samples is expected to take longer."""
        return 2.0 if self.limits.quick else 5.0

    @property
    def min_rounds(self) -> int:
        """Least number of samples of a point; then sampling ends when its confidence interval is narrow."""
        return 5 if self.limits.quick else 6


RUN_S = {"cpu": 310.0, "gpu": 130.0, "accelerator": 130.0}
"""Time budget of a run, seconds. It is exceeded if sweeps would get less than :data:`LEAST_SWEEP_S` each."""
QUICK_RUN_S = {"cpu": 70.0, "gpu": 25.0, "accelerator": 25.0}
LONGEST_SWEEP_S = 10.0
KEY_FIGURES_SWEEP_S = {"cpu": 4.0, "gpu": 1.0, "accelerator": 1.0}
"""Time budget of a sweep if only key figures are measured."""
LEAST_SWEEP_S = {"cpu": 2.0, "gpu": 0.5, "accelerator": 0.5}
"""On CPUs the time includes building the kernels."""


def sweep_budget_s(kind: Kind, *, quick: bool, spent_s: float, sweeps_left: int) -> float:
    """Return the time budget of the next sweep, seconds: an equal share of the time left of the run.

    CPUs get more time, because each new work-group size is a new build there. *sweeps_left* includes the next one.
    """
    run_s = (QUICK_RUN_S if quick else RUN_S)[kind]
    return min(LONGEST_SWEEP_S, max(LEAST_SWEEP_S[kind], (run_s - spent_s) / max(1, sweeps_left)))


def run_limits(device: PresentDevice, free_bytes: float, *, quick: bool) -> Limits:
    """Return the limits of a run: 60 % of a GPU's free memory, 40 % on CPUs, whose memory others use too.

    Raises:
        DeviceError: too little memory is free for any measurement.
    """
    usable = _SHARE_OF_MEMORY[device.kind] * min(free_bytes, device.global_memory_bytes)
    if usable < _LEAST_BYTES:
        raise DeviceError(
            f"{device.name} has {format_bytes(free_bytes)} of memory free; "
            f"measuring needs {format_bytes(_LEAST_BYTES / _SHARE_OF_MEMORY[device.kind])}{limit_remark()}"
        )
    return Limits(
        max_bytes=usable,
        max_buffer_bytes=min(usable, device.max_allocation_bytes or usable),
        max_work_group=device.max_work_group,
        quick=quick,
    )
