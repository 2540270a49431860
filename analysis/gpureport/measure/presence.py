"""Which OpenCL devices are present, which of them run kernels, and which one a command uses.

Each runtime is queried in a separate process (:class:`~.child.Child`), so that a driver may hang or crash.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain

from gpureport.errors import DeviceError, GpuReportError, InputError
from gpureport.measure.backends.runtimes import ANSWER_LIMIT_S, Runtime, RuntimeDevice, preference
from gpureport.measure.child import Child, drivers
from gpureport.measure.measurer import Measurer
from gpureport.spec.models import PresentDevice
from gpureport.system import of_system, proc_is_missing
from gpureport.text import quoted

_CPU_RUNTIMES = of_system(
    linux="Debian's and Ubuntu's package pocl-opencl-icd, or on x86-64 pip install 'gpureport[pocl]' or "
    "'gpureport[intel]'",
    macos="PoCL, with a pyopencl that uses it, from conda-forge",
    windows="Intel's CPU Runtime for OpenCL Applications",
)
_NOTHING_INSTALLED = (
    "no OpenCL runtime is installed; install the device's OpenCL driver, or a runtime for the CPU: " + _CPU_RUNTIMES
)
_MOUNT_PROC = "mount /proc, without which runtimes for CPUs find neither memory nor processors"


@dataclass(frozen=True)
class Presence:
    """The devices that are present.

    Attributes:
        candidates: devices, in the order of their indices.
        reasons: why a runtime lists no device, by its name.
        children: processes that have loaded a runtime; :func:`present` ends them.
    """

    candidates: tuple[RuntimeDevice, ...]
    reasons: Mapping[str, str] = field(default_factory=dict)
    children: dict[Runtime, Child | None] = field(default_factory=dict, compare=False)

    @property
    def devices(self) -> tuple[PresentDevice, ...]:
        """Return the devices as the runtimes report them."""
        return tuple(candidate.device for candidate in self.candidates)

    @property
    def failures(self) -> tuple[str, ...]:
        """Return a sentence for each runtime without a device."""
        return tuple(f"{runtime}: {reason}" for runtime, reason in self.reasons.items())


def find_devices() -> Presence:
    """Return the devices of all runtimes.

    Raises:
        DeviceError: there is none; the message says whether no runtime is installed or why each one failed.
    """
    with present() as presence:
        return replace(presence, children={})


@contextmanager
def present() -> Iterator[Presence]:
    """Yield the devices of all runtimes, as :func:`find_devices`; end the processes that listed them afterwards."""
    with drivers() as children:
        yield _presence(children)


def _presence(children: dict[Runtime, Child | None]) -> Presence:
    found: dict[tuple[object, ...], list[RuntimeDevice]] = {}
    reasons: dict[str, str] = {}
    for runtime, child in children.items():
        try:
            if child is None:
                raise DeviceError(str(runtime.problem))
            devices: Sequence[PresentDevice] = child.answer(ANSWER_LIMIT_S)
        except DeviceError as error:
            reasons[str(runtime)] = str(error)
            continue
        # A driver that is registered twice, by the system and by a package, appears as two equal runtimes.
        key = tuple((device.platform, device.platform_version, device.name) for device in devices)
        found.setdefault(key, [RuntimeDevice(device, runtime, n) for n, device in enumerate(devices)])
    if not found:
        if not reasons:
            raise DeviceError(_NOTHING_INSTALLED)
        known = "" if set(reasons) == {str(Runtime(""))} else "OpenCL runtimes are installed, but none lists a device; "
        install = f"repair these runtimes, or install one for the CPU: {_CPU_RUNTIMES}"
        repair = _MOUNT_PROC if proc_is_missing() else install
        raise DeviceError(f"{known}{'; '.join(Presence((), reasons).failures)}; {repair}")
    candidates = (
        replace(each, device=each.device.model_copy(update={"index": index}))
        for index, each in enumerate(chain.from_iterable(found.values()))
    )
    return Presence(tuple(candidates), reasons, children)


def kernel_checks(presence: Presence) -> tuple[tuple[PresentDevice, str | None], ...]:
    """Return each device, and why it runs no kernel; ``None``: it built and ran one, with correct results."""
    checks: list[tuple[PresentDevice, str | None]] = []
    for opening in [_opening(each, presence) for each in presence.candidates]:  # all at the same time
        with opening:
            try:
                checks.append((opening.opened(ANSWER_LIMIT_S).device, None))
            except DeviceError as error:
                checks.append((opening.device, str(error)))
    return tuple(checks)


def opened(candidate: RuntimeDevice, presence: Presence) -> Measurer:
    """Open a device and run a kernel on it, in the process that listed it, if there is one."""
    return _opening(candidate, presence).opened(ANSWER_LIMIT_S)


def _opening(candidate: RuntimeDevice, presence: Presence) -> Measurer:
    return Measurer(candidate, presence.children.pop(candidate.runtime, None))


def choose_working(text: str, again: PresentDevice | None = None) -> Measurer:
    """Open the device that *text* selects, as :func:`choose`, if it runs kernels; the caller closes it.

    ``auto`` skips devices that run no kernels. It selects *again*, the device of an earlier run, if that is present.
    The measurer's remarks are sentences on the devices that were skipped, with the reasons.

    Raises:
        InputError: no device or several devices match.
        DeviceError: no device is present, or none that matches runs kernels.
    """
    with present() as presence:
        again = again and again.model_copy(update={"timed_by_host": False})  # it is not open yet
        same = (n for n, each in enumerate(presence.devices) if again and each == again.model_copy(update={"index": n}))
        text = str(next(same, text)) if text == "auto" else text
        try:
            devices = in_order(presence.devices) if text == "auto" else [choose(presence.devices, text)]
        except InputError as error:
            raise _with_failures(error, presence, text) from None
        remarks = list(presence.failures) if text == "auto" else []
        for place, device in enumerate(devices):
            try:
                measurer = opened(presence.candidates[device.index], presence)
            except DeviceError as error:
                if text != "auto":
                    raise DeviceError(f"{named(device)} runs no kernels: {error}; {remedy(device)}") from error
                remarks.append(f"{named(device)} is skipped because it runs no kernels: {error}")
                continue
            following = devices[place + 1 :] if device.on_host else ()
            if others := [f"{each.index} = {named(each)}" for each in following if each.on_host]:
                same_cpu = f"{device.runtime} is used for this CPU; to use another runtime, pass --device"
                remarks.append(f"{same_cpu}: {', '.join(others)}")
            measurer.remarks += tuple(remarks)
            return measurer
        raise DeviceError("; ".join(["no device of this machine runs kernels", *remarks, remedy(devices[-1])]))


def _with_failures(error: InputError, presence: Presence, text: str) -> GpuReportError:
    """Return the error with the runtimes that list no device: *text* may select one of theirs."""
    if not presence.failures:
        return error
    message = f"{error}; these runtimes list no device: {'; '.join(presence.failures)}"
    matches = any(text.casefold() in runtime.casefold() for runtime in presence.reasons)
    return DeviceError(message) if matches else InputError(message)


def remedy(device: PresentDevice) -> str:
    """Return what to do about a device that runs no kernels."""
    if not device.on_host:
        return "install its current driver, or select another device with --device"
    return f"install another OpenCL runtime for the CPU: {_CPU_RUNTIMES}"


def choose(devices: Sequence[PresentDevice], text: str) -> PresentDevice:
    """Return the device that *text* selects.

    Args:
        devices: those that are present.
        text: ``auto`` (GPU before accelerator before CPU, then the larger units x clock, or the better runtime of a
            CPU; never a simulator), an index, or a part of the device's or platform's name, in any case.

    Raises:
        InputError: no device or several devices match.
    """
    if text == "auto":
        return in_order(devices)[0]
    if not text.strip():
        raise InputError(f"--device: no device given; {_usage(devices)}")
    if text.isdecimal():
        matches = [device for device in devices if device.index == int(text)]
    else:
        names = [f"{each.name}\0{each.platform}\0{each.platform_version}".casefold() for each in devices]
        matches = [each for each, own in zip(devices, names, strict=True) if text.casefold() in own]
    if len(matches) == 1:
        return matches[0]
    problem = "matches several devices" if matches else "matches no device"
    raise InputError(f"--device: {quoted(text)} {problem}; {_usage(devices)}")


def in_order(devices: Sequence[PresentDevice]) -> list[PresentDevice]:
    """Return the devices that ``auto`` may select, the best first; an InputError if all are programs in their place."""
    if not (real := [device for device in devices if not device.is_software]):
        raise InputError(
            "--device: 'auto' selects no simulator, emulated processor or software renderer; "
            f"select one of: {_listing(devices)}"
        )
    return sorted(real, key=preference)


def named(device: PresentDevice) -> str:
    """Return the names of a device and its runtime."""
    return f"{device.name} ({device.runtime})"


def _listing(devices: Sequence[PresentDevice]) -> str:
    return ", ".join(f"{device.index} = {named(device)}" for device in devices) or "(none)"


def _usage(devices: Sequence[PresentDevice]) -> str:
    return f"use 'auto', an index, or a part of one name of: {_listing(devices)}"
