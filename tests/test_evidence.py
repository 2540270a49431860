"""Compiled code compared with the model."""

from dataclasses import replace

import numpy as np
import pytest

from gpureport.findings.evidence import code_evidence, moves_as_modelled
from gpureport.records.curves import SweepKey
from gpureport.records.finding import CodeEvidence
from gpureport.records.measurement import Compilation, MachineCode, MeasuredPoint, Measurement
from gpureport.spec.models import Device
from gpureport.workloads.model import Demand, Dispatch, Job, Parameters, Stream
from tests.fake_backend import CopyWorkload
from tests.toy import TOY

COPY = MachineCode(
    form="PTX",
    counts={"branch": 1},
    global_loads={4: 1},
    global_stores={4: 1},
    loops=False,
)


class Copies(CopyWorkload):
    """Copies a word per work-item; points with equal options share a build."""

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002 - the same everywhere
        items = parameters["items"]
        streams = (Stream("from", items, 4, 4), Stream("to", items, 4, 4, write=True))
        return Demand(work_items=items, work_group=(64,), streams=streams)


class Two(Copies):
    """Alternates between two kernels."""

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        job = super().job(parameters, rng)
        return Job(job.buffers, (*job.dispatches, Dispatch("other", (1,), (1,), ())))


def compiled(code: MachineCode | None, options: str = "-DLOCAL=1 -w") -> Compilation:
    return Compilation(kernel="copy", options=options, code=code)


def evidence(
    *compilations: Compilation, workload: Copies | None = None, points: tuple[Parameters, ...] = ({"items": 512},)
) -> tuple[CodeEvidence, ...]:
    workload = workload or Copies()
    sweep = workload.sweep(1)
    measured = Measurement(
        key=SweepKey(family="test", variant="copy", sweep="size"),
        metric=workload.metric,
        axis=workload.axis,
        points=tuple(MeasuredPoint(point=workload.point(p, sweep), samples_s=(1e-3,)) for p in points),
        compilation=compilations,
    )
    return code_evidence(workload, TOY, (measured, measured))


def test_loads_are_those_of_streams_that_are_read_and_stores_of_those_that_are_written() -> None:
    class Sum(Copies):
        def demand(self, parameters: Parameters, device: Device) -> Demand:
            base = super().demand(parameters, device)
            return replace(base, streams=(*base.streams, Stream("more", base.work_items, 4, 4)))

    class Busy(Copies):
        def demand(self, parameters: Parameters, device: Device) -> Demand:
            return replace(super().demand(parameters, device), streams=())

    (one,) = evidence(compiled(COPY))
    assert (one.loads_bytes_compiled, one.loads_bytes_model) == (4, 4)
    assert (one.stores_bytes_compiled, one.stores_bytes_model) == (4, 4)
    assert (one.workload, one.kernel, one.agrees) == ("test/copy", "copy", True)
    (one,) = evidence(compiled(COPY), workload=Busy())
    assert one.agrees is None
    (one,) = evidence(compiled(COPY.model_copy(update={"global_loads": {4: 2}})), workload=Sum())
    assert (one.loads_bytes_model, one.stores_bytes_model, one.agrees) == (8, 4, True)


def test_idle_work_items_do_not_count() -> None:
    class Padded(Copies):
        def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
            base = super().demand({"items": 3596}, device)
            return replace(base, work_items=3840, idle_items=3840 - 3596)

    (one,) = evidence(compiled(COPY), workload=Padded(), points=({"items": 3840},))
    assert (one.agrees, one.loads_bytes_model, one.stores_bytes_model) == (True, 4, 4)


@pytest.mark.parametrize(
    ("change", "agrees"),
    [
        ({"global_loads": {4: 1, 16: 1}}, True),  # in one of several branches
        ({"global_stores": {1: 1}}, False),
        ({"global_loads": {1: 3}, "global_stores": {8: 1}}, False),
    ],
)
def test_bytes_agree_if_the_model_counts_at_most_those_of_all_accesses(change: dict[str, object], agrees: bool) -> None:
    (one,) = evidence(compiled(COPY.model_copy(update=change)))
    assert one.agrees is agrees


def test_five_percent_still_agree() -> None:
    assert [moves_as_modelled(80, model) for model in (75, 84, 85)] == [True, True, False]


@pytest.mark.parametrize(
    "change",
    [
        {"loops": True},
        {"counts": {"atomic": 1}},
        {"calls": ("helper",)},
        {"form": "x86-64", "loops": True},
    ],
)
def test_static_counts_that_show_nothing_are_not_compared(change: dict[str, object]) -> None:
    (one,) = evidence(compiled(COPY.model_copy(update=change)))
    assert (one.agrees, one.loads_bytes_compiled, one.loads_bytes_model) == (None, None, 4)


def test_each_build_is_compared_with_the_largest_point_that_ran_it() -> None:
    points = tuple({"items": items, "local": local} for items, local in ((64, 1), (512, 16), (128, 1)))
    found = evidence(compiled(COPY), compiled(COPY, "-DLOCAL=16 -w"), points=points)
    assert {e.options: e.point for e in found} == {"-DLOCAL=1 -w": "128", "-DLOCAL=16 -w": "512"}


def test_there_is_no_evidence_without_code_or_from_several_kernels_at_once() -> None:
    assert evidence(compiled(None)) == ()
    assert evidence(compiled(COPY), workload=Two()) == ()
    assert evidence(compiled(COPY), points=()) == ()
