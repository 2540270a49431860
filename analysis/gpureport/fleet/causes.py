"""The affected layer of a slow device, from the pattern over layers and the recorded conditions. Pure functions."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import expm1
from statistics import median

from gpureport.fleet.schema import Row
from gpureport.text import listed
from gpureport.units import format_frequency, format_percent

MEMORY, CLOCK = "memory", "clock"
_OF_HOST = {"launch": "the launch of kernels", "link": "the link to the host"}
_SHARED = 0.5
"""Layers count as affected from this share of the largest effect."""
_LOWER_CLOCK = 0.01
_OTHERS = 0.1
_STEAL = 0.05
_WARMER_C = 15.0
_FACTS = {
    "cores": "number of usable cores",
    "power_limit": "power limit",
    "ecc": "ECC",
    "remapped_rows": "number of remapped memory rows",
    "mig": "MIG",
    "driver": "driver",
    "tool_version": "gpureport",
}


def affected(layers: Mapping[str, float]) -> tuple[str, ...]:
    """Return the layers with at least half of the largest effect, in its direction, the largest first."""
    worst = max(layers.values(), key=abs, default=0.0)
    found = [name for name, effect in layers.items() if effect * worst > 0 and abs(effect) >= _SHARED * abs(worst)]
    return tuple(sorted(found, key=lambda name: -abs(layers[name])))


def place(layers: Mapping[str, float]) -> str:
    """Return the part of the device that explains the pattern of *layers*, a noun phrase."""
    every = affected(layers)
    found = set(every) - set(_OF_HOST)
    if every and not found:
        return listed([_OF_HOST[name] for name in sorted(every)])
    on_device = _on_device(found, set(layers) - {MEMORY, *_OF_HOST})
    return f"{on_device} and {_OF_HOST['link']}" if "link" in every else on_device  # the launch follows the clock


def _on_device(found: set[str], on_chip: set[str]) -> str:
    """Return what explains the affected layers *found*, a noun phrase; *on_chip*: the known caches and the clock."""
    if MEMORY in found and on_chip and on_chip <= found:
        return "the whole device"
    if found == {MEMORY}:
        return "memory"
    if CLOCK in found and MEMORY not in found and len(found) > 1 and len(found) >= len(on_chip) - 1:
        return "the core clock"
    if found == {CLOCK}:
        return "the compute units"
    if MEMORY not in found and CLOCK not in found:
        return f"the {listed(sorted(found))} {'cache' if len(found) == 1 else 'caches'}"
    return listed([{CLOCK: "compute units", MEMORY: "memory"}.get(name, name) for name in sorted(found)])


def reasons(
    effect: float, own: Row, peers: Sequence[Row], others: str = "its peers", whose: str = "its"
) -> Iterator[str]:
    """Yield the recorded conditions of a run that differ from those of its *peers*, most direct first.

    Args:
        effect: on ln(speed); load, low clocks and heat are no reasons to be faster.
        own: the run, or the usual conditions of several.
        peers: runs to compare with.
        others: what the text calls them.
        whose: pronoun of the device, or of several.
    """
    if effect < 0:
        yield from _burdens(own, peers, others, whose)
    for name, text in _FACTS.items():
        most = Counter(str(row[name]) for row in peers if row.get(name)).most_common(1)
        if own.get(name) and most and str(own[name]) != most[0][0] and 2 * most[0][1] > len(peers):
            yield f"{whose} {text} was {own[name]}, that of {others} {most[0][0]}"


def replaced(now: Row, earlier: Sequence[Row]) -> Iterator[str]:
    """Yield that the device of a node is another one than in its *earlier* runs, if all of them know its identifier."""
    known = {row.get("uuid") for row in earlier}
    if known and None not in known and now.get("uuid") and now["uuid"] not in known:
        yield f"it is another device than before ({now['uuid']})"


def _burdens(own: Row, peers: Sequence[Row], others: str, whose: str) -> Iterator[str]:
    usual = [float(row["clock_hz"]) for row in peers if isinstance(row["clock_hz"], float)]
    clock = own["clock_hz"]
    if usual and isinstance(clock, float) and clock < (1 - _LOWER_CLOCK) * (centre := median(usual)):
        lower = 100 * (1 - clock / centre)
        yield f"{whose} clock was {format_frequency(clock)}, {lower:.2g} % below that of {others}"
    limits = _reasons(own) - {name for name, count in _common(peers).items() if 2 * count > len(peers)}
    if limits:
        yield f"the driver reported a limit of the clock: {', '.join(sorted(limits))}"
    if (load := others_share(own)) is not None:
        yield f"other processes used up to {format_percent(load)} of {'it' if whose == 'its' else 'them'}"
    steal = own["cpu_steal"]
    if isinstance(steal, float) and steal >= _STEAL:
        yield f"the hypervisor took {format_percent(steal)} of the processor time"
    warm, warmth = _celsius(own), [celsius for row in peers if (celsius := _celsius(row)) is not None]
    if warm is not None and warmth and warm > (centre := median(warmth)) + _WARMER_C:
        yield f"{whose} temperature was {warm:.0f} °C, that of {others} {centre:.0f} °C"


def others_share(run: Row) -> float | None:
    """Return the share of a device that other processes used, if it matters."""
    load = run["others_utilisation"]
    return load if isinstance(load, float) and load >= _OTHERS else None


def typical(runs: Sequence[Row]) -> Row:
    """Return the usual conditions of *runs*: the median of numbers and temperatures, else the most common text."""
    found: Row = {}
    for name in ("clock_hz", "throttle_reasons", "others_utilisation", "cpu_steal", *_FACTS):
        known = [row[name] for row in runs if row.get(name) is not None]
        numbers = [value for value in known if isinstance(value, float)]
        found[name] = median(numbers) if numbers else Counter(known).most_common(1)[0][0] if known else None
    temperatures = [celsius for row in runs if (celsius := _celsius(row)) is not None]
    return {**found, "temperature": f"{median(temperatures):.0f} °C" if temperatures else None}


def percent(effect: float) -> str:
    """Write an effect on ln(speed) as ``5 % slower`` or ``3 % faster``."""
    share = abs(expm1(effect))
    return f"{format_percent(share, _spec(share))} {'slower' if effect < 0 else 'faster'}"


def as_percent(effect: float) -> str:
    """Write an effect on ln(speed) with its sign: ``-4.8 %``."""
    share = expm1(effect)
    return format_percent(share, f"+{_spec(share)}")


def _spec(share: float) -> str:
    return ".1f" if abs(share) < 0.0995 else ".0f"


def _reasons(row: Row) -> set[str]:
    return {reason for reason in str(row["throttle_reasons"] or "").split(", ") if reason}


def _common(peers: Sequence[Row]) -> Counter[str]:
    return Counter(reason for row in peers for reason in _reasons(row))


def _celsius(row: Row) -> float | None:
    found = re.match(r"(\d{1,3}) °C", str(row["temperature"] or ""))
    return float(found[1]) if found else None
