"""Transposition in the registers of one work-item."""

from collections.abc import Mapping

from gpureport.spec.models import Device
from gpureport.workloads.bit_transpose.family import ROWS, Transpose


class Registers(Transpose):
    """Five rounds with 32 registers."""

    variant = "registers"
    essential = True
    sweeps_memory = True
    rows_per_item = ROWS
    usual_group = 64
    repeats = 301
    source = "bit_transpose/registers.cl"
    method = "registers"
    description = (
        "Each work-item keeps a whole tile in 32 registers, without local memory or sub-groups. It loads 128 "
        "contiguous bytes, 16 at a time, so the loads of neighbouring work-items touch different lines."
    )

    def operations(self, device: Device) -> Mapping[str, float]:
        """For each row and round a shift and a selection; a CPU permutes vectors, a GPU renames registers.

        Shift counts are constant. Compilers for GPUs turn left shifts, half of them, into multiplications.
        """
        rows = float(ROWS * self.rounds)
        if device.is_cpu:
            return {"int32": 5.0 * rows, "permute": 3.0 * ROWS, "instruction": 5.0 * rows + 3.0 * ROWS}
        return {"int32": 1.5 * rows, "int32_mul": 0.5 * rows, "instruction": 2.0 * rows}


WORKLOADS = (Registers(), Registers(8))
