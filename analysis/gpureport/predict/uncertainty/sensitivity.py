"""How uncertain a device's figures ("facts") are, and how that affects its predictions.

Each fact has a relative standard deviation that depends on its kind and its source. The model propagates all of them at
once (:mod:`gpureport.predict.uncertainty.propagation`). Their effects on a time add in quadrature.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import exp, hypot, log, sqrt
from statistics import median
from typing import TypeVar

import numpy as np

from gpureport.observe.statistics import MAD_TO_SIGMA, NORMAL_95, Floats
from gpureport.predict.transfers import peer_bytes_per_s
from gpureport.predict.uncertainty.propagation import Tape
from gpureport.records.curves import Record
from gpureport.records.prediction import Prediction, Sensitivity
from gpureport.spec.models import Device, Link, Tlb, Transition, listed

R = TypeVar("R", bound=Record)

MEAN_TO_SIGMA = 1.2533
"""Standard deviation of a normal distribution / mean of its absolute errors."""


SIGMA_ASSUMED = 0.3
"""Standard deviation of an assumed fact (itself assumed: correct within a factor of 1.8 in 95 % of cases)."""
SIGMA_MEASURED_HERE = 0.01
"""Standard deviation of a fact that the run itself measures. Two runs on two H200 agree within 1.2 % in 90 % of 99
plateaus and cases, and within 2 % in 9 of 10 positions of cliffs and tapers of microbenchmarks."""


@dataclass(frozen=True)
class Rule:
    """Relative standard deviations of one kind of fact, with a source (*published*) and without one (*assumed*).

    Attributes:
        what: the kind, in words.
        paths: pattern of the facts' dotted paths.
        source: where *published* comes from.
        here: standard deviation of figures that the run itself measured.
        centre: median of true / listed values, for the intervals of cliffs.
    """

    what: str
    paths: str
    published: float
    source: str
    assumed: float = SIGMA_ASSUMED
    here: float = SIGMA_MEASURED_HERE
    centre: float = 1.0


SIGMA_MODEL = 0.043 * MAD_TO_SIGMA
"""Standard deviation of the model itself. Half of the published times are within 4.3 % of their predictions
(``gpureport validate --times reports/published``: NVIDIA GPUs 2.8 %, AMD 5.2 %, Intel 9.2 %). This includes uncertain
facts. Most of these devices have caches that the same authors measured."""
SIGMA_BY_SOURCE = {"queried": 0.01, "spec": 0.02, "measured": 0.1, "derived": 0.15, "assumed": SIGMA_ASSUMED}
"""Standard deviations of other facts, by kind. Data sheets and databases differ by 2 % (H200's memory: 4.8 and
4.89 TB/s). Measured or derived figures belong to another device of the architecture (assumed)."""
RULES = (
    Rule(
        "clock",
        r"clock",
        0.052 * MAD_TO_SIGMA,
        "FP32 rate against the listed boost clock: off by 5.2 % in the median of 30 cards (krrishnarraj/clpeak logs)",
    ),
    Rule(
        "achievable share of the memory bandwidth",
        r"memory\.efficiency",
        0.068 * MEAN_TO_SIGMA,
        "OpenCL reads / listed bandwidth: one share for all is off by 6.8 % on average over 28 cards "
        "(krrishnarraj/clpeak logs)",
        assumed=0.15,
    ),
    Rule(
        "latency of caches and memory",
        r"(caches\.\w+|memory)\.(far_)?latency",
        0.07,
        "A100 and H100: sources differ by 7 % (root mean square; RRZE-HPC/gpu-benches @1038c5d; Luo et al., "
        "arXiv:2402.13499; Chips and Cheese)",
    ),
    Rule(
        "latency under load / unloaded latency",
        r"loaded_latency_factor",
        0.25,
        "predicted work-items for 90 % of the bandwidth: off by 19 % in the median of A100, A40, H100 and "
        "MI210 (RRZE-HPC/gpu-benches @1038c5d, gpu-stream); memory's bandwidth share explains a part of that",
    ),
    Rule(
        "time from one work-group to the next",
        r"turnover_cycles",
        0.15,
        "300 to 530 cycles on seven architectures; on one, reads and writes differ by 15 % (RRZE-HPC/gpu-benches, "
        "gpu-stream)",
        assumed=0.5,
    ),
    Rule(
        "launch cost",
        r"launch\.(single|batched)",
        0.28,
        "3.4 to 9.3 µs on 17 NVIDIA cards (krrishnarraj/clpeak logs)",
    ),
    Rule(
        "bandwidth of the link to the host",
        r"link\.bandwidth",
        0.07,
        "pinned copies on 150 cloud machines, by model of GPU: 5 % to the host, 8 % to the device (root mean square; "
        "SpareCores/sc-inspector-data)",
    ),
    Rule(
        "cost of a transfer",
        r"link\.(latency|call)",
        0.4,
        "one value for all runtimes and machines (assumed)",
        assumed=0.4,
    ),
    Rule(
        "rate at which a core of the host copies",
        r"link\.host_copy",
        0.35,
        "6 to 17 GB/s on 15 machines (RRZE-HPC/kerncraft @5d1cc67, streams of one core)",
        assumed=0.35,
    ),
    Rule(
        "rate of copies to another device / rate if staged through host memory",
        r"link\.peer_speedup",
        log(2.0) / NORMAL_95,
        "copies to and from host memory, one after the other, take twice the time of overlapping ones (assumed); the "
        "interval also contains the listed bandwidth of a direct link",
        assumed=log(2.0) / NORMAL_95,
    ),
    Rule(
        "instruction issue rate",
        r"rates\.instruction",
        0.02,
        "follows from the number of schedulers",
    ),
    Rule(
        "transition range of a cache / capacity",
        r"caches\.\w+\.\w+_transition",
        0.05,
        "latency: 1.00 to 1.05 of the capacity of second-level caches; bandwidth: 0.87 to 0.91 with two partitions "
        "(RRZE-HPC/gpu-benches @1038c5d); cyclic sweeps 0.75, copies 0.69 (simulated). If the run measures it: its "
        "kernels evict lines in another order than the microbenchmark (six calibrated cliffs of an H200: 6.5 %, root "
        "mean square; 8 % with Student's t for six values)",
        assumed=0.1,
        here=0.08,
    ),
)
"""Facts with a known spread of their own. The first rule that matches counts."""
SIGMA_MODEL_CPU = 0.18 * MAD_TO_SIGMA
"""Standard deviation of the model of OpenCL on CPUs, beyond ``SIGMA_MODEL``: half of the calibrated times are within
18 % of their predictions (``gpureport validate --times reports/pocl-*``). This includes what compilers make of a
kernel."""
SIGMA_MEASURED_HERE_CPU = 0.2
"""Least standard deviation of what a run on a CPU measures: clocks and neighbours change from one kernel to another
(assumed)."""
CPU_RULES = (
    Rule(
        "part of the L3 that programs find",
        r"caches\.L3\.\w+_transition",
        0.59,
        "0.2 to 2.0 times the usual part on 95 % of cloud machines (``predict.cpu_memory.SPREADS``), with 0.63 in the "
        "middle on a logarithmic scale; other programs on the host use the rest. If the run measures it: streams and "
        "chains of loads of the same kernel find 0.3 to 1.0 of what the microbenchmark finds (reports/pocl-xeon-*)",
        assumed=0.59,
        here=0.59,
        centre=0.63,
    ),
    Rule(
        "transition range of the L1 / capacity",
        r"caches\.L1\.\w+_transition",
        0.35,
        "0.6 to 1.1 of the capacity on two virtual machines (reports/pocl-xeon-*)",
        assumed=0.35,
        here=0.2,
    ),
    Rule(
        "transition range of the L2 / capacity",
        r"caches\.L2\.\w+_transition",
        0.6,
        "0.5 to 2.6 times the predicted position on two virtual machines (reports/pocl-xeon-*): physical pages are not "
        "contiguous, and the other thread of a core uses a part",
        assumed=0.6,
        here=0.35,
    ),
    Rule(
        "bandwidth of a core",
        r"caches\.\w+\.bandwidth|memory\.bandwidth",
        0.3,
        "95 % of cloud machines: private caches within a factor of 1.5, L3 and memory within 2 "
        "(``predict.cpu_memory.SPREADS``)",
    ),
    Rule(
        "launch cost",
        r"launch\.(single|batched)",
        0.5,
        "4 to 190 µs with PoCL (krrishnarraj/clpeak logs)",
        assumed=0.5,
    ),
)
"""The same for CPUs, before ``RULES``."""


@dataclass(frozen=True)
class Fact:
    """A number that the model takes from the device.

    Attributes:
        path: dotted, as in ``Device.provenance``.
        kind: as there, or ``here``: measured by the run itself.
        relative: relative standard deviation.
        centre: median of its true / its listed value.
    """

    path: str
    kind: str
    relative: float
    centre: float = 1.0


def fact(device: Device, path: str) -> Fact:
    """Return how uncertain a figure of *device* is; without provenance it counts as assumed."""
    origin = device.provenance.get(path)
    rules = (*CPU_RULES, *RULES) if device.is_cpu else RULES
    rule = next((rule for rule in rules if re.fullmatch(rule.paths, path)), None)
    centre = rule.centre if rule else 1.0
    if origin and origin.here:
        known = rule.here if rule else SIGMA_MEASURED_HERE
        return Fact(path, "here", max(known, SIGMA_MEASURED_HERE_CPU) if device.is_cpu else known, centre)
    kind = origin.kind if origin else "assumed"
    known = rule.published if rule else SIGMA_BY_SOURCE[kind]
    known = rule.assumed if rule and kind == "assumed" else known
    return Fact(
        path, kind, max(known, _direct_deviation(device.host_link)) if path == "link.peer_speedup" else known, centre
    )


def _direct_deviation(link: Link) -> float:
    """Return the deviation of ``link.peer_speedup`` with which its 95 % interval contains the direct link."""
    direct = link.peer_bandwidth_bytes_per_s
    if not direct or link.kind == "shared":
        return 0.0
    return log(_BEYOND_DIRECT * direct / peer_bytes_per_s(link)) / NORMAL_95


_BEYOND_DIRECT = 1.1
"""Upper end of the interval of a rate between devices / listed bandwidth of the direct link. It is not 1, because rates
of large transfers depend a little less on the path: calls take a part of the time."""


def specified_deviation(device: Device, path: str) -> float:
    """Return the relative standard deviation of a figure in SI units: also that of the clock, if it is in cycles."""
    basis = _basis(path)
    return hypot(fact(device, path).relative, fact(device, basis[0]).relative if basis else 0.0)


def uncertain(device: Device) -> tuple[Device, tuple[Fact, ...], Tape]:
    """Return *device* with figures on a tape, its facts, and the tape.

    Figures that the run itself measured are stored relative to other figures: in cycles of the listed clock, or as
    shares of the listed bandwidth. Errors of these other figures cancel.
    """
    tape = Tape()
    facts: list[Fact] = []
    numbers: dict[str, float] = {}

    def add(path: str, value: float) -> float:
        facts.append(fact(device, path))
        numbers[path] = tape.fact(path, value, abs(value) * facts[-1].relative)
        return value

    visit_facts(device, add)
    for path, other, exponent in [(f.path, *basis) for f in facts if f.kind == "here" and (basis := _basis(f.path))]:
        if other in numbers:
            numbers[path] *= (numbers[other] / float(numbers[other])) ** exponent
    made = visit_facts(device, lambda path, _: numbers[path])
    tape.keep()
    return made, tuple(facts), tape


def varied(device: Device, path: str, factor: float) -> Device:
    """Return *device* with the fact at *path* multiplied by *factor*."""
    return visit_facts(device, lambda name, value: value * factor if name == path else value)


_BASES = (
    (r"memory\.efficiency", "memory.bandwidth", -1.0),
    (r"caches\.(\w+)\.\w+_transition", r"caches.\1.capacity", -1.0),
    (r"caches\.\w+\.bandwidth|rates\..*|launch\.groups_per_cycle", "clock", -1.0),
    (r"caches\.\w+\.(far_)?latency|memory\.latency|latencies\..*", "clock", 1.0),
)
"""Pattern of figures, the fact that they are stored relative to, and the exponent with which they vary with it."""


def _basis(path: str) -> tuple[str, float] | None:
    for pattern, other, exponent in _BASES:
        match = re.fullmatch(pattern, path)
        if match:
            return match.expand(other), exponent
    return None


def visit_facts(device: Device, number: Callable[[str, float], float]) -> Device:
    """Return *device* with each uncertain figure replaced by ``number(path, figure)``."""
    architecture = device.architecture
    rates = {name: number(f"rates.{name}", rate) for name, rate in architecture.rates_per_cycle.items()}
    cycles = {name: number(f"latencies.{name}", n) for name, n in architecture.latency_cycles.items() if n}
    tables = {"rates_per_cycle": rates, "latency_cycles": {**architecture.latency_cycles, **cycles}}
    parts = {
        "architecture": _mapped(architecture.model_copy(update=tables), "", number),
        "caches": tuple(_mapped(cache, f"caches.{cache.name}.", number) for cache in device.caches),
        "tlb": tuple(_mapped(_with_reach(tlb, number), f"tlb.{tlb.name}.", number) for tlb in device.tlb),
        "memory": _mapped(device.memory, "memory.", number),
        "launch": _mapped(device.launch, "launch.", number),
        "link": _mapped(device.host_link, "link.", number),
    }
    return _mapped(device, "", number).model_copy(update=parts)


def figures(device: Device) -> dict[str, float]:
    """Return the uncertain figures of *device* by path; 1 for transition ranges."""
    found: dict[str, float] = {}
    visit_facts(device, found.setdefault)
    return found


def with_figures(device: Device, values: Mapping[str, float | Transition]) -> Device:
    """Return *device* with other *values*, by path; rates and latencies may be new ones."""

    def changed(record: R, prefix: str = "") -> R:
        paths = {field: f"{prefix}{key}" for field, (key, _) in listed(type(record)).items()}
        return record.model_copy(update={field: values[path] for field, path in paths.items() if path in values})

    def table(name: str, known: Mapping[str, float]) -> dict[str, object]:
        return {**known, **{path.removeprefix(name): values[path] for path in values if path.startswith(name)}}

    architecture = device.architecture
    rates, latencies = table("rates.", architecture.rates_per_cycle), table("latencies.", architecture.latency_cycles)
    parts = {
        "architecture": changed(architecture).model_copy(
            update={"rates_per_cycle": rates, "latency_cycles": latencies}
        ),
        "caches": tuple(changed(cache, f"caches.{cache.name}.") for cache in device.caches),
        "memory": changed(device.memory, "memory."),
        "launch": changed(device.launch, "launch."),
    }
    return device.model_copy(update=parts)


def _mapped(record: R, prefix: str, number: Callable[[str, float], float]) -> R:
    """Replace the uncertain values of a record; the three positions of a transition range move together."""
    found: dict[str, object] = {}
    for field, (key, declared) in listed(type(record)).items():
        value = getattr(record, field)
        if not declared.uncertain or value is None:
            continue
        if isinstance(value, Transition):
            factor = number(f"{prefix}{key}", 1.0)
            found[field] = value.model_copy(update={name: position * factor for name, position in value})
        else:
            found[field] = number(f"{prefix}{key}", value)
    return record.model_copy(update=found)


def _with_reach(tlb: Tlb, number: Callable[[str, float], float]) -> Tlb:
    """Replace the reach of a translation lookaside buffer; its entries move it."""
    reach = number(f"tlb.{tlb.name}.{'reach' if tlb.reach_bytes else 'entries'}", tlb.covered_bytes)
    return tlb.model_copy(update={"reach_bytes": reach})


def spread(relative: Floats, other: float = 0.0) -> float:
    """Return the half-width of a 95 % interval, as a factor, from relative deviations by fact and an *other* one."""
    return exp(NORMAL_95 * hypot(SIGMA_MODEL, sqrt(float(relative @ relative)), other))


_LEAST_SHARE = 0.01


def sensitivities(relative: Floats, facts: Iterable[Fact], other: float = 0.0) -> tuple[Sensitivity, ...]:
    """Rank facts by their share of the variance of times, from deviations of shape (points, facts).

    *other* is the standard deviation of the model beyond ``SIGMA_MODEL``.
    """
    model = hypot(SIGMA_MODEL, other)
    known = [*facts, Fact("model", "derived", model)]
    variances = np.append(np.mean(relative**2, axis=0), model**2)
    shares = variances / variances.sum()
    return tuple(
        Sensitivity(
            fact=known[i].path,
            kind=known[i].kind,
            uncertainty=known[i].relative,
            effect=float(np.sqrt(variances[i])),
            share=float(shares[i]),
        )
        for i in np.argsort(-shares, kind="stable")
        if shares[i] >= _LEAST_SHARE
    )


def ranked(predictions: Iterable[Prediction]) -> tuple[Sensitivity, ...]:
    """Rank facts by their mean share over all sweeps; the effect is the median over the sweeps that list the fact."""
    sweeps = [prediction.sensitivities for prediction in predictions if prediction.sensitivities]
    found: dict[str, list[Sensitivity]] = {}
    for sensitivity in (each for sweep in sweeps for each in sweep):
        found.setdefault(sensitivity.fact, []).append(sensitivity)
    rows = (
        entries[0].model_copy(
            update={
                "effect": median(entry.effect for entry in entries),
                "share": sum(entry.share for entry in entries) / len(sweeps),
                "kind": entries[-1].kind,
                "uncertainty": entries[-1].uncertainty,
            }
        )
        for entries in found.values()
    )
    return tuple(sorted(rows, key=lambda row: -row.share))
