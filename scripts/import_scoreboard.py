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
from gpureport.validate.scoreboard import DATA_SETS

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
}
"""Entries of names that sources give."""
VECTORS = {
    **{name: (name, "element-wise", 2, 1) for name in ("add", "mul", "div", "pow")},
    **{f"{name}u": (f"{name}_scalar", "element-wise", 1, 1) for name in ("add", "mul", "div", "pow")},
    **{name: (name, "element-wise", 1, 1) for name in ("relu", "gelu", "tanh")},
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
    frame = pd.read_csv(folder / "neusight_graph_ops.csv.xz")
    rivals = {f"{name}_s": frame[f"fw_{source}_s"] for name, source in RIVALS.items()}
    steps = ("model", "mode", "sequence", "batch")
    common = frame[["device"]].assign(model=frame[list(steps)].astype(str).agg(" ".join, axis=1))
    common = common.assign(time_s=frame["fw_measured_s"], **rivals)
    sizes = frame["dims"].str.extractall(r"(\d+)")[0].astype(float).unstack()
    kinds = frame["op"].str.removeprefix("VEC")
    parts = []
    for kind, own in sizes.groupby(kinds):
        if kind == "Linear":  # M x N x K with N reduced
            made = product_columns("linear", 1, own[0], own[2], own[1])
        elif kind == "BMM":
            made = product_columns("bmm", own[0], own[1], own[3], own[2])
        elif kind == "EMBEDDING":
            rows, columns = own[0] * own[1], own[4]
            made = {"kernel_class": "embedding", "operator": "embedding", "rows": rows, "columns": columns}
            made |= {"bytes": rows * (8.0 * columns + 8.0), "flop": 0.0}
        else:
            made = vector_columns(kinds[own.index], own[0], own[1])
        parts.append(common.loc[own.index].assign(**made))
    return pd.concat(parts).sort_index()


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


TABLES: Mapping[str, Callable[[Path], pd.DataFrame]] = {
    "neusight_layers.csv.xz": neusight_layers,
    "neusight_vectors.csv.xz": neusight_vectors,
    "neusight_matrices.csv.xz": neusight_matrices,
}


def entry_of(name: str, database: Database) -> str:
    """Return the entry with this complete name; empty if the database has none, or several."""
    known = plain(NAMES.get(name, name))
    found = [entry.id for entry in database.entries.values() if known in map(plain, entry.names)]
    return found[0] if len(found) == 1 else ""


def main() -> None:
    """Write all tables."""
    folder, database = Path(sys.argv[1]), load_database()
    OUTPUT.mkdir(exist_ok=True)
    for name in DATA_SETS:
        table = TABLES[name](folder)
        known = {device: entry_of(device, database) for device in table["device"].unique()}
        table = table.assign(device=table["device"].map(known)).query("device != ''")
        first = ["device", "kernel_class", "operator"]
        last = [
            "bytes",
            "flop",
            "time_s",
            *(column for column in table if column.endswith("_s") and column != "time_s"),
        ]
        columns = [*first, *(column for column in table if column not in (*first, *last)), *last]
        table = table.sort_values(first, kind="stable")[columns]
        content = table.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()
        packed = lzma.compress(content, check=lzma.CHECK_CRC32, filters=_FILTERS)
        (OUTPUT / name).write_bytes(packed)
        lacking = ", ".join(sorted(each for each, entry in known.items() if not entry)) or "none"
        sys.stdout.write(f"{name}: {len(table)} rows, {len(packed) >> 10} KiB; not in the database: {lacking}\n")


if __name__ == "__main__":
    main()
