"""Atomic adds to few addresses and to many."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis
from gpureport.spec.models import Device
from gpureport.units import format_count
from gpureport.workloads.atomics.family import Atomics, demand_of, resident_groups, total_adds, waiting_cycles
from gpureport.workloads.model import Argument, Demand, Limits, Parameters, Sweep

_POWERS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)


class Spread(Atomics):
    """Adds to so many neighbouring addresses."""

    variant = "spread"
    title = "Global atomic adds against the number of addresses"
    description = (
        "Neighbouring work-items add to neighbouring addresses, and all over again after so many of them: one address "
        "for all, one for each lane of a wave, up to 4 MiB of them. Compilers cannot see which work-items meet. "
        "Assumed: adds to one address follow each other, one a clock cycle, and so do those to the sectors of one "
        "slice of the cache, 256 bytes; the others take the cache's bandwidth."
    )
    kernel = "add_spread"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """Each number of addresses is a case; more addresses get more adds, for they are faster."""
        local = min(256, limits.max_work_group)
        powers = _POWERS[::3] if limits.quick else _POWERS
        points = tuple(
            {
                "addresses": 2**power,
                "passes": 256 if device.kind == "cpu" else 16 * 2 ** min(power, 5),
                "local": local,
                "groups": resident_groups(device, local),
            }
            for power in powers
        )
        return (Sweep("addresses", Axis(quantity="case", label="addresses"), points, "number of addresses"),)

    def label(self, parameters: Parameters) -> str:
        """Name a case by its addresses."""
        return f"{format_count(parameters['addresses'])} address{'es' if parameters['addresses'] > 1 else ''}"

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Every add goes to the cache by itself."""
        adds, addresses = total_adds(parameters), parameters["addresses"]
        met = min(addresses, adds)
        return demand_of(
            parameters,
            device,
            counters=met,
            sent=adds,
            serial_cycles=waiting_cycles(device, adds, met),
            contended=1 / min(addresses, 16),
            operations={"int32": 5.0 * adds},
        )

    def words(self, parameters: Parameters) -> int:
        """Return the number of addresses."""
        return parameters["addresses"]

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Return the mask of addresses, whose number is a power of two."""
        return (np.uint32(parameters["addresses"] - 1),)

    def addresses(self, parameters: Parameters) -> NDArray[np.int64]:
        """Return the running number of each add, modulo the addresses."""
        items = parameters["groups"] * parameters["local"]
        return np.arange(parameters["passes"] * items).reshape(-1, items) % parameters["addresses"]

    def verification(self) -> Sequence[Parameters]:
        """All at one address, several work-groups at a few, more addresses than work-items."""
        return (
            {"addresses": 1, "passes": 3, "local": 33, "groups": 5},
            {"addresses": 32, "passes": 7, "local": 50, "groups": 3},
            {"addresses": 1024, "passes": 5, "local": 33, "groups": 7},
        )


WORKLOADS = (Spread(),)
