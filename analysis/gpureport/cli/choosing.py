"""The device that a command uses, with a note about every other that was passed over."""

from gpureport.cli.console import note
from gpureport.measure.presence import choose_working
from gpureport.measure.runtimes import Candidate
from gpureport.text import sentence


def working_device(text: str) -> Candidate:
    """Return the device that *text* (``--device``) means, which runs kernels.

    Raises:
        InputError: no device or several devices match.
        DeviceError: no device is present, or none that was meant runs kernels.
    """
    choice = choose_working(text)
    for remark in choice.remarks:
        note(f"Note: {sentence(remark)}")
    return choice.candidate
