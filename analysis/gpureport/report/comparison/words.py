"""The sentences of a comparison of machines."""

from collections.abc import Iterator, Mapping, Sequence
from math import log

from gpureport.compare.records import Comparison, Contest, Difference
from gpureport.compare.standings import BEYOND, REGIMES, WITHIN
from gpureport.compare.summary import APPLIED, families, means, overall
from gpureport.report.grouping import grouped
from gpureport.report.text.words import listed
from gpureport.units import format_percent, format_ratio

_FAR = 0.05  # largest deviation from 1 of a ratio that counts as equal
_FEW = 6  # the most machines with a sentence each
_NAMED = 3  # the most machines that a title names


def title(comparison: Comparison) -> str:
    """Return the names of the machines, or their number."""
    names = [machine.name for machine in comparison.machines]
    return listed(names) if len(names) <= _NAMED else f"Comparison of {len(names)} machines"


def sentences(comparison: Comparison) -> Iterator[str]:
    """Yield the summary: speed, efficiency, and significant differences on the same device."""
    others = [machine.name for machine in comparison.machines if machine.name != comparison.baseline]
    if len(others) < _FEW:
        yield from (_speed(comparison, name) for name in others)
    else:
        yield from _extremes(comparison)
    yield from _efficiencies(overall(comparison, "efficiency"))
    yield from _same_devices(comparison)


def _same_devices(comparison: Comparison) -> Iterator[str]:
    """Report the machines with the baseline's device: significant differences, and the number without any."""
    by_machine = grouped((difference.machine, difference) for difference in comparison.differences)
    wholes = {whole.machine: whole for whole in comparison.overall if whole.significant}
    equal = [name for name, found in by_machine.items() if not any(difference.significant for difference in found)]
    for name, found in by_machine.items():
        if name in wholes:
            yield (
                f"{name} is significantly {change(wholes[name].speed.value)} than {comparison.baseline} on the same "
                "device (median of its sweeps)."
            )
        if name not in equal or len(equal) <= _FEW:
            yield _same_device(name, found)
    if len(equal) > _FEW:
        yield f"On the same device, all sweeps of {len(equal)} machines are within run-to-run variation."


def _speed(comparison: Comparison, name: str) -> str:
    """Report the speed of a machine by family; microbenchmarks only if there is nothing else."""
    every = {family: _of_family(found, name) for family, found in families(comparison).items()}
    known = {family: text for family, text in every.items() if text}
    shown = {family: text for family, text in known.items() if family in APPLIED} or known
    if not shown:
        return f"{name} and {comparison.baseline} have no workload in common."
    parts = [f"{family.replace('_', ' ')} {text}" for family, text in shown.items()]
    return f"{name} relative to {comparison.baseline}: {', '.join(parts)} (geometric means over variants)."


def _of_family(found: Sequence[Contest], name: str) -> str:
    """Return the speed of a machine in one family, with data in memory and in caches if these differ."""
    ratio = means(found, "speed").get(name)
    if ratio is None:
        return ""
    far, near = (means((c for c in found if c.regime == regime), "speed").get(name) for regime in REGIMES)
    if far is None or near is None or abs(log(far / near)) < _FAR:
        return _times(ratio)
    return f"{_times(far)} {BEYOND} and {_times(near)} {WITHIN}"


def _times(ratio: float) -> str:
    return "equally fast" if abs(ratio - 1) < _FAR else f"{format_ratio(ratio)} times as fast"


def _extremes(comparison: Comparison) -> Iterator[str]:
    found = overall(comparison, "speed")
    order = sorted((name for name in found if name != comparison.baseline), key=lambda name: found[name])
    if len(order) > 1:
        slowest, fastest = order[0], order[-1]
        if _times(found[slowest]) == _times(found[fastest]):
            speed = _times(found[fastest])
            yield f"All others, relative to {comparison.baseline}: {speed} (geometric means over families)."
            return
        yield (
            f"Relative to {comparison.baseline}, {fastest} is fastest ({_times(found[fastest])}) and {slowest} slowest "
            f"({_times(found[slowest])}; geometric means over common families)."
        )


def _efficiencies(shares: Mapping[str, float]) -> Iterator[str]:
    """Report the efficiency of each machine, or only the highest and the lowest of many."""
    if not shares:
        return
    order = sorted(shares, key=lambda name: -shares[name])
    shown = order if len(order) <= _FEW else [order[0], order[-1]]
    parts = listed([f"{name} reaches {format_percent(shares[name])}" for name in shown])
    between = "" if shown == order else f", the other {len(order) - 2} are between these"
    yield f"Efficiency, observed / predicted peak: {parts}{between} (geometric means over the measured variants)."


def _same_device(name: str, found: Sequence[Difference]) -> str:
    significant = [difference for difference in found if difference.significant]
    if not significant:
        return f"On the same device, all {len(found)} sweeps of {name} are within run-to-run variation."
    rest = "; the others are within run-to-run variation" if len(significant) < len(found) else ""
    most = min(significant, key=lambda difference: difference.p_value)
    verb = "differs" if len(significant) == 1 else "differ"
    return (
        f"On the same device, {len(significant)} of {len(found)} sweeps of {name} {verb} significantly, most clearly "
        f"{most.sweep} ({change(most.speed.value)}){rest}."
    )


def change(ratio: float) -> str:
    """Write a change of speed: ``1.3 % slower``."""
    return f"{100 * abs(ratio - 1):.2g} % {'faster' if ratio > 1 else 'slower'}"
