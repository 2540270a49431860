"""A simulated GPU with caches of known size, which determine the times of the memory microbenchmarks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gpureport.errors import DeviceError
from gpureport.measure.backends.common import BufferId, LaunchId, ProgramId
from gpureport.spec.models import PresentDevice
from gpureport.workloads.model import Buffer
from tests.fake_backend import PRESENT, FakeBackend

KIB, MIB = 2**10, 2**20
CLOCK_HZ = 1.5e9
GPU = PRESENT.model_copy(
    update={
        "name": "NVIDIA GeForce RTX 9999",
        "vendor": "NVIDIA Corporation",
        "platform": "NVIDIA CUDA",
        "compute_capability": "7.5",
        "wave_size": 32,
        "compute_units": 40,
        "clock_hz": CLOCK_HZ,
        "max_work_group": 1024,
        "global_memory_bytes": 2**31,
        "max_allocation_bytes": 2**29,
    }
)
"""Its architecture is known (with an L1 of 96 KiB), its sizes are not."""


@dataclass(frozen=True)
class FakeCache:
    """A cache or the memory: capacity in bytes (L1: of one compute unit), latency in cycles, bandwidth in bytes/s."""

    capacity: float
    latency: float
    bandwidth: float

    def share(self, working_set: float) -> float:
        """Return the share of the accesses to a working set that it serves."""
        return 1.0 / (1.0 + (working_set / self.capacity) ** 16)


L1 = FakeCache(64 * KIB, 36, 40 * 50 * CLOCK_HZ)
L2 = FakeCache(6 * MIB, 210, 40 * 25 * CLOCK_HZ)
MEMORY = FakeCache(np.inf, 520, 400e9)
INTEGER_CYCLES = 8
"""Latency of the two integer operations of each step of a pointer chase."""
VECTORS = 8
"""Vectors that a work-item reads from each chunk of shared reads."""
LAUNCH_S, GROUPS_PER_S = 2e-6, 0.4 * CLOCK_HZ
LINK_BYTES_PER_S = 25e9


@dataclass
class FakeGpu(FakeBackend):
    """Advances its clock without running anything."""

    present: PresentDevice = GPU
    noise: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    @property
    def device(self) -> PresentDevice:
        return self.present

    def build(self, source: str, options: str) -> ProgramId:
        if "memory" not in source and "launch" not in source and "transfer" not in source:
            raise DeviceError(f"{source} is not simulated")
        return super().build(source, options)

    def allocate(self, buffer: Buffer) -> BufferId:
        identity = BufferId(next(self._ids))
        self.buffers[identity] = np.broadcast_to(np.uint8(0), buffer.nbytes)
        return identity

    def time(self, untimed: Sequence[LaunchId], timed: Sequence[LaunchId]) -> float:
        return super().time(untimed, timed) * float(np.exp(self.noise.normal(0.0, 0.005)))

    def _execute(self, launch: LaunchId) -> None:
        _, dispatch, buffers = self._launches[launch]
        numbers = [int(argument) for argument in dispatch.arguments if isinstance(argument, np.uint32)]
        data = self.buffers[buffers[str(dispatch.arguments[0])]].nbytes
        groups, local = dispatch.global_size[0] // dispatch.local_size[0], dispatch.local_size[0]
        work = {
            "launch": lambda: 0.0,
            "warm_up": lambda: 0.0,
            "evict": lambda: 0.0,
            "link": lambda: 0.0,
            "pairs": lambda: 2 * numbers[0] * MEMORY.latency / CLOCK_HZ,
            "again": lambda: numbers[0] * L2.latency / CLOCK_HZ,
            "visit": lambda: numbers[-1] * L2.latency / CLOCK_HZ,
            "": lambda: data / LINK_BYTES_PER_S,
            "chase": lambda: self._chase(data, numbers[0]),
            "copy": lambda: 32 * numbers[0] * self._s_per_byte(32 * numbers[0]),
            "read_shared": lambda: groups * VECTORS * 16 * local * self._s_per_byte(numbers[0] * VECTORS * 16 * local),
            "read_private": lambda: self._read_private(16 * numbers[0], numbers[1], groups),
        }
        self.clock_s += max(LAUNCH_S, groups / GROUPS_PER_S) + work.get(dispatch.kernel, lambda: 0.0)()

    def _chase(self, size: int, steps: int) -> float:
        near, far = L1.share(size), L2.share(size)
        cycles = near * L1.latency + (1 - near) * (far * L2.latency + (1 - far) * MEMORY.latency)
        return steps * (cycles + INTEGER_CYCLES) / CLOCK_HZ

    def _read_private(self, region: int, passes: int, groups: int) -> float:
        near, busy = L1.share(region), groups / GPU.compute_units
        s_per_byte = near / L1.bandwidth + (1 - near) * self._s_per_byte(region * groups)
        return groups * region * passes * s_per_byte / busy

    def _s_per_byte(self, working_set: float) -> float:
        served = L2.share(working_set)
        return served / L2.bandwidth + (1 - served) / MEMORY.bandwidth
