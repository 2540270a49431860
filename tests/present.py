"""The devices of tests: fakes without a runtime, and the real device that runs kernels."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gpureport.data import data_dir
from gpureport.errors import DeviceError
from gpureport.measure import presence
from gpureport.measure.backends.protocol import Backend
from gpureport.measure.backends.runtimes import Runtime, RuntimeDevice
from gpureport.measure.measurer import LocalMeasurer
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
    choice = choose_working("auto")
    with choice.measurer:
        return choice.candidate


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


class _StandIn(LocalMeasurer):
    def __init__(self, backend: Backend, device: PresentDevice) -> None:
        super().__init__(backend)
        self._device = device

    @property
    def device(self) -> PresentDevice:
        return self._device


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
        return _StandIn(make(), selected.device)

    monkeypatch.setattr(presence, "present", lambda: nullcontext(found))
    monkeypatch.setattr(presence, "opened", opened)
    monkeypatch.setattr(
        presence, "kernel_problems", lambda found: tuple(reasons.get(each.device.index) for each in found)
    )
