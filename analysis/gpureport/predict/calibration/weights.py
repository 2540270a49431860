"""How much a microbenchmark of a CPU counts against the specification: less if other load disturbed it.

On a CPU, a microbenchmark and another kernel may differ in clock, vectors and neighbours on the same socket. Specified
and measured values are therefore combined by their uncertainties, as logarithms::

    ln value = (1 - w) ln specified + w ln measured,   w = s^2 / (s^2 + t^2 + n^2)
"""

from collections.abc import Mapping
from math import exp, hypot, log
from statistics import median

from gpureport.predict.uncertainty.sensitivity import NORMAL_95, mapped_facts
from gpureport.records.observation import Observation
from gpureport.spec.models import Device
from gpureport.workloads.instructions.cases import listed_class

SPECIFIED = 0.35
"""s: standard deviation of the logarithm of a specified value of a CPU / the actual one. Intervals of 95 % over cloud
machines reach from -0.7 to 0.7 (``predict.cpu_memory.SPREADS``)."""
TRANSFER = 0.2
"""t: the same of a measured value / that which another kernel finds, on a quiet machine (assumed)."""


def noise(observation: Observation) -> float:
    """Return n: the standard deviation of the logarithms of the sweep's values, from their 95 % intervals."""
    ratios = [p.ci_high / p.ci_low for p in observation.points if p.ci_low and p.ci_high and p.ci_low > 0]
    return median(map(log, ratios)) / (2 * NORMAL_95) if ratios else 0.0


def combined(specified: Device, measured: Device, noises: Mapping[str, float]) -> Device:
    """Return *measured* with each value of *noises*, by path, combined with that of *specified*."""
    before: dict[str, float] = {}

    def remember(path: str, value: float) -> float:
        before[path] = value
        return value

    mapped_facts(specified, remember)
    rates = specified.architecture.rates_per_cycle

    def combine(path: str, value: float) -> float:
        if path not in noises:
            return value
        kind, _, name = path.partition(".")
        listed = before.get(path)
        if listed is None and kind in ("rates", "latencies"):
            listed = before.get(f"{kind}.{listed_class(name, rates)}")
        if not listed or not value:
            return value
        weight = SPECIFIED**2 / (SPECIFIED**2 + hypot(TRANSFER, noises[path]) ** 2)
        return exp((1 - weight) * log(listed) + weight * log(value))

    return mapped_facts(measured, combine)
