"""Which OpenCL devices are present and which of them run kernels; a driver that hangs or crashes harms nobody.

Each runtime is asked in a process of its own (:class:`~.child.Child`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from gpureport.errors import DeviceError, GpuReportError, InputError
from gpureport.measure.backends.runtimes import ANSWER_LIMIT_S, Runtime, RuntimeDevice, installed_runtimes
from gpureport.measure.child import Child
from gpureport.measure.measurer import Measurer
from gpureport.measure.remote import RemoteMeasurer
from gpureport.measure.selection import choose, in_order, named
from gpureport.spec.models import PresentDevice

_CPU_RUNTIMES = "Debian's and Ubuntu's package pocl-opencl-icd, or on x86-64 Intel's intel-opencl-rt from PyPI"
_NOTHING_INSTALLED = (
    "no OpenCL runtime is installed; install the device's OpenCL driver, or a runtime for the CPU: " + _CPU_RUNTIMES
)


@dataclass(frozen=True)
class Presence:
    """What is present.

    Attributes:
        candidates: devices, in the order of their indices.
        failures: of each runtime that offers no device, why not, in a sentence.
        children: processes that have loaded a runtime, which :func:`present` ends.
    """

    candidates: tuple[RuntimeDevice, ...]
    failures: tuple[str, ...] = ()
    children: dict[Runtime, Child] = field(default_factory=dict, compare=False)

    @property
    def devices(self) -> tuple[PresentDevice, ...]:
        """Return what the runtimes report of the devices."""
        return tuple(candidate.device for candidate in self.candidates)


@dataclass(frozen=True)
class ChosenDevice:
    """The device that a command will use.

    Attributes:
        candidate: the device, which runs kernels.
        measurer: which has opened it; to be closed.
        remarks: which devices were passed over, and why, in sentences.
    """

    candidate: RuntimeDevice
    measurer: Measurer
    remarks: tuple[str, ...] = ()


def find_devices() -> Presence:
    """Return the devices of all runtimes.

    Raises:
        DeviceError: there is none; says whether a runtime is missing or what is wrong with those that are there.
    """
    with present() as presence:
        return presence


@contextmanager
def present() -> Iterator[Presence]:
    """Give the devices of all runtimes, as :func:`find_devices`, and end the processes that listed them afterwards."""
    runtimes, children = installed_runtimes(), dict[Runtime, Child]()
    try:
        for runtime in runtimes:
            if not runtime.problem:
                children[runtime] = Child(runtime)
                children[runtime].send("devices")
        yield _presence(runtimes, children)
    finally:
        for child in children.values():
            child.end()


def _presence(runtimes: Sequence[Runtime], children: dict[Runtime, Child]) -> Presence:
    found: dict[tuple[object, ...], list[RuntimeDevice]] = {}
    failures = []
    for runtime in runtimes:
        try:
            if runtime.problem:
                raise DeviceError(runtime.problem)
            devices = cast("Sequence[PresentDevice]", children[runtime].answer(ANSWER_LIMIT_S))
        except DeviceError as error:
            failures.append(f"{runtime}: {error}")
            continue
        # One driver that is registered twice, by the system and by a package, shows as two equal runtimes.
        key = tuple((device.platform, device.platform_version, device.name) for device in devices)
        found.setdefault(key, [RuntimeDevice(device, runtime, n) for n, device in enumerate(devices)])
    if not found:
        if not failures:
            raise DeviceError(_NOTHING_INSTALLED)
        told = "; ".join(["OpenCL runtimes are installed, but none offers a device", *failures])
        raise DeviceError(f"{told}; repair these runtimes, or install one for the CPU: {_CPU_RUNTIMES}")
    candidates = _numbered([each for candidates in found.values() for each in candidates])
    return Presence(candidates, tuple(failures), children)


def _numbered(candidates: Sequence[RuntimeDevice]) -> tuple[RuntimeDevice, ...]:
    return tuple(
        RuntimeDevice(each.device.model_copy(update={"index": index}), each.runtime, each.position)
        for index, each in enumerate(candidates)
    )


def kernel_problems(candidates: Sequence[RuntimeDevice]) -> tuple[str | None, ...]:
    """Return for each device why it runs no kernel; ``None``: it built and ran one, with the right results."""
    opening = [RemoteMeasurer(each) for each in candidates]
    return tuple(_problem(each) for each in opening)


def _problem(opening: RemoteMeasurer) -> str | None:
    with opening:
        try:
            opening.opened(ANSWER_LIMIT_S)
        except DeviceError as error:
            return str(error)
    return None


def opened(candidate: RuntimeDevice, presence: Presence) -> Measurer:
    """Open a device and run a kernel on it, in the process that listed it, if there is one.

    Raises:
        DeviceError: it cannot be opened, or runs no kernels.
    """
    child = presence.children.pop(candidate.runtime, None)
    return RemoteMeasurer(candidate, child).opened(ANSWER_LIMIT_S)


def choose_working(text: str, again: PresentDevice | None = None) -> ChosenDevice:
    """Return the device that *text* means, as for :func:`~.selection.choose`, if it runs kernels.

    ``auto`` skips devices that do not; it means *again*, the device of an earlier run, if that is still present.

    Raises:
        InputError: no device or several devices match.
        DeviceError: no device is present, or none that was meant runs kernels.
    """
    with present() as presence:
        same = (each.index for each in presence.devices if again and _is_same(each, again))
        text = str(next(same, text)) if text == "auto" else text
        if text == "auto":
            return _best_working(presence)
        try:
            meant = choose(presence.devices, text)
        except InputError as error:
            raise _with_failures(error, presence, text) from None
        candidate = presence.candidates[meant.index]
        try:
            return ChosenDevice(candidate, opened(candidate, presence))
        except DeviceError as error:
            raise DeviceError(f"{named(meant)} runs no kernels: {error}; {remedy(meant)}") from error


def _is_same(device: PresentDevice, other: PresentDevice) -> bool:
    return device == other.model_copy(update={"index": device.index})


def _with_failures(error: InputError, presence: Presence, text: str) -> GpuReportError:
    """Return the error with the runtimes that list no devices: what was meant may be one of theirs."""
    if not presence.failures:
        return error
    told = f"{error}; these runtimes list no device: {'; '.join(presence.failures)}"
    meant = any(text.casefold() in failure.partition(": ")[0].casefold() for failure in presence.failures)
    return DeviceError(told) if meant else InputError(told)


def _best_working(presence: Presence) -> ChosenDevice:
    """Return the first device, best first, that runs kernels."""
    remarks = list(presence.failures)
    try:
        devices = in_order(presence.devices)
    except InputError as error:
        raise _with_failures(error, presence, "auto") from None
    for place, device in enumerate(devices):
        candidate = presence.candidates[device.index]
        try:
            measurer = opened(candidate, presence)
        except DeviceError as error:
            remarks.append(f"{named(device)} is skipped, because it runs no kernels: {error}")
        else:
            return ChosenDevice(candidate, measurer, (*remarks, *_others(device, devices[place + 1 :])))
    raise DeviceError("; ".join(["no device here runs kernels", *remarks, remedy(devices[-1])]))


def _others(chosen: PresentDevice, others: Sequence[PresentDevice]) -> list[str]:
    """Say which runtime of a CPU is used where others list it as well."""
    same = ", ".join(f"{each.index} = {named(each)}" for each in others if chosen.kind == each.kind == "cpu")
    return [f"{chosen.runtime} is used for this CPU; --device selects another runtime: {same}"] if same else []


def remedy(device: PresentDevice) -> str:
    """Say what to do about a device that runs no kernels."""
    if device.kind != "cpu":
        return "install its current driver, or use --device to select another device"
    return f"install another OpenCL runtime for the CPU: {_CPU_RUNTIMES}"
