"""Power and energy: sensors from fake folders, the counter, loads on a toy sensor, and performance per watt."""

from contextlib import ExitStack
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from gpureport.compare.runs import excerpt, per_watt
from gpureport.findings.key_figures import key_figures
from gpureport.measure import energy as measuring
from gpureport.measure.backends.common import PowerSensor
from gpureport.measure.backends.machine import rapl
from gpureport.measure.backends.opencl import OpenCLBackend
from gpureport.measure.backends.pci import hwmon
from gpureport.measure.backends.sensors import power_sensor
from gpureport.measure.energy import Load, counter_power_w, measure_energy, power_loads
from gpureport.measure.limits import SweepSettings
from gpureport.predict.ceilings import listed_rates
from gpureport.predict.energy import most_energy_j, predicted_energy_j, sustained_clock
from gpureport.records.measurement import IDLE, Energy, PowerLoad, Reading
from gpureport.report.run import whole_device
from gpureport.results.opening import predicted
from gpureport.spec.database import load_database
from gpureport.workloads import select
from gpureport.workloads.model import Limits
from tests.fake_backend import PRESENT, Steps
from tests.kept import render_html
from tests.make_report import make_report
from tests.toy import TOY

LIMITS = Limits(2**26, 2**25, 64)


@pytest.mark.parametrize("tick_s", [0.02, 0.1])
def test_the_counter_gives_the_power_after_it_has_settled(tick_s: float) -> None:
    """The counter changes every *tick_s*; power is 100 W for the first tenth of a second, then 400 W."""
    at = np.arange(0.0, 1.0, 0.01)
    shown = np.floor(at / tick_s + 1e-9) * tick_s
    energy = np.where(shown < 0.1, 100 * shown, 10 + 400 * (shown - 0.1))
    assert counter_power_w(list(zip(at.tolist(), energy.tolist(), strict=True))) == pytest.approx(400, rel=0.01)


@pytest.mark.parametrize(
    "readings", [[], [(0.0, 1.0)], [(0.0, 5.0), (1.0, 5.0)], [(0.0, 9.0), (0.5, 10.0), (1.0, 2.0)]]
)
def test_a_counter_that_stands_still_or_starts_again_gives_no_power(readings: list[tuple[float, float]]) -> None:
    assert counter_power_w(readings) is None


def test_a_gpu_in_hwmon(tmp_path: Path) -> None:
    folder = tmp_path / "0000:03:00.0" / "hwmon" / "hwmon3"
    folder.mkdir(parents=True)
    assert hwmon("0000:03:00.0", tmp_path) is None
    for name, text in (("power1_average", "211000000"), ("power1_cap", "300000000"), ("temp1_input", "61000")):
        (folder / name).write_text(f"{text}\n")
    sensor = hwmon("0000:03:00.0", tmp_path)
    assert sensor
    assert sensor.read() == {"power_w": pytest.approx(211), "temperature_c": pytest.approx(61)}
    assert sensor.limit_w() == pytest.approx(300)


def test_packages_of_rapl_are_added(tmp_path: Path) -> None:
    assert rapl(tmp_path) is None
    for number, energy in enumerate((1_000_000, 2_500_000)):
        for name in (f"intel-rapl:{number}", f"intel-rapl:{number}:0"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "energy_uj").write_text(str(energy))
    sensor = rapl(tmp_path)
    assert isinstance(sensor, PowerSensor)
    assert sensor.read() == {"energy_j": pytest.approx(3.5)}
    assert sensor.limit_w() is None
    (tmp_path / "intel-rapl:1" / "energy_uj").write_text("")
    assert "administrator" in str(rapl(tmp_path))


def test_a_device_without_sensors_says_so() -> None:
    with ExitStack() as stack:
        assert str(power_sensor(PRESENT, stack)).endswith(".")


def toy() -> PowerSensor:
    """A sensor whose counter grows by 2 J for each reading."""
    readings, state = count(), {"power_w": 100.0, "clock_hz": 1e9, "temperature_c": 50.0}
    return PowerSensor("toy", "board", lambda: 300.0, lambda: {"energy_j": 2.0 * next(readings), **state})


def test_loads_are_counted_while_the_sensor_is_read(backend: OpenCLBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "power_sensor", lambda *_: toy())
    (copy,) = select(("memory/copy",))
    sweep = copy.sweeps(TOY, LIMITS)[0]
    point = copy.point(sweep.points[0], sweep)
    steps = Steps()
    monkeypatch.setattr(measuring, "LOAD_S", 0.3)
    found = measure_energy(backend, [Load("copy", copy, point, "B", 2.0)], SweepSettings(LIMITS), steps)
    assert [load.name for load in found.loads] == [IDLE, "copy"]
    assert (found.sensor, found.limit_w, found.missing) == ("toy", 300.0, "")
    loaded = found.load("copy")
    assert loaded
    assert loaded.by_counter
    assert loaded.duration_s >= 0.3
    assert loaded.work / (2 * point.work) == pytest.approx(round(loaded.work / (2 * point.work)))
    assert loaded.work > 0
    assert loaded.energy_per_work_j == pytest.approx(loaded.power_w * loaded.duration_s / loaded.work)  # type: ignore[operator]
    assert loaded.readings[0].at_s > found.loads[0].readings[0].at_s
    assert [label for label, _ in steps.seen] == ["power: idle", "power: copy"]


@pytest.mark.parametrize("entry", ["nvidia/h200_sxm", "amd/mi300x", "intel/arc_b580", "apple/m1", "cpu/x86_64"])
def test_loads_of_all_kinds_of_devices(entry: str) -> None:
    device = load_database().device(entry)
    names = {load.name for load in power_loads(device, LIMITS)}
    assert {"memory read", "fp32 FMA", "Game of Life"} <= names


def _energy(power_w: float = 350.0) -> Energy:
    reading = Reading(at_s=0.0, power_w=power_w, clock_hz=1.98e9, throttle_reasons=())
    idle = PowerLoad(name=IDLE, duration_s=1.0, power_w=100.0, readings=(reading,))
    read = PowerLoad(
        name="memory read", unit="B", work=3e12, duration_s=1.0, power_w=power_w, by_counter=True, readings=(reading,)
    )
    lost = PowerLoad(name="fp32 FMA", skipped="it did not build")
    return Energy(sensor="NVML", scope="board", limit_w=700.0, loads=(idle, read, lost))


RATES = {"memory/read": 4e12, "instructions/rate": 7e12}


def test_measured_power_comes_before_the_limit_of_the_board() -> None:
    device = load_database().device("nvidia/h200_sxm")
    found = {each.name: each for each in per_watt(device, _energy(), RATES)}
    assert found["memory read"].basis == "measured power"
    assert found["memory read"].value == pytest.approx(3e12 / 350)
    assert found["fp32 FMA"].basis == "board limit"
    assert found["fp32 FMA"].value == pytest.approx(1e10)  # 7e12 / 700 W
    assert list(per_watt(device.model_copy(update={"board_power_w": None}), None, RATES)) == []


def test_figures_for_buyers_count_multiply_adds_twice_and_name_the_listed_peak() -> None:
    device = load_database().device("amd/rx_7900_xt")
    found = {each.name: each for each in excerpt(predicted(device, select(("memory/read",)), quick=True)[0]).figures}
    read, limit_w = found["memory bandwidth"].value, found["board power"].value
    assert read > 1.01 * device.memory.reached_bytes_per_s  # which a copy reaches
    assert found["memory read"].value == pytest.approx(read / limit_w)
    assert device.memory.read_bytes_per_s == pytest.approx(read, rel=0.01)  # without such a prediction
    assert found["fp32"].value == pytest.approx(2 * device.rate_per_s("fp32"))
    assert found["fp32"].listed == pytest.approx(2 * found["fp32"].value)
    assert found["memory bandwidth"].listed == device.memory.bandwidth_bytes_per_s
    assert {each.basis for each in found.values()} == {"predicted", "specification", "board limit"}


@pytest.mark.parametrize(
    ("entry", "load", "limit", "static", "pj"),
    [
        ("nvidia/h200_sxm", "memory read", 700, 0.185, 48 + 66),
        ("nvidia/h200_sxm", "memory read", 500, 1.0, 0),
        ("nvidia/h200_sxm", "fp32 FMA", 700, 0.185, 4.8 * 5 / 7 * 1.98 / 1.41),
        ("nvidia/a40", "memory read", 300, 0.39, 60 + 66),
    ],
)
def test_power_is_that_of_the_board_and_of_bytes_or_operations(
    entry: str, load: str, limit: float, static: float, pj: float
) -> None:
    device = load_database().device(entry).model_copy(update={"board_power_w": limit})
    found, rate = predicted_energy_j(device, load), listed_rates(device)[load]
    assert found
    assert found.value * rate == pytest.approx(static * limit + pj * 1e-12 * rate)
    assert found.ends == pytest.approx((found.value / 1.4, found.value * 1.4))


def test_beyond_the_limit_the_clock_falls_until_power_fits() -> None:
    device = load_database().device("nvidia/l40")
    found, most = predicted_energy_j(device, "fp32 FMA"), most_energy_j(device, "fp32 FMA")
    assert found
    assert most
    clock = most / found.value
    dynamic_w = 4.8e-12 * 5 / 7 * 2.49 / 1.41 * 2 * device.rate_per_s("fp32")
    assert 0.39 * 300 + dynamic_w * clock**2 == pytest.approx(300, rel=1e-6)


def test_the_clock_falls_until_the_power_of_operations_and_bytes_fits() -> None:
    card = load_database().device("nvidia/t4")

    left_w = 70 * (1 - 0.39)  # static power of a card without stacked memory
    operation_j = 4.8e-12 * 12 / 7 * 1.59 / 1.41
    assert sustained_clock(card, 8e12, 4e11) == pytest.approx((left_w / (operation_j * 8e12 + 66e-12 * 4e11)) ** 0.5)
    assert sustained_clock(card, 1e12, 0.0) == 1.0
    assert sustained_clock(card.model_copy(update={"board_power_w": None}), 8e12, 4e11) == 1.0


def test_energy_that_does_not_follow_from_the_entry_is_not_predicted() -> None:
    device = load_database().device("nvidia/h200_sxm")
    assert [predicted_energy_j(device, load) for load in ("Game of Life", "L1 read")] == [None, None]
    assert predicted_energy_j(device.model_copy(update={"process_nm": None}), "fp32 FMA") is None
    assert most_energy_j(device.model_copy(update={"board_power_w": None}), "memory read") is None


def test_a_sensor_that_only_counts_energy_gives_no_trace() -> None:
    load = PowerLoad(name="memory read", power_w=5.0, by_counter=True, readings=(Reading(at_s=0.0, energy_j=1.0),))
    report = make_report(families=1).model_copy(update={"energy": Energy(sensor="RAPL", loads=(load,))})
    assert "memory read" in render_html(report)


def test_key_figures_and_the_chapter_contain_power_and_energy() -> None:
    report = make_report().model_copy(update={"device": load_database().device("nvidia/h200_sxm"), "energy": _energy()})
    figures = {figure.name: figure for figure in key_figures(report) if figure.unit in ("W", "J/B")}
    table = whole_device.energy_table(report)
    assert figures["Power, idle"].measured.value == 100  # type: ignore[union-attr]
    assert figures["Energy of a byte from memory"].measured.value == pytest.approx(350 / 3e12)  # type: ignore[union-attr]
    assert figures.keys() == {"Power, idle", "Power, highest", "Energy of a byte from memory"}
    assert [row[0] for row in table.rows] == [IDLE, "memory read", "fp32 FMA"]
    assert "117 pJ/B" in table.rows[1]
    assert "it did not build" in table.rows[2]
    missing = report.model_copy(update={"energy": Energy(missing="There is no sensor.")})
    assert "There is no sensor." in whole_device.answers(missing)
