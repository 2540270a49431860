"""Energy of bytes and operations, with the power that the board draws at any load.

A device that is busy with one kind of work draws::

    P = static + energy of a byte or operation x rate

The static power is a share of the board's limit. The energy of a byte consists of that of the memory and that of the
way on the chip, whose wires hardly shrink. The energy of an operation is proportional to the process (TSMC lists 30 %
less at the same speed for 5 nm than for 7 nm) and to the clock, because the voltage rises with it. For the same step,
TSMC lists 15 % more speed s at the same power instead, 25 % for fast cells: an energy proportional to the clock to the
power a gives s^(1 + a) = 1 / 0.7, so that a is 1.6, or 0.6.

Where P exceeds the board's limit, the driver lowers the core clock, and with it the voltage. The energies of operations
and of bytes on the chip then fall like the clock. At listed clocks, which differ by 23 %, an A100 and an A40 need the
same energy for a byte on the chip, so that it is not scaled from device to device. Memory keeps its rate.
"""

from math import sqrt

from gpureport.observe.statistics import Estimate
from gpureport.predict.ceilings import listed_rates
from gpureport.spec.models import Device
from gpureport.spec.uncertainty import constant, sourced

_STATIC_STACKED = sourced("predict.energy._STATIC_STACKED", float)
_STATIC = sourced("predict.energy._STATIC", float)
"""Static power / limit of the board, with stacked memory and with other memory, whose interface is always active."""
_STACKED_J = sourced("predict.energy._STACKED_J", float)
_MEMORY_J = sourced("predict.energy._MEMORY_J", float)
"""Energy of a byte in the memory."""
_CHIP_J = sourced("predict.energy._CHIP_J", float)
"""Energy of a byte between memory, or the cache that all compute units share, and registers."""
_FP32_J = sourced("predict.energy._FP32_J", float)
"""Energy of an operation of a multiply-add at this process and clock:"""
_PROCESS_NM, _CLOCK_HZ = constant(7.0), constant(1.41e9)
_FACTOR = sourced("predict.energy._FACTOR", float)
"""Half-width of the interval of an energy, as a factor."""


def most_energy_j(device: Device, name: str) -> float | None:
    """Return the energy of one byte or operation at the power limit of the board and the listed rate.

    ``None`` without a listed limit, or for other loads than those of :func:`.listed_rates`.
    """
    rate = listed_rates(device).get(name)
    return device.board_power_w / rate if device.board_power_w and rate else None


def predicted_energy_j(device: Device, name: str) -> Estimate | None:
    """Return the predicted energy of one byte or operation, static power included; ``None`` if it is not predicted."""
    most, dynamic = most_energy_j(device, name), _dynamic_energy_j(device, name)
    if most is None or dynamic is None:
        return None
    static = most * _static_share(device)
    energy = static + dynamic
    if energy > most:  # dynamic power is proportional to the square of the clock
        energy = most if name == "memory read" else most * sqrt(dynamic / (most - static))
    return Estimate(energy, energy / _FACTOR, energy * _FACTOR)


def sustained_clock(device: Device, operations_per_s: float, bytes_per_s: float) -> float:
    """Return the core clock that the limit of the board allows / the listed clock; 1 if power is not predicted.

    The rates at the listed clock are those of single-precision operations, and of bytes from the cache that all compute
    units share. Dynamic power is proportional to the square of the clock.
    """
    operation_j = _dynamic_energy_j(device, "fp32 FMA")
    if not (device.board_power_w and operation_j):
        return 1.0
    left_w = device.board_power_w * (1 - _static_share(device))
    return min(1.0, sqrt(left_w / (operation_j * operations_per_s + _CHIP_J * bytes_per_s)))


def _static_share(device: Device) -> float:
    return _STATIC_STACKED if device.memory.stacked else _STATIC


def _dynamic_energy_j(device: Device, name: str) -> float | None:
    """Return the energy of one byte or operation alone; no data separate that of caches of compute units."""
    if name == "fp32 FMA":
        process = device.process_nm and device.process_nm / _PROCESS_NM
        return process and _FP32_J * process * device.clock_hz / _CLOCK_HZ
    memory = _STACKED_J if device.memory.stacked else _MEMORY_J
    shared = (f"{cache.name} read" for cache in device.caches if cache.scope == "device")
    return _CHIP_J + memory if name == "memory read" else _CHIP_J if name in shared else None
