"""What the tests of several files share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import weasyprint  # noqa: F401 - loaded, so that no test starts a process for its documents, which takes a second

from gpureport.measure.opencl import OpenCLBackend, list_devices
from gpureport.measure.selection import choose


@pytest.fixture(autouse=True)
def configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A configuration folder without entries of whoever runs the tests; it does not exist yet."""
    folder = tmp_path / ".config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    return folder


@pytest.fixture(scope="module")
def backend() -> Iterator[OpenCLBackend]:
    """The device that ``--device auto`` would take."""
    opened = OpenCLBackend(choose(list_devices(), "auto"))
    yield opened
    opened.clear()
