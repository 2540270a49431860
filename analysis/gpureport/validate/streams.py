"""What kernels move that other programs than PyTorch run to measure memory, by their sources."""

from collections.abc import Mapping
from functools import partial

from gpureport.spec.models import Device
from gpureport.validate.operators import Operator, Row, number
from gpureport.workloads.model import Demand, Stream

_POPULATIONS, _SHIFTED = 19, 5
"""Populations of a cell, and those of them that move along x: each step updates them at the next cell's place."""


def lattice_boltzmann(nbytes: int, converting: float, row: Row, device: Device) -> Demand:
    """Return a step of a D3Q19 lattice with populations of *nbytes*, and *converting* instructions to convert each.

    FluidX3D (src/kernel.cpp @8986874) gives a work-item one cell and a group 64. It reads and writes each population in
    place, and reads a flag of one byte. Of its 363 operations, a third finds the places of neighbours (assumed).
    """
    cells, wave = number(row, "cells"), device.architecture.wave_size * nbytes / device.line_bytes
    int32 = 133.0 + 2 * _POPULATIONS * converting
    populations = (
        Stream(f"f{i}", cells, nbytes, nbytes, write=write, exchanged=i < _SHIFTED)
        for write in (False, True)
        for i in range(_POPULATIONS)
    )
    each = {"memory": 39.0, "fp32": 230.0, "int32": int32, "instruction": 269.0 + int32}
    return Demand(
        int(cells),
        (64,),
        (*populations, Stream("flags", cells, 1, 1)),
        {name: count * cells for name, count in each.items()},
        {"int32": 20.0, "fp32": 60.0},
        memory_chain=2.0,  # flag, populations
        registers=min(96, device.architecture.occupancy.max_registers_per_work_item or 96),
        phases_aligned=False,
        lines_per_access=max(1.0, wave) + _SHIFTED / _POPULATIONS,
    )


STREAMS: Mapping[str, Operator] = {
    "lattice_boltzmann_fp32": partial(lattice_boltzmann, 4, 0.0),
    "lattice_boltzmann_fp16s": partial(lattice_boltzmann, 2, 1.0),
    "lattice_boltzmann_fp16c": partial(lattice_boltzmann, 2, 17.0),  # by bits, with a path for denormalised numbers
}
"""By the name in column ``operator``."""
