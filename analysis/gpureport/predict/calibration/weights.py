"""How much a microbenchmark of a CPU counts against the specification: less if other load disturbed it.

On a CPU, a microbenchmark and another kernel may differ in clock, vectors and neighbours on the same socket. Specified
and measured values are therefore combined by their uncertainties, as logarithms::

    ln value = (1 - w) ln specified + w ln measured,   w = s^2 / (s^2 + t^2 + n^2)

``s`` is the uncertainty of the specified value (:mod:`gpureport.predict.uncertainty.sensitivity`), the same as for
intervals: documented instruction rates are known better than bandwidths of a virtual machine.
"""

from collections.abc import Mapping
from math import exp, hypot, log
from statistics import median

from gpureport.predict.uncertainty.sensitivity import NORMAL_95, specified_deviation, visit_facts
from gpureport.records.observation import Observation
from gpureport.spec.models import Device
from gpureport.workloads.instructions.cases import listed_class

SIGMA_TRANSFER = 0.2
"""t: standard deviation of the logarithm of a measured value / that which another kernel finds, on a quiet machine
(assumed)."""
SIGMA_RATE_TRANSFER = 0.5
"""t of rates. A microbenchmark that keeps all pipes busy shares them with the other hardware thread of the core, which
halves its rate; a kernel that also waits loses less. On 16 cores, an earlier quick run had smaller errors with 0.5 than
with 0.35; in those of ``reports/pocl-xeon-16-cores*`` both are equal within 0.3 percentage points."""
SIGMA_LAUNCH_TRANSFER = 1.0
"""t of launch costs. Empty dispatches keep all threads awake; kernels with work let them sleep. The median error of the
full run on 16 cores is 16.4 % with 1 and 16.8 % with 0.5 (reports/pocl-xeon-16-cores); that of the quick run, to which
it was not fitted, is 12.5 and 11.9 %."""
_SIGMA_BY_KIND = {"rates": SIGMA_RATE_TRANSFER, "launch": SIGMA_LAUNCH_TRANSFER}


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

    visit_facts(specified, remember)
    rates = specified.architecture.rates_per_cycle

    def combine(path: str, value: float) -> float:
        if path not in noises:
            return value
        kind, _, name = path.partition(".")
        if path not in before and kind in ("rates", "latencies"):
            path_before = f"{kind}.{listed_class(name, rates)}"
        else:
            path_before = path
        listed = before.get(path_before)
        if not listed or not value:
            return value
        deviation = specified_deviation(specified, path_before)
        weight = deviation**2 / (deviation**2 + hypot(_SIGMA_BY_KIND.get(kind, SIGMA_TRANSFER), noises[path]) ** 2)
        return exp((1 - weight) * log(listed) + weight * log(value))

    return visit_facts(measured, combine)
