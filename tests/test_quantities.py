"""Numbers that no device and no run can have: refused where they are read, in one sentence."""

import json
import re
from fnmatch import fnmatchcase
from math import inf
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError

from gpureport.cli import main
from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.measure.backends.answers import describe
from gpureport.records.report import load_report
from gpureport.results import published
from gpureport.spec.check import numbers_in
from gpureport.spec.database import load_database
from gpureport.spec.files import ArchitectureFile, DeviceFile, Place, declaration, places
from gpureport.spec.models import Architecture
from gpureport.spec.reading import read_file
from tests.make_report import make_report, stored

Steps = tuple[str | int, ...]
ARCHITECTURES = data_dir("devices") / "architectures"
RECORD = Path(__file__).parents[1] / "reports" / "published" / "gtx_1060_bit_transpose.yaml"


@pytest.fixture
def data() -> dict[str, Any]:
    report = stored(make_report(families=1))
    report["settings"]["workloads"] = ["memory"]
    return report


def _set(data: Any, path: Steps, value: object) -> None:
    *above, last = path
    for step in above:
        data = data[step]
    data[last] = value


POINTS = ("curves", 0, "points")
SAMPLES = ("curves", 0, "measurement", "points", "samples_s")


NUMBERS = (
    (*SAMPLES, 0, 0),
    (*POINTS, "work", 0),
    ("curves", 0, "measurement", "duration_s"),
    ("curves", 0, "specification", "points", "time_s", 0),
    ("curves", 0, "specification", "points", "ceilings_s", "L2", 0),
    ("curves", 0, "specification", "features", 0, "value"),
    ("curves", 0, "observation", "points", "ci_low", 0),
    ("findings", "ratio", 0),
    ("machine", "memory_bytes"),
    ("device", "clock_hz"),
    ("device", "caches", 0, "latency_transition", "midpoint"),
)
DIVISORS = (
    (*SAMPLES, 0, 0),
    (*POINTS, "work", 0),
    *(("device", field) for field in ("compute_units", "clock_hz")),
    ("device", "caches", 1, "capacity_bytes"),
    ("device", "memory", "bandwidth_bytes_per_s"),
    ("device", "architecture", "wave_size"),
    ("device", "architecture", "rates_per_cycle", "int32"),
    ("device", "architecture", "occupancy", "register_granularity"),
)
NAMES = (
    ("device", "name"),
    ("device", "caches", 0, "name"),
    ("machine", "cpu"),
    ("curves", 0, "key", "sweep"),
    (*POINTS, "label", 0),
    ("settings", "workloads", 0),
)


def _refusal(data: dict[str, Any], folder: Path) -> str:
    """Write a report that is wrong, and return what its reader says of it."""
    (folder / "report.json").write_text(json.dumps(data))
    with pytest.raises(InputError) as caught:
        load_report(folder)
    assert len(str(caught.value)) < 300
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        *((path, value, "") for path in NUMBERS for value in (-1e-9, 1e100, "nan")),
        *((path, 0, ": must be ") for path in DIVISORS),
        # Far beyond the length of any name.
        *((path, "x" * 1001, ": must have at most 1000 characters") for path in NAMES),
        ((*SAMPLES[:-1], "taken_at_s", 0), [1.0], "must have as many values in taken_at_s as in samples_s, or none"),
        (
            ("conditions",),
            [{"workload": "a/b", "readings": {"at_s": 1}}],
            "must have a list of values in one of its columns",
        ),
        (
            ("conditions",),
            [{"workload": "a/b", "readings": {"at_s": [0.0] * 400_000}}],
            "must have at most 200000 rows",
        ),
        (("device", "caches", 0, "latency_transition", "midpoint"), 9, "must ascend from onset through"),
        (("device", "architecture", "pipes"), {"A": ["local", "local"]}, "must have each name once"),
    ],
)
def test_what_cannot_be_is_refused(
    path: Steps, value: object, sentence: str, data: dict[str, Any], tmp_path: Path
) -> None:
    _set(data, path, value)
    told = _refusal(data, tmp_path)

    assert sentence in told
    field = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    assert f": {field.partition('_transition')[0].removesuffix('.taken_at_s[0]')}" in told


def test_a_name_may_have_1000_characters(data: dict[str, Any], tmp_path: Path) -> None:
    for path in NAMES:
        _set(data, path, "x" * 1000)
    data["settings"]["workloads"] = ["x" * 1000]
    (tmp_path / "report.json").write_text(json.dumps(data))

    assert load_report(tmp_path)


def test_a_sweep_is_there_once(data: dict[str, Any], tmp_path: Path) -> None:
    curve = data["curves"][0]
    data["curves"] = [curve | {"points": curve["points"] | {"label": ["x"] * 200_001}}]
    assert "curves[0].points: must have at most 200000 rows" in _refusal(data, tmp_path)
    data["curves"] = [curve, curve]
    told = _refusal(data, tmp_path)
    assert "curves: must have each sweep once; " in told
    assert data["curves"][0]["key"]["variant"] in told


@pytest.mark.parametrize("part", ["specification", "measurement", "observation"])
def test_a_point_is_there_once(part: str, data: dict[str, Any], tmp_path: Path) -> None:
    labels, points = data["curves"][0]["points"]["label"], data["curves"][0][part]["points"]
    at = points.setdefault("at", list(range(len(labels))))
    at[-1] = at[0]
    told = _refusal(data, tmp_path)

    assert f"curves[0].{part}.points: must have each point once; " in told
    assert labels[at[0]] in told


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("at", [10**6], "must have values of at below"),
        ("time_s", [1.0], "values of time_s, one for each row; it has 1"),
        ("time_s", None, "specification.points: must have time_s"),
        ("ceilings_s", {"L2": [1.0, None]}, "values of L2, one for each row; it has 2"),
    ],
)
def test_columns_have_a_value_for_each_point(
    name: str, value: object, message: str, data: dict[str, Any], tmp_path: Path
) -> None:
    data["curves"][0]["specification"]["points"][name] = value

    assert message in _refusal(data, tmp_path)


def test_calibrated_columns_may_be_those_of_the_specification(data: dict[str, Any], tmp_path: Path) -> None:
    curve = next(curve for curve in data["curves"] if "calibrated" in curve)
    assert "time_s" in curve["calibrated"]["points"]
    assert "operations" not in curve["calibrated"]["points"]
    del curve["specification"]
    assert ".calibrated: must have " in _refusal(data, tmp_path)


@pytest.mark.parametrize("value", ["", "yesterday", "2026-11-22", "2026-13-01T00:00:00", "20261122T140411", "9" * 100])
@pytest.mark.parametrize("path", [("created_at",), ("resumed_at", 0), ("curves", 0, "measurement", "started_at")])
def test_a_time_is_one(path: Steps, value: str, data: dict[str, Any], tmp_path: Path) -> None:
    data["resumed_at"] = ["2026-11-22T14:04:11+00:00"]
    _set(data, path, value)
    (tmp_path / "report.json").write_text(json.dumps(data))

    if value or len(path) < 3:
        with pytest.raises(InputError, match="must be a date and time in ISO 8601, like 2026-"):
            load_report(tmp_path)
    else:
        assert load_report(tmp_path).measurements[0].started_at == ""


def test_a_driver_may_say_more_than_a_report_keeps() -> None:
    present = describe(0, "x" * 5000, "1", lambda query: "y " * 5000 if query in ("NAME", "EXTENSIONS") else None)

    assert len(present.platform) == len(present.name) == 1000
    assert present.extensions == ("y",) * 5000


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
    [
        ("ampere_86", "value: 1 KiB,", "value: 1.5 B,", "occupancy.local_memory_reserved.value: must be a whole"),
        ("rdna3", "opencl_unit: 2", "opencl_unit: 1e-300", "units_per_opencl_unit: must be greater than or equal to"),
        ("ampere_86", "schedulers: 4", "schedulers: 400", "warning: schedulers: 400 is implausible; usual are 1 to 64"),
        ("ampere_86", "100 KiB]", "100 GiB]", "warning: occupancy.carveouts: 104900000 KiB is implausible"),
    ],
)
def test_an_architecture_is_checked_as_a_device_is(
    name: str, old: str, new: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "architectures"
    folder.mkdir()
    path, text = folder / "mine.yaml", (ARCHITECTURES / f"{name}.yaml").read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))

    assert main(["devices", "check", str(path)]) == (0 if sentence.startswith("warning") else 2)
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.removeprefix(str(path)).lstrip(":0123456789 ").startswith(sentence)
    assert last.startswith("1 file, ")


def _declared(place: Place) -> tuple[Any, str]:
    """Return the type of a value in its record, and the name of its table if it is one of several."""
    record, field = place.means if isinstance(place.means, tuple) else (Architecture, f"{place.steps[0]}_per_cycle")
    info = record.model_fields["latency_cycles" if field == "latencies_per_cycle" else field]
    return Annotated[info.annotation, *info.metadata], "fp32" if place.declared.by_name else ""


def _numbers(kind: Any) -> list[float]:
    """Return the bounds of a type, numbers next to them, and others."""
    ends = map(float, re.findall(r'imum": ([-+.e0-9]+)', json.dumps(TypeAdapter(kind).json_schema())))
    near = [end * factor for end in ends for factor in (1 - 1e-6, 1, 1 + 1e-6)]
    return [*near, -1, 0, 1e-320, 1e-61, 1e-7, 0.5, 3, 1e10, 1e61]


@pytest.mark.parametrize("model", [ArchitectureFile, DeviceFile])
def test_files_contain_no_number_that_their_records_refuse(model: type[DeviceFile | ArchitectureFile]) -> None:
    """All bounds of all values, also those of a single field, such as the share of error correction."""
    refused = 0
    for place in places(model):
        kind, table = _declared(place)
        for number in _numbers(kind):
            written = f"{number / place.declared.scale!r} {place.declared.unit}" if place.declared.unit else number
            for value in (written, [written], [written] * 3):
                try:
                    read = place.leaf.model_validate(value).value
                except ValidationError:
                    refused += 1
                else:
                    TypeAdapter(kind).validate_python({table: read} if table else read)
    assert refused > 1000


def test_every_number_of_the_database_has_a_usual_range() -> None:
    others = ("flops", "opencl.*")
    for path in sorted(data_dir("devices").rglob("*.yaml")):
        model = ArchitectureFile if path.parent.name == "architectures" else DeviceFile
        for field, leaf in read_file(path, model).get().values.items():
            if numbers_in(leaf.value) and not isinstance(leaf.value, bool):
                known = declaration(field).most < inf or any(fnmatchcase(field, pattern) for pattern in others)
                assert known, f"{path}: {field}"


def test_a_point_that_is_published_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.yaml"
    path.write_text(RECORD.read_text().replace("[8, 117.1]", "[8, 117.1]\n      - [8, 117.2]"))

    with pytest.raises(InputError, match=r"record\.yaml:\d+: series\.0\.rows\.4: has the same point as rows\.3"):
        published.load(path, load_database())
