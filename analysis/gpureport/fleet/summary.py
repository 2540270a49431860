"""The state of a fleet in sentences."""

from math import expm1

from gpureport.fleet.analysis import Difference, Fleet, Layers, affected
from gpureport.fleet.causes import LOAD
from gpureport.records.ceilings import Kind
from gpureport.report.text.sentences import paragraphs, text
from gpureport.units import precise_percent

FILE = "fleet_sentences.j2"
MANY = 20
"""Devices from which the share of healthy fleets with an outlier hardly depends on how much healthy devices differ."""
_OF_HOST = (Kind.LAUNCH, Kind.LINK)


def conclusion(fleet: Fleet) -> str:
    """Return the main result in a sentence."""
    return text("conclusion", FILE, fleet=fleet, bases=sorted({each.basis for each in fleet.peers}))


def reservations(fleet: Fleet) -> tuple[str, ...]:
    """Return sentences about the limits of the result."""
    few = any(each.basis == "peers" and len(each.peers.members) < MANY for each in fleet.outliers)
    loads = [load for each in fleet.peers for load in each.last["others_utilisation"]]
    loaded = sum(load >= LOAD for load in loads)
    return paragraphs("reservations", FILE, few=few, many=MANY, loaded=loaded, known=len(loads))


def sentence(difference: Difference) -> str:
    """Write what differs: how much, where, why and since when."""
    return text("difference", FILE, it=difference, parts_of=parts_of)


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
