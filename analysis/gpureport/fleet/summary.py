"""The state of a fleet in sentences, and for other tools: Prometheus' text format, JUnit's XML for acceptance tests."""

from collections.abc import Iterator
from math import exp, expm1, isnan
from xml.etree import ElementTree as ET

from gpureport.fleet.analysis import Difference, Fleet, Layers, affected
from gpureport.fleet.causes import LOAD
from gpureport.records.ceilings import Kind
from gpureport.report.text.sentences import paragraphs, text
from gpureport.text import printable
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


def prometheus(fleet: Fleet) -> str:
    """Return gauges in the format that the textfile collector of Prometheus' node exporter reads."""
    speed, outlier, figure = [], [], []
    slow = {(o.peers.number, o.member) for o in fleet.slower}
    for peers in sorted(fleet.peers, key=lambda each: each.runs["created_at"].max()):
        kind = "quick" if peers.quick else "complete"
        for device in peers.members:
            labels = {"node": device.node, "device": device.device, "pci_address": device.pci_address, "run": kind}
            outlier.append((labels, float((peers.number, device) in slow)))
            speed += [
                ({**labels, "layer": layer}, exp(values[device.number]))
                for layer, values in peers.layers.items()
                if peers.basis == "peers" and not isnan(values[device.number])
            ]
            figure += [({**labels, "name": f.name, "unit": f.unit}, f.measured) for f in device.figures]
    gauges = (
        ("gpureport_slow_device", "1 if the device is significantly slower than its peers or its prediction", outlier),
        ("gpureport_relative_speed", "Speed on the sweeps that a layer limits, relative to the median device", speed),
        ("gpureport_key_figure", "Key figure of the last run, in the unit of the label", figure),
    )
    return "".join(line for gauge in gauges for line in _gauge(*gauge))


def _gauge(name: str, meaning: str, samples: list[tuple[dict[str, str], float]]) -> Iterator[str]:
    """Yield the lines of a gauge; of equal labels, such as of a device whose entry changed, the last sample counts."""
    yield f"# HELP {name} {meaning}\n# TYPE {name} gauge\n"
    texts = (",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items()) for labels, _ in samples)
    for named, (_, value) in dict(zip(texts, samples, strict=True)).items():
        yield f"{name}{{{named}}} {value:.9g}\n"


def _escaped(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def junit(fleet: Fleet) -> str:
    """Return an acceptance test of each device as JUnit's XML, in the form that Jenkins and GitLab read.

    A suite is a model, a case is a device. A significantly slower device fails, with its sweeps as text.
    """
    slow = {(o.peers.number, o.member): o for o in fleet.slower}
    root = ET.Element("testsuites", _totals("gpureport", sum(len(peers.members) for peers in fleet.peers), len(slow)))
    for peers in fleet.peers:
        title = printable(peers.title)
        suite = ET.SubElement(
            root, "testsuite", _totals(title, len(peers.members), sum(k == peers.number for k, _ in slow))
        )
        suite.set("timestamp", f"{peers.runs['created_at'].max():%Y-%m-%dT%H:%M:%S}")
        for member in peers.members:
            names = {"classname": title.replace(".", "_"), "name": printable(member.label)}  # dots separate packages
            case = ET.SubElement(suite, "testcase", names)
            if outlier := slow.get((peers.number, member)):
                failure = ET.SubElement(case, "failure", message=printable(sentence(outlier)), type="slower")
                sweeps = (f"{part.sweep} ({part.layer}): {as_percent(effect)}" for part, effect in outlier.sweeps)
                failure.text = "\n".join(map(printable, sweeps))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _totals(name: str, tests: int, failures: int) -> dict[str, str]:
    return {"name": name, "tests": str(tests), "failures": str(failures), "errors": "0"}
