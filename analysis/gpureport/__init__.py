"""Predict cliffs (capacity transitions) and tapers (saturation points) of a device, measure and compare them.

:func:`predict` a device, :func:`load_report` of a measured one, :func:`compare` several, or read the stored runs of a
:func:`fleet`; the results are pandas frames (:mod:`gpureport.notebook`). :class:`Kernel` does the same for a
kernel of your own. The modules behind these names are imported on first use.
"""

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # `typing` takes a while to import, during which an interrupt would print a traceback
if TYPE_CHECKING:
    from gpureport.notebook import ComparisonFrames, Kernel, ReportFrames, compare, fleet, load_report, predict

__version__ = "0.1.0"
__all__ = ["ComparisonFrames", "Kernel", "ReportFrames", "__version__", "compare", "fleet", "load_report", "predict"]


class _Package(ModuleType):
    """This package; importing a subpackage does not replace the function of the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


if not TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("gpureport.notebook"), name)
