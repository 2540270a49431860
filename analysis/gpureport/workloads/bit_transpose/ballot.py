"""Transposition by sub-group ballots."""

from collections.abc import Mapping

from gpureport.spec.models import Device
from gpureport.workloads.bit_transpose.family import ROWS, Transpose
from gpureport.workloads.sub_group import Exchanging

_JOINED = 12.0


class Ballot(Exchanging, Transpose):
    """One ballot per column."""

    required = ("ballot",)
    variant = "ballot"
    source = "bit_transpose/ballot.cl"
    repeats = 301
    method = "sub-group ballot"
    description = (
        "One row per work-item. A ballot of one bit of all rows is a row of the transposed matrix, so one "
        "transposition takes 32 ballots, of which each lane selects its own. Sub-groups of 64 lanes process two "
        "matrices; with 16 or 8 lanes, a row takes two or four ballots."
    )

    def operations(self, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """For each column a vote, a comparison of the lane index and a selection."""
        return {"ballot": 1.0 * ROWS, "int32": 2.0 * ROWS, "instruction": 3.0 * ROWS}

    def chain(self, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """The ballots are independent; each selection depends on the previous one."""
        return {"ballot": 1.0, "int32": ROWS + 1.0}


class Ballot8x8(Ballot):
    """One ballot per column of four matrices."""

    description = (
        "One row of four adjacent matrices per work-item. Each lane keeps four of the 32 ballots, and from each the "
        "byte of its own matrix. 8 x 8 needs as many ballots as 32 x 32, while shuffles need three rounds instead of "
        "five."
    )

    def operations(self, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """For each column a vote and a selection; eight comparisons; bytes of four words extracted and joined."""
        integer = ROWS + 8 + _JOINED
        return {"ballot": 1.0 * ROWS, "int32": integer, "instruction": ROWS + integer}

    def chain(self, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Four independent chains of selections, then the bytes are joined one after another."""
        return {"ballot": 1.0, "int32": ROWS / 4 + 1.0 + _JOINED / 2}


WORKLOADS = (Ballot(), Ballot8x8(8))
