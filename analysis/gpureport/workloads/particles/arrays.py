"""Particles as a structure of arrays."""

from collections.abc import Mapping
from typing import ClassVar

from gpureport.workloads.particles.family import Particles


class Arrays(Particles):
    """Positions and velocities in separate arrays."""

    variant = "arrays"
    kernel = "step_arrays"
    title = "Structure of arrays"
    description = (
        "Positions and velocities in separate arrays, 16 bytes per particle, all of them used; otherwise like the "
        "structures of 16 bytes. Counted: particles advanced by one step."
    )
    arrays: ClassVar[Mapping[str, int]] = {"positions_": 2, "velocities_": 2}
    accesses = 4.0


WORKLOADS = (Arrays(),)
