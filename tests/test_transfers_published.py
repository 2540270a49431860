"""Transfers of published machines, and their accuracy."""
# ruff: noqa: D103 - the names of the tests say what they check

import lzma
from collections import Counter
from pathlib import Path

import pytest

from gpureport.errors import InputError
from gpureport.spec.database import load_database
from gpureport.validate.residuals import Residual
from gpureport.validate.tables import TRANSFERS, table_residuals, transfer_residuals
from gpureport.validate.targets import TARGETS, judge

FOLDER = Path(__file__).parents[1] / "reports" / "published" / "transfers"


COLUMNS = "machine,device,to_device,to_host,to_device_while_both,to_host_while_both"


@pytest.fixture(scope="module")
def found() -> list[Residual]:
    return list(transfer_residuals(FOLDER, load_database()))


def test_every_machine_has_four_positive_rates_and_a_known_gpu(found: list[Residual]) -> None:
    machines = Counter(each.curve.conditions for each in found)
    assert len(machines) == 146
    assert set(machines.values()) == {4}
    assert all(each.observed and each.predicted for each in found)


def test_targets_are_reached(found: list[Residual]) -> None:
    """No constant was fitted to the H100."""
    results = [one for each in judge(found, TARGETS) for one in each if one.reached is not None]
    assert len(results) == 3
    assert all(one.passed for one in results)
    assert {r.curve.independence for r in found if r.curve.device == "nvidia/h100_sxm"} == {"unseen device"}


def test_narrower_links_are_named_and_apply_to_both_directions(tmp_path: Path) -> None:
    (tmp_path / TRANSFERS).write_bytes(lzma.compress(f"{COLUMNS}\nslow,nvidia/l4,13,13,12,12".encode()))
    found = list(transfer_residuals(tmp_path, load_database()))
    assert {each.label for each in found} == {"0.5 of the link"}
    assert all(0.9 < (each.ratio or 0.0) < 1.1 for each in found)


@pytest.mark.parametrize("rate", ["0", "nan", "-3"])
def test_rates_are_positive_and_a_damaged_table_is_named(rate: str, tmp_path: Path) -> None:
    for content, residuals, wrong in (
        (b"machine,device\n", transfer_residuals, TRANSFERS),
        (lzma.compress(f"{COLUMNS}\nm,nvidia/l4,13,{rate},12,12".encode()), table_residuals, "rates of m must be pos"),
    ):
        (tmp_path / TRANSFERS).write_bytes(content)
        with pytest.raises(InputError, match=wrong):
            list(residuals(tmp_path, load_database()))


@pytest.mark.parametrize(
    ("row", "wrong"), [("m,nvidia/l4,13", "'to_host' is missing"), ("m,nvidia/l5,1", "l5"), ("m,nvidia/l4,x", "x")]
)
def test_a_mistake_in_a_table_gets_one_sentence(row: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / TRANSFERS).write_bytes(lzma.compress(f"machine,device,to_device\n{row}\n".encode()))
    with pytest.raises(InputError, match=wrong):
        list(table_residuals(tmp_path, load_database()))
