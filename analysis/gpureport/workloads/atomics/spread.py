"""Atomic adds to few and to many addresses."""

from collections.abc import Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from gpureport.records.keys import Axis
from gpureport.spec.core_types import LINE_BYTES
from gpureport.spec.models import Device
from gpureport.units import format_count
from gpureport.workloads.atomics.family import Atomics, demand_of, resident_groups, total_adds, waiting_cycles
from gpureport.workloads.model import Argument, Demand, Limits, Parameters, Sweep

_POWERS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)


class Spread(Atomics):
    """The number of addresses varies."""

    variant = "spread"
    title = "Global atomic adds by number of addresses"
    description = (
        "Neighbouring work-items add to neighbouring addresses, modulo the number of addresses: one, one per lane of a "
        "wave, up to 4 MiB of addresses. The compiler cannot see which work-items add to the same address. Assumed: "
        "adds to one address follow one another, and so do adds to different sectors of one slice of the cache; all "
        "adds use the cache's bandwidth. Counted: numbers added."
    )
    kernel = "add_spread"

    def sweeps(self, device: Device, limits: Limits) -> tuple[Sweep, ...]:
        """A case for each number of addresses; with more addresses, which are faster, more adds."""
        local = min(256, limits.max_work_group)
        powers = _POWERS[::3] if limits.quick else _POWERS
        points = tuple(
            {
                "addresses": 2**power,
                "passes": 256 if device.is_cpu else 16 * 2 ** min(power, 5),
                "local": local,
                "groups": resident_groups(device, local),
            }
            for power in powers
        )
        return (Sweep("addresses", Axis(quantity="case", label="addresses"), points, "number of addresses"),)

    def label(self, parameters: Parameters) -> str:
        """Return the number of addresses."""
        return f"{format_count(parameters['addresses'])} address{'es' if parameters['addresses'] > 1 else ''}"

    def demand(self, parameters: Parameters, device: Device) -> Demand:
        """Every add is one atomic operation in the cache."""
        adds, addresses = total_adds(parameters), parameters["addresses"]
        used = min(addresses, adds)
        return demand_of(
            parameters,
            device,
            counters=used,
            sent=adds,
            serial_cycles=waiting_cycles(device, adds, used),
            shared_lines=ceil(4 * used / LINE_BYTES),
            operations={"int32": 5.0 * adds},
        )

    def words(self, parameters: Parameters) -> int:
        """Return the number of addresses."""
        return parameters["addresses"]

    def arguments(self, parameters: Parameters) -> tuple[Argument, ...]:
        """Return the address mask; the number of addresses is a power of two."""
        return (np.uint32(parameters["addresses"] - 1),)

    def addresses(self, parameters: Parameters) -> NDArray[np.int64]:
        """Return the index of each add modulo the number of addresses."""
        items = parameters["groups"] * parameters["local"]
        return np.arange(parameters["passes"] * items).reshape(-1, items) % parameters["addresses"]

    def verification(self) -> Sequence[Parameters]:
        """One address for all, a few addresses, more addresses than work-items."""
        return (
            {"addresses": 1, "passes": 3, "local": 33, "groups": 5},
            {"addresses": 32, "passes": 7, "local": 50, "groups": 3},
            {"addresses": 1024, "passes": 5, "local": 33, "groups": 7},
        )


WORKLOADS = (Spread(),)
