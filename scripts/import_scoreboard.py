"""Make the tables of ``reports/published/scoreboard`` from a folder with tables of published measurements.

Run as ``.venv/bin/python scripts/import_scoreboard.py FOLDER``. The README there describes sources, columns, and what
is left out. Names of devices without an entry of the database are listed; their rows are left out.
"""

import lzma
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from gpureport.spec.database import Database, load_database
from gpureport.spec.reported import plain

OUTPUT = Path(__file__).parents[1] / "reports" / "published" / "scoreboard"
SEED = 20261129
SAMPLE = 4000
"""Rows of a large table that are kept."""
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}]

NAMES = {
    "AMD Instinct MI100": "amd/mi100",
    "NVIDIA A100 80GB PCIe": "nvidia/a100_pcie_80",
    "NVIDIA A100-PCIE-40GB": "nvidia/a100_pcie_40",
    "NVIDIA H100 80GB HBM3": "nvidia/h100_sxm",
    "Tesla P4": "nvidia/p4",
    "Tesla T4": "nvidia/t4",
    "Tesla V100-PCIE-32GB": "nvidia/v100_pcie_32",
    "H200 SXM5 141GB": "nvidia/h200_sxm",
    "H100 SXM5 80GB HBM3": "nvidia/h100_sxm",
    "H100 PCIe 80GB HBM2e": "nvidia/h100_pcie",
    "B200 SXM6 180GB": "nvidia/b200",
    "GeForce RTX 2060 KO": "nvidia/rtx_2060",
    "Arc B580 LE": "intel/arc_b580",
    "Arc A770 LE": "intel/arc_a770",
    "M2 Max GPU 38CU 32GB": "apple/m2_max",
    "M2 Pro GPU 19CU 16GB": "apple/m2_pro",
    "M1 Pro GPU 16CU 16GB": "apple/m1_pro",
    "M1 GPU 8CU 16GB": "apple/m1",
    "M5 GPU 10CU 32GB": "apple/m5",
    "Mali-G610 MP4 (Orange Pi 5)": "arm/mali_g610_mc4",
    "Mi Pad 5 Adreno 640 GPU": "qualcomm/adreno_640",
    "A100": "nvidia/a100_sxm_80",
    "A100 80GB": "nvidia/a100_sxm_80",
    "H200": "nvidia/h200_sxm",
    "V100": "nvidia/v100_pcie_32",
    "GeForce GTX TITAN X": "nvidia/gtx_titan_x",
    "GeForce GTX TITAN X (compute_units=24)": "nvidia/gtx_titan_x",
    "Tesla K40m": "nvidia/k40",
    "Tesla K40c": "nvidia/k40",
    "AMD Radeon (TM) R9 Fury Series": "amd/r9_fury_x",
    "Hawaii (R9 390)": "amd/r9_390",
    "gfx1012:xnack- (RX 5500XT)": "amd/rx_5500_xt",
    "A16 (1 GPU)": "nvidia/a16",
    "AMD FirePro D700 (FireGL V)": "amd/firepro_d700",
    "AMD Radeon HD - FirePro D700 Compute Engine": "amd/firepro_d700",
    "Radeon 8060S (Max+ 395)": "amd/radeon_8060s",
    "Radeon RX 580 2048SP 8GB": "amd/rx_580_2048sp",
    "vii pro": "amd/radeon_pro_vii",
    "Graphics Device": "nvidia/gtx_1080_ti",
}
"""Entries of names that differ from those of the database."""
VECTORS = {
    **{name: (name, "element-wise", 2, 1) for name in ("add", "mul", "div", "pow")},
    **{f"{name}u": (f"{name}_scalar", "element-wise", 1, 1) for name in ("add", "mul", "div", "pow")},
    **{name: (name, "element-wise", 1, 1) for name in ("relu", "gelu", "tanh")},
    "copy": ("copy", "element-wise", 1, 0),
    "dropout": ("dropout", "element-wise", 1, 1),
    "cube": ("cube", "element-wise", 1, 2),
    "softmax": ("softmax", "softmax", 1, 5),
    "ln": ("layer_norm", "layer norm", 1, 8),
}
"""NeuSight's name of an operator on rows: ours, its class, arrays that it reads, and operations for each element."""


def vector_columns(op: "pd.Series[str]", rows: "pd.Series[float]", columns: "pd.Series[float]") -> dict[str, object]:
    """Return the columns of operators on *rows* x *columns* of fp32; one more array is written."""
    known = [VECTORS[name] for name in op]
    elements = rows * columns
    return {
        "kernel_class": [each[1] for each in known],
        "operator": [each[0] for each in known],
        "rows": rows,
        "columns": columns,
        "bytes": 4.0 * elements * [each[2] + 1 for each in known],
        "flop": elements * [each[3] for each in known],
    }


def product_columns(op: object, batch: object, m: object, n: object, k: object) -> dict[str, object]:
    """Return the columns of *batch* products of m x k and k x n; a ``linear`` adds a bias."""
    b, m, n, k = (np.asarray(each, float) for each in (batch, m, n, k))
    bias = np.where(np.asarray(op) == "linear", n, 0.0)
    return {
        "kernel_class": "matrix product",
        "operator": op,
        "batch": b,
        "m": m,
        "n": n,
        "k": k,
        "bytes": 4.0 * (b * (m * k + k * n + m * n) + bias),
        "flop": 2.0 * b * m * n * k,
    }


def neusight_layers(folder: Path) -> pd.DataFrame:
    """Return the forward operators of layers of language models, with the predictions of four rivals."""
    return _nodes(pd.read_csv(folder / "neusight_graph_ops.csv.xz"))


def _nodes(frame: pd.DataFrame) -> pd.DataFrame:
    made = _forward(frame).assign(time_s=frame["fw_measured_s"])
    sizes = frame["dims"].str.extractall(r"(\d+)")[0].astype(float).unstack()
    kinds = frame["op"].str.removeprefix("VEC")
    parts = []
    for kind, own in sizes.groupby(kinds):
        if kind == "Linear":  # M x N x K with N reduced
            columns = product_columns("linear", 1, own[0], own[2], own[1])
        elif kind == "BMM":
            columns = product_columns("bmm", own[0], own[1], own[3], own[2])
            columns["copied"] = copied(frame.loc[own.index], own)
        elif kind == "EMBEDDING":
            rows, width = own[0] * own[1], own[4]
            columns = {"kernel_class": "embedding", "operator": "embedding", "rows": rows, "columns": width}
            columns |= {"bytes": rows * (8.0 * width + 8.0), "flop": 0.0}
        else:
            columns = vector_columns(kinds[own.index].replace("powu", "cube"), own[0], own[1])
            columns |= broadcast_columns(frame.loc[own.index], own[0] * own[1], columns["bytes"])
        parts.append(made.loc[own.index].assign(**columns))
    return pd.concat(parts).sort_index()


def copied(nodes: pd.DataFrame, sizes: pd.DataFrame) -> "pd.Series[float]":
    """Return the words of operands that ``torch.matmul`` copies to one stride of the batch, for B x M x N x K.

    Queries, keys and values are views with heads between the elements of a sequence, except in OPT, which copies them
    in operators of its own. ``matmul`` multiplies queries and keys, ``matmul_1`` probabilities and values. With a batch
    of one, views are enough.
    """
    b, m, n, k = (sizes[column] for column in range(4))
    words = b * n * k + (b * m * n).where(nodes["node"].eq("matmul"), 0.0)
    return words.where(nodes["node"].str.startswith("matmul") & nodes["batch"].gt(1), 0.0)


def broadcast_columns(frame: pd.DataFrame, elements: "pd.Series[float]", nbytes: object) -> dict[str, object]:
    """Return ``operand``, the elements of a second operand that is broadcast, its ``period``, and all ``bytes``.

    The same elements are read again ``period`` elements of the result later. These operands are masks of attention,
    positions, and a divisor in the device's memory (transformers 4). With one sequence, positions are not broadcast.
    """
    sequences, length = frame["batch"].astype(float), frame["sequence"].astype(float)
    places = {
        ("bert", "add_7"): (sequences * length, length),
        ("bert", "add_3"): (elements / sequences, elements / sequences),
        ("gpt", "add_1"): (elements / sequences, elements / sequences),
        ("gpt", "truediv"): (1.0 + 0.0 * length, 1.0 + 0.0 * length),
        ("opt", "add_6"): (elements / 32.0, length**2),
    }
    operand, period = elements.copy(), elements.copy()
    for (model, node), (own, again) in places.items():
        here = frame["model"].str.startswith(model) & (frame["node"] == node)
        operand, period = operand.mask(here, own), period.mask(here, again)
    less = operand < elements
    compulsory = pd.Series(nbytes, elements.index).mask(less, 4.0 * (2.0 * elements + operand))
    return {"operand": operand.where(less), "period": period.where(less), "bytes": compulsory}


def _forward(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the device, the name of the model with mode, sequence and batch, and what rivals predict."""
    rivals = {f"{name}_s": frame[f"fw_{source}_s"] for name, source in RIVALS.items()}
    steps = ["model", "mode", "sequence", "batch"]
    return frame[["device"]].assign(model=frame[steps].astype(str).agg(" ".join, axis=1), **rivals)


def neusight_models(folder: Path) -> pd.DataFrame:
    """Return the forward times of whole models on one device, without fusion."""
    frame, parts = pd.read_csv(folder / "neusight_models.csv.xz"), neusight_parts(folder)
    frame = frame[frame["option"].isna()].assign(option="")
    made = _forward(frame).assign(kernel_class="whole model", operator="sequence", time_s=frame["fw_measured_s"])
    made = made[made["model"].isin(parts["model"])]
    for column in ("bytes", "flop"):
        made[column] = made["model"].map((parts["count"] * parts[column]).groupby(parts["model"]).sum())
    return made


def neusight_parts(folder: Path) -> pd.DataFrame:
    """Return the operators of whole models, each with its ``count``.

    The source has those of the first layer and those around the layers. The sources of these models (transformers 4)
    contain more: copies of the result of attention to another order, and in OPT of queries, keys and values (elsewhere,
    ``torch.matmul`` copies them); limits or masks of the scores of attention (``torch.max`` in OPT, ``torch.where`` in
    GPT-2); in training, dropout of scores (not in OPT), of the result of attention, and of the last layer of a block.
    """
    frame = pd.read_csv(folder / "neusight_graph_ops.csv.xz").dropna(subset="fw_roofline_s")
    nodes = _nodes(frame).assign(node=frame["node"])
    parts = []
    for model, of_devices in nodes.groupby("model", sort=False):
        own = max((each for _, each in of_devices.groupby("device")), key=len)
        first, last, layers = LAYERS[str(model).split()[0]]
        places = [own["node"].tolist().index(name) for name in (first, last)]
        inside = np.arange(len(own)).astype(float)
        own = own.assign(count=np.where((inside >= places[0]) & (inside <= places[1]), layers, 1.0))
        first_norm, softmax = (own[own["operator"] == name].iloc[:1] for name in ("layer_norm", "softmax"))
        bert, opt = (name in str(model) for name in ("bert", "opt"))
        extra = [("copy", first_norm, (4 if opt else 1) * layers)] + [("copy", softmax, layers)] * (not bert)
        if " train " in str(model):
            extra += [("dropout", first_norm, 2 * layers + (not opt))] + [("dropout", softmax, layers)] * (not opt)
        parts.append(own)
        for name, like, count in extra:
            columns = vector_columns(pd.Series(name, like.index), like["rows"], like["columns"])
            parts.append(like.assign(count=float(count), **columns))
    return pd.concat(parts).drop(columns=["device", "node", "time_s", *(f"{name}_s" for name in RIVALS)])


LAYERS = {
    "bert_large": ("bert_encoder_layer_0_attention_self_query", "bert_encoder_layer_0_output_layer_norm", 24),
    "gpt2_large": ("transformer_h_0_ln_1", "add_15", 36),
    "gpt3_27": ("transformer_h_0_ln_1", "add_15", 32),
    "gpt3_xl": ("transformer_h_0_ln_1", "add_15", 24),
    "opt_13": ("model_decoder_layers_0_self_attn_layer_norm", "add_8", 24),
}
"""First and last operator of a layer, and the number of layers."""
RIVALS = {"neusight": "neusight", "li": "micro", "habitat": "habitat", "neusight_roofline": "roofline"}
"""Columns of rivals, and their names in the source. Its roofline uses figures of its own for the devices."""


def neusight_vectors(folder: Path) -> pd.DataFrame:
    """Return a sample of operators on rows."""
    frame = sampled(pd.read_csv(folder / "neusight_elementwise.csv.xz", low_memory=False))
    return frame[["device", "time_s"]].assign(**vector_columns(frame["op"], frame["B"], frame["H"]))


def neusight_matrices(folder: Path) -> pd.DataFrame:
    """Return a sample of matrix products."""
    frame = pd.read_csv(folder / "neusight_gemm_conv.csv.xz", low_memory=False)
    frame = sampled(frame[frame["op"] != "conv"])
    sizes = (frame[name] for name in ("B", "M", "K", "N"))
    return frame[["device", "time_s"]].assign(**product_columns(frame["op"], *sizes))


def sampled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return about ``SAMPLE`` rows of *frame*, as many of each device, operator and set as there are."""
    groups = [own for _, own in frame.groupby(["device", "op", "set"])]
    generator, kept, left = np.random.default_rng(SEED), [], SAMPLE
    for number, own in enumerate(sorted(groups, key=len)):
        share = min(len(own), round(left / (len(groups) - number)))
        kept.append(own.iloc[np.sort(generator.choice(len(own), share, replace=False))])
        left -= share
    return pd.concat(kept).sort_index()


def fluidx3d(folder: Path) -> pd.DataFrame:
    """Return the lattice Boltzmann method of FluidX3D on single GPUs, by type of the stored numbers."""
    frame = pd.read_csv(folder / "fluidx3d.csv.xz")
    frame = frame[(frame["units"] == 1) & ~frame["device"].str.contains(CPUS)]
    cells, parts = 256.0**3, []
    for stored, (nbytes, operations) in {"fp32": (153, 363), "fp16s": (77, 406), "fp16c": (77, 1275)}.items():
        made = {"kernel_class": "lattice Boltzmann", "operator": f"lattice_boltzmann_{stored}", "cells": cells}
        made |= {
            "bytes": nbytes * cells,
            "flop": operations * cells,
            "time_s": cells / frame[f"fp32_{stored}_cells_per_s"],
        }
        parts.append(frame[["device"]].assign(**made))
    return pd.concat(parts).dropna()


CPUS = "Xeon|EPYC|Ryzen|Threadripper|Core "


def streams(frame: pd.DataFrame, operator: object, **columns: object) -> pd.DataFrame:
    """Return rows of *operator*, which moves ``bytes``, with its columns."""
    known = {"kernel_class": "stream", "operator": operator, "flop": 0.0}
    return frame[["device"]].assign(**(known | columns))


def babelstream(folder: Path) -> pd.DataFrame:
    """Return the shortest times of BabelStream with CUDA, HIP and OpenCL, whose work-items treat one element each."""
    frame = pd.read_csv(folder / "babelstream.csv.xz")
    frame = frame[frame["api"].isin(["cuda", "hip", "ocl", "opencl"])]
    names = (
        frame["device_reported"].where(~frame["device_reported"].isin(["Fiji", "Hawaii"])).fillna(frame["device_key"])
    )
    elements = frame["array_bytes"].fillna(DEFAULT_STREAM_BYTES) / 8
    arrays = frame["kernel"].map({"copy": 2, "mul": 2, "add": 3, "triad": 3, "dot": 2})
    group = np.where(frame["api"].isin(["cuda", "hip"]), 1024.0, np.nan)
    times = frame["time_min_s"].fillna(8 * arrays * elements / frame["bandwidth_bytes_per_s"])
    made = {"elements": elements, "element_bytes": 8.0, "group": group, "bytes": 8 * arrays * elements}
    ecc = frame["ecc"].map({"on": 1.0, "off": 0.0})
    frame = frame.assign(device=names)
    return streams(frame, "stream_" + frame["kernel"], **made, ecc=ecc, time_s=times)


DEFAULT_STREAM_BYTES = 419430400.0
"""Size of an array of GPU-STREAM 1.0, where its output does not contain it."""


def gpu_benches(folder: Path) -> pd.DataFrame:
    """Return stencils of gpu-stream, and queued kernels on small arrays, of which every fourth size is kept."""
    frame = pd.read_csv(folder / "gpubenches_dram_stream.csv.xz").dropna(subset="blocks_per_sm")
    elements, parts = 134217730.0, []
    for points in (3, 5):
        made = {"elements": elements, "element_bytes": 8.0, "group": frame["block_threads"]}
        made |= {"groups_per_unit": frame["blocks_per_sm"], "bytes": 16 * elements}
        made |= {"ecc": without_ecc(frame)}
        times = 16 * elements / frame[f"{points}pt_bytes_per_s"]
        parts.append(streams(frame, f"stream_{points}_points", **made, time_s=times))
    small = pd.read_csv(folder / "gpubenches_small_kernels.csv.xz")
    small = small[(small["mode"] == "stream_queue") & small["block_threads"].notna()]
    small = small[small["elements"].isin(sorted(small["elements"].unique())[::4])]
    made = {"elements": small["elements"], "element_bytes": 8.0, "group": small["block_threads"]}
    made |= {"bytes": 16.0 * small["elements"], "ecc": without_ecc(small), "time_s": small["time_per_call_s"]}
    parts.append(streams(small, "stream_ping_pong", kernel_class="cached stream", **made))
    return pd.concat(parts)


def without_ecc(frame: pd.DataFrame) -> "pd.Series[float]":
    """Return 0 for the A40, whose reads exceed 15/16 of the listed bandwidth: its error correction was off."""
    return frame["device"].map({"A40": 0.0})


def clpeak(folder: Path) -> pd.DataFrame:
    """Return reads of memory and multiply-adds of fp32 with vendors' OpenCL, for vectors of 1, 2 and 4."""
    frame = pd.read_csv(folder / "clpeak.csv.xz")
    test = frame["test"].str.lower().str.replace("_", " ").str.replace("-", " ")
    frame = frame[(frame["api"] == "OpenCL") & (frame["suspect"] == 0) & frame["variant"].isin(VECTOR_TYPES)]
    frame = frame[~frame["platform"].isin(["Portable Computing Language", "Clover", "clvk"])]
    words, value = frame["variant"].map(VECTOR_TYPES), frame["value_si"]
    keys = ["gfx", "Fiji", "Tonga", "Tahiti", "Intel"]
    named = frame["device_reported"].where(~frame["device_reported"].str.contains("|".join(keys)), frame["device_key"])
    frame = frame.assign(device=named)
    reads = test[frame.index] == "global memory bandwidth"
    memory = {"elements": 2.0**29 / words, "element_bytes": 4 * words, "per_item": 16.0, "bytes": 2.0**31}
    read = streams(frame, "stream_read", **memory, time_s=2.0**31 / value)[reads]
    items = 2.0**24
    called = (frame["platform"] == "Apple") & frame["device_reported"].str.startswith("Apple ")
    made = {
        "work_items": items,
        "vector": words,
        "instructions": (called & ~frame["source_file"].str.endswith("@HEAD")).map({True: 2.0}),
        "bytes": 4 * items,
        "flop": 4096 * items,
        "time_s": 4096 * items / value,
    }
    fma = streams(frame, "multiply_add", kernel_class="arithmetic", **made)
    return pd.concat([read, fma[test[frame.index] == "single precision compute"]])


VECTOR_TYPES = {"float": 1.0, "float2": 2.0, "float4": 4.0}


def opencl_benchmark(folder: Path) -> pd.DataFrame:
    """Return coalesced reads and writes, and multiply-adds of fp32 and fp64."""
    frame, parts = pd.read_csv(folder / "opencl_benchmark.csv.xz"), []
    frame["device"] = frame["device_key"].where(frame["device_key"] != "data center max 1100", "Max 1100")
    for way in ("read", "write"):
        made = {"elements": 2.0**28, "element_bytes": 4.0, "per_item": 16.0, "bytes": 2.0**30}
        parts.append(streams(frame, f"stream_{way}", **made, time_s=2.0**30 / frame[f"coalesced_{way}_bytes_per_s"]))
    items = 2.0**24
    for kind in ("fp32", "fp64"):
        made = {"work_items": items, "vector": 1.0, "bytes": 4 * items, "flop": 4096 * items, "type": kind}
        made |= {"time_s": 4096 * items / frame[f"{kind}_op_per_s"]}
        parts.append(streams(frame, "multiply_add", kernel_class="arithmetic", **made))
    return pd.concat(parts)


def particles(folder: Path) -> pd.DataFrame:
    """Return the mean times of the compute pass of moving particles, without software devices and OpenGL on AMD."""
    frame = pd.read_csv(folder / "particles.csv.xz")
    frame = frame[(frame["software"] == 0) & (frame["compute_avg_s"] > 0)]
    frame = frame[~((frame["api"] == "OpenGL") & frame["device"].str.startswith("AMD"))]
    count = frame["particles"].astype(float)
    made = {"particles": count, "bytes": 64 * count, "flop": 6 * count, "time_s": frame["compute_avg_s"]}
    return streams(frame, "particles", kernel_class="particles", **made)


def llmcompass(folder: Path) -> pd.DataFrame:
    """Return operators of PyTorch on fp16, timed by the host."""
    frame = pd.read_csv(folder / "llmcompass_ops.csv.xz")
    products = frame[frame["op"] == "matmul"]
    made = product_columns("matmul", 1, products["m"], products["n"], products["k"])
    made |= {"bytes": products["bytes_compulsory"]}
    vectors = frame[frame["op"] != "matmul"]
    rows, columns = vectors["m"].where(vectors["n"].notna(), 1), vectors["n"].fillna(vectors["m"])
    other = vector_columns(vectors["op"].replace("layernorm", "ln"), rows, columns)
    other |= {"bytes": vectors["bytes_compulsory"]}
    parts = (
        part[["device", "time_s"]].assign(type="fp16", **own) for part, own in ((products, made), (vectors, other))
    )
    return pd.concat(parts)


OF_NEUSIGHT = (neusight_layers, neusight_models, neusight_vectors, neusight_matrices)
OTHERS = (fluidx3d, babelstream, gpu_benches, clpeak, opencl_benchmark, particles, llmcompass)
TABLES: Mapping[str, Callable[[Path], pd.DataFrame]] = {
    **{f"{each.__name__}.csv.xz": each for each in (*OF_NEUSIGHT, *OTHERS)},
    "parts/neusight_models.csv.xz": neusight_parts,
}


def entry_of(name: str, database: Database) -> str:
    """Return the GPU with this complete name; empty if there is none, or several, or its bandwidth is assumed."""
    known, gpus = plain(NAMES.get(name, name)), {each for each in database.entries if not each.startswith("cpu/")}
    for names in ("titles", "names"):  # drivers report some names for several devices
        found = [each for each in gpus if known in map(plain, getattr(database.entries[each], names))]
        if len(found) == 1:
            assumed = database.device(found[0]).provenance["memory.bandwidth"].kind == "assumed"
            return "" if assumed else found[0]
    return ""


def main() -> None:
    """Write all tables."""
    folder, database = Path(sys.argv[1]), load_database()
    (OUTPUT / "parts").mkdir(parents=True, exist_ok=True)
    for name, make in TABLES.items():
        table, known = make(folder), {}
        if "device" in table:
            known = {device: entry_of(device, database) for device in table["device"].dropna().unique()}
            table = table.assign(device=table["device"].map(known)).query("device.notna() and device != ''")
        first = ["device" if known else "model", "kernel_class", "operator"]
        rivals = [column for column in table if column.endswith("_s") and column != "time_s"]
        last = ["bytes", "flop", *(["time_s"] if known else []), *rivals]
        columns = [*first, *(column for column in table if column not in (*first, *last)), *last]
        table = table.sort_values(first, kind="stable")[columns]
        content = table.to_csv(index=False, float_format="%.9g", lineterminator="\n").encode()
        packed = lzma.compress(content, check=lzma.CHECK_CRC32, filters=_FILTERS)
        (OUTPUT / name).write_bytes(packed)
        lacking = ", ".join(sorted(each for each, entry in known.items() if not entry)) or "none"
        sys.stdout.write(f"{name}: {len(table)} rows, {len(packed) >> 10} KiB; not in the database: {lacking}\n")


if __name__ == "__main__":
    main()
