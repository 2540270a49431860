"""The devices of tests: fakes without a runtime, and the real device that runs kernels."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gpureport.data import data_dir
from gpureport.errors import DeviceError
from gpureport.measure import presence
from gpureport.measure.backends.common import Backend
from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.backends.runtimes import Runtime, RuntimeDevice
from gpureport.measure.driver_process import DriverProcess
from gpureport.measure.measurer import Measurer
from gpureport.measure.presence import Presence, choose_working, find_devices
from gpureport.spec import database
from gpureport.spec.models import PresentDevice
from tests.fake_backend import FakeBackend

_read_file = database.read_file


@cache
def _shipped(path: Path, model: Any) -> Any:
    return _read_file(path, model)


def _read_once(path: Path, model: Any) -> Any:
    return (_shipped if path.is_relative_to(data_dir("devices")) else _read_file)(path, model)


database.read_file = _read_once  # the shipped database does not change while tests run, and is loaded by each command


@cache
def working() -> RuntimeDevice:
    """The device that ``--device auto`` selects: of PoCL, or of another runtime if PoCL runs no kernels."""
    with choose_working("auto") as measurer:
        return measurer.candidate


def opened(candidate: RuntimeDevice, make: Callable[[RuntimeDevice], OpenCLBackend] = OpenCLBackend) -> OpenCLBackend:
    """Open a device in this process, which loads one runtime; restore the variables that select it."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in candidate.runtime.environment().items():
            patch.setenv(name, value)
        return make(candidate)


def of_wheel() -> RuntimeDevice:
    """The device of PyPI's PoCL, whether it runs kernels on this CPU or not."""
    return next(
        each
        for each in find_devices().candidates
        if each.runtime.source and "pyopencl" in each.runtime.library and each.device.platform.startswith("Portable")
    )


def candidate(device: PresentDevice) -> RuntimeDevice:
    """A fake device."""
    return RuntimeDevice(device, Runtime("none"), device.index)


class _InProcess(DriverProcess):
    """A driver process that is none: it executes requests when their answers are awaited."""

    ended, doing = False, ""

    def __init__(self, backend: Backend) -> None:
        self.use(backend, backend.now())

    def send(self, *request: Any) -> None:
        self._request = request

    def answer(self, _: float, progress: Any = None, items: Any = None) -> Any:
        self._progress, self._items = progress, items
        name, *arguments = self._request
        return getattr(self, name)(*arguments)

    def _send(self, kind: str, value: Any) -> None:
        if kind == "item":
            self._items.append(value)

    def advance(self, what: str, step: str, done: float) -> None:
        self._progress(what, step, done)

    def arrived(self) -> tuple[()]:
        return ()

    def kill(self) -> None: ...

    def end(self) -> None: ...


class LocalMeasurer(Measurer):
    """Measures in this process, by the clock of *backend*."""

    def __init__(self, backend: Backend, device: PresentDevice | None = None) -> None:
        self.now = backend.now  # type: ignore[method-assign]
        self._backend = backend
        super().__init__(candidate(device or backend.device), _InProcess(backend))  # type: ignore[arg-type]

    def _replace(self) -> None:
        self._child.use(self._backend, self._began_s)  # type: ignore[attr-defined]

    def build_ahead(self, requests: Iterable[tuple[str, str]]) -> None: ...


def stand_in(
    monkeypatch: pytest.MonkeyPatch,
    *devices: PresentDevice,
    problems: Mapping[int, str] | None = None,
    make: Callable[[], Backend] = FakeBackend,
) -> None:
    """Let commands find these devices; *make* opens them, and those at the indices of *problems* run no kernels."""
    found = Presence(tuple(map(candidate, devices)))
    reasons = problems or {}

    def opened(selected: RuntimeDevice, presence: Presence) -> LocalMeasurer:  # noqa: ARG001
        if problem := reasons.get(selected.device.index):
            raise DeviceError(problem)
        return LocalMeasurer(make(), selected.device)

    monkeypatch.setattr(presence, "present", lambda: nullcontext(found))
    monkeypatch.setattr(presence, "opened", opened)
    monkeypatch.setattr(
        presence, "kernel_checks", lambda found: tuple((d, reasons.get(d.index)) for d in found.devices)
    )
