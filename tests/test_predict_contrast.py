"""Ceilings, outlooks and contrasts of predictions: by hand on small devices."""

from dataclasses import replace
from itertools import pairwise
from math import exp, log
from pathlib import Path
from unittest.mock import patch

import pytest

from gpureport.cli import main
from gpureport.predict import Predicted, limits_of, predict_sweeps
from gpureport.predict.contrast import SAME, contrasts, not_comparable
from gpureport.records.ceilings import Kind, ceiling_words, kind_of
from gpureport.report.prediction.side_by_side import DevicePredictions, effects, effects_table
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import NORMAL_95, SIGMA_MODEL
from gpureport.workloads import select
from gpureport.workloads.grid import part_of_units
from tests.builders import altered
from tests.toy import TOY


def _all(device: Device, *names: str) -> tuple[Predicted, ...]:
    limits = limits_of(device, quick=True)
    return tuple(
        p for workload in select(names) for p in predict_sweeps(device, workload, workload.sweeps(device, limits))
    )


def _faster_memory(factor: float) -> Device:
    memory = altered(TOY.memory, bandwidth_bytes_per_s=factor * TOY.memory.bandwidth_bytes_per_s)
    return altered(TOY, id="other", name="Other", memory=memory)


def test_a_device_beside_itself_is_as_fast_within_the_models_own_error() -> None:
    same = _all(TOY, "memory/copy", "instructions/rate")
    for contrast in contrasts((TOY, TOY), same, same):
        for point in (contrast.best, *(p.ratio for p in contrast.points)):
            assert point.value == pytest.approx(1.0)
            assert point.ci_high == pytest.approx(exp(NORMAL_95 * SIGMA_MODEL * 2**0.5), rel=1e-6)
        assert len(contrast.stretches) <= 1


def test_a_ratio_ends_at_that_of_the_memories() -> None:
    other = _faster_memory(3.0)
    (copy,) = contrasts((TOY, other), _all(TOY, "memory/copy"), _all(other, "memory/copy"))

    assert copy.points[-1].ratio.value == pytest.approx(3.0, rel=0.15)  # of which launch and latency take a little
    assert copy.points[-1].first_bottleneck == copy.points[-1].other_bottleneck == "DRAM"
    assert copy.points[0].ratio.value == pytest.approx(1.0, rel=0.05)
    values = [stretch.ratio.value for stretch in copy.stretches]
    assert len(values) > 1
    assert all(abs(log(b / a)) >= SAME for a, b in pairwise(values))


def test_effects_belong_to_bottlenecks() -> None:
    """Kernels that memory limits gain; the others do not change. Both have their values."""
    other = _faster_memory(1.4)
    first, second = (_all(device, "memory/copy", "memory/latency", "instructions/rate") for device in (TOY, other))
    found_contrasts = contrasts((TOY, other), first, second)
    found = {effect.bottleneck: effect for effect in effects(found_contrasts)}

    memory = found["DRAM"]
    assert memory.kernels == ("memory/copy",)
    assert memory.ratio.value == pytest.approx(1.4, rel=0.02)
    assert memory.ratio.ci_low < 1.4 < memory.ratio.ci_high
    assert memory.ends == (memory.ratio.value, memory.ratio.value)
    assert memory.unchanged < len(memory.kernels)
    assert found["fp32"].unchanged == len(found["fp32"].kernels)
    a, b = (
        DevicePredictions(s, d, [p.prediction for p in each])
        for s, d, each in (("A", TOY, first), ("B", other, second))
    )
    table = effects_table(a, replace(b, contrasts=found_contrasts), effects(found_contrasts))
    assert {row[0] for row in table.rows} == set(map(ceiling_words, found))


def test_bottlenecks_have_kinds() -> None:
    """Caches are known by name; every other bottleneck is a class of instructions."""
    kinds = {
        "DRAM": Kind.MEMORY,
        "L2 writes": Kind.CACHE,
        "LLC": Kind.CACHE,
        "latency of L2 near partition": Kind.LATENCY,
        "barrier": Kind.LATENCY,
        "groups": Kind.LAUNCH,
        "local": Kind.LOCAL,
        "LSU": Kind.COMPUTE,
        "int32": Kind.COMPUTE,
    }

    assert {name: kind_of(name, ("L1", "L2", "LLC")) for name in kinds} == kinds


def test_a_part_of_the_compute_units_is_not_compared_with_another_part() -> None:
    """A sweep with 3 of 10 work-groups has no ratio to one with 5; all units, or equally many, have."""
    capacities = [altered(cache, capacity_bytes=2 * cache.capacity_bytes) for cache in TOY.caches]
    larger = [new if new.scope == "device" else old for old, new in zip(TOY.caches, capacities, strict=True)]
    other = altered(TOY, id="other", caches=tuple(larger))
    mine, theirs = (_all(device, "memory/read_private", "memory/copy") for device in (TOY, other))

    parts = [
        {
            point.point.parameters["groups"]
            for each in found
            for point in each.prediction.points
            if each.prediction.key.sweep == "working_set" and each.prediction.key.variant == "read_private"
        }
        for found in (mine, theirs)
    ]
    assert parts[0] != parts[1]
    assert max(parts[0]) < TOY.compute_units
    assert not_comparable((TOY, other), mine, theirs) == ("memory/read_private/working_set",)
    assert "read_private/working_set" not in " ".join(str(c.key) for c in contrasts((TOY, other), mine, theirs))
    assert not_comparable((TOY, TOY), mine, mine) == ()
    assert part_of_units([{"groups": 3}, {"groups": 4}], 10) == 4
    assert part_of_units([{"groups": 3}, {"groups": 20}], 10) is None
    assert part_of_units([{"bytes": 3}], 10) is None


def test_many_devices_are_compared_as_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Under short names that stay distinct; the first remains the baseline. No row is without a value."""
    names = ["nvidia/h200_sxm", "nvidia/a40", "amd/mi100", "amd/rx_7900_xt", "nvidia/rtx_4090"]
    pdf = ["--pdf", "-o", str(tmp_path)]
    assert main(["predict", *names, "--quick", "-w", "memory/read,particles/arrays", *pdf]) == 0
    printed, page = capsys.readouterr().out, (tmp_path / "report.html").read_text()

    assert "Speed relative to h200_sxm" in printed
    assert "Prediction only." in page
    assert not any(text in printed + page for text in ("eff.", "<td></td>", 'id="against-'))
    with patch("gpureport.cli.predicting.predicted_run", side_effect=AssertionError("predicted again")):
        assert main(["predict", *names, "-w", "launch/queued", "--all"]) == 0
