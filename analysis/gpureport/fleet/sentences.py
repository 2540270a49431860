"""The sentences about a fleet: facts for the macros of ``templates/fleet_sentences.j2``."""

from math import expm1

from gpureport.fleet.analysis import Change, Fleet, Layers, ModelDifference, Outlier, affected
from gpureport.fleet.causes import LOAD
from gpureport.records.ceilings import Kind
from gpureport.report.text.sentences import paragraphs, precise_percent, text

FILE = "fleet_sentences.j2"
MANY = 20
"""Devices from which the share of healthy fleets with an outlier hardly depends on how much healthy devices differ."""
_OF_HOST = (Kind.LAUNCH, Kind.LINK)


def conclusion(fleet: Fleet) -> str:
    """Return the main result in a sentence."""
    bases = dict.fromkeys(each.basis for each in sorted(fleet.peers, key=lambda p: not p.compared))
    return text("conclusion", FILE, fleet=fleet, bases=list(bases))


def reservations(fleet: Fleet) -> tuple[str, ...]:
    """Return sentences about the limits of the result."""
    small = {each.key for each in fleet.peers if each.compared and len(each.members) < MANY}
    few = any(outlier.peers in small for outlier in fleet.outliers)
    loads = [load for each in fleet.peers for load in each.last["others_utilisation"]]
    loaded = sum(load >= LOAD for load in loads)
    return paragraphs("reservations", FILE, few=few, many=MANY, loaded=loaded, known=len(loads))


def sentence(fact: Outlier | Change | ModelDifference) -> str:
    """Write what differs: how much, where, why and since when."""
    block = "outlier" if isinstance(fact, Outlier) else "change" if isinstance(fact, Change) else "model"
    return text(block, FILE, it=fact, parts_of=parts_of)


def parts_of(layers: Layers) -> list[str]:
    """Return the parts of the device that explain the pattern of *layers*: layers, or the whole device or core clock.

    The launch of kernels follows the clock: it counts only by itself.
    """
    every = affected(layers)
    found, on_chip = set(every) - set(_OF_HOST), set(layers) - {Kind.MEMORY, *_OF_HOST}
    if not found:
        return [name for name in _OF_HOST if name in every]
    parts = sorted(found)
    if Kind.MEMORY in found and on_chip and on_chip <= found:
        parts = ["whole device"]
    elif Kind.COMPUTE in found and Kind.MEMORY not in found and len(found) > 1 and len(found) >= len(on_chip) - 1:
        parts = ["core clock"]
    return [*parts, *([Kind.LINK] if Kind.LINK in every else [])]


def as_percent(effect: float) -> str:
    """Write an effect on ln(speed) with its sign: ``-4.8 %``."""
    return precise_percent(expm1(effect), "+")
