"""The device that a command uses, with notes about skipped ones."""

from gpureport.cli.console import note
from gpureport.measure.measurer import Measurer
from gpureport.measure.presence import choose_working
from gpureport.spec.models import PresentDevice
from gpureport.text import sentence


def working_device(text: str, again: PresentDevice | None = None) -> Measurer:
    """Open the device selected by *text* (``--device``); the caller closes it.

    ``auto`` selects *again*, the device of an earlier run, if it is still present.

    Raises:
        InputError: no device or several devices match.
        DeviceError: no device is present, or no matching device runs kernels.
    """
    choice = choose_working(text, again)
    for remark in choice.remarks:
        note(f"Note: {sentence(remark)}")
    return choice.measurer
