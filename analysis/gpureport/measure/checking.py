"""The verification of a workload alone, before anything is measured."""

from collections.abc import Iterable

from gpureport.errors import InputError
from gpureport.measure.limits import SweepSettings
from gpureport.measure.measurer import Measurer
from gpureport.measure.rounds import Progress
from gpureport.measure.sweep import Task
from gpureport.spec.models import Device
from gpureport.workloads.grid import WORKING_SET
from gpureport.workloads.model import Limits, Sweep, Workload

_NOTHING = Sweep("check", WORKING_SET, (), "check")
_SETTINGS = SweepSettings(Limits(2.0**30, 2.0**30, 2**10, quick=True))


def check_kernel(measurer: Measurer, workload: Workload, progress: Progress) -> str | None:
    """Build and verify a workload on an open device; return why it cannot be measured, or ``None``.

    Wrong results have the place of the expected ones in front.

    Raises:
        DeviceError: the device was lost.
    """
    measurer.start(Task(workload, [_NOTHING], _SETTINGS))
    (checked,) = measurer.finish(progress).measurements
    wrong = checked.verification is not None and not checked.verification.passed
    missing = checked.verification is None
    place = workload.place if wrong and workload.place else workload.title
    return f"{place}: {checked.skipped}" if checked.failed or wrong or missing else None


def refuse_faulty(
    measurer: Measurer, workloads: Iterable[Workload], device: Device, limits: Limits, progress: Progress
) -> None:
    """Check whether workloads fit a device, and each of them as :func:`check_kernel` does.

    Raises:
        InputError: one does not fit within the *limits* of *device*, does not build, cannot be launched, or gives wrong
            results.
        DeviceError: the device was lost.
    """
    for workload in workloads:
        workload.sweeps(device, limits)
        if problem := check_kernel(measurer, workload, progress):
            raise InputError(problem)
