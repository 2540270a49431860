"""Values of a device that are possible but unlikely: mostly a wrong unit or a lost digit."""

from collections.abc import Iterator
from itertools import pairwise

from gpureport.spec.models import Cache, Device
from gpureport.spec.names import vendor
from gpureport.spec.resolve import Layer
from gpureport.units import format_bandwidth, format_bytes

Remark = tuple[str, str]
"""The dotted path of a value, and what is odd about it."""

_RANGES = {
    "clock": ((100e6, 6e9), 1e9, "GHz", "clocks lie between 0.1 and 6 GHz"),
    "memory.bandwidth": ((1e9, 1e14), 1e9, "GB/s", "memories have 1 to 100000 GB/s"),
    "memory.size": ((2**28, 2**46), 2**30, "GiB", "memories have 0.25 to 65536 GiB"),
    "launch.single": ((1e-7, 1e-3), 1e-6, "us", "launches take 0.1 to 1000 us"),
    "launch.batched": ((1e-7, 1e-3), 1e-6, "us", "launches take 0.1 to 1000 us"),
}
"""By path: bounds in SI units, the unit of the sentence and its name, and what is usual."""
_BALANCE = {"gpu": (3.0, 150.0), "accelerator": (0.5, 150.0), "cpu": (0.5, 150.0)}
"""Single-precision operations for each byte of memory bandwidth: 8 to 110 on well-known GPUs, 2 to 10 on processors."""
_LARGEST_BYTES = {
    ("gpu", "compute_unit"): 2.0**20,
    ("gpu", "device"): 2.0**29,
    ("cpu", "compute_unit"): 2.0**23,
    ("cpu", "device"): 2.0**31,
}
"""Of a cache, by kind of device and scope: twice what those of the database have at most, or a little more."""
_FLOPS_TOLERANCE = 0.05


def out_of_range(values: Layer) -> Iterator[Remark]:
    """Yield path and sentence of each of the *values* that is unlikely whatever the others are."""
    for path, (_, scale, unit, usual) in _RANGES.items():
        if path in values and not _usual(path, values[path].value):
            yield path, f"{values[path].value / scale:.4g} {unit} is implausible; {usual}"


def implausible(device: Device, flops: float | None = None) -> Iterator[Remark]:
    """Yield path and sentence of each value that does not go with the others.

    Args:
        device: as its entry has it.
        flops: its listed single-precision peak, FLOP/s, if there is one.
    """
    if _usual("clock", device.clock_hz) and _usual("memory.bandwidth", device.memory.bandwidth_bytes_per_s):
        yield from _bandwidth(device)
    if flops is not None:
        yield from _flops(device, flops)
    yield from _vendor(device)
    for inner, outer in pairwise(device.caches):
        yield from _order(inner, outer)
    for cache in device.caches:
        yield from _cache(device, cache)


def _vendor(device: Device) -> Iterator[Remark]:
    ours, makers = vendor(device.vendor), vendor(device.architecture.vendor)
    if ours and makers and ours != makers:
        maker = device.architecture.vendor
        yield "vendor", f"{device.vendor} does not make the architecture {device.architecture.name}, {maker} does"


def peak_flops(device: Device) -> float:
    """Return lanes x 2 (a multiply-add) x units x clock: single-precision operations per second."""
    return 2.0 * device.rate_per_s("fp32")


def _usual(path: str, value: float) -> bool:
    (low, high), *_ = _RANGES[path]
    return low <= value <= high


def _bandwidth(device: Device) -> Iterator[Remark]:
    """Hold the bandwidth against what the device computes in the same time."""
    bandwidth = device.memory.bandwidth_bytes_per_s
    balance, (low, high) = peak_flops(device) / bandwidth, _BALANCE[device.kind]
    if not low <= balance <= high:
        message = (
            f"{bandwidth / 1e9:g} GB/s is implausible: {balance:.3g} single-precision operations for each byte, where "
            f"devices of this kind have {low:g} to {high:g}"
        )
        yield "memory.bandwidth", message


def _flops(device: Device, listed: float) -> Iterator[Remark]:
    """Hold the listed peak against what lanes, units and clock give."""
    peak = peak_flops(device)
    if abs(listed / peak - 1) > _FLOPS_TOLERANCE:
        lanes = device.architecture.rates_per_cycle["fp32"]
        message = (
            f"{listed / 1e12:.4g} TFLOP/s do not follow from 2 x {lanes:g} lanes x {device.compute_units} units x "
            f"{device.clock_hz / 1e9:.4g} GHz = {peak / 1e12:.4g} TFLOP/s"
        )
        yield "flops", message


def _order(inner: Cache, outer: Cache) -> Iterator[Remark]:
    """Compare one level with the next one out."""
    path = f"caches.{outer.name}"
    if outer.capacity_bytes < inner.capacity_bytes:
        sizes = [f"{cache.name} ({format_bytes(cache.capacity_bytes)})" for cache in (outer, inner)]
        yield f"{path}.capacity", f"{sizes[0]} is smaller than {sizes[1]}"
    if outer.latency_cycles < inner.latency_cycles:
        cycles = [f"{cache.name} ({cache.latency_cycles:g} cycles)" for cache in (outer, inner)]
        yield f"{path}.latency", f"{cycles[0]} answers sooner than {cycles[1]}"
    if outer.bandwidth_bytes_per_cycle > inner.bandwidth_bytes_per_cycle:
        rates = [f"{cache.name} ({cache.bandwidth_bytes_per_cycle:g} B/cycle)" for cache in (outer, inner)]
        yield f"{path}.bandwidth", f"{rates[0]} is faster than {rates[1]}"


def _cache(device: Device, cache: Cache) -> Iterator[Remark]:
    """Compare one level with the memory, and its own values with each other."""
    path = f"caches.{cache.name}"
    largest = _LARGEST_BYTES["cpu" if device.kind == "cpu" else "gpu", cache.scope]
    if cache.capacity_bytes > largest:
        whose = "a compute unit's own" if cache.scope == "compute_unit" else "one for all compute units"
        size, most = format_bytes(cache.capacity_bytes), format_bytes(largest)
        yield f"{path}.capacity", f"{cache.name} of {size} is implausible; caches like it ({whose}) have at most {most}"
    bandwidth = device.level_bandwidth_bytes_per_s(cache)
    streamed = device.memory.bandwidth_bytes_per_s * device.memory.efficiency
    if bandwidth < streamed:
        rates = [format_bandwidth(rate) for rate in (bandwidth, streamed)]
        yield f"{path}.bandwidth", f"{cache.name} ({rates[0]}, all units together) is slower than memory ({rates[1]})"
    if cache.capacity_bytes >= device.memory.size_bytes:
        yield f"{path}.capacity", f"{cache.name} is larger than memory"
    if cache.latency_cycles > device.memory.latency_cycles:
        yield f"{path}.latency", f"{cache.name} answers later than memory"
    if cache.sector_bytes > cache.line_bytes:
        yield f"{path}.sector", "a sector is larger than its line"
