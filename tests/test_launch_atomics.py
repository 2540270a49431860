"""Microbenchmarks of atomic operations and local memory: points, demands, conflicts by stride."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.predict import limits_of, predict
from gpureport.predict.model import point_time
from gpureport.predict.occupancy import occupancy
from gpureport.spec.database import load_database
from gpureport.spec.models import Device
from gpureport.workloads.atomics import Spread, busiest_share
from gpureport.workloads.grid import resident_groups
from gpureport.workloads.local_memory import Bandwidth
from gpureport.workloads.model import Limits, Parameters
from tests.toy import ARCHITECTURE, GEN9_RULES, MIB, RDNA3_RULES, TOY, TURING_RULES


def _ruled(rules: object) -> Device:
    return TOY.model_copy(update={"architecture": ARCHITECTURE.model_copy(update={"occupancy": rules})})


@pytest.mark.parametrize(
    "device",
    [TOY, _ruled(TURING_RULES), _ruled(RDNA3_RULES), _ruled(GEN9_RULES)],
    ids=["hopper", "turing", "rdna3", "gen9"],
)
def test_the_whole_grid_is_resident(device: Device) -> None:
    """Serial cycles are counted once, not for each wave of work-groups."""
    limits = Limits(max_bytes=256 * MIB, max_buffer_bytes=128 * MIB, max_work_group=256)
    shared_by = device.architecture.occupancy.units
    for sweep in Spread().sweeps(device, limits):
        for parameters in sweep.points:
            demand = Spread().demand(parameters, device)
            resident = occupancy(device.architecture, demand.work_group, 16)
            assert demand.groups <= resident.groups_per_compute_unit * device.compute_units / shared_by


def _time_s(parameters: Parameters, device: Device = TOY) -> tuple[float, str]:
    demand = Spread().demand(parameters, device)
    answer = point_time(device, demand)
    return answer.time_s - device.launch.batched_s, answer.bottleneck


def test_adds_to_one_address_follow_each_other() -> None:
    """One per cycle for one address, two for two; for very many addresses the cache's bandwidth is the limit."""
    grid = {"passes": 16, "local": 256, "groups": resident_groups(TOY, 256)}
    adds = 16 * 100 * 1024
    one, two, many = (_time_s({"addresses": count, **grid}) for count in (1, 2, 2**16))
    assert [bottleneck for _, bottleneck in (one, two, many)] == ["latency", "latency", "L2"]
    assert one[0] == pytest.approx(adds / 1e9, rel=0.01)
    assert two[0] == pytest.approx(adds / 2e9, rel=0.01)
    last_s = 256e-9  # until the L2 has the last adds
    assert many[0] - last_s == pytest.approx(4 * adds / 3.2e12, rel=0.1)


def test_addresses_of_one_slice_do_not_add_up() -> None:
    """Eight words of a sector at once, for one sector or the 16 of a slice; beyond that by slices."""
    grid = {"passes": 512, "local": 256, "groups": resident_groups(TOY, 256)}
    adds = 512 * 100 * 1024
    rates = {count: adds / _time_s({"addresses": count, **grid})[0] for count in (8, 16, 128, 256)}
    assert [rates[count] for count in (8, 16, 128)] == pytest.approx([8e9] * 3, rel=0.01)
    assert rates[256] == pytest.approx(16e9, rel=0.01)


@pytest.mark.parametrize(("parts", "slices"), [(2, 96), (8, 96), (32, 96), (512, 96), (8192, 80)])
def test_the_busiest_slice_has_more_than_its_share(parts: int, slices: int) -> None:
    """The median of the largest number of parts in a slice, if a generator draws the slices."""
    drawn = np.random.default_rng(1).integers(0, slices, size=(400, parts))
    most = np.median([np.bincount(each, minlength=slices).max() for each in drawn])
    assert busiest_share(parts, slices) * parts == pytest.approx(most, rel=0.2)
    assert busiest_share(parts, None) == 1 / parts


@pytest.mark.parametrize(("addresses", "lines"), [(1, 1), (16, 1), (32, 2), (64, 4)])
def test_cores_take_turns_at_each_cache_line(addresses: int, lines: int) -> None:
    """0.3 of the latency of the last cache for each add, however many cores there are; a line has 16 addresses."""
    device = load_database().device("cpu/x86_64").model_copy(update={"compute_units": 16})
    grid = {"passes": 256, "local": 256, "groups": resident_groups(device, 256)}
    adds = 256 * 256 * grid["groups"]
    found = _time_s({"addresses": addresses, **grid}, device)[0]
    handed_over_s = 0.3 * device.cycles(device.caches[-1].latency_cycles)
    assert found == pytest.approx(handed_over_s * adds / lines, rel=0.1)


WORKLOAD = Bandwidth()


def _conflicts(stride: int) -> float:
    parameters = {"width": 4, "stride": stride, "groups": 1, "local": 32, "chains": 1, "steps": 1, "rounds": 1}
    return WORKLOAD.demand(parameters, TOY).local_conflicts


@given(st.integers(1, 100))
def test_conflicts_are_what_counting_banks_gives(stride: int) -> None:
    banks = np.arange(32) * stride % 32
    assert _conflicts(stride) == np.bincount(banks).max()


def test_predicted_rates_divide_by_the_conflicts() -> None:
    """128 bytes per cycle and compute unit without conflicts, for every width."""
    (prediction,) = predict(TOY, WORKLOAD, limits_of(TOY))
    rates = {point.point.label: point.value for point in prediction.points}
    assert rates["4 B, stride 1"] == pytest.approx(128 * 100 * 1e9, rel=0.03)
    assert rates["16 B, stride 1"] == pytest.approx(128 * 100 * 1e9, rel=0.08)
    assert rates["4 B, stride 33"] == pytest.approx(rates["4 B, stride 1"])
    assert rates["4 B, stride 1"] / rates["4 B, stride 16"] == pytest.approx(16, rel=0.05)
    assert {point.bottleneck for point in prediction.points} == {"local"}


@pytest.mark.parametrize("width", [4, 8, 16])
def test_chains_visit_elements_an_even_distance_apart(width: int) -> None:
    """The folded words are the index of an element a constant distance further, modulo the table."""
    parameters = {"case": 1, "width": width, "stride": 1, "groups": 1, "local": 8, "chains": 1, "steps": 1, "rounds": 1}
    job = WORKLOAD.job(parameters, np.random.default_rng(2))
    table = job.buffers[f"contents{width}"].filled().reshape(-1, width // 4)
    following = np.bitwise_xor.reduce(table, axis=1)
    distances = (following.astype(np.int64) - np.arange(len(table))) % len(table)
    assert len(table) == 2112 * 4 // width
    assert following.max() < len(table)
    assert len(set(distances.tolist())) == 1
    assert distances[0] != 0
