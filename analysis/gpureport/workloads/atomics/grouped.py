"""Atomic adds of which work-groups make few: an address each, or a reduction in local memory first."""

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
    """Variants whose cases are work-group sizes."""

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """A few work-group sizes, as separate cases."""
        tried = sorted({min(local, limits.max_work_group) for local in (64, 256, 1024)})
        points = tuple({"passes": 256, "local": local, "groups": resident_groups(device, local)} for local in tried)
        return (Sweep("group_size", Axis(quantity="case", label="work-group size"), points, "work-group size"),)

    def label(self, parameters: Parameters) -> str:
        """Name a case by its work-groups."""
        return f"groups of {parameters['local']}"

    def verification(self) -> Sequence[Parameters]:
        """Work-groups of odd sizes, and of a single work-item."""
        return (
            {"passes": 5, "local": 37, "groups": 3},
            {"passes": 3, "local": 64, "groups": 5},
            {"passes": 2, "local": 1, "groups": 7},
        )


class ByGroup(_BySize):
    """Adds to one address a work-group."""

    variant = "by_group"
    title = "Global atomic adds, one address a work-group"
    description = (
        "All work-items of a work-group add to one address, in a line of its own, as compilers can see. Assumed: the "
        "lanes of a wave are added up first by shuffles (NVIDIA's compute capability 8.0 and later have an instruction "
        "for it, whose rate is not known), and one add a wave is sent; adds to one address follow each other, one a "
        "clock cycle."
    )
    kernel = "add_by_group"

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Shuffles, then one add a wave."""
        adds, width = total_adds(parameters), min(parameters["local"], device.architecture.wave_size)
        if device.kind == "cpu":
            return demand_of(parameters, device, counters=parameters["groups"], sent=adds, operations={"int32": adds})
        waves = adds / width
        rounds = log2(width)
        return demand_of(
            parameters,
            device,
            counters=parameters["groups"],
            sent=waves,
            serial_cycles=waiting_cycles(device, waves, parameters["groups"], WORDS_APART),
            operations={"int32": (2 + rounds) * adds, "shuffle": rounds * adds},
        )

    def words(self, parameters: Parameters) -> int:
        """Return a line a group."""
        return parameters["groups"] * WORDS_APART

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:  # noqa: ARG002
        """Return none."""
        return ()

    def addresses(self, parameters: Parameters) -> NDArray[np.int64]:
        """Return the first word of the group's line."""
        group = np.arange(parameters["groups"] * parameters["local"]) // parameters["local"]
        return np.tile(group * WORDS_APART, (parameters["passes"], 1))


class Reduced(_BySize):
    """Adds in local memory first."""

    variant = "reduced"
    title = "Reduction in local memory, one global atomic add a work-group"
    description = (
        "In every pass a work-group adds up one number of each work-item in local memory, halving by halving, and one "
        "work-item adds the sum to the one global counter. Counted: the numbers added up."
    )
    kernel = "add_reduced"

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """A halving is two loads, a store and a barrier; together the halvings store once more for each work-item.

        What waits: the new half, its bounds, a load, the sum, and a barrier, which the group's last work-item reaches
        only when all others have issued theirs.
        """
        adds, local, passes = total_adds(parameters), parameters["local"], parameters["passes"]
        rounds = ceil(log2(local)) if local > 1 else 0
        latency = device.architecture.latency_cycles
        ends = local / device.architecture.rates_per_cycle.get("barrier", inf)
        halving_cycles = 5 * latency["int32"] + latency.get("local", 0.0) + latency.get("barrier", 0.0) + ends
        sent = passes * parameters["groups"]
        return demand_of(
            parameters,
            device,
            counters=1,
            sent=sent,
            serial_cycles=max(waiting_cycles(device, sent, 1), passes * (rounds + 1) * halving_cycles),
            contended=1.0,
            operations={"int32": (4.0 + 2 * rounds) * adds, "local": 4.0 * adds, "barrier": (rounds + 1) * adds},
        )

    def words(self, parameters: Parameters) -> int:  # noqa: ARG002
        """Return one."""
        return 1

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Return a word of local memory for each work-item."""
        return (Local(4 * parameters["local"]),)

    def addresses(self, parameters: Parameters) -> NDArray[np.int64]:
        """Return the one counter."""
        return np.zeros((parameters["passes"], parameters["groups"] * parameters["local"]), dtype=np.int64)


WORKLOADS = (ByGroup(), Reduced())
