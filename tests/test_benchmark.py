"""The benchmark of the development tools: its rows, its verdicts, and a short run on the CPU."""

import os
from dataclasses import replace
from math import prod
from typing import Any

import pytest

import benchmark as script
from gpureport.errors import InputError
from gpureport.measure.limits import SweepSettings
from gpureport.spec.database import load_database
from gpureport.spec.models import Device
from gpureport.text import sentence
from gpureport.workloads import select
from gpureport.workloads.model import Limits, Workload
from tests.fake_backend import FakeBackend, Steps
from tests.present import working
from tests.toy import on_cpu


@pytest.fixture(scope="module")
def h200() -> Device:
    return load_database().resolve("nvidia/h200_sxm")


@pytest.fixture
def run(h200: Device) -> Any:
    limits = Limits(max_bytes=85e9, max_buffer_bytes=36e9, max_work_group=1024)
    return script.Run(FakeBackend(), h200, SweepSettings(limits), Steps())


def row(label: str) -> Any:
    return next(row for row in script.ROWS if label in row.label)


def workload(name: str) -> Workload:
    (found,) = select((name,))
    return found


def parameters(run: Any, row: Any) -> dict[str, int]:
    return dict(script.point_of(run, row, workload(row.workload)).key.parameters)


def test_sizes_on_a_gpu_are_those_that_rows_name(run: Any) -> None:
    sized = [row for row in script.ROWS if row.size]
    assert len(sized) >= 10
    for each in sized:
        assert parameters(run, each).items() >= each.size.items()


def test_every_other_row_has_a_point_and_caches_are_filled_in_part(run: Any) -> None:
    last = run.device.caches[-1].capacity_bytes
    for label, capacity in (("last cache", last), ("first cache", run.device.caches[0].capacity_bytes)):
        each = row(label)
        filled = parameters(run, each)["bytes"]
        assert 0.75 * each.part[1] * capacity < filled < 0.75 * capacity
    for label, case in (("multiply-add, two", "fp32"), ("integer multiply-add", "int32_mul")):
        each = row(label)
        assert script.point_of(run, each, workload(each.workload)).key.label == case
    for label in ("write", "read", "copy", "triad"):
        each = row(f"stream {label}")
        assert script.point_of(run, each, workload(each.workload)).key.working_set_bytes > 7 * last


def test_a_processor_takes_four_times_its_last_cache(run: Any) -> None:
    processor = on_cpu(run.device)
    there = replace(run, device=processor)
    for each in (row for row in script.ROWS if row.beside_copy):
        size = script.point_of(there, each, workload(each.workload)).key.working_set_bytes
        assert size == pytest.approx(4 * processor.caches[-1].capacity_bytes, rel=0.1), each.label


def outcome(label: str, share: float) -> Any:
    """What came of a row that reaches *share* of a copy of 1 GB/s."""
    each = row(label)
    kernel, copy = workload(each.workload), workload("memory/copy")

    def timed(of: Workload, counts: float, rate: float) -> Any:
        key = script.Point(of, None, 0)
        key.key = type("Key", (), {"work": 1e6, "label": "some"})
        key.samples = [(1e6 * counts / rate * factor, 0.0) for factor in (1.5, 1, 0.5)]
        return script.Timed(key, counts)

    return script.Outcome(each, "", timed(kernel, each.counts, share * 1e9), timed(copy, 1, 1e9))


def test_a_copy_has_the_working_set_of_its_row_in_whole_work_groups(run: Any) -> None:
    copy = script.copy_of(run, 2**31).key
    assert copy.working_set_bytes == pytest.approx(2**31, rel=1e-4)
    assert copy.parameters["vectors"] % prod(copy.parameters[name] for name in ("local", "per_item")) == 0


def test_shares_are_of_the_best_copy_or_of_published_rates_of_the_device(h200: Device) -> None:
    below, above = (outcome("byte per cell", share) for share in (0.949, 0.951))
    assert script.verdict(above, [above], h200) == ("≥ 95% of the best copy", True)
    assert script.verdict(below, [below], h200)[1] is False
    faster = replace(above, copy=replace(above.copy, counts=1.1))
    assert script.verdict(above, [above, faster], h200)[1] is False
    near, far = (outcome("stream write", rate) for rate in (4670 * 0.981, 4670 * 0.979))
    assert script.verdict(near, [near], h200) == ("≥ 98% of 4670 GB/s", True)
    assert script.verdict(far, [far], h200)[1] is False
    assert script.verdict(far, [far], h200.model_copy(update={"id": "nvidia/other"})) == ("", None)


def test_only_the_best_of_several_generations_has_a_target(h200: Device) -> None:
    two, four = (outcome(f"{n} generations", share) for n, share in ((2, 1.2), (4, 1.44)))
    assert script.verdict(two, [two, four], h200)[1] is None
    assert script.verdict(four, [two, four], h200) == ("≥ 143% of the best copy", True)


@pytest.mark.slow
def test_a_short_run_on_the_cpu(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    device = working().device
    for name in working().runtime.environment():
        monkeypatch.setenv(name, os.environ.get(name, ""))  # the benchmark selects the runtime of its process
    script.main(str(device.index), ["structs16", "vector", "int32_mul", "integer"], 1.0, "1 MiB")
    printed = capsys.readouterr().out.splitlines()
    (particles,) = (line for line in printed if line.startswith("particles, 16-byte"))
    assert "1 MiB" in particles
    assert particles.count("%") >= 3
    lacking = workload("bit_transpose/vector").missing(device)
    unavailable = [line.rpartition(": ")[2] for line in printed if line.startswith("Not timed")]
    assert unavailable == ([sentence(lacking)] if lacking else [])
    assert any("vector" in line and "%" in line for line in printed) == (lacking is None)
    assert any("int32_mul" in line and "op/s" in line for line in printed)
    assert printed[-1].startswith("Best copy of the run: ")


def test_a_row_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="no row contains nothing; the workloads are game_of_life/bytes_strips, "):
        script.main("auto", ["nothing"], None, None)
