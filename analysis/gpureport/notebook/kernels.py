"""Kernels of users in Python: the fields of a description, and NumPy arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gpureport.kernel_files import calibrating, described, load_kernels
from gpureport.measure.backends.sensors import free_memory_bytes
from gpureport.measure.limits import SweepSettings, run_limits
from gpureport.measure.measurer import checked
from gpureport.measure.presence import choose_working
from gpureport.notebook.api import known_device, own_database
from gpureport.notebook.frames import ReportFrames
from gpureport.records.report import RunSettings
from gpureport.report.run.conditions import affected
from gpureport.results.opening import predicted
from gpureport.run.keeping import keep_measurements, kept_measurements
from gpureport.run.pipeline import Plan, run
from gpureport.workloads import select


class Kernel:
    """A kernel of your own: OpenCL C, and what its source does not determine."""

    def __init__(
        self, source: str | Path = "", *, arrays: Mapping[str, NDArray[np.generic]] | None = None, **fields: object
    ) -> None:
        """Describe a kernel.

        Args:
            source: OpenCL C file, relative to the working directory.
            arrays: initial contents of buffers by name; buffers of other sizes repeat or shorten them.
            fields: those of a YAML description, such as ``kernel``, ``sizes`` and ``global_size``.

        Raises:
            InputError: a field is wrong.
        """
        given = {**({"source": str(source)} if source else {}), **fields}
        self._workload = described(given, Path(), arrays)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a YAML description.

        Raises:
            InputError: it is missing or invalid.
        """
        kernel = cls.__new__(cls)
        (kernel._workload,) = load_kernels([Path(path)])
        return kernel

    def predict(self, device: str, *, quick: bool = False) -> ReportFrames:
        """Predict the kernel on a device of the database.

        Raises:
            InputError: the device is unknown.
        """
        return ReportFrames(predicted(known_device(device), [self._workload], quick=quick)[0])

    def measure(self, device: str = "auto", *, quick: bool = False, seed: int = 0) -> ReportFrames:
        """Verify and measure the kernel on a present device, after the microbenchmarks that calibrate its prediction.

        The kernel's code runs on the device.

        Raises:
            InputError: there is no such device, or the kernel does not build, or gives wrong results.
        """
        silent = _Silent()
        with choose_working(device) as measurer:
            limits = run_limits(measurer.device, free_memory_bytes(measurer.device), quick=quick)
            match = own_database().match(measurer.device)
            fitting, _ = checked(measurer, [self._workload], match.device, limits, silent)
            requested = RunSettings(quick=quick, seed=seed)
            workloads = (*select(calibrating(fitting)), *fitting)
            plan = Plan(
                match=match,
                workloads=workloads,
                settings=SweepSettings(limits, seed=seed),
                requested=requested,
                kept=kept_measurements(measurer.device, match.device, requested, workloads),
            )
            report = run(plan, measurer, lambda _: None, silent)
            keep_measurements(report, workloads, [each.name for each in affected(report)])
            return ReportFrames(report)


class _Silent:
    def advance(self, label: str, done: float) -> None:
        """Show nothing."""
