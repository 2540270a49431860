"""Transfers of many cloud machines, compared with their predictions from the links of the database."""

from collections.abc import Iterator
from math import inf, log
from pathlib import Path

from gpureport.inputs import read_table
from gpureport.predict.transfers import BOTH_WAYS, Direction, link_bytes_per_s
from gpureport.records.keys import SweepKey
from gpureport.spec.database import Database
from gpureport.validate.independence import independence
from gpureport.validate.residuals import PredictedCurve, Residual

TRANSFERS = "transfers.csv.xz"
CLASS = "NVIDIA GPU, cloud machines"
_COLUMNS: dict[str, tuple[Direction, float]] = {
    "to_device": ("to_device", 1.0),
    "to_host": ("to_host", 1.0),
    "to_device_while_both": ("to_device", BOTH_WAYS),
    "to_host_while_both": ("to_host", BOTH_WAYS),
}
NARROWER = (1.0, 0.5)
"""Rate of links with half of the lanes, or of an earlier generation, relative to the listed link."""


def transfer_residuals(folder: Path, database: Database) -> Iterator[Residual]:
    """Yield the residuals of all machines of a folder.

    The machines do not report the link in use. Many hosts have an earlier generation or fewer lanes than the GPU.
    Therefore the prediction is that of the listed link, or of half of it, whichever comes nearest to both directions of
    a machine: errors are those of the rate that a known link reaches.

    Raises:
        InputError: the table cannot be read, or an entry does not exist.
    """
    for row in read_table(folder / TRANSFERS):
        device = database.device(row["device"])
        seen = {name: float(row[name]) * 1e9 for name in _COLUMNS}
        if not all(0 < rate < inf for rate in seen.values()):
            raise ValueError(f"rates of {row['machine']} must be positive numbers")
        listed = {name: link_bytes_per_s(device.host_link, way) * both for name, (way, both) in _COLUMNS.items()}
        one_way = listed["to_device"] * listed["to_host"] / (seen["to_device"] * seen["to_host"])
        part = min(NARROWER, key=lambda part: abs(log(part**2 * one_way)))
        for name in _COLUMNS:
            yield Residual(
                curve=PredictedCurve(
                    result="transfers",
                    published=True,
                    device=device.id,
                    device_class=CLASS,
                    key=SweepKey(family="transfer", variant="pinned", sweep=name),
                    conditions=row["machine"],
                    kind="specification",
                    independence=independence(device, database),
                    architecture=device.architecture.id,
                ),
                what="bandwidths",
                label="whole link" if part == 1 else f"{part:g} of the link",
                unit="B/s",
                predicted=part * listed[name],
                observed=seen[name],
            )
