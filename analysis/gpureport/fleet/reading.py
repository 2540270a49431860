"""Rows of a store from a report: its points, key figures and conditions."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from math import log
from pathlib import Path
from statistics import median

from gpureport.errors import InputError
from gpureport.findings.key_figures import KeyFigure, key_figures
from gpureport.fleet.store import VERSION, Row, StoredRun, Table
from gpureport.inputs import is_there, json_bytes
from gpureport.observe.disturbance import IDLE, others_cpu, steal
from gpureport.records.ceilings import layer_of
from gpureport.records.curves import Points
from gpureport.records.report import Machine, Report, load_report, report_file
from gpureport.text import printable


def read_run(path: Path, node: str) -> StoredRun:
    """Read a ``report.json``, or that of a folder, as rows for a store.

    Raises:
        InputError: it is missing or invalid, its run has not ended or measured nothing, or it is no run.
    """
    file = report_file(path)
    data = json_bytes(file) if is_there(file) else b""
    report = load_report(file)
    if report.machine is None:
        raise InputError(f"{file}: contains no run, only a prediction or published results; give a measured report")
    if report.status != "complete":
        raise InputError(f"{file}: its run is {report.status}; resume it with --resume, or measure again")
    if not report.observations:
        raise InputError(f"{file}: its run measured nothing; measure again")
    points = tuple(_points(report))
    identity = [report.created_at, report.machine.opencl.name]
    results = ([row["family"], row["variant"], row["sweep"], row["point"], row["measured"]] for row in points)
    run = hashlib.sha256(json.dumps([identity, *results]).encode()).hexdigest()[:32]
    tables: dict[Table, Iterable[Row]] = {
        "runs": [_run(report, report.machine, node, str(file.absolute()), hashlib.sha256(data).hexdigest())],
        "key_figures": map(_key_figure, key_figures(report)),
        "points": points,
    }
    return {table: tuple({"run": run, **row} for row in rows) for table, rows in tables.items()}


def _run(report: Report, machine: Machine, node: str, path: str, sha256: str) -> Row:
    present, facts = machine.opencl, machine.vendor_facts
    readings = sorted((r for each in report.conditions for r in each.readings), key=lambda r: r.at_s)
    running = [r for r in readings if r.measuring]
    clocks = [r.clock_hz for r in running if r.clock_hz]
    others = [r.others_utilisation for r in running if r.others_utilisation]
    stolen = steal(readings)
    if report.device.architecture.on_host and (used := others_cpu(readings)) is not None:
        others.append(used)
    reasons = {reason for r in running for reason in r.throttle_reasons or () if reason != IDLE}
    return {
        "node": printable(node),
        "device": present.name,
        "pci_address": present.pci_address,
        "uuid": facts.get("UUID"),
        "model": report.match.entry or present.name,
        "compute_units": present.compute_units,
        "cores": machine.cores if report.device.architecture.on_host else None,
        "quick": report.settings.quick,
        "created_at": utc(report.created_at),
        "tool_version": report.tool_version,
        "driver": present.driver,
        "runtime": present.platform,
        "system": machine.system,
        "clock_hz": median(clocks) if clocks else None,
        "throttle_reasons": ", ".join(sorted(reasons)),
        "power_limit": facts.get("power limit"),
        "temperature": facts.get("temperature"),
        "temperature_c": readings[-1].temperature_c if readings else None,
        "ecc": facts.get("ECC"),
        "remapped_rows": facts.get("remapped rows") or facts.get("retired pages"),
        "mig": facts.get("MIG"),
        "others_utilisation": max(others, default=None),
        "cpu_steal": None if stolen is None else max(0.0, stolen),
        "report": path,
        "report_sha256": sha256,
        "schema": VERSION,
    }


def utc(moment: str) -> datetime:
    """Return an ISO 8601 time in UTC, without its zone; times without a zone are in UTC."""
    time = datetime.fromisoformat(moment)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).replace(tzinfo=None)


def _interval(name: str, value: float | None, low: float | None, high: float | None) -> Row:
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _key_figure(figure: KeyFigure) -> Row:
    row: Row = {"name": figure.name, "unit": figure.unit, "specification": figure.specification}
    for name, estimate in (("predicted", figure.predicted), ("measured", figure.measured)):
        row |= _interval(name, estimate.value, *estimate.ends) if estimate else {}
    return row


def _points(report: Report) -> Iterator[Row]:
    predicted = {prediction.key: prediction.points for prediction in report.specified}
    caches = frozenset((*(c.name for c in report.device.caches), *(tlb.level.name for tlb in report.device.tlb)))
    for observation in report.observations:
        key, metric = observation.key, observation.metric
        for observed in observation.points:
            row: Row = {
                **dict(key),
                "point": observed.point.label,
                "x": observed.point.x,
                "working_set_bytes": observed.point.working_set_bytes,
                "unit": metric.value_unit,
                **_interval("measured", observed.value, *observed.interval),
            }
            if found := predicted.get(key, Points()).at(observed.point):
                ratio = observed.value / found.value if metric.kind == "rate" else found.value / observed.value
                row |= {
                    "bottleneck": found.bottleneck,
                    "layer": layer_of(key.family, found.bottleneck, found.level.name, caches),
                    **_interval("predicted", found.value, *found.interval),
                    "log_speed": log(ratio),
                }
            yield row
