"""What is asked of one OpenCL runtime in a process of its own, since a driver may hang or crash.

``python -m gpureport.measure.driver_process devices`` prints the devices of the only runtime that the environment
lets the loader find, ``... check POSITION`` whether the one at that position runs a kernel. Both print one line of
JSON: an object with ``devices``, or with ``problem``.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from typing import TextIO

import numpy as np

from gpureport.errors import DeviceError, GpuReportError
from gpureport.measure.opencl import OpenCLBackend, list_devices
from gpureport.measure.runtimes import ANSWER_LIMIT_S, Candidate, Runtime
from gpureport.memory import limit_remark
from gpureport.workloads.model import Buffer, Dispatch

_SOURCE = "common/check.cl"
_GROUP = 8
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux
_ITEMS = 16 * _GROUP


def devices() -> dict[str, object]:
    """Return the devices of the runtime, or why it has none."""
    try:
        return {"devices": [device.model_dump(mode="json") for device in list_devices()]}
    except GpuReportError as error:
        return {"problem": (_unloadable() or str(error)) + limit_remark()}


def _unloadable() -> str | None:
    """Say why the system cannot load the library of the runtime; ``None`` if it can."""
    try:
        ctypes.CDLL(_runtime().library)
    except OSError as error:
        return f"its library cannot be loaded ({' '.join(str(error).split())})"
    return None


def _runtime() -> Runtime:
    """Return the runtime that the environment lets the loader find."""
    return Runtime(os.environ.get("OCL_ICD_FILENAMES", ""))


def check(position: int) -> dict[str, object]:
    """Build and run a kernel on the device at *position*; return what is wrong, or ``None``."""
    try:
        device = list_devices()[position]
    except (DeviceError, IndexError):
        return {"problem": "its driver no longer lists it"}
    try:
        return {"problem": kernel_problem(OpenCLBackend(Candidate(device, _runtime(), position)))}
    except DeviceError as error:
        return {"problem": str(error).replace(f" on {device.name}", "")}


def kernel_problem(backend: OpenCLBackend) -> str | None:
    """Say what is wrong with the results of a kernel that exchanges values within work-groups; ``None``: nothing.

    Raises:
        DeviceError: the kernel does not build, or cannot be launched.
    """
    given = np.random.default_rng(0).integers(2**31, size=_ITEMS, dtype=np.uint32)
    expected = given.reshape(-1, _GROUP)[:, ::-1].ravel() + np.uint32(1)
    program = backend.build(_SOURCE, f"-DGROUP={_GROUP}")
    buffers = {
        "from": backend.allocate(Buffer(given.nbytes, given)),
        "to": backend.allocate(Buffer(given.nbytes)),
    }
    backend.run([backend.prepare(program, Dispatch("check", (_ITEMS,), (_GROUP,), ("from", "to")), buffers)])
    found = backend.read(buffers["to"], given.nbytes).view(np.uint32)
    return None if np.array_equal(found, expected) else "a kernel gave wrong results"


def main() -> None:
    """Answer what the arguments ask; whatever drivers print goes to standard error."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Should the process that started this one no longer be there to end it:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    signal.alarm(int(2 * ANSWER_LIMIT_S))
    with _only_answers() as answers:
        match sys.argv[1:]:
            case ["check", position]:
                answer = check(int(position))
            case _:
                answer = devices()
        answers.write(json.dumps(answer))


def _only_answers() -> TextIO:
    """Return standard output, and leave standard error in its place."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(kept, "w", encoding="utf-8")


if __name__ == "__main__":
    main()
