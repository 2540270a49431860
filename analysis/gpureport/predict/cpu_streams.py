"""Bandwidth of vectorised streaming kernels on the cores of a CPU, by memory level and number of cores.

The execution-cache-memory model (Stengel et al., ICS 2015; Hofmann et al., "Bridging the architecture gap: abstracting
performance-relevant properties of modern server processors", 2020). Times per cache line of each stream add up:
instructions in the core, then the transfers between neighbouring levels. Where transfers overlap, their p-norm counts.
Cores add up until they saturate the memory of their NUMA domain. They fill one domain after the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gpureport.observe.statistics import Floats
from gpureport.predict.cpu_memory import Curve, norm, streamed_hits
from gpureport.spec.cores import LINE_BYTES
from gpureport.spec.models import CoreType, StreamType
from gpureport.spec.values import constant

_MACHINES = "machines without entries: ``reports/published/cpus``"
LEVEL_EXPONENT = constant(10.0, _MACHINES)
"""Steepness of the change of levels for buffers well within one level."""
SATURATION_EXPONENT = constant(5.0, _MACHINES)
"""p-norm that joins the limits of cores and of the memory of their domain."""
LEVEL_SPREADS = constant(((-2.4, 0.15), (-1.6, 0.3), (-0.9, 0.35), (-0.3, 0.3)), _MACHINES)
"""Natural logarithm of observed / predicted bandwidth, as intervals of 95 %, for data in L1, L2, L3 and memory. Code
may have narrower vectors than the core, down to single words."""


@dataclass(frozen=True)
class Kernel:
    """Number of streams that a kernel reads and writes; lines of *updated* ones of the stores are also read."""

    loads: int
    stores: int
    updated: int

    def lines(self, *, write_allocate: bool) -> int:
        """Return the lines that move between two levels for one line of each stream."""
        return self.loads + self.stores + (self.stores - self.updated if write_allocate else 0)

    @property
    def counted(self) -> int:
        """Streams whose bytes count."""
        return self.loads + self.stores


KERNELS: Mapping[str, Kernel] = {
    "load": Kernel(1, 0, 0),
    "copy": Kernel(1, 1, 0),
    "update": Kernel(1, 1, 1),
    "triad": Kernel(3, 1, 0),
    "daxpy": Kernel(2, 1, 1),
}


@dataclass(frozen=True)
class Socket:
    """One socket of a machine: the clock of its cores, their number, NUMA domains, and the L3 (0 without one)."""

    clock_hz: float
    cores: int
    domains: int
    l3_bytes: float


def stream_curve(
    core: CoreType,
    streams: StreamType,
    socket: Socket,
    kernel: Kernel,
    cores: Floats,
    bytes_per_core: Floats,
    *,
    write_allocate: bool,
) -> Curve:
    """Return the bandwidth of *cores* cores that each work on *bytes_per_core*, in bytes/s."""
    lines = kernel.lines(write_allocate=write_allocate)
    in_core = LINE_BYTES * max(
        kernel.loads / streams.load_bytes_per_cycle,
        kernel.stores / streams.store_bytes_per_cycle,
        kernel.counted / streams.access_bytes_per_cycle,
    )
    transfers = np.array(
        [
            in_core / socket.clock_hz,
            lines * streams.l2_line_cycles / socket.clock_hz,
            lines * streams.l3_line_cycles / socket.clock_hz,
            lines * streams.memory_line_s,
        ]
    )
    if not socket.l3_bytes:
        transfers[2] = 0.0
    times = np.cumsum(transfers**streams.transfer_exponent) ** (1 / streams.transfer_exponent)
    l1 = streamed_hits(core.l1_bytes, bytes_per_core, LEVEL_EXPONENT)
    l2 = np.maximum(l1, streamed_hits(core.l2_bytes, bytes_per_core, LEVEL_EXPONENT))
    l3_bytes = socket.l3_bytes / socket.domains / np.minimum(cores, socket.cores / socket.domains) + core.l2_bytes
    l3 = np.maximum(l2, streamed_hits(l3_bytes, bytes_per_core, LEVEL_EXPONENT))
    served = np.diff(np.stack(np.broadcast_arrays(l1, l2, l3)), axis=0, prepend=0.0, append=1.0)
    counted = kernel.counted * LINE_BYTES
    from_caches = served[:3].T @ times[:3]
    # Domains that are filled one after the other; the last may be filled in part.
    share = streams.socket_bandwidth_bytes_per_s / socket.domains / (lines * LINE_BYTES)
    total = np.zeros_like(from_caches)
    per_domain = socket.cores / socket.domains
    for domain in range(socket.domains):
        used = np.clip(cores - domain * per_domain, 0.0, per_domain)
        busy = np.maximum(used, 1e-9)
        memory = norm(times[3] / busy, np.full_like(busy, 1 / share), SATURATION_EXPONENT)
        total += np.where(used > 0, counted / (from_caches / busy + served[3] * memory), 0.0)
    spread = np.array(LEVEL_SPREADS).T @ served
    return Curve(total, total * np.exp(spread[0]), total * np.exp(spread[1]))
