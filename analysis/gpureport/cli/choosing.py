"""The device that a command uses, with notes about skipped ones."""

from gpureport.cli.console import note
from gpureport.measure.measurer import Measurer
from gpureport.measure.presence import choose_working
from gpureport.spec.models import PresentDevice
from gpureport.text import sentence


def working_device(text: str, again: PresentDevice | None = None) -> Measurer:
    """Open the device of ``--device``, as :func:`choose_working` does, and print remarks; the caller closes it."""
    choice = choose_working(text, again)
    for remark in choice.remarks:
        note(f"Note: {sentence(remark)}")
    return choice.measurer
