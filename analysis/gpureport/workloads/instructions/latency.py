"""Latency of instructions by class: the time until a dependent instruction can start."""

from gpureport.records.keys import Metric
from gpureport.spec.models import Device
from gpureport.workloads.instructions.cases import EXCHANGES, PRECISIONS, Operation
from gpureport.workloads.instructions.chains import Chains
from gpureport.workloads.model import Limits, Parameters
from gpureport.workloads.sub_group import Exchanging


class InstructionLatency(Chains):
    """One wave, one chain."""

    variant = "latency"
    calibrates = ("instruction_latencies",)
    title = "Instruction latency"
    description = (
        "One wave computes one chain: each operation needs the result of the previous one. The barrier uses one "
        "work-group of several waves. Counted: the time of one operation."
    )
    metric = Metric(kind="time", unit="instructions", label="latency")

    def shape(self, case: Operation, device: Device, limits: Limits) -> dict[str, int]:
        """A chain of about 0.2 ms."""
        wave, cpu = device.architecture.wave_size, device.is_cpu
        local = wave if case.group or not cpu else 1
        if case.name == "barrier":
            local = min(64 if cpu else 256, limits.max_work_group)
        latencies = device.architecture.latency_cycles
        cycles = sum(count * latencies.get(name, 4.0) for name, count in case.classes(latencies).items())
        steps = 16 if case.name == "barrier" or (cpu and case.group) else 240  # emulated exchanges build slowly
        return {
            "chains": 1,
            "steps": steps,
            "rounds": max(1, round(2e-4 * device.clock_hz / cycles / steps)),
            "groups": 1,
            "local": local,
            "lanes": wave if cpu and case.wide else 1,
        }

    def work(self, parameters: Parameters) -> float:
        """Work is the operations of the chain."""
        return parameters["steps"] * parameters["rounds"]


class SubGroupLatency(Exchanging, InstructionLatency):
    """The latency of exchanges."""

    required = ("shuffle", "ballot")
    variant = "sub_group_latency"
    title = "Sub-group exchange latency"
    description = (
        "One wave computes one chain of shuffles (with the lane four away) or ballots (each after an AND). Counted: "
        "the time of one exchange, which includes the AND of a ballot."
    )
    cases = EXCHANGES


class PrecisionLatency(InstructionLatency):
    """The latency of operations that not all devices have."""

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


WORKLOADS = (InstructionLatency(), SubGroupLatency(), PrecisionLatency())
