"""The devices of tests: stand-ins that no runtime offers, and the one here that runs kernels."""

from collections.abc import Mapping
from functools import cache

import pytest

from gpureport.measure import presence
from gpureport.measure.presence import Presence, choose_working, find_devices
from gpureport.measure.runtimes import Candidate, Runtime
from gpureport.spec.models import PresentDevice


@cache
def working() -> Candidate:
    """The device that ``--device auto`` takes: PoCL, or another runtime where that runs no kernels."""
    return choose_working("auto").candidate


def of_wheel() -> Candidate:
    """PoCL from PyPI, whether it runs kernels on this CPU or not."""
    return next(
        each
        for each in find_devices().candidates
        if each.runtime.source and "pyopencl" in each.runtime.library and each.device.platform.startswith("Portable")
    )


def candidate(device: PresentDevice) -> Candidate:
    """A device that does not exist."""
    return Candidate(device, Runtime("none"), device.index)


def stand_in(
    monkeypatch: pytest.MonkeyPatch, *devices: PresentDevice, problems: Mapping[int, str] | None = None
) -> None:
    """Let commands find these devices; those at the indices of *problems* run no kernels."""
    found = Presence(tuple(map(candidate, devices)))
    reasons = problems or {}
    monkeypatch.setattr(presence, "find_devices", lambda: found)
    monkeypatch.setattr(
        presence, "kernel_problems", lambda asked: tuple(reasons.get(each.device.index) for each in asked)
    )
