"""Which OpenCL devices are present and which of them run kernels; a driver that hangs or crashes harms nobody.

Each runtime is asked in a process of its own (:mod:`~.driver_process`).
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from gpureport.errors import DeviceError
from gpureport.measure.runtimes import ANSWER_LIMIT_S, Candidate, Runtime, installed_runtimes
from gpureport.measure.selection import choose, in_order, named
from gpureport.spec.models import PresentDevice

_LONGEST_REASON = 300
_NOTHING_INSTALLED = (
    "no OpenCL runtime is installed; install the device's OpenCL driver, "
    "or run on the CPU with: pip install 'gpureport[pocl]'"
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
        raise DeviceError("; ".join(["no OpenCL device found", *failures]) if failures else _NOTHING_INSTALLED)
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

    ``auto`` passes over devices that do not.

    Raises:
        InputError: no device or several devices match.
        DeviceError: no device is present, or none that was meant runs kernels.
    """
    presence = find_devices()
    meant = choose(presence.devices, text)
    if text != "auto":
        candidate = presence.candidates[meant.index]
        (problem,) = kernel_problems([candidate])
        if problem:
            raise DeviceError(f"{named(candidate.device)} runs no kernels: {problem}; {remedy(candidate.device)}")
        return Choice(candidate)
    return _best_working(presence)


def _best_working(presence: Presence) -> Choice:
    remarks = list(presence.failures)
    devices = in_order(presence.devices)
    for device in devices:
        if device.kind == "cpu":  # of these, which come last, all that there are say which to choose
            break
        candidate = presence.candidates[device.index]
        (problem,) = kernel_problems([candidate])
        if problem is None:
            return Choice(candidate, tuple(remarks))
        remarks.append(f"{named(device)} was skipped, since it runs no kernels: {problem}; {remedy(device)}")
    return _best_processor([presence.candidates[each.index] for each in devices if each.kind == "cpu"], remarks)


def _best_processor(runtimes: Sequence[Candidate], remarks: Sequence[str]) -> Choice:
    """Return the first of the runtimes of this machine's CPU, best first, that runs kernels."""
    problems = kernel_problems(runtimes)
    if None not in problems:
        reasons = [f"{named(each.device)}: {problem}" for each, problem in zip(runtimes, problems, strict=True)]
        told = "; ".join([*remarks, *reasons])
        raise DeviceError(
            f"no device here runs kernels; {told}" + (f"; {remedy(runtimes[0].device)}" if runtimes else "")
        )
    chosen = runtimes[problems.index(None)]
    others = [
        f"{each.device.index} = {named(each.device)}" + (f", which runs no kernels ({problem})" if problem else "")
        for each, problem in zip(runtimes, problems, strict=True)
        if each != chosen
    ]
    several = f"{named(chosen.device)} is used; other runtimes offer this CPU, too: {', '.join(others)}"
    return Choice(chosen, (*remarks, *([several] if others else [])))


def remedy(device: PresentDevice) -> str:
    """Say what to do about a device that runs no kernels."""
    if device.kind != "cpu":
        return "install its current driver, or use --device to choose another device"
    return (
        "install another OpenCL runtime for the CPU, with 'sudo apt-get install pocl-opencl-icd' "
        "or, on x86-64, \"pip install 'gpureport[intel]'\""
    )


Task = tuple[Runtime, tuple[str, ...]]
Answer = dict[str, object]


def _asked(tasks: Sequence[Task]) -> list[Answer]:
    """Ask all at once; what does not answer within the limit is ended."""
    started: list[_Asked] = []
    try:
        started += (_Asked(runtime, arguments) for runtime, arguments in tasks)
        until = time.monotonic() + ANSWER_LIMIT_S
        return [each.answer(until) for each in started]
    finally:
        for each in started:
            each.end()


class _Asked:
    """A process that asks a runtime."""

    def __init__(self, runtime: Runtime, arguments: Sequence[str]) -> None:
        self._out = tempfile.TemporaryFile()  # noqa: SIM115 - end() closes it
        self._err = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", "-m", "gpureport.measure.driver_process", *arguments],
            env={**os.environ, **runtime.environment()},
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
        )

    def answer(self, until: float) -> Answer:
        """Return what the process says, or how it ended instead."""
        try:
            code = self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return {"problem": f"its driver did not answer within {ANSWER_LIMIT_S:g} s"}
        try:
            answer = json.loads(_written(self._out))
        except ValueError:
            answer = None
        if code == 0 and isinstance(answer, dict):
            return answer
        last = _written(self._err).strip().rpartition("\n")[2]
        return {"problem": f"its driver {_ending(code)}" + (f": {last[:_LONGEST_REASON]}" if last else "")}

    def end(self) -> None:
        """End the process if it has not; one that even the system cannot end is left alone."""
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._out.close()
        self._err.close()


def _written(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended the process with exit code {code}"
    with suppress(ValueError):
        return f"crashed ({signal.Signals(-code).name})"
    return f"crashed (signal {-code})"
