"""The tables of a store: names, types and meaning of their columns, in SI base units."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["text", "number", "whole", "truth", "moment"]
Table = Literal["runs", "key_figures", "features", "points"]
Value = str | float | int | bool | datetime | None
Row = dict[str, Value]

VERSION = 1
"""Version of the schema. A reader takes files that lack columns, so columns may be added to a version."""


_TYPES: Mapping[Kind, tuple[str, str, str]] = {
    "text": ("VARCHAR", "string", "'°'"),
    "number": ("DOUBLE", "double", "0.5"),
    "whole": ("BIGINT", "int64", "1"),
    "truth": ("BOOLEAN", "bool", "true"),
    "moment": ("TIMESTAMP", "timestamp[us]", "'2000-01-01'"),
}
"""Types of SQL and of Arrow, and an example of a value in SQL."""


class Column(NamedTuple):
    """A column of a table."""

    kind: Kind
    meaning: str

    @property
    def sql(self) -> str:
        """Its type in SQL."""
        return _TYPES[self.kind][0]

    @property
    def example(self) -> str:
        """An example of a value, in SQL."""
        return _TYPES[self.kind][2]


_RUN = Column("text", "id of the run, derived from its results")
_SWEEP = {
    "family": Column("text", "family of workloads, such as memory"),
    "variant": Column("text", "variant of the family, such as read"),
    "sweep": Column("text", "sweep of the variant, such as working_set"),
}


def _interval(name: str, meaning: str) -> dict[str, Column]:
    return {
        name: Column("number", meaning),
        f"{name}_low": Column("number", "lower end of its 95 % interval"),
        f"{name}_high": Column("number", "upper end of its 95 % interval"),
    }


TABLES: dict[Table, dict[str, Column]] = {
    "runs": {
        "run": _RUN,
        "node": Column("text", "name of the machine, given when the run was added"),
        "device": Column("text", "name of the device, as the driver reports it"),
        "pci_address": Column("text", "distinguishes equal devices of a node; null if not reported"),
        "uuid": Column("text", "identifier of the device itself; null if not reported"),
        "model": Column("text", "id of the database entry, or the device's name if it has none"),
        "compute_units": Column("whole", "number of compute units"),
        "cores": Column("whole", "cores of a CPU that the run could use; null for other devices"),
        "quick": Column("truth", "whether the run had fewer and smaller points"),
        "created_at": Column("moment", "start of the run, UTC"),
        "tool_version": Column("text", "version of gpureport"),
        "driver": Column("text", "version of the driver"),
        "runtime": Column("text", "OpenCL platform"),
        "system": Column("text", "operating system and kernel"),
        "clock_hz": Column("number", "median core clock while kernels ran; null if not recorded"),
        "throttle_reasons": Column("text", "reasons for a lower clock while kernels ran, separated by commas"),
        "power_limit": Column("text", "power limit"),
        "temperature": Column("text", "temperature after the run"),
        "temperature_c": Column("number", "the same in degrees Celsius"),
        "ecc": Column("text", "error correction of the memory"),
        "remapped_rows": Column("text", "memory rows that were replaced after errors; older GPUs: retired pages"),
        "mig": Column("text", "partition of the device (MIG)"),
        "others_utilisation": Column(
            "number", "share of the device that other processes used: mean of a CPU, largest of a GPU"
        ),
        "cpu_steal": Column("number", "share of the processor time that the hypervisor gave to other machines"),
        "report": Column("text", "path of report.json when the run was added"),
        "report_sha256": Column("text", "hash of report.json, which remains the source"),
        "schema": Column("whole", "version of this schema"),
    },
    "key_figures": {
        "run": _RUN,
        "name": Column("text", "name of the key figure, such as Memory read"),
        "unit": Column("text", "unit of all values"),
        "specification": Column("number", "limit or latency of the device's entry, if it has one"),
        **_interval("predicted", "predicted value"),
        **_interval("measured", "measured value"),
    },
    "features": {
        "run": _RUN,
        **_SWEEP,
        "feature": Column("text", "cliff, taper or rate"),
        "position": Column("text", "position within the feature, such as onset"),
        "level": Column("text", "level that ends at a cliff, or that has the rate"),
        "unit": Column("text", "unit of all values"),
        **_interval("predicted", "value predicted from the specification"),
        **_interval("measured", "measured value"),
    },
    "points": {
        "run": _RUN,
        **_SWEEP,
        "point": Column("text", "label of the point"),
        "x": Column("number", "position on the axis of the sweep"),
        "working_set_bytes": Column("number", "bytes of all cache lines that are used repeatedly"),
        "unit": Column("text", "unit of the values"),
        "bottleneck": Column("text", "predicted bottleneck"),
        "layer": Column("text", "what limits the point, such as memory, L2, clock, launch or link (to the host)"),
        **_interval("predicted", "value predicted from the specification"),
        **_interval("measured", "measured median"),
        "log_speed": Column("number", "ln(measured speed / predicted speed), also where low values are fast"),
    },
}


@dataclass(frozen=True)
class StoredRun:
    """A run as rows of a store.

    Attributes:
        run: its id.
        rows: by table.
    """

    run: str
    rows: Mapping[Table, tuple[Row, ...]]


def columns() -> dict[str, Column]:
    """Return the columns of a file: those of all tables, and ``kind``, the table of a row."""
    found = {"kind": Column("text", "table of the row")}
    for table in TABLES.values():
        found |= table
    return found


def arrow_schema() -> "pa.Schema":
    """Return the columns of a file as types of Parquet."""
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(_TYPES[column.kind][1])) for name, column in columns().items()])
