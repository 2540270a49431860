"""The one family of exceptions that the command line turns into a sentence and an exit code.

::

    GpuReportError            exit code 1: it was tried and failed
    ├── InputError            exit code 2: an argument, a file or a field is wrong
    └── DeviceError           exit code 1: the OpenCL runtime or the device refused
"""


class GpuReportError(Exception):
    """A failure that one sentence explains; ``exit_code`` is what the command ends with."""

    exit_code = 1


class InputError(GpuReportError):
    """What the user gave is wrong; the sentence names it and says what would be right."""

    exit_code = 2


class DeviceError(GpuReportError):
    """The OpenCL runtime or the device refused: no platform, no memory, a kernel that does not build."""
