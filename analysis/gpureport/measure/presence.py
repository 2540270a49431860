"""Which OpenCL devices are present and which of them run kernels; a driver that hangs or crashes harms nobody.

Each runtime is asked in a process of its own (:mod:`~.driver_process`).
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from gpureport.errors import DeviceError, GpuReportError, InputError
from gpureport.measure.runtimes import ANSWER_LIMIT_S, Candidate, Runtime, installed_runtimes
from gpureport.measure.selection import choose, in_order, named
from gpureport.memory import limit_remark
from gpureport.spec.models import PresentDevice

_LONGEST_REASON = 300
_POLL_S = 0.05
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
    """

    candidates: tuple[Candidate, ...]
    failures: tuple[str, ...] = ()

    @property
    def devices(self) -> tuple[PresentDevice, ...]:
        """Return what the runtimes report of the devices."""
        return tuple(candidate.device for candidate in self.candidates)


@dataclass(frozen=True)
class Choice:
    """The device that a command will use.

    Attributes:
        candidate: the device, which runs kernels.
        remarks: which devices were passed over, and why, in sentences.
    """

    candidate: Candidate
    remarks: tuple[str, ...] = ()


def find_devices() -> Presence:
    """Return the devices of all runtimes.

    Raises:
        DeviceError: there is none; says whether a runtime is missing or what is wrong with those that are there.
    """
    runtimes = installed_runtimes()
    answers = iter(_asked([(runtime, ("devices",)) for runtime in runtimes if not runtime.problem]))
    found: dict[tuple[object, ...], list[Candidate]] = {}
    failures = []
    for runtime in runtimes:
        answer = {"problem": runtime.problem} if runtime.problem else next(answers)
        if problem := answer.get("problem"):
            failures.append(f"{runtime}: {problem}")
            continue
        devices = [PresentDevice.model_validate(device) for device in answer["devices"]]  # type: ignore[attr-defined]
        # One driver that is registered twice, by the system and by a package, shows as two equal runtimes.
        key = tuple((device.platform, device.platform_version, device.name) for device in devices)
        found.setdefault(key, [Candidate(device, runtime, n) for n, device in enumerate(devices)])
    if not found:
        if not failures:
            raise DeviceError(_NOTHING_INSTALLED)
        told = "; ".join(["OpenCL runtimes are installed, but none offers a device", *failures])
        raise DeviceError(f"{told}; repair these runtimes, or install one for the CPU: {_CPU_RUNTIMES}")
    return Presence(_numbered([each for candidates in found.values() for each in candidates]), tuple(failures))


def _numbered(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(each.device.model_copy(update={"index": index}), each.runtime, each.position)
        for index, each in enumerate(candidates)
    )


def kernel_problems(candidates: Sequence[Candidate]) -> tuple[str | None, ...]:
    """Return for each device why it runs no kernel; ``None``: it built and ran one, with the right results."""
    answers = _asked([(each.runtime, ("check", str(each.position))) for each in candidates])
    return tuple(str(problem) if (problem := answer.get("problem")) else None for answer in answers)


def choose_working(text: str) -> Choice:
    """Return the device that *text* means, as for :func:`~.selection.choose`, if it runs kernels.

    ``auto`` skips devices that do not.

    Raises:
        InputError: no device or several devices match.
        DeviceError: no device is present, or none that was meant runs kernels.
    """
    presence = find_devices()
    if text == "auto":
        return _best_working(presence)
    try:
        meant = choose(presence.devices, text)
    except InputError as error:
        raise _with_failures(error, presence, text) from None
    candidate = presence.candidates[meant.index]
    (problem,) = kernel_problems([candidate])
    if problem:
        raise DeviceError(f"{named(meant)} runs no kernels: {problem}; {remedy(meant)}")
    return Choice(candidate)


def _with_failures(error: InputError, presence: Presence, text: str) -> GpuReportError:
    """Return the error with the runtimes that list no devices: what was meant may be one of theirs."""
    if not presence.failures:
        return error
    told = f"{error}; these runtimes list no device: {'; '.join(presence.failures)}"
    meant = any(text.casefold() in failure.partition(": ")[0].casefold() for failure in presence.failures)
    return DeviceError(told) if meant else InputError(told)


def _best_working(presence: Presence) -> Choice:
    """Return the first device, best first, that runs kernels."""
    remarks = list(presence.failures)
    try:
        devices = in_order(presence.devices)
    except InputError as error:
        raise _with_failures(error, presence, "auto") from None
    for place, device in enumerate(devices):
        candidate = presence.candidates[device.index]
        (problem,) = kernel_problems([candidate])
        if problem is None:
            return Choice(candidate, (*remarks, *_others(device, devices[place + 1 :])))
        remarks.append(f"{named(device)} is skipped, because it runs no kernels: {problem}")
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


Task = tuple[Runtime, tuple[str, ...]]
Answer = dict[str, object]


def _asked(tasks: Sequence[Task]) -> list[Answer]:
    """Ask all at once; end what does not answer within the limit.

    Raises:
        DeviceError: the system starts no process.
    """
    started: list[_Asked] = []
    try:
        started += (_Asked(runtime, arguments) for runtime, arguments in tasks)
        until = time.monotonic() + ANSWER_LIMIT_S
        return [each.answer(until) for each in started]
    except OSError as error:
        raise DeviceError(f"no process can be started to query the OpenCL runtimes ({error.strerror})") from error
    finally:
        for each in started:
            each.end()


class _Asked:
    """A process that asks a runtime."""

    def __init__(self, runtime: Runtime, arguments: Sequence[str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", "-m", "gpureport.measure.driver_process", *arguments],
            env={**os.environ, **runtime.environment()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._said: dict[int, bytes] = {}
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None  # noqa: S101 - they are pipes
            os.set_blocking(stream.fileno(), False)
            self._said[stream.fileno()] = b""

    def answer(self, until: float) -> Answer:
        """Return what the process says, or how it ended instead."""
        while (code := self._process.poll()) is None and time.monotonic() < until:
            self._read(_POLL_S)  # in short waits, so that an interrupt ends them
        self._read(0.0)
        if code is None:
            return {"problem": f"its driver did not answer within {ANSWER_LIMIT_S:g} s"}
        out, err = (text.decode(errors="replace") for text in self._said.values())
        with suppress(ValueError):
            answer = json.loads(out)
            if code == 0 and isinstance(answer, dict):
                return answer
        last = err.strip().rpartition("\n")[2]
        said = f": {last[:_LONGEST_REASON]}" if last else ""
        return {"problem": f"its driver {_ending(code)}{said}{limit_remark()}"}

    def _read(self, wait_s: float) -> None:
        ready, _, _ = select.select(list(self._said), [], [], wait_s)
        for stream in ready:
            with suppress(BlockingIOError):
                while part := os.read(stream, 65536):
                    self._said[stream] += part
        if ready and wait_s:
            time.sleep(_POLL_S / 5)  # a closed pipe is always ready

    def end(self) -> None:
        """End the process, and those that it started; what even the system cannot end is left alone."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended the process with exit code {code}"
    with suppress(ValueError):
        return f"crashed ({signal.Signals(-code).name})"
    return f"crashed (signal {-code})"
