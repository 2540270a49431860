"""Types and errors of open devices, and what reads their state.

Programs, buffers and launches are identified by numbers that a device issues once and never reuses.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, NewType, TypeAlias, TypeVar

from gpureport.errors import DeviceError

if TYPE_CHECKING:
    from gpureport.measure.backends.opencl import OpenCLBackend

Backend: TypeAlias = "OpenCLBackend"
"""One open device. Only the process that loads its driver imports the class; tests use an exact fake."""
ProgramId = NewType("ProgramId", int)
BufferId = NewType("BufferId", int)
LaunchId = NewType("LaunchId", int)
_T = TypeVar("_T")
Source = Callable[[], dict[str, object]]
"""Returns fields of a :class:`~gpureport.records.measurement.Reading`, without those that are not known."""


class AllocationError(DeviceError):
    """A buffer could not be allocated."""


class PowerSensor(NamedTuple):
    """Reads power, energy and state of one device; each value is optional.

    Attributes:
        name: what reports the values: ``NVML``.
        scope: what the power includes.
        limit_w: returns the power limit that the driver enforces.
    """

    name: str
    scope: str
    limit_w: Callable[[], float | None]
    read: Source


def known(**fields: _T | None) -> dict[str, _T]:
    """Return the fields that are known, those with a value."""
    return {name: value for name, value in fields.items() if value is not None}


def share(percent: int | None) -> float | None:
    """Return a percentage as a share of one; ``None`` for any other number."""
    return percent / 100 if percent is not None and 0 <= percent <= 100 else None
