"""How uncertain a device's figures ("facts") are, and how that affects its predictions.

Each fact has a relative standard deviation that depends on its kind and its source. The model propagates all of them at
once (:mod:`gpureport.predict.propagation`). Their effects on a time add in quadrature.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import exp, hypot, sqrt
from statistics import median
from typing import Any

import numpy as np

from gpureport.grouping import grouped
from gpureport.observe.statistics import Floats
from gpureport.predict.propagation import Uncertain
from gpureport.records.prediction import Prediction, Sensitivity
from gpureport.spec.files import declaration
from gpureport.spec.models import Device, Tlb, Transition, visited
from gpureport.spec.uncertainty import (
    NORMAL_95,
    SIGMA_BY_SOURCE,
    SIGMA_MEASURED_HERE_CPU,
    SIGMA_MODEL,
    UNCERTAINTIES,
    Uncertainty,
    constant,
)
from gpureport.spec.values import Listed, steps_of


@dataclass(frozen=True)
class Fact:
    """A number that the model takes from the device."""

    path: str
    """Dotted path, as in ``Device.provenance``."""
    kind: str
    """Kind of its source, as there, or ``here``: measured by the run itself."""
    relative: float
    """Relative standard deviation."""
    centre: float = 1.0
    """Median of its true / its listed value."""


def fact(device: Device, path: str) -> Fact:
    """Return how uncertain a figure of *device* is; without provenance it counts as assumed."""
    origin, shared = device.provenance.get(path), device.architecture.has_neighbours
    uncertainty = declared(device, path)
    if origin and origin.here:
        least = SIGMA_MEASURED_HERE_CPU if shared else 0.0
        return Fact(path, "here", max(uncertainty.here, least), uncertainty.centre)
    kind = origin.kind if origin else "assumed"
    known = uncertainty.assumed if kind == "assumed" else uncertainty.published or SIGMA_BY_SOURCE[kind]
    return Fact(path, kind, known, uncertainty.centre)


def declared(device: Device, path: str) -> Uncertainty:
    """Return the declared uncertainty of a figure of *device*."""
    row = UNCERTAINTIES[declaration(path).uncertain or "by source"]
    return row.of(path, on_cpu=device.architecture.has_neighbours)


def specified_deviation(device: Device, path: str) -> float:
    """Return the relative standard deviation of a figure in SI units: also that of the clock, if it is in cycles."""
    basis = _basis(path)
    return hypot(fact(device, path).relative, fact(device, basis[0]).relative if basis else 0.0)


def uncertain(device: Device) -> tuple[Device, tuple[Fact, ...]]:
    """Return *device* with figures that know what moves them, and its facts.

    Figures that the run itself measured are stored relative to other figures: in cycles of the listed clock, or as
    shares of the listed bandwidth. Errors of these other figures cancel.
    """
    values = figures(device)
    facts = [fact(device, path) for path in values]
    steps = np.diag([abs(value) * each.relative for value, each in zip(values.values(), facts, strict=True)])
    numbers: dict[str, float] = {
        path: Uncertain(value, step[:, None]) for (path, value), step in zip(values.items(), steps, strict=True)
    }
    for path, other, exponent in [(f.path, *basis) for f in facts if f.kind == "here" and (basis := _basis(f.path))]:
        if other in numbers:
            numbers[path] *= (numbers[other] / float(numbers[other])) ** exponent
    return visit_facts(device, lambda path, _: numbers[path]), tuple(facts)


def _basis(path: str) -> tuple[str, float] | None:
    """Return the path of the figure that the one at *path* is relative to, if any, and the exponent."""
    if (relative := declaration(path).relative_to) is None:
        return None
    name, exponent = relative
    return name if name == "clock" else ".".join((*steps_of(path)[:-1], name)), exponent


def visit_facts(device: Device, number: Callable[[str, float], float]) -> Device:
    """Return *device* with ``number(path, figure)`` for uncertain figures; a transition moves as a whole."""

    def visit(path: str, declared: Listed, value: Any) -> object:  # noqa: ANN401 - of any value
        if not declared.uncertain or value is None or (declared.by_name and not value):
            return value
        if isinstance(value, Transition):
            factor = number(path, 1.0)
            return value.model_copy(update={name: position * factor for name, position in value})
        return number(path, value)

    tlb = list[Tlb]()
    for each in device.tlb:  # entries move the reach
        reach = number(f"tlb.{each.name}.{'reach' if each.reach_bytes else 'entries'}", each.covered_bytes)
        tlb.append(each.model_copy(update={"reach_bytes": reach}))
    return visited(device.model_copy(update={"link": device.host_link, "tlb": tuple(tlb)}), visit)


def figures(device: Device) -> dict[str, float]:
    """Return the uncertain figures of *device* by path; 1 for transition ranges."""
    found: dict[str, float] = {}
    visit_facts(device, found.setdefault)
    return found


def with_figures(device: Device, values: Mapping[str, float | Transition]) -> Device:
    """Return *device* with other *values*, by path; rates and latencies may be new ones."""

    def table(part: str, known: Mapping[str, float]) -> dict[str, object]:
        return {**known, **{path.removeprefix(part): values[path] for path in values if path.startswith(part)}}

    made = visited(device, lambda path, _, value: values.get(path, value))
    rates = table("rates.", made.architecture.rates_per_cycle)
    cycles = table("latencies.", made.architecture.latency_cycles)
    tables = {"rates_per_cycle": rates, "latency_cycles": cycles}
    return made.model_copy(update={"architecture": made.architecture.model_copy(update=tables)})


def spread(relative: Floats, other: float = 0.0) -> float:
    """Return the half-width of a 95 % interval, as a factor, from relative deviations by fact and an *other* one."""
    return exp(NORMAL_95 * hypot(SIGMA_MODEL, sqrt(float(relative @ relative)), other))


_LEAST_SHARE = constant(0.01)


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
    found = grouped((sensitivity.fact, sensitivity) for sweep in sweeps for sensitivity in sweep)
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
