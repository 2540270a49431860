"""Resources that a kernel uses on a compute unit, as reported by its compiler or its binary."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Usage:
    """Registers and memory of a kernel; ``None``: not reported.

    Attributes:
        reported_by: source of the values, see ``Compilation.reported_by``.
        registers: 32-bit registers per work-item.
        local_memory_bytes: local memory per work-group, without local-memory arguments.
        private_bytes: private memory per work-item.
        spill_bytes: spilled registers per work-item.
        wave_size: work-items that execute an instruction together.
    """

    reported_by: str
    registers: int | None = None
    local_memory_bytes: int | None = None
    private_bytes: int | None = None
    spill_bytes: int | None = None
    wave_size: int | None = None
