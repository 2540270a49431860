"""A whole run on a simulated device: two workloads that copy, one of them a microbenchmark."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest

from gpureport.cli import shared
from gpureport.measure.limits import SweepSettings
from gpureport.records import report as document
from gpureport.run.pipeline import Plan, run
from gpureport.spec.database import load_database
from gpureport.spec.models import Device, PresentDevice
from gpureport.workloads.model import Demand, Limits, Parameters, Stream, Sweep, Workload
from tests.fake_backend import LIMITS, PRESENT, CopyWorkload, FakeBackend, Steps
from tests.make_report import make_report
from tests.present import LocalMeasurer, stand_in

SIZES = tuple(2**power for power in range(6, 15))


class Copy(CopyWorkload):
    """The microbenchmark."""

    microbenchmark = True

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:  # noqa: ARG002
        return (self.sweep(*SIZES),)

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
        items = parameters["items"]
        return Demand(items, (1,), (Stream("from", items, 4, 4), Stream("to", items, 4, 4, write=True)))


class Again(Copy):
    """The same, calibrated by the microbenchmark."""

    variant = "again"
    microbenchmark = False


class Wide(Copy):
    """Built with options of its own."""

    variant = "wide"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:  # noqa: ARG002
        return (self.sweep(*SIZES, local=2),)

    def verification(self) -> Sequence[Parameters]:
        return ({"items": 64, "local": 2},)


class Two(Copy):
    """With two sweeps."""

    variant = "two"
    microbenchmark = False

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:  # noqa: ARG002
        points = tuple({"items": items} for items in SIZES[4:])
        return self.sweep(*SIZES), Sweep("many", self.axis, points, "many")


class Slow(Copy):
    """Should take so long at its largest size that it is left out."""

    variant = "slow"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:  # noqa: ARG002
        return (self.sweep(*SIZES, 2**14 + 1),)

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        demand = super().demand(parameters, device)
        slow = parameters["items"] > 2**14
        return replace(demand, operations={"instruction": 1e15}) if slow else demand


class Missing(Copy):
    """Needs what the device lacks."""

    variant = "missing"

    def missing(self, present: PresentDevice) -> str | None:  # noqa: ARG002
        return "the device has no such thing"


def plan(*workloads: Workload) -> Plan:
    """A plan of *workloads* on the fake device."""
    requested = document.RunSettings(quick=True, seed=3)
    return Plan(load_database().match(PRESENT), workloads, SweepSettings(LIMITS, budget_s=0.01, seed=3), requested)


def saved_reports(
    *workloads: Workload, backend: FakeBackend | None = None, earlier: document.Report | None = None
) -> list[document.Report]:
    """What a run of *workloads* on the fake device saves: reports of its states, the last one complete."""
    saved: list[document.Report] = []
    measurer = LocalMeasurer(backend or FakeBackend())
    assert run(plan(*workloads), measurer, saved.append, Steps(), earlier) == saved[-1]
    return saved


@cache
def fake_report() -> document.Report:
    """The report of a run of a microbenchmark and what it calibrates."""
    return saved_reports(Copy(), Again())[-1]


def empty_report() -> document.Report:
    """A report of a run without curves, which is soon drawn."""
    nothing = dict.fromkeys(("predictions", "measurements", "observations", "findings"), ())
    return make_report(families=1).model_copy(update=nothing)


def install(
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[], FakeBackend] = FakeBackend,
    workloads: tuple[CopyWorkload, ...] = (Copy(), Again()),
) -> None:
    """Let the command line find the fake device, and these workloads only."""
    stand_in(monkeypatch, PRESENT, make=make)
    monkeypatch.setattr(shared, "selected", lambda *_, **__: workloads)
