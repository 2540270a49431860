"""What kernels of other programs than PyTorch move and compute, by their sources: most of them measure memory."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import ceil, inf

from gpureport.spec.models import Device
from gpureport.validate.operators import Operator, number
from gpureport.validate.software import TABLE, Row
from gpureport.workloads.model import Demand, Stream

_POPULATIONS, _SHIFTED = 19, 5
"""Populations of a cell, and those of them that move along x: each step updates them at the next cell's place."""


def lattice_boltzmann(row: Row, device: Device, *, nbytes: int, converting: Mapping[str, float]) -> Demand:
    """Return a step of a D3Q19 lattice with populations of *nbytes*; *converting* are instructions for each access.

    FluidX3D (src/kernel.cpp @8986874) gives a work-item one cell and a group 64. It reads and writes each population in
    place, and reads a flag of one byte. Of its 363 operations, a third finds the places of neighbours (assumed).
    """
    cells, wave = number(row, "cells"), device.architecture.wave_size * nbytes / device.line_bytes
    each = {"memory": 39.0, "fp32": 230.0, "int32": 133.0, "instruction": 402.0}
    for name, count in converting.items():
        for used in (name if name in device.architecture.rates_per_cycle else "int32", "instruction"):
            each[used] = each.get(used, 0.0) + 2 * _POPULATIONS * count
    populations = (
        Stream(f"f{i}", cells, nbytes, nbytes, write=write, exchanged=i < _SHIFTED)
        for write in (False, True)
        for i in range(_POPULATIONS)
    )
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


def stream(row: Row, device: Device, *, reads: int, writes: int, points: int = 1, ping_pong: bool = False) -> Demand:
    """Return a kernel that reads and writes whole arrays, ``per_item`` vectors of ``element_bytes`` by each work-item.

    Where it only reads, each work-item writes a sum. A stencil reads *points* neighbours. Unused local memory limits a
    compute unit to ``groups_per_unit``. Where the runtime chooses the work-group, it has 256 work-items (assumed).
    """
    count, nbytes, each = number(row, "elements"), int(number(row, "element_bytes")), number(row, "per_item", 1.0)
    group, limits = int(number(row, "group", 256.0)), device.architecture.occupancy
    items = ceil(count / each / group) * group
    most, together = limits.most_local_bytes or 0.0, limits.units * number(row, "groups_per_unit", inf) + 0.5
    arrays = [Stream(f"read{i}", count, nbytes, nbytes, passes=points) for i in range(reads)]
    arrays += [Stream(f"written{i}", count, nbytes, nbytes, write=True) for i in range(writes)]
    arrays += [] if writes else [Stream("sums", items, 4, 4, write=True)]
    accesses = (points * reads + writes) * count
    return Demand(
        items,
        (group,),
        tuple(arrays),
        {"memory": accesses, "instruction": 6.0 * items + 3.0 * accesses},
        {"int32": 8.0},
        memory_chain=min(1.0, reads),
        registers=int(16 + min(16.0, each) * reads * nbytes / 4),
        local_memory_bytes=int(min(most, (limits.local_memory_bytes or 0.0) / together)),
        ping_pong=ping_pong,
    )


def dot(row: Row, device: Device) -> Demand:
    """Return BabelStream's sum of products: 256 groups of 1024 go through both arrays, with four steps unrolled."""
    each = number(row, "elements") / (256 * 1024)
    return replace(stream({**row, "per_item": each, "group": 1024.0}, device, reads=2, writes=0), memory_chain=each / 4)


def particles(row: Row, device: Device) -> Demand:
    """Return a step of particles of 32 bytes, updated in place by groups of 256, between time stamps of its own.

    Of each particle, 24 bytes are read and 12 written: whole sectors, which the reads have brought into the cache.
    """
    count = number(row, "particles")
    moved = (Stream("particles", count, 32, 32, write=write) for write in (False, True))
    operations = {"memory": 3.0 * count, "fp32": 8.0 * count, "int32": 10.0 * count, "instruction": 30.0 * count}
    lines = max(1.0, 32 * device.architecture.wave_size / device.line_bytes)
    chain = {"int32": 10.0, "fp32": 4.0}
    demand = Demand(ceil(count / 256) * 256, (256,), tuple(moved), operations, chain, memory_chain=1.0, registers=20)
    return replace(demand, lines_per_access=lines, isolated=True)


def multiply_add(row: Row, device: Device) -> Demand:
    """Return chains of 2048 multiply-adds for each work-item, one chain for each component of its vector.

    They are nearly all instructions, so that issuing them is no limit of its own, as in ``workloads.instructions``.
    Each is one instruction, or as many as the compiler makes of it: ``instructions``.
    """
    items, kind, vector = number(row, "work_items"), str(row.get("type", "fp32")), number(row, "vector")
    pairs = device.architecture.packed_fp32 if vector > 1 and kind == "fp32" else 1.0
    count = 2048.0 * number(row, "instructions", 1.0)
    operations = {kind: count * items / pairs, "memory": items}
    chain = {kind: count / vector}
    return Demand(int(items), (256,), (Stream("out", items, 4, 4, write=True),), operations, chain)


STREAMS: Mapping[str, Operator] = {
    **{name: partial(stream, **given) for name, given in TABLE.streams.items()},
    "stream_dot": dot,
    "particles": particles,
    "multiply_add": multiply_add,
    **{name: partial(lattice_boltzmann, **given) for name, given in TABLE.lattices.items()},
}
"""By the name in column ``operator``."""
