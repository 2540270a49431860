"""Transposition of 32 x 32 bit matrices, many times over: through local memory or through sub-group shuffles."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpureport.records import Axis, Metric, PointKey
from gpureport.spec.models import Device
from gpureport.units import format_count
from gpureport.workloads import grid
from gpureport.workloads.model import (
    Argument,
    Buffer,
    Demand,
    Dispatch,
    Features,
    Job,
    Limits,
    Local,
    Parameters,
    Stream,
    Sweep,
    Workload,
)

_ROWS = 32
_ROUNDS = 5


class _Transpose(Workload):
    """What all variants share: the sweeps, the data, the reference."""

    family = "bit_transpose"
    source = "bit_transpose.cl"
    metric = Metric(kind="rate", unit="matrices", label="matrices transposed")
    option: ClassVar[str]
    """Build option that selects the variant in the source."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """The number of matrices, until the device is full and beyond; and the work-group size."""
        # Odd, so that the result differs from the input. A CPU runs the local-memory kernel as loops over a group.
        repeats = 1001 if device.kind != "cpu" else 33
        top = 18 if limits.quick else 20
        counts = [2**power for power in range(0, top + 1, 2 if limits.quick else 1)]
        load = tuple({"matrices": n, "local": min(256, n * _ROWS), "repeats": repeats} for n in counts)
        full = 2**16 if device.kind != "cpu" else 2**12
        groups = tuple(
            {"matrices": full, "local": n, "repeats": repeats}
            for n in grid.WORK_GROUPS_1D
            if n <= limits.max_work_group
        )
        return (
            Sweep("matrices", Axis(quantity="work_items", label="work-items"), load, "number of matrices"),
            Sweep(
                "work_group",
                Axis(quantity="work_group", label="work-group size"),
                groups,
                f"work-group size at {format_count(full)} matrices",
            ),
        )

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:
        """Work is transpositions."""
        matrices = parameters["matrices"]
        by_group = sweep.axis.quantity == "work_group"
        return PointKey(
            label=str(parameters["local"]) if by_group else f"{format_count(matrices)} matrices",
            parameters=dict(parameters),
            work=matrices * parameters["repeats"],
            work_items=matrices * _ROWS,
            working_set_bytes=2 * 4 * _ROWS * matrices,
            x=parameters["local"] if by_group else matrices * _ROWS,
        )

    def _demand(self, parameters: Parameters, per_round: Mapping[str, float], chain: Mapping[str, float]) -> Demand:
        """Scale the operations of one round of one row to a dispatch, add what all variants do."""
        items = parameters["matrices"] * _ROWS
        rounds = _ROUNDS * parameters["repeats"]
        return Demand(
            work_items=items,
            work_group=(parameters["local"],),
            streams=(Stream("from", items, 4, 4), Stream("to", items, 4, 4, write=True)),
            operations={name: count * rounds * items for name, count in per_round.items()},
            chain={name: count * rounds for name, count in chain.items()},
            memory_chain=1.0,
            registers=24,
        )

    @abstractmethod
    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Return the kernel's arguments."""

    def job(self, parameters: Parameters, rng: np.random.Generator) -> Job:
        """Random matrices."""
        rows, local = parameters["matrices"] * _ROWS, parameters["local"]
        items = -(-rows // local) * local
        return Job(
            buffers={"from": Buffer(4 * rows, grid.random_words(rng, 2**22)), "to": Buffer(4 * rows)},
            dispatches=(Dispatch("transpose", (items,), (local,), self.arguments(parameters)),),
            options=f"-D{self.option} -DREPEATS={parameters['repeats']}",
        )

    def verification(self) -> Sequence[Parameters]:
        """Numbers of matrices that fill no work-group; an odd and an even number of transpositions."""
        return ({"matrices": 37, "local": 64, "repeats": 3}, {"matrices": 5, "local": 32, "repeats": 2})

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """Unpack, transpose, pack (bit 0 is column 0)."""
        rows = job.buffers["from"].filled().astype(np.uint32)
        if parameters["repeats"] % 2 == 0:
            return {"to": rows}
        columns = np.arange(_ROWS, dtype=np.uint32)
        bits = rows.reshape(-1, _ROWS, 1) >> columns & np.uint32(1)
        packed = np.bitwise_or.reduce(bits.transpose(0, 2, 1) << columns, axis=2)
        return {"to": packed.astype(np.uint32).ravel()}


class LocalMemory(_Transpose):
    """Rows meet in local memory."""

    variant = "local"
    essential = True
    title = "Bit transpose 32 x 32 through local memory"
    description = (
        "One work-item a row, one-dimensional work-groups; in each of five rounds a row is stored to local memory and "
        "its partner's read, with a barrier between. Counted: transpositions of a 32 x 32 bit matrix, each on the "
        "result of the one before."
    )
    option = "LOCAL_MEMORY"

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
        """A round: one store, one load, a barrier; rotate, select and two address operations."""
        base = self._demand(
            parameters,
            {"local": 2.0, "int32": 4.0, "instruction": 8.0, "barrier": 1.0},
            {"local": 1.0, "int32": 3.0, "barrier": 1.0},
        )
        return replace(base, local_memory_bytes=2 * 4 * parameters["local"])

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Two tiles of one word a work-item."""
        rows = np.uint32(parameters["matrices"] * _ROWS)
        return ("from", "to", rows, Local(2 * 4 * parameters["local"]))


_SHUFFLES = (
    # Intel's own first: it lets the kernel ask for 32 lanes, where the compiler might choose 8 or 16.
    ("cl_intel_required_subgroup_size", "-DSHUFFLE=2"),
    ("cl_khr_subgroup_shuffle", "-DSHUFFLE=1"),
    ("cl_nv_device_attribute_query", "-DSHUFFLE=3"),
)
"""Back ends in order of preference: an extension that tells of it, and the build option that selects it."""


class Shuffle(_Transpose):
    """Rows meet by sub-group shuffles."""

    variant = "shuffle"
    essential = True
    title = "Bit transpose 32 x 32 by sub-group shuffle"
    description = (
        "One work-item a row; in each of five rounds a row is exchanged with its partner's by a shuffle within the "
        "sub-group (cl_khr_subgroup_shuffle, cl_intel_subgroups, or PTX shfl.sync on NVIDIA). Counted: transpositions "
        "of a 32 x 32 bit matrix, each on the result of the one before."
    )
    option = "TRANSPOSE"

    def missing(self, features: Features) -> str | None:
        """A shuffle of some kind is needed."""
        if any(extension in features.extensions for extension, _ in _SHUFFLES):
            return None
        return (
            "the device offers no sub-group shuffle (cl_khr_subgroup_shuffle, cl_intel_subgroups with "
            "cl_intel_required_subgroup_size, or NVIDIA's PTX)"
        )

    def options(self, features: Features) -> str:
        """The first back end that the device has."""
        return next((option for extension, option in _SHUFFLES if extension in features.extensions), "")

    def demand(self, parameters: Parameters, device: Device) -> Demand:  # noqa: ARG002
        """A round: one shuffle, rotate, select."""
        return self._demand(
            parameters, {"shuffle": 1.0, "int32": 2.0, "instruction": 3.0}, {"shuffle": 1.0, "int32": 2.0}
        )

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """No local memory."""
        return ("from", "to", np.uint32(parameters["matrices"] * _ROWS))


WORKLOADS = (LocalMemory(), Shuffle())
