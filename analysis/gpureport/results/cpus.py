"""Published measurements of the memory hierarchy of many CPUs: ``reports/published/cpus``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from gpureport.data import data_dir
from gpureport.inputs import read_table
from gpureport.predict.cpu_memory import OPERATIONS, Floats, Operation
from gpureport.spec.lscpu import ProcessorFacts, processor_facts

_KIB = 1 << 10
MACHINES, CURVES = "machines.csv.xz", "curves.csv.xz"


@dataclass(frozen=True)
class CloudMachine:
    """A machine, as ``lscpu`` lists it, and what was measured there.

    Attributes:
        number: its line in the table.
        name: provider and type of the machine.
        facts: of its processors.
        working_sets_bytes: buffer of each thread.
        latency_s: of a dependent load of one thread, by working set.
        bandwidth_bytes_per_s: of all threads, by operation and working set.
    """

    number: int
    name: str
    facts: ProcessorFacts
    working_sets_bytes: Floats
    latency_s: Floats
    bandwidth_bytes_per_s: Mapping[Operation, Floats]

    @property
    def provider(self) -> str:
        """The cloud provider."""
        return self.name.partition("/")[0]


def cloud_machines(folder: Path | None = None) -> Iterator[CloudMachine]:
    """Yield the machines of a folder with the tables (default: the project's)."""
    folder = folder or data_dir("reports") / "published" / "cpus"
    machines = read_table(folder / MACHINES)
    for number, group in groupby(read_table(folder / CURVES), key=lambda row: int(row["machine"])):
        rows, fields = list(group), machines[number]
        yield CloudMachine(
            number=number,
            name=fields["machine"],
            facts=processor_facts(fields),
            working_sets_bytes=np.array([float(row["size_KiB"]) * _KIB for row in rows]),
            latency_s=np.array([float(row["latency_ns"]) * 1e-9 for row in rows]),
            bandwidth_bytes_per_s={o: np.array([float(r[f"{o}_GB_per_s"]) * 1e9 for r in rows]) for o in OPERATIONS},
        )
