"""Predictions for a CPU from what ``lscpu`` says and the database alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gpureport.observe.statistics import Floats
from gpureport.predict.cpu_memory import (
    KERNELS,
    OPERATIONS,
    SPREADS,
    Curve,
    Operation,
    Socket,
    bandwidth_curve,
    latency_curve,
    stream_curve,
)
from gpureport.spec.cores import Topology, core_of_machine, generic_name, topology, usable_l3
from gpureport.spec.database import Database
from gpureport.spec.host import ProcessorFacts
from gpureport.spec.models import CoreType

LEAST_BYTES, MOST_BYTES = 1 << 14, 1 << 31
Interval = tuple[float, float, float]
"""A value with the ends of its interval of 95 %."""
_CLOCK = re.compile(r"@\s*([\d.]+)\s*GHz")


@dataclass(frozen=True)
class ProcessorForecast:
    """The predicted memory hierarchy of a machine.

    Attributes:
        facts: from which it was predicted.
        architecture: the name of the file of its type of core.
        architecture_name: for people.
        known: whether the database knows the type of core.
        topology: of the machine.
        usable_l3_bytes: of one instance of the L3, for one thread.
        working_sets_bytes: of one thread, ascending powers of two.
        latency: of a dependent load of one thread, by working set.
        bandwidth: of all threads, by operation and working set of each thread.
        kernels: names of the streaming kernels.
        streams: bandwidth of the kernels on all cores of a socket, by memory level; empty without a known clock.
    """

    facts: ProcessorFacts
    architecture: str
    architecture_name: str
    known: bool
    topology: Topology
    usable_l3_bytes: Interval
    working_sets_bytes: Floats
    latency: Curve
    bandwidth: Mapping[Operation, Curve]
    kernels: tuple[str, ...]
    streams: Mapping[str, tuple[Interval, ...]]


def processor_forecast(facts: ProcessorFacts, database: Database) -> ProcessorForecast:
    """Predict the memory hierarchy of a machine."""
    name, core = core_of_machine(facts, database)
    place, allocates = topology(facts, core), database.write_allocate(name)
    sizes = 2.0 ** np.arange(np.log2(LEAST_BYTES), np.log2(MOST_BYTES) + 1)
    return ProcessorForecast(
        facts=facts,
        architecture=name,
        architecture_name=database.architecture(name).name,
        known=name != generic_name(facts, database.architectures()),
        topology=place,
        usable_l3_bytes=usable_l3_bytes(core, place),
        working_sets_bytes=sizes,
        latency=latency_curve(core, place, sizes),
        bandwidth={o: bandwidth_curve(core, place, sizes, o, write_allocate=allocates) for o in OPERATIONS},
        kernels=tuple(KERNELS),
        streams=_streams(facts, database, name, core, place),
    )


def usable_l3_bytes(core: CoreType, place: Topology) -> Interval:
    """Return the part of one L3 that one thread can use, with its interval."""
    value, low, high = (
        float(place.l3_bytes * usable_l3(core, replace(place, l3_share=place.l3_share * factor)))
        for factor in (1.0, *SPREADS[place.listing].l3)
    )
    return value, low, high


def _streams(
    facts: ProcessorFacts, database: Database, name: str, core: CoreType, place: Topology
) -> dict[str, tuple[Interval, ...]]:
    listed = _CLOCK.search(facts.name)
    clock = float(listed[1]) * 1e9 if listed else facts.clock_hz
    if not clock:
        return {}
    sockets = float(place.sockets)
    cores, l3 = max(1, round(float(place.cores) / sockets)), float(place.l3_bytes * place.l3_instances) / sockets
    socket = Socket(clock, cores, max(1, round(facts.numa_nodes / sockets)), l3)
    sizes = {
        "L1": core.l1_bytes * 0.6,
        "L2": core.l2_bytes * 0.6,
        "L3": core.l2_bytes + l3 / cores * 0.6,
        "memory": 8 * l3,
    }
    streams, allocates = database.stream_type(name), database.write_allocate(name)
    busy, data = np.full(len(sizes), float(cores)), np.array(list(sizes.values()))
    curves = [
        stream_curve(core, streams, socket, kernel, busy, data, write_allocate=allocates) for kernel in KERNELS.values()
    ]
    return {
        level: tuple((float(c.values[i]), float(c.low[i]), float(c.high[i])) for c in curves)
        for i, level in enumerate(sizes)
    }
