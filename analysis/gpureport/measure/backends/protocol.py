"""What the measuring code needs of a device: a small protocol, so that tests can put an exact fake there.

Programs, buffers and launches are named by numbers that the backend hands out and never uses twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NewType, Protocol

import numpy as np
from numpy.typing import NDArray

from gpureport.errors import DeviceError
from gpureport.records.measurement import Compilation
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Buffer, Dispatch

ProgramId = NewType("ProgramId", int)
BufferId = NewType("BufferId", int)
LaunchId = NewType("LaunchId", int)


class BuildError(DeviceError):
    """A kernel did not build; ``log`` is what the compiler said."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class AllocationError(DeviceError):
    """A buffer could not be had."""


class LaunchError(DeviceError):
    """A kernel could not be launched, or failed while it ran."""


class Backend(Protocol):
    """One open device."""

    @property
    def device(self) -> PresentDevice:
        """What is open."""
        ...

    @property
    def launch_cost_s(self) -> float:
        """Shortest time between the stamps of one dispatch that does next to nothing."""
        ...

    def now(self) -> float:
        """Return seconds of a clock that never goes back."""
        ...

    def build(self, source: str, options: str) -> ProgramId:
        """Build *source*, a file of ``kernels_cl/``. Equal requests share a build.

        Raises:
            BuildError: the compiler refused.
        """
        ...

    def build_ahead(self, requests: Iterable[tuple[str, str]]) -> None:
        """Begin to build sources with options that :meth:`build` will be asked for, where that saves time."""
        ...

    def allocate(self, buffer: Buffer) -> BufferId:
        """Allocate a buffer and fill it with its contents, repeated (a fixed pattern where it has none).

        Raises:
            AllocationError: there is not enough memory, or the device refuses the size.
        """
        ...

    def read(self, buffer: BufferId, nbytes: int) -> NDArray[np.uint8]:
        """Copy the first *nbytes* of a buffer back to the host.

        Raises:
            LaunchError: work queued before it failed.
        """
        ...

    def free(self, buffer: BufferId) -> None:
        """Give one buffer back; launches that use it must not run any more."""
        ...

    def prepare(self, program: ProgramId, dispatch: Dispatch, buffers: Mapping[str, BufferId]) -> LaunchId:
        """Set the arguments of one dispatch once, so that launching it again and again is cheap.

        Raises:
            LaunchError: the kernel does not exist, or refuses the arguments.
        """
        ...

    def compilation(self, launch: LaunchId) -> Compilation:
        """Say what the compiler made of the launch's kernel."""
        ...

    def run(self, launches: Sequence[LaunchId]) -> None:
        """Run each of *launches* once, in order, and wait for the end.

        Raises:
            LaunchError: a launch was refused or failed.
        """
        ...

    def time(self, untimed: Sequence[LaunchId], timed: Sequence[LaunchId]) -> float:
        """Run *untimed*, then *timed*, back to back in one in-order queue; all again if the host was too slow.

        Returns:
            Device seconds from the start of the first of *timed* to the end of the last.

        Raises:
            LaunchError: a launch was refused or failed.
        """
        ...

    def trace(self, launches: Sequence[LaunchId]) -> list[tuple[float, float]]:
        """Run each of *launches* once, in order, one after the other as it comes.

        Returns:
            For each, device seconds from the start of the first to its own start, and how long it took.

        Raises:
            LaunchError: a launch was refused or failed.
        """
        ...

    def rest(self, most_s: float) -> None:
        """Leave the device idle until its clocks are known to have fallen, or for *most_s* seconds."""
        ...

    def clear(self) -> None:
        """Give back all buffers and forget all launches; programs stay built."""
        ...
