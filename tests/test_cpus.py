"""Published machines with CPUs: tables, accuracy, and ``gpureport predict --lscpu``."""

import json
import lzma
from pathlib import Path

import pandas as pd
import pytest

from gpureport.cli import main
from gpureport.errors import InputError
from gpureport.spec.database import load_database
from gpureport.validate.residuals import frame
from gpureport.validate.tables import BARE, CLOUD, table_folders, table_residuals
from gpureport.validate.targets import TARGETS, judge, summarise
from tests.test_spec_lscpu import TEXT

Captured = pytest.CaptureFixture[str]
REPORTS = Path(__file__).parents[1] / "reports"
FOLDER, TRANSFERS, SCOREBOARD = (REPORTS / "published" / name for name in ("cpus", "transfers", "scoreboard"))


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return frame(table_residuals(FOLDER, load_database()))


def test_the_tables_are_found_in_the_usual_places() -> None:
    assert table_folders(FOLDER) == [FOLDER]
    assert table_folders(REPORTS) == [FOLDER, TRANSFERS, SCOREBOARD]
    assert table_folders(REPORTS / "nvidia-h100") == []


@pytest.mark.slow
def test_targets_are_reached_but_one(found: pd.DataFrame) -> None:
    """The slowest tenth of bare metal runs other code than its cores allow."""
    results = judge(found, TARGETS).dropna(subset="reached")

    missed = [f"{one.data}, {one.what}, {one.statistic}" for one in results.itertuples() if one.result == "MISS"]
    assert len(results) == 6
    assert missed == ["CPUs, bare metal, streams, bandwidths, 90 %"]


@pytest.mark.slow
@pytest.mark.parametrize(("device_class", "what"), [(CLOUD, "latencies"), (CLOUD, "bandwidths"), (BARE, "bandwidths")])
def test_intervals_contain_what_they_promise(device_class: str, what: str, found: pd.DataFrame) -> None:
    own = summarise(found[found["device_class"] == device_class], "what")

    assert 0.90 <= own.inside[what] <= 0.98


def copied(folder: Path, old: str = "", new: str = "") -> None:
    """Write the tables of a few bare machines and of a transfer, with a text changed."""
    ways = "to_device,to_host,to_device_while_both,to_host_while_both"
    texts = {"transfers.csv.xz": f"machine,device,{ways}\nm,nvidia/l4,9,9,8,8"}
    for name in ("bare_metal.csv.xz", "streams.csv.xz"):
        rows = lzma.decompress((FOLDER / name).read_bytes()).decode().splitlines()
        kept = rows[:3] if name.startswith("bare") else [row for row in rows if row.startswith(("machine", "1,"))]
        texts[name] = "\n".join(kept)
    for name, text in texts.items():
        (folder / name).write_bytes(lzma.compress(text.replace(old, new, 1).encode()))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",copy,", ",copied,", r"streams.csv.xz:\d+: kernel: 'copied' is unknown; did you mean 'copy'\?"),
        (",cores,", ",of,", "bare_metal.csv.xz:1: cores: is missing"),
        (",bytes_per_core", "", "streams.csv.xz:1: bytes_per_core: is missing"),
        ("1,L1,", "9,L1,", r"streams.csv.xz:\d+: machine: '9' is no row of the machines, 0 to 1"),
        (",thunderx2", ",a40", "there is no architecture 'a40'"),
        ("2.2,", "inf,", "clock_GHz: 'inf' is no number above zero"),
        ("2.2,", '"2.2,', "bare_metal.csv.xz: is not CSV"),
        ("l4,9,9,8,8", "l4,9", "transfers.csv.xz:2: to_host: '' is no number above zero"),
        ("l4", "l5", "device: 'nvidia/l5' is unknown; did you mean 'nvidia/l4'"),
        *(
            ("9,8,", f"9,{rate},", "to_device_while_both: .* is no number above zero")
            for rate in ("0", "nan", "-3", "x")
        ),
    ],
)
def test_a_damaged_table_is_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    copied(tmp_path, old, new)

    with pytest.raises(InputError, match=message):
        list(table_residuals(tmp_path, load_database()))


def test_validate_reads_a_folder_of_tables_only(tmp_path: Path, capsys: Captured) -> None:
    copied(tmp_path)

    assert main(["validate", str(tmp_path)]) == 0

    out = capsys.readouterr().out
    assert BARE in out
    assert CLOUD not in out


@pytest.fixture
def listed(tmp_path: Path) -> str:
    path = tmp_path / "node.txt"
    path.write_text(TEXT)
    return str(path)


def test_a_listed_processor_is_predicted_as_any_device(listed: str, capsys: Captured) -> None:
    assert main(["predict", "--lscpu", listed, "-w", "launch", "--quick", "--json"]) == 0

    device = json.loads(capsys.readouterr().out)["device"]
    assert (device["architecture"]["id"], device["compute_units"]) == ("zen3", 8)
    assert device["provenance"]["memory.size"]["kind"] == "assumed"
    assert device["provenance"]["compute_units"]["source"].startswith("lscpu")
    assert device["provenance"]["caches.L3.partitions"]["source"].startswith("lscpu")
    assert [cache["capacity_bytes"] for cache in device["caches"]] == [2**14, 2**18, 2**25]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--lscpu", "/nowhere/node.txt"], "does not exist"),
        ([], "DEVICE"),
        (["x86_64", "--lscpu", "NODE"], "cpu/x86_64: is given twice; give each report and device once"),
    ],
)
def test_wrong_use_is_one_sentence(arguments: list[str], words: str, listed: str, capsys: Captured) -> None:
    assert main(["predict", *(listed if each == "NODE" else each for each in arguments)]) == 2

    error = capsys.readouterr().err
    assert words in error
    assert len(error.strip().splitlines()) == 1
