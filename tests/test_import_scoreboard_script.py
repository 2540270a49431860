"""Tables of the scoreboard from those of the sources: columns of operators, names of devices, samples."""

from pathlib import Path

import pandas as pd
import pytest

import import_scoreboard as script
from gpureport.spec.database import load_database


def test_an_operator_counts_what_it_must_at_least_move_and_compute() -> None:
    linear = script.product_columns("linear", 1, 64, 32, 16)
    add, scalar = (script.vector_columns(pd.Series([op]), pd.Series([8.0]), pd.Series([4.0])) for op in ("add", "addu"))

    assert linear["bytes"] == 4 * (64 * 16 + 16 * 32 + 64 * 32 + 32)
    assert linear["flop"] == 2 * 64 * 32 * 16
    assert [float(each["bytes"].iloc[0]) for each in (add, scalar)] == [4 * 3 * 32, 4 * 2 * 32]
    assert scalar["operator"] == ["add_scalar"]


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("GeForce RTX 2060", "nvidia/rtx_2060"),  # not the one with 12 GB, which drivers call the same
        ("Tesla P4", "nvidia/p4"),
        ("NVIDIA H100 80GB HBM3", "nvidia/h100_sxm"),
        ("UHD Graphics 770", ""),  # its memory is that of the machine
        ("M5 GPU 10CU 32GB", "apple/m5"),
        ("M3 Ultra GPU 60CU 99GB", ""),  # the entry describes 80 cores
        ("Threadripper 3970X", ""),
        ("H200 NV", ""),
    ],
)
def test_a_device_is_found_by_a_complete_name(name: str, entry: str) -> None:
    assert script.entry_of(name, load_database()) == entry


def test_a_sample_has_all_rows_of_small_groups_and_is_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "SAMPLE", 40)
    frame = pd.DataFrame({"device": ["a"] * 10 + ["b"] * 200 + ["c"] * 200, "op": "add", "set": "test"})

    sample = script.sampled(frame)

    assert sample["device"].value_counts().to_dict() == {"b": 15, "c": 15, "a": 10}
    assert sample.equals(script.sampled(frame))


def test_a_whole_model_has_the_operators_of_its_layers_and_what_its_source_adds(tmp_path: Path) -> None:
    nodes = {"transformer_h_0_ln_1": "VECln:8x16", "softmax": "VECsoftmax:32x4", "add_15": "VECadd:8x16"}
    nodes["transformer_ln_f"] = "VECln:8x16"
    frame = pd.DataFrame({"node": nodes.keys(), "dims": nodes.values()})
    frame["op"] = frame["dims"].str.partition(":")[0]
    frame = frame.assign(device="d", model="gpt3_xl", mode="train", sequence=4, batch=2, fw_measured_s=1.0)
    frame.assign(**{f"fw_{name}_s": 1.0 for name in script.RIVALS.values()}).to_csv(
        tmp_path / "neusight_graph_ops.csv.xz", index=False
    )

    parts = script.neusight_parts(tmp_path)

    assert set(parts["model"]) == {"gpt3_xl train 4 2"}
    assert list(zip(parts["operator"], parts["rows"], parts["count"], strict=True)) == [
        *(("layer_norm", 8, 24), ("softmax", 32, 24), ("add", 8, 24), ("layer_norm", 8, 1)),
        *(("copy", 8, 24), ("copy", 32, 24), ("dropout", 8, 49), ("dropout", 32, 24)),
    ]


def test_only_old_versions_of_clpeak_call_what_the_compiler_of_apple_does_not_fuse(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"platform": ["Apple", "Apple", "Apple", "NVIDIA CUDA"], "source_file": ["a", "a@HEAD", "a", "b"]}
    )
    frame["device_reported"] = ["Apple M1 Pro", "Apple M1 Pro", "AMD Radeon Pro", "Tesla V100-PCIE-32GB"]
    frame = frame.assign(api="OpenCL", suspect=0, variant="float", value_si=1e12, device_key="")
    frame.assign(test="single_precision_compute").to_csv(tmp_path / "clpeak.csv.xz", index=False)

    assert script.clpeak(tmp_path)["instructions"].fillna(1.0).tolist() == [2.0, 1.0, 1.0, 1.0]
