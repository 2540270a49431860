"""Atomic adds that work-groups combine: one address per work-group, or a reduction in local memory first."""

from collections.abc import Sequence
from math import ceil, inf, log2

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis
from gpureport.spec.models import Device
from gpureport.workloads.atomics.family import (
    WORDS_APART,
    Atomics,
    demand_of,
    resident_groups,
    total_adds,
    waiting_cycles,
)
from gpureport.workloads.model import Argument, Demand, Limits, Local, Parameters, Sweep


class _BySize(Atomics):
    """The cases are work-group sizes."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """A case for each of a few work-group sizes."""
        tried = sorted({min(local, limits.max_work_group) for local in (64, 256, 1024)})
        points = tuple({"passes": 256, "local": local, "groups": resident_groups(device, local)} for local in tried)
        return (Sweep("group_size", Axis(quantity="case", label="work-group size"), points, "work-group size"),)

    def label(self, parameters: Parameters) -> str:
        return f"groups of {parameters['local']}"

    def verification(self) -> Sequence[Parameters]:
        """Work-groups of odd sizes, and of one work-item."""
        return (
            {"passes": 5, "local": 37, "groups": 3},
            {"passes": 3, "local": 64, "groups": 5},
            {"passes": 2, "local": 1, "groups": 7},
        )


class ByGroup(_BySize):
    """One address per work-group."""

    variant = "by_group"
    title = "Global atomic adds, one address per work-group"
    description = (
        "All work-items of a work-group add to the same address, which the compiler can see. Each address has its own "
        "line. Assumed: shuffles add the lanes of a wave first, and each wave issues one atomic add. (NVIDIA devices "
        "of compute capability 8.0 and later have an instruction for this, whose rate is not known.) Adds to one "
        "address follow one another. Counted: numbers added."
    )
    kernel = "add_by_group"

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Shuffles, then one atomic add per wave."""
        adds, wave = total_adds(parameters), min(parameters["local"], device.architecture.wave_size)
        if device.is_cpu:
            return demand_of(parameters, device, counters=parameters["groups"], sent=adds, operations={"int32": adds})
        waves, rounds = adds / wave, log2(wave)
        return demand_of(
            parameters,
            device,
            counters=parameters["groups"],
            sent=waves,
            serial_cycles=waiting_cycles(device, waves, parameters["groups"], WORDS_APART),
            operations={"int32": (2 + rounds) * adds, "shuffle": rounds * adds},
        )

    def words(self, parameters: Parameters) -> int:
        """Return one line per work-group."""
        return parameters["groups"] * WORDS_APART

    def addresses(self, parameters: Parameters) -> NDArray[np.int64]:
        """Return the first word of the work-group's line."""
        group = np.arange(parameters["groups"] * parameters["local"]) // parameters["local"]
        return np.tile(group * WORDS_APART, (parameters["passes"], 1))


class Reduced(_BySize):
    """A reduction in local memory first."""

    variant = "reduced"
    title = "Global atomic adds after a reduction in local memory"
    description = (
        "In each pass a work-group reduces one number of each work-item in local memory, and one work-item adds the "
        "sum to the single global counter. Counted: numbers added."
    )
    kernel = "add_reduced"

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Each round of the reduction has two loads, a store and a barrier.

        Dependent in each round: the index, its bounds, a branch that some lanes take, a load, the sum, and a barrier,
        which the last work-item of the group reaches only after all others have issued theirs.
        """
        adds, local, passes = total_adds(parameters), parameters["local"], parameters["passes"]
        rounds = ceil(log2(local)) if local > 1 else 0
        latency = device.architecture.latency_cycles
        ends = local / device.architecture.rates_per_cycle.get("barrier", inf)
        waits = sum(latency.get(name, 0.0) for name in ("branch", "local", "barrier"))
        halving_cycles = 5 * latency["int32"] + waits + ends
        sent = passes * parameters["groups"]
        return demand_of(
            parameters,
            device,
            counters=1,
            sent=sent,
            serial_cycles=max(waiting_cycles(device, sent, 1), passes * (rounds + 1) * halving_cycles),
            shared_lines=1,
            operations={"int32": (4.0 + 2 * rounds) * adds, "local": 4.0 * adds, "barrier": (rounds + 1) * adds},
        )

    def words(self, parameters: Parameters) -> int:  # noqa: ARG002
        """Return one word."""
        return 1

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Return local memory, one word per work-item."""
        return (Local(4 * parameters["local"]),)

    def addresses(self, parameters: Parameters) -> NDArray[np.int64]:
        """Return the single counter."""
        return np.zeros((parameters["passes"], parameters["groups"] * parameters["local"]), dtype=np.int64)


WORKLOADS = (ByGroup(), Reduced())
