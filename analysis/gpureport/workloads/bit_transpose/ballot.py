"""Columns collected by sub-group ballots."""

from collections.abc import Mapping

from gpureport.spec.models import Device
from gpureport.workloads import sub_group
from gpureport.workloads.bit_transpose.family import COUNTED, ROWS, Transpose
from gpureport.workloads.model import Features


class Ballot(Transpose):
    """A ballot for each column."""

    variant = "ballot"
    source = "bit_transpose/ballot.cl"
    repeats = 301
    title = "Bit transpose 32 x 32 by sub-group ballot"
    description = (
        "One work-item a row; a ballot of one bit of all rows is a row of the transposed matrix, so 32 ballots make "
        "one transposition, and each lane selects its own without an index. Sub-groups of 64 lanes hold two matrices; "
        f"where they have 16 or 8 lanes, two or four ballots make a row. {COUNTED[32]}"
    )

    def missing(self, features: Features) -> str | None:
        """A ballot of some kind is needed."""
        return sub_group.missing(features, "ballot")

    def options(self, features: Features) -> str:
        """Select the device's ballot."""
        return sub_group.options(features, "ballot")

    def operations(self, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """A column: vote, compare the lane's number, select; compilers test many bits at once."""
        return {"ballot": 1.0 * ROWS, "int32": 2.0 * ROWS, "instruction": 3.0 * ROWS}

    def chain(self, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """The ballots need not wait for one another, but each selection for the one before."""
        return {"ballot": 1.0, "int32": ROWS + 1.0}


class Ballot8x8(Ballot):
    """A ballot for each column of four matrices."""

    variant = "ballot_8x8"
    size = 8
    title = "Bit transpose 8 x 8 by sub-group ballot"
    description = (
        "One work-item a row of four matrices side by side; of the 32 ballots of one bit of all rows each lane keeps "
        "four, and of each the byte that its own matrix voted. As many ballots as for 32 x 32, where shuffles need "
        f"three rounds instead of five. {COUNTED[8]}"
    )

    def operations(self, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """A column: vote, select; eight lanes' numbers compared; four words shifted, cut and joined byte by byte."""
        integer = ROWS + 8 + _JOINED
        return {"ballot": 1.0 * ROWS, "int32": integer, "instruction": ROWS + integer}

    def chain(self, device: Device) -> Mapping[str, float]:  # noqa: ARG002
        """Four selections go side by side, then the bytes are joined one after the other."""
        return {"ballot": 1.0, "int32": ROWS / 4 + 1.0 + _JOINED / 2}


_JOINED = 12.0

WORKLOADS = (Ballot(), Ballot8x8())
