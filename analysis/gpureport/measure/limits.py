"""How far a run may go, and what the live device offers, as plain data. Pure."""

from dataclasses import dataclass

from gpureport.errors import DeviceError
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Features, Limits

_SHARE_OF_MEMORY = {"cpu": 0.4, "gpu": 0.6, "accelerator": 0.6}
_LEAST_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Settings:
    """What bounds the measuring of one sweep.

    Attributes:
        limits: memory, and whether the run is quick.
        sweep_budget_s: time that running the kernels of a sweep may take, seconds (building them and filling
            buffers come on top); ``None``: 10 s, 2 s when quick.
        seed: of all random data and orders.
    """

    limits: Limits
    sweep_budget_s: float | None = None
    seed: int = 0

    @property
    def budget_s(self) -> float:
        """Seconds that running the kernels of a sweep may take."""
        if self.sweep_budget_s is not None:
            return self.sweep_budget_s
        return 2.0 if self.limits.quick else 10.0

    @property
    def min_rounds(self) -> int:
        """Samples of a point before its interval may end its sampling."""
        return 5 if self.limits.quick else 7

    @property
    def max_rounds(self) -> int:
        """Most samples of a point."""
        return 20 if self.limits.quick else 60


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
