"""Energy of a byte or an operation, from the power limit of the board and the listed rates.

No documented model gives the power that a kernel draws. The limit is an upper bound. A kernel that keeps the device
busy draws a share of it, which is assumed to lie between a quarter and all of it.
"""

from gpureport.spec.models import Device

SHARE = 0.5
"""Predicted power / power limit of the board. Reads of memory and of the L2, and multiply-adds, draw 0.44 to 0.70 of it
on an H200."""
SHARE_FACTOR = 2.0
"""Half-width of the interval of this share, as a factor (assumed: from a quarter to all of it)."""


def listed_rates(device: Device) -> dict[str, float]:
    """Return bytes/s and operations/s that the entry promises, by the name of the load."""
    return {
        "memory read": device.memory.bandwidth_bytes_per_s * device.memory.efficiency,
        "fp32 FMA": 2.0 * device.rate_per_s("fp32"),
        **{f"{cache.name} read": device.level_bandwidth_bytes_per_s(cache) for cache in device.caches},
    }


def most_energy_j(device: Device, name: str) -> float | None:
    """Return the energy of one byte or operation at the power limit of the board and the listed rate: an upper bound.

    ``None`` without a listed limit, or for other loads.
    """
    rate = listed_rates(device).get(name)
    return device.board_power_w / rate if device.board_power_w and rate else None
