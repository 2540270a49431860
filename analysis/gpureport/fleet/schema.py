"""The tables of a store: names and types of their columns, as ``tables/store.yaml`` lists them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from gpureport.inputs import shipped_table

Table = Literal["runs", "key_figures", "points"]
Kind = Literal["VARCHAR", "DOUBLE", "BIGINT", "BOOLEAN", "TIMESTAMP"]
"""Types of SQL."""
Value = str | float | int | bool | datetime | None
Row = dict[str, Value]
StoredRun = Mapping[Table, tuple[Row, ...]]
"""A run: the rows of each table, all with its id."""

VERSION = 1
"""Version of the schema. A reader takes files that lack columns, so columns may be added to a version."""
TABLES = shipped_table("store", dict[Table, dict[str, Kind]])
COLUMNS: Mapping[str, Kind] = {"kind": "VARCHAR", **{n: kind for table in TABLES.values() for n, kind in table.items()}}
"""The columns of a file: those of all tables, and ``kind``, the table of a row."""
