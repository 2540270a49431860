"""What the measuring code requires of a device: a small protocol, so that tests can use an exact fake.

Programs, buffers and launches are identified by numbers that the backend issues once and never reuses.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NewType, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import DeviceError
from gpureport.records.measurement import Compilation
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Buffer, Dispatch

ProgramId = NewType("ProgramId", int)
BufferId = NewType("BufferId", int)
LaunchId = NewType("LaunchId", int)
_T = TypeVar("_T")
Source = Callable[[], dict[str, object]]
"""Returns fields of a :class:`~gpureport.records.measurement.Reading`, without those that are not known."""


class BuildError(DeviceError):
    """A kernel did not build: its file, the device, and the compiler's reason."""

    def __init__(self, source: str, device: str, reason: str) -> None:
        super().__init__(source, device, reason)
        self.source, self.device, self.reason = source, device, reason

    def __str__(self) -> str:
        return f"{self.source} does not build on {self.device}: {self.reason}"


class AllocationError(DeviceError):
    """A buffer could not be allocated."""


class LaunchError(DeviceError):
    """A kernel could not be launched, or failed while it ran."""


class Backend(Protocol):
    """One open device."""

    @property
    def device(self) -> PresentDevice:
        """The open device."""

    @property
    def compiles_at_launch(self) -> bool:
        """Whether the machine code of a kernel exists only after its first launch with a work-group size."""

    @property
    def launch_cost_s(self) -> float:
        """Shortest time between the time stamps of a dispatch that does almost nothing."""

    def now(self) -> float:
        """Return the seconds of a monotonic clock."""

    def build(self, source: str, options: str) -> ProgramId:
        """Build *source*, a file of ``kernels_cl/``. Equal requests share a build.

        Raises:
            BuildError: the compiler reports an error.
        """

    def build_ahead(self, requests: Iterable[tuple[str, str]]) -> None:
        """Start builds of (source, options) that :meth:`build` will need later, where that saves time."""

    def allocate(self, buffer: Buffer) -> BufferId:
        """Allocate a buffer and initialise it with its contents, repeated (with a fixed pattern if it has none).

        Raises:
            AllocationError: there is not enough memory, or the device refuses the size.
        """

    def read(self, buffer: BufferId, nbytes: int) -> NDArray[np.uint8]:
        """Copy the first *nbytes* of a buffer back to the host.

        Raises:
            LaunchError: work queued before it failed.
        """

    def free(self, buffer: BufferId) -> None:
        """Free one buffer; launches that use it must not run any more."""

    def prepare(self, program: ProgramId, dispatch: Dispatch, buffers: Mapping[str, BufferId]) -> LaunchId:
        """Set the arguments of one dispatch once, so that repeated launches are cheap.

        Raises:
            LaunchError: the kernel does not exist, or refuses the arguments.
        """

    def compilation(self, launch: LaunchId) -> Compilation:
        """Return the compiler's facts about the launch's kernel."""

    def run(self, launches: Sequence[LaunchId]) -> None:
        """Run each of *launches* once, in order, and wait for the end.

        Raises:
            LaunchError: a launch was refused or failed.
        """

    def time(self, untimed: Sequence[LaunchId], timed: Sequence[LaunchId]) -> float:
        """Run *untimed*, then *timed*, as back-to-back dispatches in one in-order queue.

        If the host queued them too slowly, all are run again.

        Returns:
            Device seconds from the start of the first of *timed* to the end of the last.

        Raises:
            LaunchError: a launch was refused or failed.
        """

    def clear(self) -> None:
        """Free all buffers and forget all launches; programs stay built."""


@dataclass(frozen=True)
class PowerSensor:
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
