"""Intervals of predictions: against central differences of the plain model, and by hand."""

import math
from collections.abc import Iterator, Sequence
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.predict import limits_of, model_inputs, predict, predict_sweep
from gpureport.predict.execution import Execution
from gpureport.predict.features import with_intervals
from gpureport.predict.model import PointTime, point_time
from gpureport.predict.propagation import (
    Uncertain,
    apart,
    clamped,
    exp,
    for_all,
    log,
    maximum,
    minimum,
    plain,
    relative_deviations,
    together,
    where,
)
from gpureport.predict.sensitivity import Fact, fact, figures, ranked, sensitivities, spread, uncertain, visit_facts
from gpureport.records.curves import CurveFeature, Metric
from gpureport.records.prediction import Prediction
from gpureport.spec.files import ArchitectureFile, DeviceFile, places
from gpureport.spec.models import SPECIAL_TRANSITIONS, TRANSITIONS, Device, Transition
from gpureport.spec.uncertainty import NORMAL_95, SIGMA_ASSUMED, SIGMA_MEASURED_HERE, SIGMA_MODEL, UNCERTAINTIES
from gpureport.spec.values import Provenance
from gpureport.workloads import all_workloads, select
from gpureport.workloads.model import Limits, Workload
from tests.builders import altered, predicted_point
from tests.toy import TOY, TOY_WITH_FORMATS
from tests.toy import toy as with_architecture

QUICK = Limits(max_bytes=2.0**33, max_buffer_bytes=2.0**32, max_work_group=1024, quick=True)
POSITIVE = st.floats(0.1, 10.0)


def _numbers(*values: float) -> list[Uncertain]:
    """Return facts with a standard deviation of 1 %."""
    return [Uncertain(value, step[:, None]) for value, step in zip(values, np.diag(values) / 100, strict=True)]


def _moved(x: float) -> float:
    """Return by how much the only fact moves a number, once it is a standard deviation more."""
    assert isinstance(x, Uncertain)
    return float(x.moved[0, 0])


@given(POSITIVE, POSITIVE)
def test_steps_are_differentiated(a: float, b: float) -> None:
    def result(x: float, y: float) -> float:
        return 3 / x + (x - 2) * y / (1 - y * -x) - -(x**3) + (2 + y - x) / 4 + exp(log(x * 2) / 2)

    x, y = _numbers(a, b)
    found = result(x, y)
    assert isinstance(found, Uncertain)
    assert float(found) == result(a, b)
    step = 1e-6
    slopes = [
        (result(a * (1 + step), b) - result(a * (1 - step), b)) / (2 * step),
        (result(a, b * (1 + step)) - result(a, b * (1 - step))) / (2 * step),
    ]
    assert found.moved[:, 0] == pytest.approx([0.01 * slope for slope in slopes], rel=1e-5, abs=1e-6)


def test_numbers_of_numpy_leave_arithmetic_to_them() -> None:
    (x,) = _numbers(2.0)
    three: float = np.float64(3.0)
    assert [_moved(y) for y in (three * x, three / x, three - x)] == pytest.approx([0.06, -0.015, -0.02])


def test_points_together_have_the_results_of_each() -> None:
    """Columns where numbers differ; the group is divided where the code decides."""
    fact = Uncertain(2.0, np.array([[0.1]]))

    def result(x: float, y: float) -> float:
        grown = log(exp(clamped(fact - y, -1.0, 1.0))) + 3.0 * x**2.0 / (1.0 - y * fact) - (1 / fact if y > 2 else x)
        return minimum(where(x > 1.5, grown, fact * y), maximum(fact, x, 4.0)) + math.ceil(x) + fact * max(x, y)

    points = [(1.2, 1.0), (1.7, 3.0), (1.9, 1.9), (1.7, 3.0), (0.1, 7.0), (5.0, 2.5)]

    def run(some: Sequence[tuple[float, float]]) -> Iterator[tuple[float, list[float]]]:
        found = result(*together(some))
        counts.append(len(some))
        return zip(apart(found, len(some)), relative_deviations(found, 1).reshape(-1, 1).tolist(), strict=True)

    counts: list[int] = []
    results = for_all(points, run)
    assert sum(counts) == len(points) > len(counts)
    for point, (value, relative) in zip(points, results, strict=True):
        alone = result(*point)
        assert value == pytest.approx(float(alone))
        assert relative == pytest.approx(relative_deviations(alone, 1).tolist())


@pytest.mark.parametrize(
    ("value", "sigma", "expected"), [(0.5, 0.1, 0.1), (-0.05, 0.1, 0.025), (0.98, 0.1, 0.06), (-0.5, 0.1, 0.0)]
)
def test_near_a_limit_a_whole_step_counts(value: float, sigma: float, expected: float) -> None:
    found = clamped(Uncertain(value, np.array([[sigma]])), 0.0, 1.0)
    assert float(found) == min(1.0, max(0.0, value))
    assert _moved(found) == pytest.approx(expected)


def test_what_is_far_beyond_a_limit_is_certain() -> None:
    assert type(clamped(Uncertain(-1.5, np.array([[0.1]])), 0.0, 1.0)) is float
    assert relative_deviations(2.0, 3).tolist() == [0, 0, 0]


@pytest.mark.parametrize("workload", all_workloads(), ids=lambda workload: workload.name)
def test_deviations_are_those_of_the_plain_model(workload: Workload) -> None:
    """Small changes of each fact change the time of the plain model as their numbers predict."""
    step = 1e-5
    # If looking lines up took as long as reading them from their banks, the maximum would have no slope.
    toy = with_architecture(TOY_WITH_FORMATS, lines_per_access=1.7)
    sweep = workload.sweeps(toy, QUICK)[-1]
    parameters = sweep.points[len(sweep.points) // 2]

    def time_s(device: Device) -> float:
        return point_time(*model_inputs(device, workload, sweep, parameters)).time_s

    device, facts = uncertain(toy)
    assert float(time_s(device)) == pytest.approx(float(time_s(toy)), rel=1e-12)
    relative = relative_deviations(time_s(device), len(facts))
    for index, known in enumerate(facts):
        if not known.path.endswith(("transition", "capacity")):  # their deviations are those of a whole step
            factors = ({known.path: 1 + sign * step} for sign in (-1, 1))
            less, more = (
                time_s(visit_facts(toy, lambda path, value, by=by: value * by.get(path, 1.0))) for by in factors
            )
            slope = math.log(more / less) / (2 * step)
            assert relative[index] == pytest.approx(known.relative * slope, abs=1e-4), known.path


def _plain_figures(device: Device) -> list[str]:
    """Return the paths of the figures of *device* that are plain numbers although the model varies them."""
    found = {path: value for path, value in figures(device).items() if not path.endswith("_transition")}
    for cache in device.caches:
        for name in TRANSITIONS:
            positions: Transition | None = getattr(cache, name)
            found |= {f"{cache.name}.{name}.{position}": value for position, value in positions or ()}
    return [path for path, value in found.items() if type(value) is not Uncertain]


def test_devices_keep_their_uncertain_numbers_on_the_way_through_predict(monkeypatch: pytest.MonkeyPatch) -> None:
    """From ``uncertain`` to times; records of results have plain numbers."""
    calls: list[Execution] = []
    single: list[Execution] = []

    def checked(run: Execution) -> PointTime:
        assert not _plain_figures(run.device)
        found = dispatch_time(run)
        assert type(found.time_s) is Uncertain
        assert Uncertain in map(type, found.ceilings_s.values())
        if np.ndim(plain(found.time_s)) == 0:
            assert type(found.ceilings_s[found.bottleneck]) is Uncertain
            single.append(run)
        calls.append(run)
        return found

    model = import_module("gpureport.predict.model")
    dispatch_time = model._dispatch_time
    monkeypatch.setattr(model, "_dispatch_time", checked)
    special = dict.fromkeys(SPECIAL_TRANSITIONS, TOY.caches[1].bandwidth_transition)
    caches = (TOY.caches[0], TOY.caches[1].model_copy(update=special))
    device = altered(TOY_WITH_FORMATS, caches=caches)
    for workload in (workload for workload in all_workloads() if workload.essential):
        calls.clear()
        predictions = predict(device, workload, QUICK)
        assert calls
        assert {type(point.time_s) for prediction in predictions for point in prediction.points} == {float}
    assert single


def test_kind_and_quantity_say_how_uncertain_a_fact_is() -> None:
    def given_by(kind: str, path: str, *, here: bool = False) -> float:
        origin = Provenance.model_validate({"kind": kind, "source": "", "here": here})
        return fact(altered(TOY, provenance={path: origin}), path).relative

    assert given_by("spec", "memory.bandwidth") == 0.02
    assert given_by("spec", "clock") == pytest.approx(0.077, abs=1e-3)
    assert given_by("assumed", "clock") == SIGMA_ASSUMED
    assert given_by("assumed", "caches.L2.bandwidth_transition") == 0.1
    assert given_by("measured", "memory.efficiency") == pytest.approx(0.085, abs=1e-3)
    assert given_by("measured", "memory.efficiency", here=True) == SIGMA_MEASURED_HERE
    assert given_by("measured", "caches.L2.write_transition", here=True) == 0.08
    assert fact(TOY, "memory.latency").relative == SIGMA_ASSUMED
    listed = [place for kind in (ArchitectureFile, DeviceFile) for place in places(kind)]
    assert {place.declared.uncertain for place in listed} == {"", *UNCERTAINTIES}
    assert all(rule.source for rule in UNCERTAINTIES.values() if rule.what)


def test_what_is_measured_here_does_not_vary_with_what_it_is_stored_in_terms_of() -> None:
    here = Provenance(kind="measured", source="", here=True)
    device = altered(TOY, provenance={"rates.fp32": here, "memory.efficiency": here})
    made, facts = uncertain(device)
    index = {known.path: i for i, known in enumerate(facts)}
    rate = relative_deviations(made.rate_per_s("fp32"), len(facts))
    assert rate[index["clock"]] == pytest.approx(0)
    assert rate[index["rates.fp32"]] == pytest.approx(SIGMA_MEASURED_HERE)
    bandwidth = relative_deviations(made.memory.bandwidth_bytes_per_s * made.memory.efficiency, len(facts))
    assert bandwidth[index["memory.bandwidth"]] == pytest.approx(0)
    other = relative_deviations(made.rate_per_s("shuffle"), len(facts))
    assert other[index["clock"]] == pytest.approx(facts[index["clock"]].relative)


def test_effects_add_up_in_quadrature() -> None:
    assert spread(np.zeros(3)) == pytest.approx(math.exp(NORMAL_95 * SIGMA_MODEL))
    both = math.sqrt(0.3**2 + 0.4**2 + SIGMA_MODEL**2)
    assert spread(np.array([0.3, -0.4])) == pytest.approx(math.exp(NORMAL_95 * both))


def test_facts_are_ranked_by_their_share() -> None:
    facts = [Fact("a", "spec", 0.1), Fact("b", "assumed", 0.3), Fact("c", "spec", 0.1)]
    found = sensitivities(np.array([[0.1, 0.3, 0.0], [0.1, 0.3, 0.0]]), facts)
    assert [s.fact for s in found] == ["b", "a", "model"]
    assert found[0].share == pytest.approx(0.09 / (0.1 + SIGMA_MODEL**2), rel=1e-3)
    assert found[0].effect == pytest.approx(0.3)
    twice = [altered(_prediction("memory/copy"), sensitivities=found) for _ in range(2)]
    assert [s.share for s in ranked(twice)] == pytest.approx([s.share for s in found])
    half = [twice[0], altered(twice[1], sensitivities=found[:1])]
    assert ranked(half)[1].share == pytest.approx(found[1].share / 2)


def _prediction(name: str, device: Device = TOY) -> Prediction:
    (workload,) = select((name,))
    sweep = workload.sweeps(device, limits_of(device))[0]
    return predict_sweep(device, workload, sweep, "specification")


def _factor(feature: CurveFeature) -> float:
    assert feature.ci_high / feature.value == pytest.approx(feature.value / feature.ci_low, rel=1e-3)
    return feature.ci_high / feature.value


@pytest.mark.parametrize(
    ("of_first", "of_plateau", "of_knee"), [(0.2, 0.2, 0.0), (0.2, 0.0, 0.2), (0.0, 0.2, 0.2), (0.3, -0.1, 0.4)]
)
def test_a_knee_moves_by_what_its_two_times_do_not_share(of_first: float, of_plateau: float, of_knee: float) -> None:
    """The flat time x the peak rate, here 1000: a fact that slows both alike, such as the clock, leaves it in place."""
    works = [1, 2, 4, 8, 10**6, 2 * 10**6, 4 * 10**6]
    relative = np.array([[of_first if n < 10 else of_plateau] for n in works])
    points = [predicted_point(n, n / (1.0 + n / 1000)) for n in works]
    knee = CurveFeature(feature="taper", position="knee", level="device", value=1000.0, unit="work-items")
    metric = Metric(kind="rate", unit="B", label="rate")
    (found,) = with_intervals((knee,), metric, points, relative, [Fact("clock_hz", "assumed", 0.2)])
    assert math.log(_factor(found)) == pytest.approx(NORMAL_95 * math.hypot(SIGMA_MODEL, of_knee), rel=1e-3)
