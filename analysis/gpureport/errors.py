"""The exceptions that the command line turns into a sentence and an exit code; remarks on the limit of memory.

::

    GpuReportError            exit code 1: the command failed
    ├── InputError            exit code 2: an argument, a file or a field is invalid
    ├── DeviceError           exit code 1: the OpenCL runtime or the device failed
    └── InterruptionError     exit code 130: the user stopped the command
"""

import gc

from gpureport.system import limit_bytes

LEAST_BYTES = 2**30
"""With less, libraries crash or hang while they load (observed on two cores up to 550 MB)."""


class GpuReportError(Exception):
    """A failure with a one-sentence message, and the exit code of the command."""

    exit_code = 1


class InputError(GpuReportError):
    """An invalid input; the message names it and the correction."""

    exit_code = 2


class DeviceError(GpuReportError):
    """A failure of the OpenCL runtime or the device: no platform, no memory, a kernel that does not build."""


class InterruptionError(GpuReportError):
    """The user stopped the command."""

    exit_code = 130


def limit_remark() -> str:
    """Return a remark about the memory limit for error messages; empty without a limit."""
    limit = limit_bytes()
    return "" if limit == float("inf") else f"; memory is limited to {limit / 2**20:.0f} MiB (ulimit -v)"


def collect_rarely() -> None:
    """Let garbage be collected rarely. It would take a sixth of a command and find nothing: records are kept."""
    gc.set_threshold(1_000_000, 20, 20)
