"""Rate of instructions by class."""

from math import prod
from typing import ClassVar

from gpureport.records.keys import Metric
from gpureport.spec.models import Device
from gpureport.workloads.instructions.cases import EXCHANGES, PRECISIONS, Operation
from gpureport.workloads.instructions.chains import Chains, rounds
from gpureport.workloads.model import Calibration, Limits, Parameters
from gpureport.workloads.sub_group import Exchanging

_GROUPS_PER_UNIT = 48
"""A multiple of 4, 6, 8 and 16 resident groups per compute unit, so that no unit is partly idle at the end."""


class Rate(Chains):
    """All compute units compute independent chains."""

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

    def shape(self, case: Operation, device: Device, limits: Limits) -> dict[str, int]:
        """Eight chains on a GPU; on a CPU as many as its registers allow."""
        if device.is_cpu:
            chains, seconds = {1: 8, 2: 6}.get(case.states * case.words, 4), 2e-3
            steps = 4 if case.group else 24  # emulated exchanges build slowly
            local, lanes = (64, 1) if case.group else (1, device.architecture.wave_size if case.wide else 1)
            groups = 8 * device.compute_units
        else:
            chains, steps, seconds = 8, 64, 3e-3
            local, lanes, groups = min(256, limits.max_work_group), 1, _GROUPS_PER_UNIT * device.compute_units
        if case.name == "barrier":
            chains, steps = 1, 16
        shape = {"chains": chains, "steps": steps, "groups": groups, "local": min(local, limits.max_work_group)}
        in_a_round = chains * steps * groups * shape["local"] * lanes
        return {**shape, "rounds": rounds(device, case, seconds, in_a_round), "lanes": lanes}

    def work(self, parameters: Parameters) -> float:
        """Work is instructions times lanes."""
        return prod(parameters[name] for name in ("chains", "steps", "rounds", "groups", "local", "lanes"))


class SubGroupRate(Exchanging, Rate):
    """The rate of exchanges."""

    required = ("shuffle", "ballot")
    variant = "sub_group_rate"
    title = "Sub-group exchange rate"
    description = (
        "All work-items compute several independent chains of shuffles (with the lane four away) or ballots (each "
        "after an AND). Counted: exchanges times lanes."
    )
    cases = EXCHANGES


class PrecisionRate(Rate):
    """The rate of operations that not all devices have."""

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


WORKLOADS = (Rate(), SubGroupRate(), PrecisionRate())
