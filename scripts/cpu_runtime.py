"""Print the OpenCL runtime that runs kernels on the CPU, or the reason why none does and exit with code 1.

Exit with code 2 if no other runtime could help.

``scripts/setup`` quotes the line. With the argument ``gpu`` it looks for a GPU or accelerator instead.
"""

import sys
from collections.abc import Sequence

from gpureport.errors import DeviceError, InputError
from gpureport.measure.backends.runtimes import RuntimeDevice, installed_runtimes
from gpureport.measure.presence import Presence, find_devices, in_order, kernel_checks, named
from gpureport.system import proc_is_missing
from gpureport.text import shorten

_LONGEST_REASON = 400


def answer(kinds: Sequence[str]) -> tuple[bool, str]:
    """Return whether a device of *kinds* runs kernels, and its name or the reason why none does."""
    if not installed_runtimes():
        return False, "no OpenCL runtime is installed"
    try:
        presence = find_devices()
    except DeviceError as error:
        return False, shorten(str(error), _LONGEST_REASON)
    devices = _of_kinds(presence.candidates, kinds)
    problems = [problem for _, problem in kernel_checks(Presence(tuple(devices)))]
    if None in problems:
        return True, named(devices[problems.index(None)].device)
    reasons = [f"{named(each.device)} runs no kernels: {why}" for each, why in zip(devices, problems, strict=True)]
    reasons = [*reasons, *presence.failures] or ["no OpenCL runtime for the CPU is installed"]
    return False, "; ".join(shorten(reason, _LONGEST_REASON) for reason in reasons)


def _of_kinds(candidates: Sequence[RuntimeDevice], kinds: Sequence[str]) -> list[RuntimeDevice]:
    """Return the devices of *kinds* except simulators, the best first."""
    try:
        devices = in_order([candidate.device for candidate in candidates])
    except InputError:  # only simulators
        return []
    return [candidates[device.index] for device in devices if device.kind in kinds]


def main() -> int:
    """Print the answer."""
    runs, text = answer(("gpu", "accelerator") if sys.argv[1:] == ["gpu"] else ("cpu",))
    sys.stdout.write(f"{text}\n")
    return 0 if runs else 2 if proc_is_missing() else 1


if __name__ == "__main__":
    sys.exit(main())
