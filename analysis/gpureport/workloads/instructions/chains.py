"""Shared by rate and latency of instructions: chains of one operation."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import ceil
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis, PointKey
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.instructions.cases import ARITHMETIC, DOT_PRODUCT, TABLE, Operation
from gpureport.workloads.model import Buffer, Demand, Features, Job, Limits, Parameters, Sweep, UnstoredResults

NO_BARRIER = "compilers for CPUs turn barriers into ends of loops over work-items, and remove those without work"


class Chains(UnstoredResults):
    """The cases are operations."""

    family = "instructions"
    source = "instructions.cl"
    kernel = "instructions"
    microbenchmark = True
    essential = True
    cases: ClassVar[tuple[Operation, ...]] = ARITHMETIC
    listed_in: ClassVar[Literal["rates_per_cycle", "latency_cycles"] | None] = None
    """The table of an architecture that must list an operation, so that it is predicted and measured."""

    @abstractmethod
    def shape(self, case: Operation, device: Device, limits: Limits) -> dict[str, int]:
        """Return ``chains`` per work-item, unrolled ``steps``, ``rounds``, ``groups``, ``local`` and ``lanes``."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """A case for each operation that the architecture may have; no barrier on a CPU."""
        listed = [case.name for case in self.cases]
        if self.listed_in:
            listed = getattr(device.architecture, self.listed_in)
        cases = [(1 + i, case) for i, case in enumerate(self.cases) if case.name in listed]
        if not cases:
            return ()
        points = [{"case": number, **self.shape(case, device, limits)} for number, case in cases]
        absent = [p for p in points if device.is_cpu and self.case(p).name == "barrier"]
        return (
            Sweep(
                "operation",
                Axis(quantity="case", label="instruction class"),
                tuple(point for point in points if point not in absent),
                "instruction class",
                absent=tuple((point, NO_BARRIER) for point in absent),
            ),
        )

    def unsupported(self, parameters: Parameters, features: Features) -> str | None:
        """An operation may need an extension."""
        return self.case(parameters).missing(features)

    def options(self, features: Features) -> str:
        """Dot products are functions of OpenCL C 3.0."""
        used = DOT_PRODUCT in features.extensions and any(DOT_PRODUCT in case.extensions for case in self.cases)
        return "-cl-std=CL3.0" if used else ""

    def to_verify(self, sweeps: Sequence[Sweep]) -> Sequence[Parameters]:
        """Only the operations of *sweeps*: compilers may refuse others."""
        cases = {parameters["case"] for sweep in sweeps for parameters in sweep.points}
        return tuple(parameters for parameters in self.verification() if parameters["case"] in cases)

    def case(self, parameters: Parameters) -> Operation:
        """Return the operation of a point."""
        return self.cases[parameters["case"] - 1]

    @abstractmethod
    def work(self, parameters: Parameters) -> float:
        """Return the work of one dispatch."""

    def point(self, parameters: Parameters, sweep: Sweep) -> PointKey:  # noqa: ARG002 - one sweep only
        """Label the point by its instruction class."""
        return grid.key(
            parameters,
            self.case(parameters).name,
            work=self.work(parameters),
            items=self.work_items(parameters),
            nbytes=8 * TABLE,
            x=parameters["case"],
        )

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """The operations and the chains that they form."""
        case, items = self.case(parameters), self.work_items(parameters)
        in_a_chain, lanes = float(parameters["steps"] * parameters["rounds"]), parameters["lanes"]
        architecture = device.architecture
        each = in_a_chain * parameters["chains"] * items * lanes
        return Demand(
            work_items=items,
            work_group=(parameters["local"],),
            operations={name: count * each for name, count in case.classes(architecture.rates_per_cycle).items()},
            chain={name: count * in_a_chain for name, count in case.classes(architecture.latency_cycles).items()},
            registers=16 + case.states * case.words * parameters["chains"],
            local_memory_bytes=4 * TABLE if case.name == "local" else 0,
            branches=lanes == 1 and not case.group,
        )

    def build_options(self, parameters: Parameters) -> str:
        """The operation, chains per work-item, unrolled steps, lanes of a vector."""
        case = self.case(parameters).name.upper()
        return f"-DCASE_{case} {grid.macros(parameters, 'chains', 'steps', 'lanes')}"

    def inputs(self, parameters: Parameters, rng: np.random.Generator) -> tuple[dict[str, Buffer], tuple[int, ...]]:
        """Random words; results are the ends of the chains."""
        case, lanes = self.case(parameters), parameters["lanes"]
        drawn = {"initial": case.initial(rng, lanes), "operands": case.operands(rng, lanes)}
        buffers = {f"{name} {case.name}": Buffer(4 * TABLE, words) for name, words in drawn.items()}
        return buffers, (parameters["rounds"],)

    def verification(self) -> Sequence[Parameters]:
        """Every operation in one chain and in several, on words and on vectors."""
        shapes = (
            {"chains": 1, "steps": 5, "rounds": 3, "groups": 3, "local": 64, "lanes": 1},
            {"chains": 3, "steps": 4, "rounds": 5, "groups": 2, "local": 32, "lanes": 8},
        )
        return tuple(
            {"case": 1 + i, **shape, "lanes": shape["lanes"] if case.wide else 1}
            for i, case in enumerate(self.cases)
            for shape in shapes
        )

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:  # noqa: ARG002
        """Compute all chains step by step; integers wrap around, multiply-adds round once."""
        case, lanes = self.case(parameters), parameters["lanes"]
        initial, operands = (
            job.buffers[f"{name} {case.name}"].filled().astype(np.uint32) for name in ("initial", "operands")
        )
        items = np.arange(self.work_items(parameters))
        # `local` uses the operands as one table; in all other cases each work-item has its own operands.
        k: tuple[NDArray[np.uint32], ...] = (operands,)
        if case.name != "local":
            k = tuple(case.loaded(_of_items(operands, items + 64 * number, lanes)) for number in range(4))
        following = case.vector_step if lanes > 1 and case.vector_step else case.step
        total = np.zeros(len(items) * lanes, dtype=np.uint32)
        for chain in range(parameters["chains"]):
            starts = (items + 64 * (chain * case.states + state) for state in range(case.states))
            words = tuple(case.loaded(_of_items(initial, start, lanes)) for start in starts)
            for step in range(parameters["steps"] * parameters["rounds"]):
                words = following(words, k, step % parameters["steps"])
            for word in words:
                total = np.uint32(3) * total ^ (case.folded(word) & np.uint32(case.result_mask))
        return {"folded": total}


def _of_items(table: NDArray[np.uint32], items: NDArray[np.int_], lanes: int) -> NDArray[np.uint32]:
    """Return the words of each of *items* in a table of vectors of *lanes* words."""
    vectors = table.reshape(-1, lanes)
    return vectors[items % len(vectors)].ravel()


def rounds(device: Device, case: Operation, seconds: float, operations: float) -> int:
    """Return how many rounds of *operations* take about *seconds*, limited by the slowest class of a step."""
    rates = device.architecture.rates_per_cycle
    each = [device.rate_per_s(name) / count for name, count in case.classes(rates).items() if name in rates]
    slowest = min(each, default=device.rate_per_s("shuffle"))
    return max(1, ceil(seconds * slowest / operations))
