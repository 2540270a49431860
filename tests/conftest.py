"""What the tests of several files share."""

from collections.abc import Iterator

import pytest

from gpureport.measure.opencl import OpenCLBackend, list_devices
from gpureport.measure.selection import choose


@pytest.fixture(scope="module")
def backend() -> Iterator[OpenCLBackend]:
    """The device that ``--device auto`` would take."""
    opened = OpenCLBackend(choose(list_devices(), "auto"))
    yield opened
    opened.clear()
