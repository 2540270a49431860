"""Every device and architecture file that is shipped, and what is predicted for them."""

import json
from collections import Counter
from dataclasses import replace
from math import isfinite
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from gpureport.cli import main
from gpureport.data import data_dir
from gpureport.predict import limits_of, predict_sweep
from gpureport.spec.check import check_folder
from gpureport.spec.database import Database, is_architecture, load_database
from gpureport.spec.files import ArchitectureFile, DeviceFile, file_schema
from gpureport.spec.reported import plain
from gpureport.workloads import all_workloads
from gpureport.workloads.model import Sweep

FILES = sorted(data_dir("devices").rglob("*.yaml"))
ENTRIES = sorted(p.relative_to(data_dir("devices")).with_suffix("").as_posix() for p in FILES if not is_architecture(p))
SCHEMAS = {
    "device": Draft202012Validator(file_schema(DeviceFile)),
    "architecture": Draft202012Validator(file_schema(ArchitectureFile)),
}


def _ids(path: Path) -> str:
    return path.stem


def test_shipped_files_have_no_problem(database: Database) -> None:
    """Neither an error nor an implausible or unsourced value."""
    assert check_folder(FILES, database) == []


def test_shipped_entries_can_be_told_apart(database: Database) -> None:
    """No name belongs to two; those with one OpenCL name differ in PCI ids, units or memory."""
    files = [entry.file for entry in database.entries.values()]
    found = [(plain(name), file.pci_ids, *_size(file)) for file in files for name in {*map(plain, file.opencl_names)}]
    assert max(Counter(plain(file.name) for file in files).values()) == 1
    assert max(Counter(found).values()) == 1


def _size(file: DeviceFile) -> tuple[object, ...]:
    return tuple(file.values[path].value for path in ("compute_units", "memory.size") if path in file.values)


@pytest.mark.parametrize("path", FILES, ids=_ids)
def test_editors_agree_with_the_models(path: Path) -> None:
    """The file names its schema in the first line, and the schema accepts it."""
    name = "architecture" if is_architecture(path) else "device"
    first = path.read_text().splitlines()[0]

    assert first == f"# yaml-language-server: $schema=../{name}.schema.json"
    assert [e.message for e in SCHEMAS[name].iter_errors(yaml.safe_load(path.read_text()))] == []


@pytest.mark.parametrize("name", ["device", "architecture", "kernel", "report"])
def test_schemas_are_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As valid JSON Schemas."""
    assert main(["schema", name]) == 0

    printed = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(printed)
    assert len(printed["properties"]) > 5
    assert name not in SCHEMAS or printed == SCHEMAS[name].schema


def test_the_schema_refuses_what_the_models_refuse() -> None:
    """A misspelt field and a number without a unit are marked in the editor."""
    validator = Draft202012Validator(file_schema(DeviceFile))
    good = {"name": "x", "vendor": "y", "architecture": "z", "clock": {"value": "1 GHz", "note": "n"}}

    assert validator.is_valid(good)
    assert not validator.is_valid({**good, "clok": "1 GHz"})
    assert not validator.is_valid({**good, "clock": 1})
    assert not validator.is_valid({**good, "caches": dict.fromkeys(map(str, range(51)), "1 MiB")})
    assert validator.is_valid({**good, "flops": None})


@pytest.mark.parametrize("part", ["rates", "occupancy", "rates.fp32", "occupancy.max_waves", "wave_size"])
def test_the_schema_refuses_an_architecture_without_required_values(part: str) -> None:
    """Unless it extends another."""
    content = yaml.safe_load((data_dir("devices") / "architectures" / "ampere_86.yaml").read_text())
    *above, last = part.split(".")
    del (content[above[0]] if above else content)[last]

    assert not SCHEMAS["architecture"].is_valid(content)
    assert SCHEMAS["architecture"].is_valid({**content, "extends": "turing_75"})
    assert not SCHEMAS["architecture"].is_valid({"extends": "turing_75"})


def test_nvidia_rules_are_the_vendor_s(database: Database) -> None:
    """Limits of the occupancy calculator that are easily confused."""
    expected = {
        "hopper_90": (64, 32, 128, 1024),
        "ampere_86": (48, 16, 128, 1024),
        "ada_89": (48, 24, 128, 1024),
        "turing_75": (32, 16, 256, 0),
        "volta_70": (64, 32, 256, 0),
        "pascal_61": (64, 32, 256, 0),
    }
    entries = {database.device(e).architecture.id: database.device(e).architecture for e in ENTRIES}
    for name, limits in expected.items():
        if name not in entries:
            continue
        rules = entries[name].occupancy
        granularity, reserved = rules.local_memory_granularity_bytes, rules.local_memory_reserved_bytes
        assert (rules.max_waves, rules.max_groups, granularity, reserved) == limits


def test_neighbouring_words_are_read_at_the_full_rate(database: Database) -> None:
    """The lines looked up in the time of one access contain at least the words of a wave."""
    for device in map(database.device, ENTRIES):
        line, architecture = device.caches[0].line_bytes, device.architecture
        assert architecture.lines_per_access * line >= 4 * architecture.wave_size, architecture.id


FIRST = {entry.file.architecture: entry.id for entry in reversed(load_database().entries.values())}.values()


def _thinned(sweep: Sweep) -> Sweep:
    """Leave the first, the middle and the last point of a sweep: too few for features."""
    points = sweep.points
    return replace(sweep, points=tuple({id(p): p for p in (points[0], points[len(points) // 2], points[-1])}.values()))


@pytest.mark.slow
@pytest.mark.parametrize("entry", FIRST)
def test_every_workload_is_predicted(database: Database, entry: str) -> None:
    """Each has a time of at least every ceiling; which times is frozen elsewhere."""
    device = database.device(entry)
    limits = limits_of(device)
    found = {workload: workload.sweeps(device, limits) for workload in all_workloads()}
    assert sum(map(bool, found.values())) > 0.9 * len(found)  # a few need what not every device has
    for workload, sweeps in found.items():
        for sweep in map(_thinned, sweeps):
            prediction = predict_sweep(device, workload, sweep, "specification")
            assert len(prediction.points) == len(sweep.points)
            for point in prediction.points:
                where = (workload.name, point.point.label)
                assert 0 < point.value < float("inf"), where
                assert isfinite(point.time_s), where
                assert point.bottleneck in point.ceilings_s, where
                assert point.time_s >= 0.999 * max(point.ceilings_s.values()), where
                assert point.point.working_set_bytes <= limits.max_bytes * 1.001, where
