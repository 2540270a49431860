"""How many instructions the device executes in a second, class by class."""

from typing import ClassVar

from gpureport.records.keys import Metric
from gpureport.spec.models import Device
from gpureport.workloads import sub_group
from gpureport.workloads.instructions.cases import ARITHMETIC, EXCHANGES, Case
from gpureport.workloads.instructions.chains import Chains, rounds
from gpureport.workloads.model import Calibration, Features, Limits, Parameters

_GROUPS_PER_UNIT = 48
"""A multiple of 4, 6, 8 and 16: however many groups of 256 a compute unit holds, the last round is full."""


class Rate(Chains):
    """Every compute unit full of chains that do not wait for each other."""

    variant = "rate"
    calibrates: ClassVar[tuple[Calibration, ...]] = ("instruction_rates",)
    title = "Rate of instructions, by class"
    description = (
        "Every compute unit is full of work-items, each with several independent chains of one operation. Counted: "
        "instructions times lanes; a multiply-add is one. Additions may be spread over two pipes: NVIDIA compilers "
        "write every other one as a multiply-add by one. Bitwise operations and shifts have one pipe only."
    )
    metric = Metric(kind="rate", unit="instructions", label="instruction rate")
    cases: ClassVar[tuple[Case, ...]] = ARITHMETIC

    def shape(self, case: Case, device: Device, limits: Limits) -> dict[str, int]:
        """Eight chains on a GPU; on a CPU, whose registers are few and whose units are pipelined, as fit."""
        if device.kind == "cpu":
            chains, steps, seconds = {1: 8, 2: 6}.get(case.states, 4), 24, 2e-3
            local, lanes = (64, 1) if case.group else (1, device.architecture.wave_size if case.wide else 1)
            groups = 8 * device.compute_units
        else:
            chains, steps, seconds = 8, 48, 1e-3
            local, lanes, groups = min(256, limits.max_work_group), 1, _GROUPS_PER_UNIT * device.compute_units
        if case.name == "barrier":
            chains, steps = 1, 16
        shape = {"chains": chains, "steps": steps, "groups": groups, "local": min(local, limits.max_work_group)}
        in_a_round = chains * steps * groups * shape["local"] * lanes
        return {**shape, "rounds": rounds(device, case, seconds, in_a_round), "lanes": lanes}

    def work(self, parameters: Parameters) -> float:
        """Count instructions times lanes."""
        names = ("chains", "steps", "rounds", "groups", "local", "lanes")
        total = 1
        for name in names:
            total *= parameters[name]
        return total


class SubGroupRate(Rate):
    """The same for exchanges within a sub-group."""

    variant = "sub_group_rate"
    title = "Rate of sub-group exchanges"
    description = (
        "Every compute unit is full of work-items, each with several independent chains of shuffles (with the lane "
        "four away) or ballots (each after an AND). Counted: exchanges times lanes."
    )
    cases = EXCHANGES

    def missing(self, features: Features) -> str | None:
        """Both exchanges are needed."""
        return missing(features)

    def options(self, features: Features) -> str:
        """The back end that has both."""
        return sub_group.options(features, "ballot")


def missing(features: Features) -> str | None:
    """Say that shuffle or ballot is missing, or that no one back end has both; ``None`` if one has."""
    lacking = sub_group.missing(features, "shuffle") or sub_group.missing(features, "ballot")
    if lacking is None and sub_group.options(features, "shuffle") != sub_group.options(features, "ballot"):
        return "the device's sub-group shuffle and ballot belong to different extensions, which one kernel cannot use"
    return lacking


WORKLOADS = (Rate(), SubGroupRate())
