"""The scoreboard: its tables, predictions of rows, rivals, and damaged tables."""

import lzma
import re
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest

from gpureport.errors import InputError
from gpureport.predict.traffic import outer_bytes
from gpureport.spec.database import load_database
from gpureport.spec.uncertainty import CONSTANTS, NORMAL_95
from gpureport.validate import scoreboard
from gpureport.validate.matrix_products import PRODUCTS
from gpureport.validate.operators import OPERATORS
from gpureport.validate.residuals import frame
from gpureport.validate.scoreboard import USERS_DEVIATION, predict_rows, roofline_s, scoreboard_residuals
from gpureport.validate.software import DATA_SETS, DataSet, timing_of
from gpureport.validate.streams import STREAMS
from tests.kept import PUBLISHED

ROOT = Path(__file__).parents[1]
FOLDER = PUBLISHED / "scoreboard"
TABLE, PARTS = "neusight_layers.csv.xz", "parts/neusight_models.csv.xz"
HEADER = "device,kernel_class,operator,model,rows,columns,bytes,flop,time_s,li_s"
STREAM = HEADER.replace("rows,columns", "elements,element_bytes") + ",group"
ROW = "nvidia/a100_pcie_40,element-wise,add,bert inf,4096,1024,50331648,4194304,5e-5,4e-5"


def written(folder: Path, *rows: str, header: str = HEADER, name: str = TABLE) -> Path:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(lzma.compress("\n".join((header, *rows)).encode()))
    return folder


def found_in(folder: Path) -> pd.DataFrame:
    return frame(scoreboard_residuals(folder, load_database()))


def test_a_row_has_its_prediction_a_roofline_and_rivals(tmp_path: Path) -> None:
    tiny = ROW.replace("4096,1024,50331648,4194304,5e-5,4e-5", "4,16,768,0,5e-5,")

    large, small = found_in(written(tmp_path, ROW, tiny)).itertuples()

    assert (large.data_set, large.kernel_class, large.conditions) == (
        DATA_SETS[TABLE].title,
        "element-wise",
        "bert inf",
    )
    assert (large.workload, large.label, large.what) == ("element-wise/add", "rows 4096, columns 1024", "times")
    assert large.rivals == {"roofline": pytest.approx(50331648 / 1555e9), "li": 4e-5}
    assert small.rivals == {"roofline": pytest.approx(768 / 1555e9)}
    assert large.expected[0] < large.predicted < large.expected[1]
    assert large.rivals["roofline"] < large.predicted < 3 * large.rivals["roofline"]
    assert small.predicted > 1000 * small.rivals["roofline"]  # what the timing adds


def test_constants_of_software_belong_to_some_way_of_timing() -> None:
    timings = {data.timing for data in DATA_SETS.values()}

    assert all(any(each.only in timing for timing in timings) for each in CONSTANTS)


def test_rows_without_error_correction_are_faster(tmp_path: Path) -> None:
    rows = (ROW.replace("a100_pcie_40", "t4") + ecc for ecc in (",0", ",1", ","))

    unknown, off, on = found_in(written(tmp_path, *rows, header=HEADER + ",ecc")).sort_values("label").predicted

    assert off < on == unknown


def test_times_of_users_have_wider_intervals(tmp_path: Path) -> None:
    written(tmp_path, ROW, name="babelstream.csv.xz")
    written(tmp_path, ROW, name="fluidx3d.csv.xz")

    known, of_users = (np.log(low / predicted) / NORMAL_95 for (low, _), predicted in _intervals(tmp_path))

    assert of_users == pytest.approx(-np.hypot(known, USERS_DEVIATION))


def test_what_compilers_make_of_reductions_is_less_certain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, ROW.replace("element-wise,add", "softmax,softmax"), ROW)
    *estimated, (_, added) = _intervals(tmp_path)
    monkeypatch.setattr(scoreboard, "ROWS_DEVIATION", 0.0)
    *certain, (_, same) = _intervals(tmp_path)

    ((wide, _),), ((narrow, _),) = estimated, certain
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert added == same


def _intervals(folder: Path) -> list[tuple[tuple[float, float], float]]:
    found = found_in(folder).sort_values("result")
    return list(zip(found.expected, found.predicted, strict=True))


def test_an_operator_without_a_model_is_not_predicted(tmp_path: Path) -> None:
    unknown = f"{ROW},fp32".replace(",add,", ",fold,")
    fp64 = "intel/arc_b580,arithmetic,multiply_add,bert inf,1,1,1,1,5e-5,,fp64"  # which has no rate in the database
    fp16 = "nvidia/p4,matrix product,{},bert inf,1,1,1,1,5e-5,,fp16"  # nor has this one
    products = (fp16.format("bmm"), fp16.format("fold"))
    others = (ROW + ",bf16", products[0].replace("fp16", "tf32"))
    table = written(tmp_path, unknown, fp64, *products, *others, header=f"{HEADER},type")

    for row in found_in(table).itertuples():
        assert row.predicted != row.predicted
        assert row.observed == 5e-5
        assert row.rivals["roofline"] > 0


def test_a_roofline_has_the_highest_listed_peak_of_the_operation() -> None:
    def peak(entry: str, kernel_class: str, kind: str = "fp32") -> float:
        row = {"kernel_class": kernel_class, "type": kind, "bytes": 0.0, "flop": 1e12}
        return 1 / roofline_s(row, load_database().device(entry))

    assert peak("amd/mi100", "matrix product") == pytest.approx(46.1, rel=0.01)
    assert peak("amd/mi100", "arithmetic") == pytest.approx(23.1, rel=0.01)
    assert peak("amd/mi300x", "arithmetic") == pytest.approx(163.4, rel=0.01)
    assert peak("amd/rx_7900_xtx", "arithmetic") == pytest.approx(61.4, rel=0.01)
    assert peak("nvidia/a100_sxm_40", "matrix product", "bf16") == pytest.approx(312, rel=0.01)
    assert peak("nvidia/p4", "matrix product", "fp16") == peak("nvidia/p4", "arithmetic")


def test_a_whole_model_is_the_sum_of_its_operators(tmp_path: Path) -> None:
    operators = "element-wise,{},{},4096,1024,50331648,4194304,bert inf"
    header = "kernel_class,operator,count,rows,columns,bytes,flop,model"
    written(tmp_path, operators.format("add", 24), operators.format("relu", 2), header=header, name=PARTS)
    written(tmp_path, ROW.replace("element-wise,add", "whole model,sequence"), name="neusight_models.csv.xz")
    written(tmp_path, ROW, ROW.replace(",add,", ",relu,"))

    add, relu, model = found_in(tmp_path).itertuples()

    before = timing_of("PyTorch, events in a graph", {}, load_database().device(model.device)).before_s
    assert model.predicted == pytest.approx(24 * (add.predicted - before) + 2 * (relu.predicted - before))
    assert model.rivals["roofline"] == pytest.approx(26 * add.rivals["roofline"])


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        ("soft,fold,1,1,8,8,gpt2", "neusight_models.csv.xz:2: model: 'bert inf' is unknown"),
        ("element-wise,add,1,4096,50331648,4194304,bert inf", f"{PARTS}:2: columns: add needs a number from 1 on"),
    ],
)
def test_a_whole_model_needs_its_operators(operator: str, message: str, tmp_path: Path) -> None:
    written(tmp_path, operator, header="kernel_class,operator,count,rows,bytes,flop,model", name=PARTS)
    written(tmp_path, ROW.replace("element-wise,add", "whole model,sequence"), name="neusight_models.csv.xz")

    with pytest.raises(InputError, match=message):
        found_in(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a100_pcie_40", "a100_pcie_41", f"{TABLE}:2: device: '.*' is unknown; did you mean 'nvidia/a100_pcie_40'"),
        (",5e-5", ",0", f"{TABLE}:2: time_s: '0' is no number above zero"),
        (",5e-5", ",1e300", f"{TABLE}:2: time_s: '1e300' is no number above zero, of at most 1e[+]30"),
        (",1024", ",many", f"{TABLE}:2: columns: 'many' is no number from 1 to 1e[+]12"),
        (",1024", ",", f"{TABLE}:2: columns: add needs a number from 1 on"),
        (",1024", ",0", f"{TABLE}:2: columns: add needs a number from 1 on"),
        (",1024", ",0.5", f"{TABLE}:2: columns: '0.5' is no number from 1 to 1e[+]12"),
        ("add,", ",", f"{TABLE}:2: operator: '' is empty"),
        (",flop", ",flops", f"{TABLE}:1: flop: is missing"),
        (",li_s", ",roofline_s", f"{TABLE}:1: roofline_s: is no name of a rival"),
        (",li_s", ",_s", f"{TABLE}:1: _s: is no name of a rival"),
        (",li_s", ",rows", f"{TABLE}:1: rows: occurs twice"),
        ("nvidia", "\n\nnvidia", f"{TABLE}:2: device: '' is empty"),
    ],
)
def test_a_damaged_table_is_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    written(tmp_path, ROW.replace(old, new, 1), header=HEADER.replace(old, new, 1))

    with pytest.raises(InputError, match=message):
        found_in(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "mine.csv: is empty"),
        (HEADER.encode(), "mine.csv: has no rows"),
        (b"\xff\xfe\x00\x81", "mine.csv: is not UTF-8 text"),
        ("\n".join((HEADER, ROW, ROW.replace("5e-5", "6e-5"), ROW)).encode(), "mine.csv:4: repeats an earlier row"),
    ],
)
def test_tables_that_are_none_are_named(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "scoreboard").mkdir()
    (tmp_path / "scoreboard" / "mine.csv").write_bytes(content)

    with pytest.raises(InputError, match=message):
        found_in(tmp_path / "scoreboard")


def test_the_page_has_a_table_and_the_parameters_of_all_operators(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8").partition("## A table of your own")[2]
    (tmp_path / "scoreboard").mkdir()
    (tmp_path / "scoreboard" / "triad.csv").write_text(page.partition("```csv\n")[2].partition("```")[0])
    (row,) = found_in(tmp_path / "scoreboard").itertuples()
    assert row.expected[0] < row.observed < row.expected[1]

    rows = [line.split("|")[1:3] for line in page.partition("\n## ")[0].splitlines() if line.startswith("| `")]
    described = [
        (name, re.findall(r"`(\w+)`", cells[1])) for cells in rows for name in re.findall(r"`(\w+)`", cells[0])
    ]
    assert sorted(name for name, _ in described) == sorted([*OPERATORS, *PRODUCTS, *STREAMS])
    device = load_database().device("nvidia/a40")
    for name, parameters in described:
        made = {"kernel_class": "any", "operator": name, **dict.fromkeys(parameters, 16.0)}
        assert predict_rows(tmp_path, {0: {0: made}}, device, DataSet("")) != [None]


@pytest.mark.parametrize(("group", "problem"), [("1e12", "'1e[+]12' is more than 65536"), ("0", "stream_copy needs a")])
def test_a_work_group_is_limited(group: str, problem: str, tmp_path: Path) -> None:
    table = written(tmp_path, ROW.replace("add,bert inf,4096,1024", "stream_copy,,1e6,8") + f",{group}", header=STREAM)

    with pytest.raises(InputError, match=f"{TABLE}:2: group: {problem}"):
        found_in(table)


def test_rows_with_error_correction_are_those_of_devices_whose_share_comes_from_others(tmp_path: Path) -> None:
    entries = {
        "nvidia/a40,": ",0",
        "nvidia/a10,": ",1",
        "nvidia/t4,": ",",
        "nvidia/k40,": ",1",
        "nvidia/a100_pcie_40,": ",",
    }
    rows = (entry + ROW.partition(",")[2] + ecc for entry, ecc in entries.items())

    found = found_in(written(tmp_path, *rows, header=HEADER + ",ecc"))

    assert set(found[found["ecc"]]["device"]) == {"nvidia/a10", "nvidia/t4"}


def test_vectors_use_instructions_for_pairs_where_there_are_any() -> None:
    row = {"work_items": 256.0, "vector": 4.0}
    devices = (load_database().device(name) for name in ("amd/mi250x", "amd/mi100"))

    pairs, single = (STREAMS["multiply_add"](row, device).operations["fp32"] for device in devices)

    assert single == 2 * pairs


def test_a_compiler_may_make_several_instructions_of_a_multiply_add() -> None:
    row, device = {"work_items": 256.0, "vector": 1.0}, load_database().device("apple/m1")

    one, two = (STREAMS["multiply_add"](each, device) for each in (row, {**row, "instructions": 2.0}))

    assert [two.operations["fp32"], two.chain["fp32"]] == [2 * one.operations["fp32"], 2 * one.chain["fp32"]]


@pytest.mark.slow
def test_shipped_tables_are_read() -> None:
    found = found_in(FOLDER)

    same_row = ["result", "device", "workload", "conditions", "label"]
    assert (found.groupby(same_row)["predicted"].nunique() <= 1).all()  # sealed predictions are found by these
    assert set(found["data_set"]) == {each.title for each in DATA_SETS.values()}
    lacking = found[found["predicted"].isna() & (found["kernel_class"] != "whole model")]
    assert not set(lacking["workload"].str.split("/").str[1]) & set(OPERATORS)


@pytest.mark.parametrize("table", ["fluidx3d", "babelstream", "gpu_benches", "clpeak", "opencl_benchmark", "particles"])
def test_streams_move_the_bytes_of_their_rows(table: str) -> None:
    rows = pd.read_csv(FOLDER / f"{table}.csv.xz").drop_duplicates("operator")

    for row in rows.to_dict("records"):
        known = {str(name): value for name, value in row.items() if value == value}
        device = load_database().device(str(row["device"]))
        moved = [each for each in STREAMS[str(row["operator"])](known, device).streams if each.buffer != "sums"]
        assert outer_bytes(moved, 1) == pytest.approx(row["bytes"])


CELLS = ("", "0", "-1", "0.5", "3.5", "1e30", "1e-30", "nan", "inf", "x", "fp64", "add", "matmul", "softmax")


@pytest.mark.slow
@pytest.mark.parametrize("table", sorted(DATA_SETS))
def test_any_cells_are_predicted_or_refused(table: str, tmp_path: Path) -> None:
    rows = pd.read_csv(FOLDER / table, dtype=str, keep_default_na=False)
    chance = Random(table)  # noqa: S311 - not for cryptography

    for seed in range(30):
        changed = rows.sample(2, random_state=seed)
        changed.iloc[chance.randrange(2), chance.randrange(rows.shape[1])] = chance.choice(CELLS)
        changed.to_csv(tmp_path / table, index=False)
        with suppress(InputError):
            assert len(found_in(tmp_path)) == 2
