"""The data folders: inside the package in a wheel, else at the top of the checkout; and the user's own."""

import os
from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).parent


def data_dir(name: Literal["devices", "kernels_cl", "tables", "templates", "reports"]) -> Path:
    """Return the folder *name*.

    Raises:
        FileNotFoundError: the installation lacks it. A silent fallback would look like an empty database.
    """
    for root in (_PACKAGE, _PACKAGE.parents[1]):
        if (root / name).is_dir():
            return root / name
    raise FileNotFoundError(f"gpureport was installed without its {name}/ folder")


PROJECT_DEVICES = "gpureport-devices"
"""Folder of a project's own device entries; other programs may use ``devices``."""


def own_device_dirs() -> tuple[Path, ...]:
    """Return the existing folders of the user's own device entries; later ones have priority.

    ``gpureport/devices`` in the user's configuration folder (``$XDG_CONFIG_HOME`` if it is an absolute path, else
    ``~/.config``; XDG Base Directory Specification 0.8), and ``gpureport-devices`` in the working directory.
    """
    own = _own_dir("XDG_CONFIG_HOME", "~/.config") / "devices"
    return tuple(folder for folder in (own, Path(PROJECT_DEVICES)) if folder.is_dir())


def cache_dir() -> Path:
    """Return the folder of data that may be deleted, and are then made again; it may be missing."""
    return _own_dir("XDG_CACHE_HOME", "~/.cache")


def _own_dir(variable: str, usual: str) -> Path:
    configured = Path(os.environ.get(variable, ""))
    return (configured if configured.is_absolute() else Path(usual).expanduser()) / "gpureport"
