"""Transposition in the registers of one work-item."""

from collections.abc import Mapping

from gpureport.spec.models import Device
from gpureport.workloads.bit_transpose.family import COUNTED, ROWS, Transpose, exchanges

_ROUTE = (
    "Each work-item keeps a whole tile in 32 registers, without local memory or sub-groups. It loads 128 contiguous "
    "bytes, 16 at a time, so the loads of neighbouring work-items touch different lines."
)


class Registers(Transpose):
    """Five rounds with 32 registers."""

    variant = "registers"
    essential = True
    sweeps_memory = True
    rows_per_item = ROWS
    usual_group = 64
    repeats = 301
    source = "bit_transpose/registers.cl"
    title = "Bit transpose 32 x 32, registers"
    description = f"{_ROUTE} {COUNTED[32]}"

    def operations(self, device: Device) -> Mapping[str, float]:
        """For each row and round a shift and a selection; a CPU permutes vectors, a GPU renames registers.

        Shift counts are constant. Compilers for GPUs turn left shifts, half of them, into multiplications.
        """
        rows = float(ROWS * self.rounds)
        if device.kind == "cpu":
            return {"int32": 5.0 * rows, "permute": 3.0 * ROWS, "instruction": 5.0 * rows + 3.0 * ROWS}
        return {"int32": 1.5 * rows, "int32_mul": 0.5 * rows, "instruction": 2.0 * rows}

    def chain(self, device: Device) -> Mapping[str, float]:
        """Rows are independent: the chain is that of one row."""
        return {"int32": exchanges(device) * self.rounds}


class Registers8x8(Registers):
    """Three rounds instead of five."""

    variant = "registers_8x8"
    essential = False
    sweeps_memory = False
    size = 8
    title = "Bit transpose 8 x 8, registers"
    description = f"{_ROUTE} {COUNTED[8]}"


WORKLOADS = (Registers(), Registers8x8())
