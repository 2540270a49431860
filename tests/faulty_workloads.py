"""Copies on the device that is present, with different faults: for example endless, or writing to address 0."""

import os
import signal
from pathlib import Path

import numpy as np

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
        super().__init__(source=SOURCE)

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002
        return f"-DFAULT={self.fault}"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:  # noqa: ARG002
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
        super().__init__()
        self._spared = os.getpid()

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        crashed = Path("crashed")
        if parameters["items"] > 2**9 and os.getpid() != self._spared and not crashed.exists():
            crashed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().job(parameters, rng)


class Unbuildable(Sound):
    """Does not build."""

    variant = "unbuildable"

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002
        return "-DFAULT=("


class Wrong(Sound):
    """Spoils a result."""

    variant = "wrong"
    fault = 3


class Huge(Sound):
    """Needs more memory than any device has."""

    variant = "huge"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        few, _ = super().sweeps(device, limits)
        return (self.sweep(2**8, 2**45),) if few.points else ()
