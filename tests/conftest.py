"""What the tests of several files share."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import weasyprint  # noqa: F401 - loaded, so that no test starts a process for its documents, which takes a second

from gpureport.measure.backends.opencl import OpenCLBackend
from tests.present import working


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say how long the fuzzer runs."""
    parser.addoption("--fuzz", type=int, metavar="N", help="number of changed input files that the fuzzer tries")


@pytest.fixture(autouse=True)
def configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A configuration folder without entries of whoever runs the tests; it does not exist yet."""
    folder = tmp_path / ".config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    return folder


class _Failures(logging.Handler):
    """Keeps what WeasyPrint could not draw, of which it only tells its log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg.startswith("Failed to render"):
            self.told.append(record.getMessage())


@pytest.fixture(autouse=True)
def _everything_is_drawn() -> Iterator[None]:
    """Fail a test in which a figure of a PDF is left out, or a part of it."""
    log, failures = logging.getLogger("weasyprint"), _Failures()
    log.addHandler(failures)
    yield
    log.removeHandler(failures)
    assert not failures.told


@pytest.fixture(scope="module")
def backend() -> Iterator[OpenCLBackend]:
    """The device that ``--device auto`` would take."""
    opened = OpenCLBackend(working())
    yield opened
    opened.clear()
