"""Copies on the device that is present, with different faults: for example endless, or writing to address 0."""

from functools import partial
from pathlib import Path

from gpureport.spec.models import Device
from gpureport.workloads.model import Limits, Parameters, Sweep
from tests.fake_run import Copy

SOURCE = str(Path(__file__).parent / "data" / "faulty_kernels.cl")


class Faulty(Copy):
    """Copies, with a *fault* of the kernel (0: none)."""

    microbenchmark = False

    def __init__(self, variant: str, fault: str = "0") -> None:
        super().__init__(source=SOURCE)
        self.variant, self.fault = variant, fault

    def build_options(self, parameters: Parameters) -> str:  # noqa: ARG002
        return f"-DFAULT={self.fault}"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:  # noqa: ARG002
        few = self.sweep(*(2**power for power in range(4, 9)))
        many = Sweep("many", self.axis, tuple({"items": 2**power} for power in range(11, 14)), "many")
        return few, many


Sound, After = partial(Faulty, "sound"), partial(Faulty, "after")
Endless, Crashing, Wrong = (partial(Faulty, *of) for of in (("endless", "1"), ("crashing", "2"), ("wrong", "3")))
Unbuildable = partial(Faulty, "unbuildable", "(")


class Huge(Faulty):
    """Needs more memory than any device has."""

    def __init__(self) -> None:
        super().__init__("huge")

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:  # noqa: ARG002
        return (self.sweep(2**8, 2**45),)
