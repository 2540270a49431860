"""Values of a device without an entry: what its queries do not report, from a run."""

from collections.abc import Sequence
from dataclasses import replace

from gpureport.findings.whole_device import resident_groups
from gpureport.predict.calibration.learned import FURTHER, Learned, ObservedSweep, learned
from gpureport.records.measurement import IDLE
from gpureport.records.report import Report
from gpureport.spec.models import Device
from gpureport.spec.values import Value, queried
from gpureport.units import format_value


def known_from(report: Report, device: Device, shown: Sequence[ObservedSweep]) -> Learned:
    """Derive values from a *report* of the *device*, as drafted from its queries, and from its sweeps, *shown*."""
    used = [one for one in shown if one.workload.calibrates or one.workload.name in FURTHER]
    found, power = learned(device, used), dict[str, Value]()
    if report.energy and report.energy.limit_w:
        idle = report.energy.load(IDLE)
        drawn = format_value(idle.power_w, "W") if idle and idle.power_w else ""
        note = f"idle, with the device open, it draws {drawn} (measured)" if drawn else ""
        power["board_power"] = queried(report.energy.limit_w, f"{report.energy.sensor}, limit of the driver", note)
    groups = [row for row in resident_groups(report) if row.counted]
    other = [f"{row.label}: {row.counted} instead of {row.predicted}" for row in groups if row.counted != row.predicted]
    counted = f"resident work-groups as counted and by the architecture's rules differ: {'; '.join(other)}"
    remarks = (counted,) if other else ()
    return replace(found, values={**found.values, **power}, remarks=(*found.remarks, *remarks))
