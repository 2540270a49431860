"""Fixtures of several test files."""

import gc
import logging
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.records.report import Report, save_report
from gpureport.report.pdf import pdf_problem
from gpureport.spec.database import Database, load_database
from gpureport.spec.models import Device
from tests.fake_run import empty_report
from tests.make_report import make_report
from tests.present import opened, working

# A busy machine draws examples slowly; that is no fault of a test.
settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")

signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell, and so their children, ignore it
gc.set_threshold(50_000, 20, 50)  # with the usual one, a fifth of the time is spent on looking for cycles


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this suite."""
    parser.addoption("--all", action="store_true", help="also run the tests that are marked slow")
    parser.addoption("--renew", action="store_true", help="write the golden texts of documents anew")
    parser.addoption("--fuzz", type=int, metavar="N", help="number of changed input files that the fuzzer tries")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out slow tests, unless all or single ones are requested; a worker runs all tests of a file."""
    single = any("::" in argument for argument in config.args)
    if not (config.getoption("all") or single or config.option.keyword or config.option.markexpr):
        left_out = {item for item in items if item.get_closest_marker("slow")}
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(autouse=True)
def configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration folder without the user's own entries, which does not exist yet; no width of a terminal.

    Commands in this process start no drivers before they need them, as fakes may take their place.
    """
    monkeypatch.setattr("gpureport.cli.app._drivers", nullcontext)
    folder = tmp_path / ".config"
    monkeypatch.delenv("COLUMNS", raising=False)  # xdist sets it
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    return folder


class _Failures(logging.Handler):
    """Stores what WeasyPrint could not draw; it reports this only in its log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith(
            ("Failed to render", "Failed to load inline SVG", "Failed to load image at 'figure")
        ):
            self.messages.append(record.getMessage())


@pytest.fixture(autouse=True)
def _everything_is_drawn() -> Iterator[None]:
    """Fail a test if a figure of a PDF is missing or incomplete."""
    log, failures = logging.getLogger("weasyprint"), _Failures()
    log.addHandler(failures)
    yield
    log.removeHandler(failures)
    assert not failures.messages


@pytest.fixture(scope="session")
def pango() -> None:
    """Skip a test that makes a PDF without Pango, which not every user may install."""
    if problem := pdf_problem():
        pytest.skip(problem)


@pytest.fixture(scope="session")
def database() -> Database:
    """The shipped database; tests that change one load their own."""
    return load_database()


@pytest.fixture(scope="session")
def report() -> Report:
    """The full synthetic report."""
    return make_report()


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A stored report of a run without curves, which is soon drawn."""
    path = tmp_path / "report.json"
    save_report(empty_report(), path)
    return path


@pytest.fixture(scope="session")
def cpu(database: Database) -> Device:
    """A CPU with a cache for each of several groups of cores."""
    return database.device("cpu/ryzen_7_3700x")


@pytest.fixture(scope="module")
def backend() -> Iterator[OpenCLBackend]:
    """The device of ``--device auto``."""
    backend = opened(working())
    yield backend
    backend.clear()
