"""Which type of core a processor has, and how its cores share caches and memory; also inside virtual machines.

Hypervisors may hide which processors share a core, list default sizes of caches, or make each core a socket. Known
properties of the core type then replace what is listed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from gpureport.spec.files import ArchitectureFile, ProcessorId
from gpureport.spec.lscpu import ListedCache, ProcessorFacts
from gpureport.spec.models import CoreType

if TYPE_CHECKING:
    from gpureport.spec.database import Database

Quantity = float | npt.NDArray[np.float64]
Listing = Literal[
    "plain", "hidden threads", "default caches", "hidden cores", "whole threads", "model of the hypervisor"
]
"""How far the listed topology is that of the hardware.

- ``plain``: as listed.
- ``hidden threads``: a virtual machine without hardware threads; its processors may be threads that share cores.
- ``default caches``: caches have the hypervisor's default sizes.
- ``hidden cores``: each processor is listed as a socket, but two share a core.
- ``whole threads``: processors are listed as threads, but each has a core of its own.
- ``model of the hypervisor``: the name of the processor is that of a model of the hypervisor, not of a product.
"""
_GENERIC = re.compile(r"^(AMD EPYC(-\w+)? Processor|Intel Core Processor|Intel Xeon Processor)")
"""Names of the processor models of QEMU."""
_MOST_SOCKETS = 8
LINE_BYTES = 64
SATURATION_EXPONENT = 3.0
"""p-norm that joins the limits of cores and socket. Fitted to machines of SpareCores/sc-inspector-data (commit
804d3c7)."""
_TOLERANCE = 1.2
MOST_OF_L3 = 1.3
"""Largest usable part of the listed L3 size; above 1 where the L3 keeps lines that the L2 evicts (victim cache)."""


@dataclass(frozen=True)
class Share:
    """What a machine gets of its hardware, by the way in which it is listed; medians over many virtual machines.

    Attributes:
        core: of the rate of the listed cores.
        l3: of the L3 that one thread can usually use.
        memory: of the memory bandwidth that is usual for such a part of a socket.
    """

    core: float = 1.0
    l3: float = 1.0
    memory: float = 1.0


SHARES: Mapping[Listing, Share] = {
    "plain": Share(),
    "hidden threads": Share(core=0.9),
    "default caches": Share(core=0.75, l3=0.5),
    "hidden cores": Share(core=0.8),
    "whole threads": Share(memory=1.7),
    "model of the hypervisor": Share(core=0.95),
}
"""Fitted to virtual machines of SpareCores/sc-inspector-data (commit 804d3c7)."""


@dataclass(frozen=True)
class Topology:
    """Processors and caches of a machine, or of several as arrays.

    Attributes:
        listing: how the machine lists them.
        processors: logical processors.
        cores: physical ones.
        sockets: that contain them.
        part: part of the cores of these sockets that the machine has, at most 1.
        l3_bytes: one instance of the L3.
        l3_instances: of the L3.
        core_share: of the rate of these cores.
        l3_share: of the L3 that one thread can usually use.
        memory_share: of the memory bandwidth that is usual for this part of a socket.
    """

    listing: Listing
    processors: Quantity
    cores: Quantity
    sockets: Quantity
    part: Quantity
    l3_bytes: Quantity
    l3_instances: Quantity
    core_share: Quantity = 1.0
    l3_share: Quantity = 1.0
    memory_share: Quantity = 1.0


def topology(facts: ProcessorFacts, core: CoreType) -> Topology:
    """Return the topology of a machine with cores of a known type."""
    listing = how_listed(facts, core)
    per_core = {"whole threads": 1, "hidden cores": 2}.get(listing, facts.threads_per_core)
    cores = max(1.0, facts.processors / per_core)
    sockets = facts.sockets
    if sockets > _MOST_SOCKETS or (facts.hypervisor and sockets == facts.processors):
        sockets = ceil(cores / core.cores_per_socket)
    listed = None if has_default_caches(facts, core) else facts.l3
    instances = listed.instances if listed and listed.instances else None
    if instances is None:
        # Intel's cores of a socket share one L3; AMD's complexes have one each.
        instances = max(1, round(cores / core.cores_per_l3)) if core.cores_per_l3 < core.cores_per_socket else sockets
    share = SHARES[listing]
    return Topology(
        listing=listing,
        processors=float(facts.processors),
        cores=cores,
        sockets=float(sockets),
        part=min(1.0, cores / (sockets * core.cores_per_socket)),
        l3_bytes=listed.instance_bytes if listed else core.l3_bytes,
        l3_instances=float(instances),
        core_share=share.core,
        l3_share=share.l3,
        memory_share=share.memory,
    )


def how_listed(facts: ProcessorFacts, core: CoreType) -> Listing:
    """Return how far the listed topology is that of the hardware."""
    if not facts.hypervisor or facts.instruction_set == "aarch64":
        return "plain"
    generic = _GENERIC.match(facts.name) is not None
    if facts.threads_per_core > 1:
        return "whole threads" if generic and facts.hypervisor == "Microsoft" else "plain"
    if generic:
        return "model of the hypervisor"
    if facts.sockets == facts.processors > 1:
        return "hidden cores"
    return "default caches" if has_default_caches(facts, core) else "hidden threads"


def has_default_caches(facts: ProcessorFacts, core: CoreType) -> bool:
    """Whether a virtual machine lists private caches that cores of this type do not have."""
    pairs = ((facts.l1, core.l1_bytes), (facts.l2, core.l2_bytes))
    return bool(facts.hypervisor) and any(_differs(listed, size) for listed, size in pairs)


def _differs(listed: ListedCache | None, size: float) -> bool:
    return listed is not None and not 1 / _TOLERANCE < listed.instance_bytes / size < _TOLERANCE


def core_type_name(facts: ProcessorFacts, architectures: Mapping[str, ArchitectureFile]) -> str | None:
    """Return the name of the architecture whose file identifies this processor, if any."""
    return next(
        (name for name, file in architectures.items() if any(_is(each, facts) for each in file.identified_by)), None
    )


def generic_name(facts: ProcessorFacts, architectures: Mapping[str, ArchitectureFile]) -> str:
    """Return the name of the architecture for processors of an unknown type: of the vendor or the instruction set."""
    for name, file in architectures.items():
        if any(
            each.vendor == facts.vendor and each.family is None and each.name is None for each in file.identified_by
        ):
            return name
    if facts.instruction_set in ("aarch64", "arm64"):
        return "aarch64"
    return "x86_64_avx512" if "avx512f" in facts.flags else "x86_64"


def core_of_machine(facts: ProcessorFacts, database: "Database") -> tuple[str, CoreType]:
    """Return the name of the architecture of a machine's processor, and its type of core.

    Without a model number, caches identify it. A processor of an unknown type gets that of the generic architecture,
    with the private caches that it lists.
    """
    architectures = database.architectures()
    name = core_type_name(facts, architectures) or (None if facts.model else _by_caches(facts, architectures, database))
    if name is not None:
        return name, database.core_type(name)
    name = generic_name(facts, architectures)
    listed = {"l1_bytes": facts.l1, "l2_bytes": facts.l2}
    sizes = {field: cache.instance_bytes for field, cache in listed.items() if cache}
    return name, database.core_type(name).model_copy(update=sizes)


def usable_l3(core: CoreType, place: Topology) -> npt.NDArray[np.float64]:
    """Return the usable part of one instance of the listed L3, for one thread.

    Other programs on the socket use the rest, on hosts that cannot be seen. A large part of the socket leaves little
    room for them.
    """
    share: npt.NDArray[np.float64] = np.minimum(
        MOST_OF_L3, core.l3_share * place.l3_share * place.part**core.l3_share_exponent
    )
    return share


def socket_bandwidth(core: CoreType, place: Topology, cores_bytes_per_s: Quantity) -> npt.NDArray[np.float64]:
    """Return the traffic with memory of cores that would reach *cores_bytes_per_s* if memory did not limit them."""
    part = place.sockets * place.memory_share * place.part**core.socket_exponent
    p, limit = SATURATION_EXPONENT, core.socket_bandwidth_bytes_per_s * part
    traffic: npt.NDArray[np.float64] = (np.asarray(cores_bytes_per_s, dtype=float) ** -p + limit**-p) ** (-1 / p)
    return traffic


def _by_caches(
    facts: ProcessorFacts, architectures: Mapping[str, ArchitectureFile], database: "Database"
) -> str | None:
    """Return the architecture of the vendor whose private caches are the listed ones, with the most similar L3."""
    if facts.l3 is None:
        return None
    known = [
        (name, database.core_type(name))
        for name, file in architectures.items()
        if any(each.vendor == facts.vendor and each.models for each in file.identified_by)
    ]
    listed = facts.l3.instance_bytes
    alike = [
        (max(core.l3_bytes / listed, listed / core.l3_bytes), name)
        for name, core in known
        if facts.l1 and facts.l2 and not (_differs(facts.l1, core.l1_bytes) or _differs(facts.l2, core.l2_bytes))
    ]
    return min(alike)[1] if alike else None


def _is(one: ProcessorId, facts: ProcessorFacts) -> bool:
    """Whether the processor identifies itself as *one*."""
    if one.vendor != facts.vendor:
        return False
    if facts.part:
        return one.part == facts.part
    if one.name is not None:
        return one.name == facts.name
    ranges = [[int(end) for end in models.split("-")] for models in one.models]
    known = facts.model is not None and any(each[0] <= facts.model <= each[-1] for each in ranges)
    return known and one.family == facts.family
