"""What a kernel takes of a compute unit, as its compiler or its binary tells."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Usage:
    """Registers and memory of a kernel; ``None``: not told.

    Attributes:
        reported_by: who says so, see ``Compilation.reported_by``.
        registers: 32-bit registers of a work-item.
        local_memory_bytes: of a work-group, without local-memory arguments.
        private_bytes: memory of a work-item.
        spill_bytes: of a work-item.
        wave_size: work-items that share an instruction.
    """

    reported_by: str
    registers: int | None = None
    local_memory_bytes: int | None = None
    private_bytes: int | None = None
    spill_bytes: int | None = None
    wave_size: int | None = None
