"""``gpureport predict``: one device, several side by side, documents, and inexact names."""
# ruff: noqa: D103

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gpureport.cli import main

Captured = pytest.CaptureFixture[str]
FEW = ["--quick", "-w", "memory/copy,memory/latency,launch/queued,particles/structs16"]


def test_one_device_in_short(capsys: Captured) -> None:
    assert main(["predict", "h200", *FEW]) == 0

    out = capsys.readouterr().out
    titles = [line for line in out.splitlines() if line and not line.startswith(" ")]
    assert titles[0].startswith("NVIDIA H200 SXM (nvidia/h200_sxm): 132 compute units")
    assert "Limits of the hardware from the specification, with 95 % intervals" in titles
    assert "Specification predictions: cliffs (capacity transitions), as working sets" in titles
    rows = {line.split()[0]: line for line in reversed(out.splitlines()) if line.split()}  # the first of a name
    assert "GB/s ±" in rows["DRAM"]
    assert "TFLOP/s as multiply-adds" in rows["fp32"]
    cliff = re.search(r"L2 ([\d.]+) MiB", rows["particles/structs16"])
    assert cliff
    assert float(cliff[1]) == pytest.approx(45, rel=0.05)  # copies there and back: 0.755 of 60 MiB
    assert rows["particles/structs16"].endswith("100 %")


def test_all_of_one_device(capsys: Captured) -> None:
    assert main(["predict", "h200", *FEW, "--all"]) == 0

    out = capsys.readouterr().out
    assert "particles/structs16, particles (particles/s)\n" in out
    assert "  L2 cliff " in out
    assert "limited by" in out


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("devices", [["h200"], ["h200", "rx7900xt"], ["a40", "h200", "hd 520"]], ids="+".join)
def test_tables_are_as_wide_as_the_terminal(
    devices: list[str], columns: int, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    assert main(["predict", *devices, *FEW]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


def test_a_pipe_gets_whole_lines() -> None:
    plain = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-m", "gpureport", "predict", "h200", "rx7900xt", *FEW]
    done = subprocess.run(command, capture_output=True, text=True, env=plain, check=False)

    assert done.returncode == 0
    assert done.stderr == ""
    row = next(line for line in done.stdout.splitlines() if line.startswith("memory/copy ") and " up to " in line)
    assert row.endswith(" beyond")


def test_devices_side_by_side(capsys: Captured) -> None:
    assert main(["predict", "h200", "RX 7900 XT", *FEW]) == 0

    out = capsys.readouterr().out
    assert out.startswith("AMD Radeon RX 7900 XT is predicted to be ")
    assert "\nA: NVIDIA H200 SXM (nvidia/h200_sxm): " in out
    assert "\nB: AMD Radeon RX 7900 XT (amd/rx_7900_xt): " in out
    assert "AMD Radeon RX 7900 XT, but not" in out
    assert "speed of B / speed of A" in out
    heads = [line for line in out.splitlines() if "B / A" in line]
    assert ["speed" in head for head in heads] == [True] * 3
    assert "count as independent." in " ".join(out.split())


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


def test_one_device_as_json(capsys: Captured) -> None:
    assert main(["predict", "h200", *FEW, "--json"]) == 0

    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert captured.err == ""
    assert answer["device"]["id"] == "nvidia/h200_sxm"
    assert {each["kind"] for each in answer["predictions"]} == {"specification"}
    assert set(answer) == {"device", "ceilings", "outlooks", "predictions", "sensitivities"}
    assert {each["workload"] for each in answer["outlooks"]} == set(FEW[-1].split(","))


class _Text(HTMLParser):
    """Collects what a reader sees, less tables of sources and words of the model."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.heads: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "th" in self._inside:
            self.heads.append(data.strip())
        if "style" not in self._inside:
            self.parts.append(data)


def _read(path: Path) -> _Text:
    parser = _Text()
    parser.feed(path.read_text())
    return parser


def test_the_document_of_one_device_claims_no_measurement(tmp_path: Path, capsys: Captured) -> None:
    assert main(["predict", "h200", *FEW, "--pdf", "-o", str(tmp_path)]) == 0
    names = (f"{tmp_path}/report{end}" for end in (".html", ".pdf", "-appendix.pdf"))
    assert capsys.readouterr().err == f"Written: {', '.join(names)}\n"

    document = _read(tmp_path / "report.html")
    text = " ".join(" ".join(document.parts).split())
    assert "NVIDIA H200 SXM: predicted, not measured" in text
    assert "NVIDIA H200 SXM: a prediction" in text
    assert "nothing was measured" in text
    assert "Predicted best of each workload" in text
    assert not {"observed", "observed (95 %)", "verdict", "ratio", "calibrated", "results"} & set(document.heads)
    assert "Measurement methods" not in text
    assert "Compiled kernels" not in text
    assert "Measured" not in text
    assert "predicted (95 %)" in document.heads
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")

    assert main(["predict", "h200", *FEW, "--pdf", "-o", str(tmp_path)]) == 2
    assert "already exists; use --force" in capsys.readouterr().err


def test_the_document_of_devices_side_by_side(tmp_path: Path, capsys: Captured) -> None:
    assert main(["predict", "h200", "rx7900xt", *FEW, "--pdf", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().err.startswith("Written: ")

    document = _read(tmp_path / "report.html")
    text = " ".join(" ".join(document.parts).split())
    assert "NVIDIA H200 SXM and AMD Radeon RX 7900 XT: a prediction" in text
    assert "Ratio by size" in text
    assert "B / A" in document.heads
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


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


def test_a_name_of_many_lists_a_few(capsys: Captured) -> None:
    assert main(["predict", "rtx"]) == 2
    error = capsys.readouterr().err
    assert re.match(r"gpureport: 'rtx' matches \d\d devices, such as nvidia/\S+ and nvidia/\S+; ", error)
    assert "devices --known 'rtx'" in error
    assert len(error) < 300
