"""Values of a device that are possible but unlikely, usually because of a wrong unit or a missing digit."""

from collections.abc import Iterator
from itertools import pairwise

from gpureport.spec.files import declaration
from gpureport.spec.models import Cache, Device
from gpureport.spec.names import vendor
from gpureport.spec.resolve import Layer
from gpureport.units import format_bandwidth, format_bytes

Remark = tuple[str, str]
"""The dotted path of a value, and why it is unlikely."""

_BALANCE = {"gpu": (3.0, 150.0), "accelerator": (0.5, 150.0), "cpu": (0.5, 150.0)}
"""Single-precision operations per byte of memory bandwidth: 8 to 110 on common GPUs, 2 to 10 on processors."""
_LARGEST_BYTES = {
    ("gpu", "compute_unit"): 2.0**20,
    ("gpu", "device"): 2.0**29,
    ("cpu", "compute_unit"): 2.0**23,
    ("cpu", "device"): 2.0**31,
}
"""Largest cache by kind of device and scope: about twice the largest in the database."""
_FLOPS_TOLERANCE = 0.05


def out_of_range(values: Layer) -> Iterator[Remark]:
    """Yield path and message of each unlikely value; each is checked on its own."""
    for path, value in values.items():
        listed = declaration(path)
        odd = next((each for each in numbers_in(value.value) if each and not listed.is_usual(each)), None)
        if odd is not None:
            usual = f"{listed.least:g} to {listed.most:g} {listed.unit}".rstrip()
            yield path, f"{listed.shown(odd)} is implausible; usual are {usual}"


def uneven(values: Layer) -> Iterator[Remark]:
    """Yield path and message of each cache line that is no multiple of its sector."""
    for path, line in values.items():
        level, _, key = path.rpartition(".")
        sector = values.get(f"{level}.sector") if key == "line" else None
        if sector and line.value % sector.value:
            yield path, f"{line.value} B is not a multiple of the sector of {sector.value} B"


def numbers_in(value: object) -> list[float]:
    """Return the numbers of a value: itself, those of a list, or those of a table."""
    each = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
    return [number for number in each if isinstance(number, int | float)]


def peak_flops(device: Device) -> float:
    """Return the listed single-precision operations per second: 2 (a multiply-add) x lanes x compute units x clock.

    Vendors that count dual issue list twice as many.
    """
    return 2.0 * device.rate_per_s("fp32") * device.architecture.dual_issue


def implausible(device: Device, flops: float | None = None) -> Iterator[Remark]:
    """Yield path and message of each value that is unlikely together with the others or the listed *flops* (FLOP/s)."""
    architecture, bandwidth, peak = device.architecture, device.memory.bandwidth_bytes_per_s, peak_flops(device)
    low, high = _BALANCE[device.kind]
    are_usual = declaration("clock").is_usual(device.clock_hz) and declaration("memory.bandwidth").is_usual(bandwidth)
    if are_usual and not low <= peak / bandwidth <= high:
        message = (
            f"{bandwidth / 1e9:g} GB/s is implausible: {peak / bandwidth:.3g} single-precision operations per byte; "
            f"devices of this kind have {low:g} to {high:g}"
        )
        yield "memory.bandwidth", message
    if flops is not None and abs(flops / peak - 1) > _FLOPS_TOLERANCE:
        lanes = architecture.rates_per_cycle["fp32"] * architecture.dual_issue
        message = (
            f"{flops / 1e12:.4g} TFLOP/s differ from 2 x {lanes:g} lanes x {device.compute_units} units x "
            f"{device.clock_hz / 1e9:.4g} GHz = {peak / 1e12:.4g} TFLOP/s"
        )
        yield "flops", message
    if len({vendor(device.vendor), vendor(architecture.vendor)} - {None}) > 1:
        message = f"{device.vendor} does not make the architecture {architecture.name}; {architecture.vendor} does"
        yield "vendor", message
    for inner, outer in pairwise(device.caches):
        yield from _order(inner, outer)
    for cache in device.caches:
        yield from _cache(device, cache)


def _order(inner: Cache, outer: Cache) -> Iterator[Remark]:
    path = f"caches.{outer.name}"
    if outer.capacity_bytes < inner.capacity_bytes:
        sizes = [f"{cache.name} ({format_bytes(cache.capacity_bytes)})" for cache in (outer, inner)]
        yield f"{path}.capacity", f"{sizes[0]} is smaller than {sizes[1]}"
    if outer.latency_cycles < inner.latency_cycles:
        cycles = [f"{cache.name} ({cache.latency_cycles:g} cycles)" for cache in (outer, inner)]
        yield f"{path}.latency", f"{cycles[0]} has a lower latency than {cycles[1]}"
    if outer.bandwidth_bytes_per_cycle > inner.bandwidth_bytes_per_cycle:
        rates = [f"{cache.name} ({cache.bandwidth_bytes_per_cycle:g} B/cycle)" for cache in (outer, inner)]
        yield f"{path}.bandwidth", f"{rates[0]} is faster than {rates[1]}"


def _cache(device: Device, cache: Cache) -> Iterator[Remark]:
    path = f"caches.{cache.name}"
    largest = _LARGEST_BYTES["cpu" if device.is_cpu else "gpu", cache.scope]
    if cache.capacity_bytes > largest:
        whose = "one per compute unit" if cache.scope == "compute_unit" else "one for all compute units"
        size, most = format_bytes(cache.capacity_bytes), format_bytes(largest)
        yield f"{path}.capacity", f"{cache.name} of {size} is implausible; such caches ({whose}) have at most {most}"
    bandwidth = device.level_bandwidth_bytes_per_s(cache)
    streamed = device.memory.bandwidth_bytes_per_s * device.memory.efficiency
    if bandwidth < streamed:
        rates = [format_bandwidth(rate) for rate in (bandwidth, streamed)]
        yield f"{path}.bandwidth", f"{cache.name} ({rates[0]}, all units together) is slower than memory ({rates[1]})"
    if cache.capacity_bytes >= device.memory.size_bytes:
        yield f"{path}.capacity", f"{cache.name} is larger than memory"
    if cache.latency_cycles > device.memory.latency_cycles:
        yield f"{path}.latency", f"{cache.name} has a higher latency than memory"
