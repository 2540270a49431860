"""Fit the memory hierarchy of each type of CPU core to published measurements, and test how well it predicts others.

    python scripts/fit_cpus.py                    # cross-validation: half of the machines, and all but one provider
    python scripts/fit_cpus.py --write            # also write the fitted values to devices/architectures/*.yaml

The data are in ``reports/published/cpus``. A value that few machines determine stays near the value of a typical core.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Annotated, TypeVar

import numpy as np
import pandas as pd
import typer
from scipy.optimize import least_squares

from gpureport.cli.console import print_text
from gpureport.data import data_dir
from gpureport.files import write_file
from gpureport.observe.statistics import Floats
from gpureport.predict.cpu_memory import OPERATIONS, latency_s, machine_streams
from gpureport.records.curves import Record
from gpureport.spec.cores import Topology, core_type_name, generic_name, topology
from gpureport.spec.database import Database, load_database
from gpureport.spec.files import ArchitectureFile
from gpureport.spec.models import CoreType, StreamType, listed
from gpureport.units import off_by
from gpureport.validate.tables import (
    GENERIC,
    BareMachine,
    CloudMachine,
    bare_machines,
    cloud_machines,
    stream_prediction,
)

LATENCIES = {
    "l1_latency_s": 1.4e-9,
    "l2_latency_s": 4e-9,
    "l3_latency_s": 20e-9,
    "memory_latency_s": 105e-9,
    "tlb_latency_s": 2e-9,
    "l3_share": 0.8,
    "l3_share_exponent": 0.3,
}
BANDWIDTHS = {
    "l1_read_bytes_per_s": 95e9,
    "l2_read_bytes_per_s": 75e9,
    "l3_read_bytes_per_s": 40e9,
    "memory_read_bytes_per_s": 15e9,
    "l1_write_bytes_per_s": 57e9,
    "l2_write_bytes_per_s": 50e9,
    "l3_write_bytes_per_s": 35e9,
    "memory_write_bytes_per_s": 13e9,
    "socket_bandwidth_bytes_per_s": 170e9,
    "socket_exponent": 0.4,
}
TYPICAL = LATENCIES | BANDWIDTHS
"""Values of a typical core of a server, from which the fits start."""
PRIOR = {"l3_share": 0.6, "l3_share_exponent": 0.6, "socket_exponent": 0.8}
"""Weight of the typical value relative to one machine's deviation; 0.35 for the others."""
STREAMS: Mapping[str, float] = {
    "l2_line_cycles": 1.7,
    "l3_line_cycles": 2.5,
    "memory_line_s": 1.5e-9,
    "socket_bandwidth_bytes_per_s": 80e9,
    "transfer_exponent": 1.0,
}
"""Typical values of streaming kernels, from which the fits start."""
OTHER_CODE = ("SkylakeSP_Gold-5122", "SkylakeSP_Platinum-8147_2.7GHz", "BroadwellEP_E5-2630v4")
"""Machines whose rates in the L1 show code without wide vectors, or another clock than the listed one."""
GENERIC_STREAMS = {"x86_64": "broadwell_server", "x86_64_avx512": "skylake_server", "aarch64": "thunderx2"}
CLIENTS = ("zen5_client", "haswell", "broadwell", "skylake", "coffee_lake", "rocket_lake")
"""Types of cores that servers do not have, or whose virtual machines hide the host's."""
R = TypeVar("R", CoreType, StreamType)
SOURCE = "sparecores"
_FACTOR = 5.0
"""Fitted values may differ from the typical ones by this factor."""


class Batch:
    """Measurements of several machines as arrays."""

    def __init__(self, machines: Sequence[CloudMachine], core: CoreType) -> None:
        """Repeat each machine's topology for each of its working sets."""
        counts = [len(machine.values) for machine in machines]
        each = [topology(machine.facts, core) for machine in machines]
        names = [field.name for field in fields(Topology) if field.name != "listing"]
        arrays = {
            name: np.repeat(np.array([getattr(one, name) for one in each], dtype=float), counts) for name in names
        }
        self.topology = replace(each[0], **arrays)
        values = pd.concat([machine.values for machine in machines])
        self.sizes: Floats = values["working_set_bytes"].to_numpy()
        self.latency_s: Floats = values["latency_s"].to_numpy()
        self.bandwidth = {operation: values[operation].to_numpy() for operation in OPERATIONS}


def fitted(machines: Sequence[CloudMachine], core: CoreType, *, write_allocate: bool) -> CoreType:
    """Return *core* with the values that fit *machines* best."""
    batch = Batch(machines, core)

    def latency(one: CoreType) -> Floats:
        return np.log(latency_s(one, batch.topology, batch.sizes) / batch.latency_s)

    def bandwidth(one: CoreType) -> Floats:
        # The error of a bandwidth is a share of the observed one: factors upwards count more.
        ratios = [
            machine_streams(one, batch.topology, batch.sizes, pattern, write_allocate=write_allocate).bytes_per_s()
            / batch.bandwidth[name]
            for name, pattern in OPERATIONS.items()
        ]
        return np.minimum(np.concatenate(ratios), 20) - 1

    core = _best(core, LATENCIES, latency, 0.1)
    return _best(core, BANDWIDTHS, bandwidth, 0.15)


def _best(core: CoreType, names: Sequence[str], errors, scale: float) -> CoreType:  # noqa: ANN001 - a function
    start = np.log([TYPICAL[name] for name in names])
    weights = np.array([PRIOR.get(name, 0.35) for name in names])
    found = least_squares(
        lambda logs: np.concatenate([errors(with_values(core, names, logs)), (logs - start) * weights]),
        start,
        loss="soft_l1",
        f_scale=scale,
        bounds=(start - np.log(_FACTOR), start + np.log(_FACTOR)),
    )
    return with_values(core, names, found.x)


def with_values(record: R, names: Iterable[str], logs: Floats) -> R:
    """Return *record* with the values of *names*, from their natural logarithms."""
    return record.model_copy(update=dict(zip(names, map(float, np.exp(logs)), strict=True)))


def by_type(machines: Iterable[CloudMachine], database: Database) -> dict[str, list[CloudMachine]]:
    """Group machines by the name of their architecture; generic ones for cores of an unknown type."""
    found: dict[str, list[CloudMachine]] = {}
    files = database.architectures()
    for machine in machines:
        found.setdefault(core_type_name(machine.facts, files) or generic_name(machine.facts, files), []).append(machine)
    return found


def _fitted(machines: Sequence[CloudMachine], database: Database, name: str) -> CoreType:
    return fitted(machines, core_of(database, name), write_allocate=database.write_allocate(name))


def errors(machines: Sequence[CloudMachine], core: CoreType, *, write_allocate: bool) -> dict[str, Floats]:
    """Return |ln(predicted / observed)| of all values."""
    batch = Batch(machines, core)
    found = {"latency": np.abs(np.log(latency_s(core, batch.topology, batch.sizes) / batch.latency_s))}
    for name, pattern in OPERATIONS.items():
        streams = machine_streams(core, batch.topology, batch.sizes, pattern, write_allocate=write_allocate)
        found[name] = np.abs(np.log(streams.bytes_per_s() / batch.bandwidth[name]))
    return found


def typical(cores: Mapping[str, CoreType], database: Database, name: str) -> CoreType:
    """Return the medians of the fitted values of all servers' core types of a generic architecture's vendor.

    Architectures of an instruction set, which have no vendor, get the medians of that instruction set.
    """
    own, files = core_of(database, name), database.architectures()
    servers = {other: core for other, core in cores.items() if other not in CLIENTS}
    if files[name].identified_by:
        alike = [core for other, core in servers.items() if files[other].vendor == files[name].vendor]
    else:
        arm = {other for other, file in files.items() if "aarch64" in (other, file.extends)}
        alike = [core for other, core in servers.items() if (other in arm) == (name == "aarch64")]
    alike = alike or list(cores.values())
    return own.model_copy(
        update={field: float(np.median([getattr(core, field) for core in alike])) for field in TYPICAL}
    )


def core_of(database: Database, name: str) -> CoreType:
    """Return the core type of an architecture, with typical values where it has none yet."""
    return CoreType.model_validate({**TYPICAL, **_known(CoreType, "core", database.architecture(name))})


def streams_of(database: Database, name: str) -> StreamType:
    """Return the stream type of an architecture, with typical values where it has none yet."""
    return StreamType.model_validate({**STREAMS, **_known(StreamType, "streams", database.architecture(name))})


def _known(model: type[Record], part: str, file: ArchitectureFile) -> dict[str, object]:
    paths = {field: f"{part}.{key}" for field, (key, _) in listed(model).items()}
    return {field: file.values[path].value for field, path in paths.items() if path in file.values}


def cross_validate(groups: Mapping[str, Sequence[CloudMachine]], database: Database) -> None:
    """Print the errors for machines that the fit did not use."""
    providers = sorted({machine.name.partition("/")[0] for machines in groups.values() for machine in machines})
    halves = {"odd": lambda m: m.number % 2 == 1, "even": lambda m: m.number % 2 == 0}
    splits = {
        "half of the machines": [halves["odd"], halves["even"]],
        "one provider": [lambda m, p=p: m.name.startswith(f"{p}/") for p in providers],
        "one type of core": [lambda m, t=t: m.name in t for t in ({m.name for m in g} for g in groups.values())],
    }
    known: dict[tuple[str, ...], CoreType] = {}
    for title, tests in splits.items():
        found: dict[str, list[Floats]] = {}
        for left_out in tests:
            cores = {}
            for name, machines in groups.items():
                kept = [machine for machine in machines if not left_out(machine)]
                if kept:
                    key = (name, *(machine.name for machine in kept))
                    known[key] = cores[name] = known.get(key) or _fitted(kept, database, name)
            for name, machines in groups.items():
                tested = [machine for machine in machines if left_out(machine)]
                if tested:
                    generic = generic_name(tested[0].facts, database.architectures())
                    core = cores.get(name) or typical(cores, database, generic).model_copy(
                        update={n: getattr(core_of(database, name), n) for n in ("l1_bytes", "l2_bytes")}  # as listed
                    )
                    for what, values in errors(tested, core, write_allocate=database.write_allocate(name)).items():
                        found.setdefault(what, []).append(values)
        print_text(f"Left out: {title}")
        bandwidth = np.concatenate([np.concatenate(found[o]) for o in OPERATIONS])
        for what, values in {**{k: np.concatenate(v) for k, v in found.items()}, "bandwidth": bandwidth}.items():
            middle, most = np.quantile(values, [0.5, 0.9])
            print_text(f"  {what:10} n {len(values):6}  median {off_by(middle)}  90 % {off_by(most)}")


def fitted_streams(machines: Sequence[BareMachine], database: Database, name: str) -> StreamType:
    """Return the values with which streaming kernels of *machines* are predicted best."""
    core, known, allocates = core_of(database, name), streams_of(database, name), database.write_allocate(name)

    def ratios(logs: Floats) -> Floats:
        streams = with_values(known, STREAMS, logs)
        each = [stream_prediction(machine, core, streams, write_allocate=allocates).values for machine in machines]
        observed = [machine.values["bytes_per_s"] for machine in machines]
        return np.minimum(np.concatenate(each) / np.concatenate(observed), 6) - 1

    start = np.log([STREAMS[name] for name in STREAMS])
    bounds = (start - np.log(8), start + np.log(8))
    tried = [start + shift for shift in (np.zeros(5), np.array([0, 0, 0, 0, np.log(4)]))]
    found = [least_squares(ratios, first, loss="soft_l1", f_scale=0.1, bounds=bounds, max_nfev=60) for first in tried]
    return with_values(known, STREAMS, min(found, key=lambda one: float(one.cost)).x)


def write_streams(database: Database) -> None:
    """Fit the streaming kernels of all machines without a hypervisor, and write the values."""
    machines = list(bare_machines())
    found = {}
    for name in dict.fromkeys(machine.core_type for machine in machines):
        own = [machine for machine in machines if machine.core_type == name and machine.name not in OTHER_CODE]
        found[name] = fitted_streams(own, database, name)
        write(name, found[name], STREAMS, "fitted streams", "source: kerncraft")
    for generic, alike in GENERIC_STREAMS.items():
        write(generic, found[alike], STREAMS, "fitted streams", f'kind: assumed, note: "the same as {alike}"')


def write(name: str, record: CoreType | StreamType, fields_: Iterable[str], mark: str, kind: str) -> None:
    """Write the fitted values into an architecture's file, after the comment *mark*."""
    path = data_dir("devices") / "architectures" / f"{name}.yaml"
    lines = "".join(f"  {_line(field, getattr(record, field), kind)}\n" for field in fields_)
    head = re.split(rf"^  # {mark}$.*?(?=^\S|\Z)", path.read_text(), flags=re.M | re.S)
    write_file(path, f"{head[0]}  # {mark}\n{lines}" + "".join(head[1:]))


def _line(field: str, value: float, kind: str) -> str:
    key = re.sub(r"_(bytes_per_s|cycles|s)$", "", field)
    if field.endswith("bytes_per_s"):
        text = f"{value / 1e9:.3g} GB/s"
    else:
        text = f"{value * 1e9:.3g} ns" if field.endswith("_s") else f"{value:.2g}"
        text += " cycles" if field.endswith("_cycles") else ""
    text = f"{float(text.split()[0]):g}{text[len(text.split()[0]) :]}"
    return f"{key}: {{value: {text}, {kind}}}"


def main(
    *,
    write_values: Annotated[
        bool, typer.Option("--write", help="Write the fitted values to the architectures' files.")
    ] = False,
    test: Annotated[bool, typer.Option(help="Cross-validate.")] = True,
) -> None:
    """Fit, test and on request write."""
    database = load_database()
    groups = by_type(cloud_machines(), database)
    if write_values:
        cores = {name: _fitted(machines, database, name) for name, machines in groups.items() if name not in GENERIC}
        for name, core in cores.items():
            write(name, core, TYPICAL, "fitted", f"source: {SOURCE}")
        for name in sorted(GENERIC):
            middle = 'kind: assumed, note: "median of the known types of cores"'
            write(name, typical(cores, database, name), TYPICAL, "fitted", middle)
        write_streams(database)
    if test:
        cross_validate(groups, database)


if __name__ == "__main__":
    typer.run(main)
