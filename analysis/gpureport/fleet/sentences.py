"""The sentences about a fleet: its outliers, changes and models."""

from collections.abc import Callable
from functools import singledispatch
from math import expm1

from gpureport.fleet.analysis import Change, Difference, Fleet, Layers, ModelDifference, Outlier, Peers, affected
from gpureport.fleet.causes import FACTS, LOAD, Reason
from gpureport.records.ceilings import Kind
from gpureport.text import counted, listed
from gpureport.units import format_frequency, format_percent

MANY = 20
"""Devices from which the share of healthy fleets with an outlier hardly depends on how much healthy devices differ."""
RESERVATION = (
    "Healthy devices of one model often differ by several percent (8 % on average in Sinha et al., SC22). "
    f"With fewer than {MANY} devices of a model, their usual spread is not known well: an outlier can be healthy."
)
_OF_HOST = {Kind.LAUNCH: "the launch of kernels", Kind.LINK: "the link to the host"}
_REASONS = {
    "uuid": "it is another device than before ({value})",
    "clock_hz": "{whose} clock was {value}, {lower} below that of {others}",
    "throttle_reasons": "the driver reported a limit of the clock: {value}",
    "others_utilisation": "other processes used up to {value} of {whom}",
    "cpu_steal": "the hypervisor took {value} of the processor time",
    "temperature_c": "{whose} temperature was {value}, that of {others} {usual}",
    **{column: f"{{whose}} {name} was {{value}}, that of {{others}} {{usual}}" for column, name in FACTS.items()},
}
_VALUES: dict[str, Callable[[float], str]] = {
    "clock_hz": format_frequency,
    "others_utilisation": format_percent,
    "cpu_steal": format_percent,
    "temperature_c": "{:.0f} °C".format,
}


def conclusion(fleet: Fleet) -> str:
    """Return the main result in a sentence."""
    slower, faster = len(fleet.slower), len(fleet.outliers) - len(fleet.slower)
    basis = " or ".join(dict.fromkeys(basis_of(each) for each in sorted(fleet.peers, key=lambda p: not p.compared)))
    every = counted(fleet.devices, "device")
    if not fleet.outliers:
        who = "The device does not differ" if fleet.devices == 1 else f"None of {every} differs"
        return f"{who} significantly from its {basis}."
    parts = [f"{number} {word}" for number, word in ((slower, "slower"), (faster, "faster")) if number]
    verb, whose = ("differs", "its") if slower + faster == 1 else ("differ", "their")
    return f"{slower + faster} of {every} {verb} significantly from {whose} {basis}: {', '.join(parts)}."


def basis_of(peers: Peers) -> str:
    """Return what the devices of a model are compared with."""
    return "peers" if peers.compared else "prediction"


def reservations(fleet: Fleet) -> list[str]:
    """Return sentences about the limits of the result."""
    few = {each.key for each in fleet.peers if each.compared and len(each.members) < MANY}
    found = [RESERVATION] if any(outlier.peers in few for outlier in fleet.outliers) else []
    loads = [load for each in fleet.peers for load in each.last["others_utilisation"]]
    if loaded := sum(load >= LOAD for load in loads):
        used = f"Other processes used {loaded} of {len(loads)} devices during their last run"
        found.append(f"{used}; this load alone can make devices differ.")
    return found


@singledispatch
def sentence(fact: Outlier | Change | ModelDifference) -> str:
    """Write what differs: how much, where, why and since when."""
    raise TypeError(type(fact))


@sentence.register
def _(outlier: Outlier) -> str:
    basis = f"the median of {outlier.devices} devices of the model" if outlier.devices else "its prediction"
    when = f" since {outlier.since:%Y-%m-%d %H:%M}" if outlier.since else ""
    why = _why(outlier.reasons, "its peers")
    if not why and outlier.devices and outlier.recorded:
        why = ": no recorded condition differs from its peers"
    return f"{outlier.member.label} is {percent(outlier.effect)} than {basis}{when}; {affects(outlier)}{why}."


@sentence.register
def _(change: Change) -> str:
    first, last = change.first, change.last
    if change.member:
        who = f"Since {first:%Y-%m-%d %H:%M}, {change.member.label} ({change.title}) has been"
        why = _why(change.reasons, "earlier runs")
        return f"{who} {percent(change.effect)} than in earlier runs; {affects(change)}{why}."
    when = f"From {first:%Y-%m-%d} to {last:%Y-%m-%d}" if last else f"Since {first:%Y-%m-%d}"
    when = f"On {first:%Y-%m-%d}" if last and last.date() == first.date() else when
    some = f"{change.changed} of {change.devices}" if change.changed != change.devices else f"all {change.devices}"
    who = f"{'the' if change.changed is None else some} devices ({change.title})"
    unknown = "; none was measured both before and after, so time and devices cannot be separated"
    where = f"{affects(change)}{unknown if change.changed is None else ''}"
    why = _why(change.reasons, "earlier runs", "their") or ": no recorded condition changed"
    verb = "were" if last else "have been"
    return f"{when}, {who} {verb} {percent(change.effect)} than before; {where}{why}."


@sentence.register
def _(model: ModelDifference) -> str:
    text = f"The median of {model.devices} devices ({model.title}) is {percent(model.effect)} than predicted"
    where = f"with {place({model.layer: model.effect})} as the bottleneck"
    return f"{text} {where}; the 95 % interval ends at {percent(model.end)}."


def affects(difference: Difference) -> str:
    """Write the clause about what is affected."""
    if difference.of_sweeps:
        part, _ = difference.largest
        return f"this affects {part.sweep} ({part.layer}) only"
    unaffected = [name for name in difference.layers if name not in difference.touched]
    others = f", not {listed(unaffected, 'or')}" if unaffected else ""
    return f"this affects {place(difference.layers)}{others}"


def place(layers: Layers) -> str:
    """Return the part of the device that explains the pattern of *layers*, a noun phrase."""
    every = affected(layers)
    found = set(every) - set(_OF_HOST)
    if every and not found:
        return listed([text for name, text in _OF_HOST.items() if name in every])
    on_device = _on_device(found, set(layers) - {Kind.MEMORY, *_OF_HOST})
    return f"{on_device} and {_OF_HOST[Kind.LINK]}" if Kind.LINK in every else on_device  # the launch follows the clock


def _on_device(found: set[str], on_chip: set[str]) -> str:
    """Return what explains the affected layers *found*, a noun phrase; *on_chip*: the known caches and the clock."""
    memory, clock = Kind.MEMORY in found, Kind.COMPUTE in found
    if memory and on_chip and on_chip <= found:
        return "the whole device"
    if clock and not memory and len(found) > 1 and len(found) >= len(on_chip) - 1:
        return "the core clock"
    if not memory and not clock:
        return f"the {listed(sorted(found))} {'cache' if len(found) == 1 else 'caches'}"
    if found == {Kind.COMPUTE}:
        return "the compute units"
    return listed(["compute units" if name == Kind.COMPUTE else name for name in sorted(found)])


def _why(reasons: tuple[Reason, ...], others: str, whose: str = "its") -> str:
    """Write the reasons after a colon; *others*: what the compared runs are called."""
    texts = [reason_text(reason, others, whose) for reason in reasons]
    return f": {'; '.join(texts)}" if texts else ""


def reason_text(reason: Reason, others: str = "its peers", whose: str = "its") -> str:
    """Write a reason as a clause."""
    value, usual = (_value(reason.column, each) for each in (reason.value, reason.usual))
    whom = "it" if whose == "its" else "them"
    lower = ""
    if isinstance(reason.value, float) and isinstance(reason.usual, float) and reason.usual > 0:
        lower = f"{100 * (1 - reason.value / reason.usual):.2g} %"
    words = {"value": value, "usual": usual, "lower": lower, "whose": whose, "whom": whom, "others": others}
    return _REASONS[reason.column].format_map(words)


def _value(column: str, value: str | float | None) -> str:
    write = _VALUES.get(column)
    return write(value) if write and isinstance(value, float) else str(value)


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
