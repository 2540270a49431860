"""Copies on the device that is present, with different faults: for example endless, or writing to address 0."""

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpureport.spec.models import Device
from gpureport.workloads.model import Job, Limits, Parameters, Sweep
from tests.fake_run import Copy

SOURCE = str(Path(__file__).parent / "data" / "faulty_kernels.cl")


class Sound(Copy):
    """Copies."""

    variant = "sound"
    microbenchmark = False
    fault = 0

    def __init__(self) -> None:
        """Read the source of the tests."""
        super().__init__(source=SOURCE)

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002
        """Select the fault."""
        return f"-DFAULT={self.fault}"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:  # noqa: ARG002
        """Two sweeps; the fault shows in the second."""
        few = self.sweep(*(2**power for power in range(4, 9)))
        many = Sweep("many", self.axis, tuple({"items": 2**power} for power in range(11, 14)), "many")
        return few, many


class After(Sound):
    """Copies, after the other workloads."""

    variant = "after"


class Endless(Sound):
    """Never ends."""

    variant = "endless"
    fault = 1


class Crashing(Sound):
    """Ends its process."""

    variant = "crashing"
    fault = 2


class CrashingOnce(Sound):
    """Ends the driver process in the second sweep, if the file ``crashed`` does not exist."""

    variant = "crashing_once"

    def __init__(self) -> None:
        """Store the process that does not measure."""
        super().__init__()
        self._spared = os.getpid()

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Crash first."""
        crashed = Path("crashed")
        if parameters["items"] > 2**9 and os.getpid() != self._spared and not crashed.exists():
            crashed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().job(parameters, rng)


class Unbuildable(Sound):
    """Does not build."""

    variant = "unbuildable"

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002
        """Leave a bracket open."""
        return "-DFAULT=("


class Slow(Sound):
    """Is verified slowly: two cases of two seconds each."""

    variant = "slow"

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
        """Take two seconds."""
        time.sleep(2.0)
        return super().expected(parameters, job, dispatches)


class Wrong(Sound):
    """Spoils a result."""

    variant = "wrong"
    fault = 3


class Huge(Sound):
    """Needs more memory than any device has."""

    variant = "huge"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Two sizes, the second of which is too large."""
        few, _ = super().sweeps(device, limits)
        return (self.sweep(2**8, 2**45),) if few.points else ()
