"""Rate and latency of instructions by class, and the cost of barriers: chains of one operation."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, prod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gpureport.records.curves import Metric
from gpureport.spec.models import Device
from gpureport.workloads import grid
from gpureport.workloads.instructions.cases import ARITHMETIC, DOT_PRODUCT, EXCHANGES, PRECISIONS, TABLE, Operation
from gpureport.workloads.model import (
    Buffer,
    Calibration,
    Demand,
    Features,
    Job,
    Limits,
    Parameters,
    Sweep,
    UnstoredResults,
)
from gpureport.workloads.sub_group import Exchanging

_NO_BARRIER = "compilers for CPUs turn barriers into ends of loops over work-items, and remove those without work"
_GROUPS_PER_UNIT = 48
"""A multiple of 4, 6, 8 and 16 resident groups per compute unit, so that no unit is partly idle at the end."""


class Chains(UnstoredResults):
    """The cases are operations."""

    family = "instructions"
    source = "instructions.cl"
    kernel = "instructions"
    macros = ("chains", "steps", "lanes")
    microbenchmark = True
    essential = True
    working_set_of = (8 * TABLE,)
    operation_of = ("case",)
    cases: ClassVar[tuple[Operation, ...]] = ARITHMETIC
    listed_in: ClassVar[Literal["rates_per_cycle", "latency_cycles"] | None] = None
    """The table of an architecture that must list an operation, so that it is predicted and measured."""

    @abstractmethod
    def shape(self, case: Operation, device: Device, limits: Limits) -> dict[str, int]:
        """Return ``chains`` per work-item, unrolled ``steps``, ``rounds``, ``groups``, ``local`` and ``lanes``."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """A case for each operation that the architecture may have; no barrier on a CPU."""
        listed = getattr(device.architecture, self.listed_in) if self.listed_in else [each.name for each in self.cases]
        missing = grid.chosen(device, cpu=("barrier",), gpu=())
        found: dict[bool, list[Parameters]] = {True: [], False: []}
        for number, case in enumerate(self.cases, 1):
            if case.name in listed:
                found[case.name in missing].append({"case": number, **self.shape(case, device, limits)})
        absent = tuple((point, _NO_BARRIER) for point in found[True])
        sweep = replace(grid.by_case("operation", "instruction class", found[False]), absent=absent)
        return (sweep,) if sweep.points or absent else ()

    def unsupported(self, parameters: Parameters, features: Features) -> str | None:
        """An operation may need an extension."""
        return self.case(parameters).missing(features)

    def options(self, features: Features) -> str:
        """Dot products are functions of OpenCL C 3.0."""
        used = DOT_PRODUCT in features.extensions and any(DOT_PRODUCT in case.extensions for case in self.cases)
        return "-cl-std=CL3.0" if used else ""

    def case(self, parameters: Parameters) -> Operation:
        return self.cases[parameters["case"] - 1]

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        return self.case(parameters).name

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        case, items, architecture = self.case(parameters), self.work_items(parameters), device.architecture
        in_a_chain, lanes = float(parameters["steps"] * parameters["rounds"]), parameters["lanes"]
        each = in_a_chain * parameters["chains"] * items * lanes
        return Demand(
            *self.launched(parameters),
            operations={name: count * each for name, count in case.classes(architecture.rates_per_cycle).items()},
            chain={name: count * in_a_chain for name, count in case.classes(architecture.latency_cycles).items()},
            registers=16 + case.states * case.words * parameters["chains"],
            local_memory_bytes=4 * TABLE if case.name == "local" else 0,
            branches=lanes == 1 and not case.group,
        )

    def build_options(self, parameters: Parameters) -> str:
        return f"-DCASE_{self.case(parameters).name.upper()} {super().build_options(parameters)}"

    def inputs(self, parameters: Parameters, rng: np.random.Generator) -> tuple[dict[str, Buffer], tuple[int, ...]]:
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

    def expected(self, parameters: Parameters, job: Job, dispatches: int) -> Mapping[str, NDArray[np.generic]]:
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


class InstructionLatency(Chains):
    variant = "latency"
    calibrates = ("instruction_latencies",)
    title = "Instruction latency"
    description = (
        "One wave computes one chain: each operation needs the result of the previous one. The barrier uses one "
        "work-group of several waves. Counted: the time of one operation."
    )
    metric = Metric(kind="time", unit="instructions", label="latency")
    work_of = ("steps", "rounds")

    def shape(self, case: Operation, device: Device, limits: Limits) -> dict[str, int]:
        """A chain of about 0.2 ms."""
        wave, latencies = device.architecture.wave_size, device.architecture.latency_cycles
        steps = grid.chosen(device, cpu=16 if case.group else 240, gpu=240)  # emulated exchanges build slowly
        local = grid.chosen(device, cpu=wave if case.group else 1, gpu=wave)
        if case.name == "barrier":
            steps, local = 16, min(grid.chosen(device, cpu=64, gpu=256), limits.max_work_group)
        cycles = sum(count * latencies.get(name, 4.0) for name, count in case.classes(latencies).items())
        rounds = max(1, round(2e-4 * device.clock_hz / cycles / steps))
        lanes = grid.chosen(device, cpu=wave if case.wide else 1, gpu=1)
        return {"chains": 1, "steps": steps, "rounds": rounds, "groups": 1, "local": local, "lanes": lanes}


class SubGroupLatency(Exchanging, InstructionLatency):
    required = ("shuffle", "ballot")
    variant = "sub_group_latency"
    title = "Sub-group exchange latency"
    description = (
        "One wave computes one chain of shuffles (with the lane four away) or ballots (each after an AND). Counted: "
        "the time of one exchange, which includes the AND of a ballot."
    )
    cases = EXCHANGES


class PrecisionLatency(InstructionLatency):
    variant = "formats_latency"
    essential = False
    title = "Instruction latency of further number formats"
    description = (
        "One wave computes one chain: each operation needs the result of the previous one. Only operations whose "
        "latency the architecture's file lists are measured. A reciprocal and a conversion to an integer include a "
        "bitwise operation. Counted: the time of one operation."
    )
    cases = PRECISIONS
    listed_in = "latency_cycles"


class Rate(Chains):
    variant = "rate"
    calibrates: ClassVar[tuple[Calibration, ...]] = ("instruction_rates",)
    title = "Instruction rate"
    description = (
        "All work-items compute several independent chains of one operation, with enough work-items for the peak rate "
        "of every compute unit. Additions may use two pipes: NVIDIA's compiler turns every second one into a "
        "multiply-add by one. Bitwise operations and shifts use one pipe only. Counted: instructions times lanes; a "
        "multiply-add is one."
    )
    metric = Metric(kind="rate", unit="instructions", label="instruction rate")
    work_of = ("chains", "steps", "rounds", "groups", "local", "lanes")

    def shape(self, case: Operation, device: Device, limits: Limits) -> dict[str, int]:
        """Eight chains on a GPU; on a CPU as many as its registers allow. Emulated exchanges build slowly."""
        wide = device.architecture.wave_size if case.wide else 1
        chains_of_cpu = {1: 8, 2: 6}.get(case.states * case.words, 4)
        chains, steps, per_unit, local, lanes = grid.chosen(
            device,
            cpu=(chains_of_cpu, 4, 8, 64, 1) if case.group else (chains_of_cpu, 24, 8, 1, wide),
            gpu=(8, 64, _GROUPS_PER_UNIT, 256, 1),
        )
        if case.name == "barrier":
            chains, steps = 1, 16
        local = min(local, limits.max_work_group)
        shape = {"chains": chains, "steps": steps, "groups": per_unit * device.compute_units, "local": local}
        rates = device.architecture.rates_per_cycle
        each = [device.rate_per_s(name) / count for name, count in case.classes(rates).items() if name in rates]
        wanted = grid.seconds(device, 3e-3) * min(each, default=device.rate_per_s("shuffle"))
        return {**shape, "rounds": max(1, ceil(wanted / (prod(shape.values()) * lanes))), "lanes": lanes}


class SubGroupRate(Exchanging, Rate):
    required = ("shuffle", "ballot")
    variant = "sub_group_rate"
    title = "Sub-group exchange rate"
    description = (
        "All work-items compute several independent chains of shuffles (with the lane four away) or ballots (each "
        "after an AND). Counted: exchanges times lanes."
    )
    cases = EXCHANGES


class PrecisionRate(Rate):
    variant = "formats"
    title = "Instruction rate of further number formats"
    description = (
        "All work-items compute several independent chains of one operation: multiply-adds of 64-bit numbers, of "
        "16-bit numbers and of pairs of these, dot products of four bytes, additions of 64-bit integers, reciprocals, "
        "and conversions to integers. Only operations whose rate the architecture's file lists are measured. Counted: "
        "instructions times lanes; an instruction on a pair is one."
    )
    cases = PRECISIONS
    listed_in = "rates_per_cycle"


class Barrier(Rate):
    variant = "barrier"
    calibrates = ("barrier_cost",)
    title = "Barriers by work-group size"
    description = (
        "All compute units execute work-groups that wait at one barrier after another. A barrier takes a time for each "
        "wave and a constant time, which matters most for small work-groups. Counted: barriers times work-items."
    )
    cases = tuple(case for case in ARITHMETIC if case.name == "barrier")
    not_on_cpu = _NO_BARRIER

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Work-groups of one wave, two, four ..., with a constant number of work-items; none on a CPU."""
        if device.architecture.groups_as_loops:
            return ()
        ((point,),) = (sweep.points for sweep in super().sweeps(device, limits))
        items, wave = point["groups"] * point["local"], device.architecture.wave_size
        sizes = [size for size in grid.work_groups(device, limits) if size % wave == 0]
        points = ({**point, "local": size, "groups": items // size} for size in sizes)
        return (grid.by_case("group_size", "work-items of a work-group", points, "work-group size"),)

    def x(self, parameters: Parameters, sweep: Sweep) -> float:
        return parameters["local"]

    def label(self, parameters: Parameters, sweep: Sweep) -> str:
        return f"groups of {parameters['local']}"


WORKLOADS = (
    Barrier(),
    InstructionLatency(),
    SubGroupLatency(),
    PrecisionLatency(),
    Rate(),
    SubGroupRate(),
    PrecisionRate(),
)
