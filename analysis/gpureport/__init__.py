"""Predict a device's cache cliffs and tapers, measure them with OpenCL, and publish the difference.

From Python: :func:`predict` a device, :func:`load_report` of one that was measured, :func:`compare` several. Each gives
pandas frames (:mod:`gpureport.notebook.frames`). All of it is imported when it is first asked for.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpureport.notebook.api import compare, load_report, predict
    from gpureport.notebook.frames import ComparisonFrames, ReportFrames

__version__ = "0.1.0"
__all__ = ["ComparisonFrames", "ReportFrames", "__version__", "compare", "load_report", "predict"]


class _Package(ModuleType):
    """This package, in which rooms do not take the place of functions of the same name once they are imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


if not TYPE_CHECKING:  # with this function every name would be one of the package

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from gpureport.notebook import api, frames

        return getattr(frames if name.endswith("Frames") else api, name)
