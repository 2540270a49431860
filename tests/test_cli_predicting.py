"""``gpureport predict``: one device, several side by side, documents, and inexact names."""

import json

import pytest

from gpureport.cli import main

Captured = pytest.CaptureFixture[str]
FEW = ["--quick", "-w", "memory/copy,memory/latency,launch/queued,particles/structs16"]


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize("devices", [["h200"], ["a40", "h200", "hd 520"]], ids="+".join)
def test_tables_are_as_wide_as_the_terminal(
    devices: list[str], columns: int, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    assert main(["predict", *devices, *FEW]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


def test_devices_side_by_side_as_json(capsys: Captured) -> None:
    assert main(["predict", "h200", "RX 7900 XT", *FEW, "--json"]) == 0

    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert captured.err == ""
    assert [each["device"]["id"] for each in answer["devices"]] == ["nvidia/h200_sxm", "amd/rx_7900_xt"]
    (pair,) = answer["contrasts"]
    assert (pair["first"], pair["other"]) == ("nvidia/h200_sxm", "amd/rx_7900_xt")
    copy = next(sweep for sweep in pair["sweeps"] if sweep["key"]["variant"] == "copy")
    last = copy["points"][-1]["ratio"]
    assert last["ci_low"] < last["value"] < last["ci_high"]
    assert last["value"] == pytest.approx(800 * 0.85 / (4800 * 0.92), rel=0.08)  # HBM is approached gradually


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["h200", "H200 SXM"], "'H200 SXM' is nvidia/h200_sxm, which is given twice; choose another device"),
        (["h200", "-o", "x"], "-o: has no effect without --pdf; add --pdf, or omit -o"),
        (["h200", "no such"], "the database has no device 'no such'; 'gpureport devices --known' lists all"),
    ],
    ids=["twice", "no pdf", "unknown"],
)
def test_invalid_requests(arguments: list[str], sentence: str, capsys: Captured) -> None:
    assert main(["predict", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"gpureport: {sentence}\n"
