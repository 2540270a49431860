"""How gradually streams beyond the caches approach the bandwidth of memory as work is added."""

from gpureport.spec.models import Device
from gpureport.workloads.model import Demand

WRITES_EXPONENT = 6.0
"""p-norm that joins latency with memory bandwidth if a dispatch only writes: stores do not wait for each other."""
READS_EXPONENT = 3.0
"""The same if it only reads, with stacked memory. Latency rises before the bandwidth is reached."""
MIXED_EXPONENT = 2.6
"""The same if it reads and writes, with stacked memory: reads also wait while the bus writes. The fit is flat from 2.4
to 2.7; 2.6 keeps all plateaus of the fitted devices within 10 %."""
FEWER_CHANNELS = 2.0
"""Factor of both for other memory, whose load is distributed more evenly among its few channels."""


ON_ONE_DIE = 2
"""Most parts of a cache on one die: the partitions of A100, H100 and H200."""


def several_dies(device: Device) -> bool:
    """Return whether compute units are on several dies, each with its own part of a cache and its own way to memory.

    Stores of such dies meet at memory, and the bandwidth of writes saturates as gradually as that of copies. This was
    found on an MI300X (eight dies). The curve of an MI300A (six dies), which was not used, has the same shape
    (RRZE-HPC/gpu-benches, gpu-stream).
    """
    return any(cache.partitions > ON_ONE_DIE for cache in device.caches)


def memory_exponent(device: Device, demand: Demand) -> float:
    """Return the p-norm that joins latency with memory bandwidth; the larger, the sharper the transition.

    The constants are fitted to bandwidth against resident work-items (RRZE-HPC/gpu-benches, gpu-stream): of 2, 2.5, 3,
    4, 5, 6 and 8, rounded, they fit times and n90 best. Stacked memory: V100, A100 (40 and 80 GB), H100 PCIe, MI100 and
    MI210. Other memory: A40 and L40. Not used: RX 6900 XT, MI300A, and
    MI300X except for :func:`several_dies`.
    """
    directions = {stream.write for stream in demand.streams}
    if directions == {True}:
        return MIXED_EXPONENT if several_dies(device) else WRITES_EXPONENT
    exponent = READS_EXPONENT if directions == {False} else MIXED_EXPONENT
    return exponent if device.memory.stacked else FEWER_CHANNELS * exponent
