"""Where the data folders are: beside the package in a wheel, at the top of the checkout otherwise."""

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).parent
_CHECKOUT = _PACKAGE.parents[1]


def data_dir(name: Literal["devices", "kernels_cl", "templates", "reports"]) -> Path:
    """Return the folder *name*.

    Raises:
        FileNotFoundError: the installation lacks it (never fall back silently: a missing ``devices/``
            would otherwise look like an empty database).
    """
    for root in (_PACKAGE, _CHECKOUT):
        if (root / name).is_dir():
            return root / name
    raise FileNotFoundError(f"gpureport was installed without its {name}/ folder")
