"""The tables of a store: names and types of their columns, in SI base units."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

Table = Literal["runs", "key_figures", "points"]
Value = str | float | int | bool | datetime | None
Row = dict[str, Value]
StoredRun = Mapping[Table, tuple[Row, ...]]
"""A run: the rows of each table, all with its id."""

VERSION = 1
"""Version of the schema. A reader takes files that lack columns, so columns may be added to a version."""


TEXT, NUMBER, WHOLE, TRUTH, MOMENT = "VARCHAR", "DOUBLE", "BIGINT", "BOOLEAN", "TIMESTAMP"
"""Types of SQL."""
_INTERVALS = {f"{name}{end}": NUMBER for name in ("predicted", "measured") for end in ("", "_low", "_high")}
"""A value predicted from the specification and a measured one, with the ends of their 95 % intervals."""
TABLES: dict[Table, dict[str, str]] = {
    "runs": {
        "run": TEXT,  # its id, derived from its results
        "node": TEXT,  # name of the machine, given when the run was added
        "device": TEXT,  # name of the device, as the driver reports it
        "pci_address": TEXT,  # distinguishes equal devices of a node; null if not reported
        "uuid": TEXT,  # identifier of the device itself; null if not reported
        "model": TEXT,  # id of the database entry, or the device's name if it has none
        "compute_units": WHOLE,  # number of compute units
        "cores": WHOLE,  # cores of a CPU that the run could use; null for other devices
        "quick": TRUTH,  # whether the run had fewer and smaller points
        "created_at": MOMENT,  # start of the run, UTC
        "tool_version": TEXT,  # version of gpureport
        "driver": TEXT,  # version of the driver
        "runtime": TEXT,  # OpenCL platform
        "system": TEXT,  # operating system and kernel
        "clock_hz": NUMBER,  # median core clock while kernels ran; null if not recorded
        "throttle_reasons": TEXT,  # reasons for a lower clock while kernels ran, separated by commas
        "power_limit": TEXT,  # power limit
        "temperature": TEXT,  # temperature after the run
        "temperature_c": NUMBER,  # the same in degrees Celsius; null if not recorded
        "ecc": TEXT,  # error correction of the memory
        "remapped_rows": TEXT,  # memory rows that were replaced after errors; older GPUs: retired pages
        "mig": TEXT,  # partition of the device (MIG)
        "others_utilisation": NUMBER,  # share of the device that other processes used: mean of a CPU, largest of a GPU
        "cpu_steal": NUMBER,  # share of the processor time that the hypervisor gave to other machines
        "report": TEXT,  # path of report.json when the run was added
        "report_sha256": TEXT,  # hash of report.json, which remains the source
        "schema": WHOLE,  # version of this schema
    },
    "key_figures": {
        "run": TEXT,
        "name": TEXT,  # name of the key figure, such as Memory read
        "unit": TEXT,  # unit of all values
        "specification": NUMBER,  # limit or latency of the device's entry, if it has one
        **_INTERVALS,
    },
    "points": {
        "run": TEXT,
        "family": TEXT,  # family of workloads, such as memory
        "variant": TEXT,  # variant of the family, such as read
        "sweep": TEXT,  # sweep of the variant, such as working_set
        "point": TEXT,  # label of the point
        "x": NUMBER,  # position on the axis of the sweep
        "working_set_bytes": NUMBER,  # bytes of all cache lines that are used repeatedly
        "unit": TEXT,  # unit of the values
        "bottleneck": TEXT,  # predicted bottleneck
        "layer": TEXT,  # what limits the point, such as memory, L2, clock, launch or link (to the host)
        **_INTERVALS,
        "log_speed": NUMBER,  # ln(measured speed / predicted speed), also where low values are fast
    },
}
COLUMNS = {"kind": TEXT, **{name: column for table in TABLES.values() for name, column in table.items()}}
"""The columns of a file: those of all tables, and ``kind``, the table of a row."""
