"""Frozen predictions: the present model predicts what it did when ``scripts/frozen.py --renew`` ran last."""

from pathlib import Path

import pandas as pd
import pytest

import frozen
from frozen import Row, described, differences
from tests.kept import REPORTS

SAMPLE = (
    *("device nvidia/a100_sxm_40", "device amd/mi210", "device amd/rx_7900_xt", "device intel/hd_520"),
    *("device apple/m1", "device cpu/aarch64", "report pocl-xeon-2-cores-quick", "kernels nvidia/gtx_1060_6gb"),
    *("samples nvidia-h200", "samples pocl-epyc-2-cores"),
    *("record a40_game_of_life", "record rtx_2060_bit_transpose", "record mi210_memory", "table cpus"),
)
PARTS = 30


def compare(names: list[str]) -> None:
    """Fail with all lines of the differences, which pytest cuts in comparisons of texts."""
    before = frozen.read(names)
    found = differences(before, pd.concat(map(frozen.predicted, names), ignore_index=True))
    if len(found):
        pytest.fail(described(found), pytrace=False)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.xdist_group(f"frozen {n}")) for n in SAMPLE])
def test_a_sample_is_predicted_as_before(name: str) -> None:
    compare([name])


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=pytest.mark.xdist_group(f"frozen part {part}")) for part in range(PARTS)]
)
def test_everything_is_predicted_as_before(part: int) -> None:
    names = [name for name in frozen.subjects() if name not in SAMPLE]
    compare(names[part::PARTS])


def test_every_subject_is_frozen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A report of the user's run beside the kept ones is no subject."""
    for kept in REPORTS.iterdir():
        (tmp_path / kept.name).symlink_to(kept)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report.json").touch()
    monkeypatch.setattr(frozen, "data_dir", lambda _: tmp_path)
    assert set(frozen.read()["subject"]) == set(frozen.subjects())


def frame(**changes: object) -> pd.DataFrame:
    rows = [
        Row("specification copy/sweep", "1 MiB", "DRAM | DRAM", 1.23456789e-5, spread=1.234),
        Row("specification copy/sweep", "cliff onset L2", "B", 4e6, 3.9e6, 4.1e6),
    ]
    rows[0] = rows[0]._replace(**changes)
    rows.append(Row("observed copy/sweep", "cliff onset L2", "B", observed=3.95e6))
    made = pd.DataFrame(rows, columns=Row._fields)
    made.insert(0, "subject", "device toy")
    return made


@pytest.mark.parametrize(
    ("changes", "quantities"),
    [
        ({}, []),
        ({"value": 1.23456790e-5}, []),  # one unit of the ninth digit
        ({"value": 1.23456791e-5}, ["value"]),
        ({"spread": 1.235}, []),
        ({"spread": 1.236}, ["spread"]),
        ({"spread": float("nan")}, ["spread"]),
        ({"text": "L2 | DRAM"}, ["text"]),
        ({"item": "2 MiB"}, ["missing", "new"]),
    ],
)
def test_differences_beyond_the_last_digit_are_found(changes: dict[str, object], quantities: list[str]) -> None:
    assert differences(frame(), frame(**changes))["quantity"].tolist() == quantities


def test_the_largest_difference_of_a_device_workload_and_quantity_is_described() -> None:
    text = described(differences(frame(), frame(value=1.2469136e-5)))
    expected = "device toy: specification copy: value: 1 differ; most: sweep, 1 MiB: 1.23456789e-05 -> 1.2469136e-05"
    assert text.splitlines() == [f"{expected} (+1.000%)", "1 values of 1 subjects differ from frozen.parquet"]


def test_the_file_keeps_nine_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen, "FROZEN", tmp_path / "frozen.parquet")
    frozen.write(frame())
    pd.testing.assert_frame_equal(frozen.read(), frame(), check_exact=True)
