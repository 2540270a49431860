"""The exceptions that the command line turns into a sentence and an exit code.

::

    GpuReportError            exit code 1: the command failed
    ├── InputError            exit code 2: an argument, a file or a field is invalid
    ├── DeviceError           exit code 1: the OpenCL runtime or the device failed
    └── InterruptionError     exit code 130: the user stopped the command
"""


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
