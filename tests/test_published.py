"""Published results: every record loads, is predicted and observed; errors are one sentence."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpureport.errors import InputError
from gpureport.predict import predict_sweep
from gpureport.results.published import load
from gpureport.results.replay import Result
from tests.kept import database

FOLDER = Path(__file__).parents[1] / "reports" / "published"
RECORDS = tuple(load(path, database()) for path in sorted(FOLDER.glob("*.yaml")))
FAST = {"a40_memory", "mi210_memory", "rx_7900_xt_particles"}
BY_NAME = [pytest.param(r, id=r.name, marks=() if r.name in FAST else pytest.mark.slow) for r in RECORDS]

GOOD = """\
title: Particles
citation: someone, somewhere
url: https://example.org
date: 2026-04
device: amd/rx_7900_xt
statements:
  - {says: it is fast, where: text, about: [particles/structs32]}
series:
  - workload: particles/structs32
    sweep: particles
    axis: working_set
    conditions: as they come
    fixed: {local: 64}
    columns: [count, registers, time_us]
    rows:
      - [8192, 20, 2.5]
      - [16384, 24, 3]
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "record.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_no_point_is_given_twice(record: Result) -> None:
    for series in record.series:
        points = [measured.point for measured in series.measurement.points]
        assert len({str(point.parameters) for point in points}) == len({point.x for point in points}) == len(points)


@pytest.mark.parametrize("record", BY_NAME)
def test_local_memory_limits_resident_groups_as_published(record: Result) -> None:
    device = record.device
    for series in record.series:
        if series.sweep.name != "resident":
            continue
        for parameters, compiled in zip(series.sweep.points, series.resources["specification"], strict=True):
            isolated = type(series.sweep)("resident", series.sweep.axis, (parameters,), "")
            prediction = predict_sweep(device, series.workload, isolated, "specification", (compiled,))
            groups = prediction.occupancy[0].groups_per_compute_unit
            places = device.compute_units // device.architecture.occupancy.units
            assert groups * parameters["local"] * places == parameters["resident"]
            assert prediction.points[0].point.x == prediction.points[0].point.work_items == parameters["resident"]


def test_a_record_is_read_as_it_is_written(written: Callable[[str], Path]) -> None:
    record = load(written(GOOD), database())
    (series,) = record.series
    cited = record.publication

    assert (record.name, cited.title, cited.date, cited.notes) == ("record", "Particles", "2026-04", ())
    assert load(written(GOOD.replace("2026-04", "2026-04-21")), database()).publication.date == "2026-04-21"
    assert load(written(GOOD.replace("2026-04", "2026")), database()).publication.date == "2026"
    assert series.conditions == "as they come"
    assert series.sweep.points == ({"local": 64, "count": 8192}, {"local": 64, "count": 16384})
    assert [point.samples_s for point in series.measurement.points] == [(2.5e-6,), (3e-6,)]
    assert [resources["registers"] for resources in series.resources["specification"] if resources] == [20, 24]
    assert str(series.measurement.key) == "particles/structs32/particles"


def test_rates_and_latencies_become_times(written: Callable[[str], Path]) -> None:
    """By the workload's own counting: bytes read and written; loads."""
    copy = GOOD.replace("particles/structs32", "memory/copy").replace("local: 64", "local: 64, per_item: 1, words: 2")
    copy = copy.replace("[count, registers, time_us]", "[vectors, GB_per_s]").replace(" 20,", "").replace(" 24,", "")
    chase = GOOD.replace("particles/structs32", "memory/latency").replace("local: 64", "line: 64, steps: 9, warm_up: 6")
    chase = chase.replace("[count, registers, time_us]", "[bytes, registers, ns_per_load]")
    series = [load(written(text), database()).series[0] for text in (copy, chase)]
    times = [[point.samples_s[0] for point in each.measurement.points] for each in series]

    assert np.allclose(times, [[2 * 8 * 8192 / 2.5e9, 2 * 8 * 16384 / 3e9], [9 * 2.5e-9, 9 * 3e-9]], rtol=1e-8)


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("particles/structs32", "particles/struct32", "9: series.0.workload: no workload is called 'particles/str"),
        ("particles/structs32", "particles", "9: series.0.workload: 'particles' is a family; "),
        ("time_us", "time", "14: series.0.columns: exactly one column"),
        ("local: 64", "local: 64, GB_per_s: 5", "14: series.0.columns: exactly one column"),
        ("time_us", "GB_per_s", "14: series.0.columns: 'GB_per_s'"),
        ("local: 64", "local: 64, count: 1", "14: series.0.columns: 'count' is given twice"),
        ("{local: 64}", "{}", "14: series.0.columns: particles/structs32 needs the parameter 'local'"),
        ("[8192, 20, 2.5]", "[8192, 2.5]", "16: series.0.rows.0: has 2 values for 3 columns"),
        ("16384,", "16384.5,", "17: series.0.rows.1: 'count' must be a whole number"),
        ("[8192,", "[0,", "16: series.0.rows.0: values must be above zero"),
        ("24, 3", "24, -3", "17: series.0.rows.1: values must be above zero"),
        ("24, 3", "24, fast", "17: series.0.rows.1.2: must be a number"),
        ("local: 64", "local: 64, size: 4", "14: series.0.columns: particles/structs32 has no parameter 'size'; "),
        ("date: 2026-04", "date: spring", "4: date: must match pattern"),
        (
            "about: [particles/structs32]",
            "about: [particles/arrays]",
            "7: statements.0.about.0: there is no series 'particles/arrays'; ",
        ),
        (", about:", ", at: {count: 1}, about:", "7: statements.0.at: "),
        (", about:", ", at: {count: 8192}, compare: rate, about:", "7: statements.0.at: applies only to "),
        ("https:", "ftp:", "3: url: must match pattern '^https://'"),
    ],
)
def test_a_mistake_is_one_sentence(written: Callable[[str], Path], right: str, wrong: str, sentence: str) -> None:
    assert right in GOOD
    path = written(GOOD.replace(right, wrong))

    with pytest.raises(InputError) as error:
        load(path, database())

    assert str(error.value).startswith(f"{path}:{sentence}")
    assert "\n" not in str(error.value)


def test_no_two_series_are_one_sweep(written: Callable[[str], Path]) -> None:
    path = written(GOOD + GOOD.partition("series:\n")[2])

    with pytest.raises(InputError) as error:
        load(path, database())

    assert str(error.value).startswith(f"{path}:19: series.1.sweep: particles/structs32/particles is already ")
