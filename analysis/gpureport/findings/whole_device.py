"""Link and power of a device: the link while data were transferred, performance per watt, energy per unit of work."""

from dataclasses import dataclass

from gpureport.observe.statistics import Estimate
from gpureport.predict.power import SHARE, SHARE_FACTOR, listed_rates, most_energy_j
from gpureport.predict.transfers import link_bytes_per_s
from gpureport.records.energy import IDLE, Energy
from gpureport.records.report import Report
from gpureport.spec.models import Device, Link
from gpureport.units import format_bandwidth

MEASURED, OF_LIMIT = "measured power", "board limit"
"""The power that a performance per watt refers to."""


def link_under_load(report: Report) -> Link | None:
    """Return the best link that was read while data were transferred: idle devices may lower its generation."""
    readings = [
        reading
        for conditions in report.conditions
        if conditions.workload.startswith("transfer/")
        for reading in conditions.readings
        if reading.measuring
    ]
    generation = max((each.link_generation or 0 for each in readings), default=0)
    lanes = max((each.link_lanes or 0 for each in readings), default=0)
    return Link.pcie(generation, lanes) if generation and lanes else None


def link_problem(report: Report) -> str:
    """Return a sentence if the link ran with fewer lanes or a lower generation than it supports; else nothing."""
    listed, there = report.device.link, link_under_load(report)
    if listed is None or listed.kind != "pcie" or there is None:
        return ""
    if (there.generation or 0) >= (listed.generation or 0) and (there.lanes or 0) >= (listed.lanes or 0):
        return ""
    rate, best = (format_bandwidth(link_bytes_per_s(link, "to_host")) for link in (there, listed))
    return (
        f"The link ran as {there} while data were transferred; device and machine support {listed}. Transfers reach "
        f"about {rate} instead of {best}."
    )


def path_between_devices(report: Report) -> str:
    """Return a sentence on the path of copies to a second device; nothing if they were not measured."""
    rates = [
        finding.observed
        for finding in report.findings
        if finding.key.workload == "transfer/devices" and finding.position == "plateau" and finding.observed
    ]
    if not rates:
        return ""
    link = report.device.host_link
    rate, direct = max(rates), link.peer_bandwidth_bytes_per_s
    begin = f"Copies to or from a second device reach {format_bandwidth(rate)}."
    if rate > link.bandwidth_bytes_per_s:
        host = format_bandwidth(link.bandwidth_bytes_per_s)
        return f"{begin} They take a direct link: {link} to the host has only {host}."
    if direct:
        listed = format_bandwidth(direct)
        return f"{begin} This rate suggests staging through host memory: the direct link is listed with {listed}."
    return f"{begin} {link} to the host allows this rate, so that it does not show whether host memory stages them."


@dataclass(frozen=True)
class PerWatt:
    """Performance per watt.

    Attributes:
        name: of the load: ``memory read``.
        value: units of work per second and watt.
        unit: of the value: ``B/s/W``.
        basis: :data:`MEASURED` or :data:`OF_LIMIT`.
    """

    name: str
    value: float
    unit: str
    basis: str


def per_watt(device: Device, energy: Energy | None) -> tuple[PerWatt, ...]:
    """Return the performance per watt of memory reads and multiply-adds.

    With measured power where it is known, otherwise of the listed rates and the listed power limit of the board.
    """
    found = []
    rates = listed_rates(device)
    for name, unit in (("memory read", "B"), ("fp32 FMA", "FLOP")):
        load = energy.load(name) if energy else None
        if load and load.rate and load.power_w:
            found.append(PerWatt(name, load.rate / load.power_w, f"{unit}/s/W", MEASURED))
        elif device.board_power_w:
            found.append(PerWatt(name, rates[name] / device.board_power_w, f"{unit}/s/W", OF_LIMIT))
    return tuple(found)


def predicted_energy_j(device: Device, name: str) -> Estimate | None:
    """Return the predicted energy of one byte or operation; ``None`` if it is not predicted."""
    most = most_energy_j(device, name)
    if most is None:
        return None
    middle = SHARE * most
    return Estimate(middle, middle / SHARE_FACTOR, middle * SHARE_FACTOR)


def idle_power_w(energy: Energy | None) -> float | None:
    """Return the power without kernels, while this process has the device open."""
    load = energy.load(IDLE) if energy else None
    return load.power_w if load else None
