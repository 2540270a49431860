"""The device that a command uses, opened, with a note about every other that was passed over."""

from gpureport.cli.console import note
from gpureport.measure.measurer import Measurer
from gpureport.measure.presence import choose_working
from gpureport.spec.models import PresentDevice
from gpureport.text import sentence


def working_device(text: str, again: PresentDevice | None = None) -> Measurer:
    """Return the device that *text* (``--device``) means, which runs kernels; to be closed.

    ``auto`` means *again*, the device of an earlier run, if that is still present.

    Raises:
        InputError: no device or several devices match.
        DeviceError: no device is present, or none that was meant runs kernels.
    """
    choice = choose_working(text, again)
    for remark in choice.remarks:
        note(f"Note: {sentence(remark)}")
    return choice.measurer
