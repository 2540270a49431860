"""A synthetic but realistic report, built from a small closed-form device: nothing here is measured."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpureport.records.curves import (
    Axis,
    CurveFeature,
    Level,
    Metric,
    Observation,
    ObservedPoint,
    PointKey,
    Points,
    SweepKey,
)
from gpureport.records.finding import Finding, Verdict
from gpureport.records.measurement import Compilation, MeasuredPoint, Measurement, Reading, Verification
from gpureport.records.prediction import Limiter, Occupancy, PredictedPoint, Prediction
from gpureport.records.report import Machine, Report, RunSettings, WorkloadInfo, report_text
from gpureport.spec.models import Device, EntryMatch, Launch, PresentDevice, Transition
from gpureport.spec.values import Provenance
from tests.builders import altered
from tests.toy import ARCHITECTURE, L1, L2, MEMORY, MIB, TOY

L2_BYTES = 60 * MIB
L2_RATE, DRAM_RATE, LAUNCH_S = 9.4e12, 4.35e12, 2.2e-6


def make_device(name: str = "NVIDIA H200 SXM") -> Device:
    """The toy device with the size of an H200."""
    transition = Transition(onset=0.7, midpoint=0.88, end=1.25)
    ranges = {"bandwidth_transition": transition, "latency_transition": transition}
    sheet = "NVIDIA H200 data sheet, 2024-11"
    return altered(
        TOY,
        id="nvidia/h200_sxm",
        name=name,
        architecture=altered(ARCHITECTURE, id="nvidia/hopper", name="Hopper"),
        compute_units=132,
        clock_hz=1.98e9,
        caches=(
            L1.model_copy(update=ranges),
            L2.model_copy(update={**ranges, "capacity_bytes": L2_BYTES, "bandwidth_bytes_per_cycle": 36.0}),
        ),
        memory=altered(MEMORY, size_bytes=141e9, bandwidth_bytes_per_s=4.8e12),
        launch=Launch(single_s=4e-6, batched_s=LAUNCH_S, groups_per_cycle=0.836),
        provenance={
            "memory.bandwidth": Provenance(kind="spec", source=sheet),
            "caches.L2.capacity": Provenance(
                kind="queried", source="CL_DEVICE_GLOBAL_MEM_CACHE_SIZE", note="One list says 50 MB."
            ),
            "caches.L2.latency": Provenance(kind="spec", source="RRZE-HPC/gpu-benches, gpu-latency, H100 PCIe"),
            "clock": Provenance(kind="spec", source=sheet),
            "rates.int32": Provenance(kind="spec", source="CUDA C++ Programming Guide 12.6, arithmetic instructions"),
            "launch.batched": Provenance(kind="assumed", source="like other Hopper devices"),
        },
        notes=("The L2 is two partitions of 30 MiB.",),
    )


H200 = PresentDevice(
    index=0,
    platform="NVIDIA CUDA",
    platform_version="OpenCL 3.0 CUDA 13.0.97",
    name="NVIDIA H200",
    vendor="NVIDIA Corporation",
    kind="gpu",
    driver="580.159.04",
    version="OpenCL 3.0 CUDA",
    compute_units=132,
    clock_hz=1.98e9,
    global_memory_bytes=150_000_000_000,
    max_allocation_bytes=37_500_000_000,
    global_cache_bytes=int(L2_BYTES),
    local_memory_bytes=49152,
    max_work_group=1024,
    timer_resolution_s=1e-6,
    extensions=("cl_khr_fp64", "cl_nv_device_attribute_query"),
    pci_id="10de:2335",
    wave_size=32,
    compute_capability="9.0",
)
"""As NVIDIA's driver reports it."""


def make_machine() -> Machine:
    """A host with figures like a cloud instance's."""
    return Machine(
        system="Linux 6.8.0-generic",
        cpu="Intel Xeon Platinum 8480+",
        cores=16,
        memory_bytes=128 * 1024.0**3,
        python="3.11.9",
        packages={"gpureport": "0.1.0", "numpy": "2.4.6", "pyopencl": "2026.1.4", "scipy": "1.17.1"},
        opencl=H200,
        vendor_facts={"power limit": "700 W", "temperature": "41 °C"},
    )


def stored(report: Report) -> dict[str, Any]:
    """The contents of the file of *report*."""
    contents: dict[str, Any] = json.loads(report_text(report))
    return contents


def busy(at_s: float) -> Reading:
    """Another process keeps the device busy from second 10 to 20."""
    there = 10 <= at_s < 20
    return Reading(
        at_s=at_s,
        measuring=True,
        occupied_total_s=0.5 * at_s,
        clock_hz=1.71e9 if there else 1.98e9,
        utilisation=1.0 if there else 0.5,
        others_utilisation=0.9 if there else 0.0,
        throttle_reasons=("power cap",) if there else (),
        load_average=1.5,
    )


def _point(items: int, work_per_item: float, bytes_per_item: float) -> PointKey:
    footprint = items * bytes_per_item
    return PointKey(
        label=f"{items}",
        parameters={"n": items},
        work=items * work_per_item,
        work_items=items,
        working_set_bytes=footprint,
        x=footprint,
    )


def _ceilings(point: PointKey, traffic: float, operations: float) -> dict[str, float]:
    outside = float(np.clip(np.log2(point.working_set_bytes / (42 * MIB)) / 0.85, 0, 1))
    return {
        "launch": LAUNCH_S,
        "latency": 1.1e-6,
        "L2": traffic / L2_RATE,
        "DRAM": outside * traffic / DRAM_RATE,
        "int32": operations / 1.67e13,
    }


def _time(ceilings: dict[str, float]) -> float:
    rest = [value for name, value in ceilings.items() if name != "launch"]
    return ceilings["launch"] + sum(value**3 for value in rest) ** (1 / 3)


def _features(
    metric: Metric, shift: float, level: str, top: float, bottom: float, intervals: bool
) -> tuple[CurveFeature, ...]:
    rate_unit = f"{metric.unit}/s" if metric.kind == "rate" else "s"
    table = [
        ("cliff", "onset", level, 43 * MIB * shift, "B"),
        ("cliff", "midpoint", level, 52 * MIB * shift, "B"),
        ("cliff", "end", level, 75 * MIB * shift, "B"),
        ("taper", "knee", "device", 160e3 * shift, "work-items"),
        ("taper", "n90", "device", 610e3 * shift, "work-items"),
        ("rate", "plateau", level, top, rate_unit),
        ("rate", "plateau", "DRAM", bottom, rate_unit),
    ]
    spread = 0.03 if intervals else None
    return tuple(
        CurveFeature.model_validate(
            {
                "feature": feature,
                "position": position,
                "level": name,
                "value": value,
                "unit": unit,
                "ci_low": spread and value * (1 - spread),
                "ci_high": spread and value * (1 + spread),
            }
        )
        for feature, position, name, value, unit in table
    )


def _case(point: PointKey, value: float, unit: str, *, intervals: bool) -> CurveFeature:
    low, high = (value * 0.97, value * 1.03) if intervals else (None, None)
    return CurveFeature(
        feature="rate", position="case", level=Level(name=point.label), value=value, unit=unit, ci_low=low, ci_high=high
    )


def _finding(key: SweepKey, predicted: CurveFeature, observed: CurveFeature, basis: str) -> Finding:
    ratio = observed.value / predicted.value
    agrees = abs(np.log(ratio)) < 0.1
    return Finding.model_validate(
        {
            "key": key,
            "feature": predicted.feature,
            "position": predicted.position,
            "level": predicted.level,
            "basis": basis,
            "predicted": predicted.value,
            "observed": observed.value,
            "ci_low": observed.ci_low,
            "ci_high": observed.ci_high,
            "unit": predicted.unit,
            "ratio": ratio,
            "verdict": Verdict.AGREES if agrees else Verdict.OFF,
        }
    )


def _occupancy(group: int) -> Occupancy:
    return Occupancy(
        work_group=(group,),
        registers_per_work_item=32,
        local_memory_bytes=4096,
        source="compiled",
        groups_per_compute_unit=max(1, 2048 // group),
        waves_per_compute_unit=64 if group >= 64 else 32,
        fraction=1.0 if group >= 64 else 0.5,
        limiter=Limiter.WAVES if group >= 64 else Limiter.WORK_GROUPS,
    )


class _Builder:
    """Collects the records of one report."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.predictions: list[Prediction] = []
        self.measurements: list[Measurement] = []
        self.observations: list[Observation] = []
        self.findings: list[Finding] = []

    def sweep(
        self,
        key: SweepKey,
        metric: Metric,
        axis: Axis,
        points: list[PointKey],
        model: list[dict[str, float]],
        operations: float,
        error: float,
        samples_each: int = 9,
    ) -> None:
        """Add predictions of both kinds, samples around ``error`` times the model, and what follows."""
        times = [_time(ceilings) for ceilings in model]
        shifts = {"specification": 1.0, "calibrated": 1 + 0.7 * (error - 1)}
        samples = [
            np.asarray(time * error * (1 + 0.012 * self.rng.standard_normal(samples_each)), dtype=float)
            for time in times
        ]
        medians = [float(np.median(sample)) for sample in samples]
        values = [metric.value(point.work, time) for point, time in zip(points, times, strict=True)]
        top, bottom = max(values), values[-1]
        rates = f"{metric.unit}/s" if metric.kind == "rate" else "s"

        def features(shift: float, factor: float, intervals: bool) -> tuple[CurveFeature, ...]:
            if axis.quantity == "working_set":
                return _features(metric, shift, "L2", top / factor, bottom / factor, intervals=intervals)
            cases = zip(points, values, strict=True) if axis.quantity == "case" else ()
            return tuple(_case(point, value / factor, rates, intervals=intervals) for point, value in cases)

        observed_features = features(1 / error, error, intervals=True)
        for kind, shift in shifts.items():
            predicted_features = features(2 - shift, shift, intervals=False)
            predicted = tuple(
                PredictedPoint(
                    point=point,
                    time_s=time * shift,
                    value=metric.value(point.work, time * shift),
                    ceilings_s=ceilings,
                    bottleneck=max(ceilings, key=lambda name, c=ceilings: c[name]),
                    operations=point.work_items * operations,
                    memory_bytes=point.working_set_bytes,
                )
                for point, time, ceilings in zip(points, times, model, strict=True)
            )
            self.predictions.append(
                Prediction.model_validate(
                    {
                        "key": key,
                        "kind": kind,
                        "metric": metric,
                        "axis": axis,
                        "points": predicted,
                        "features": predicted_features,
                        "occupancy": [_occupancy(group) for group in (32, 64, 256, 1024)],
                        "notes": ("The launch cost is assumed to be that of other Hopper devices.",),
                        "made_at": "2026-11-21T10:00:00Z",
                    }
                )
            )
            self.findings += [
                _finding(key, wanted, found, kind)
                for wanted, found in zip(predicted_features, observed_features, strict=True)
            ]
        self.measurements.append(
            Measurement(
                key=key,
                metric=metric,
                axis=axis,
                points=tuple(
                    MeasuredPoint(
                        point=point,
                        samples_s=tuple(map(float, sample)),
                        taken_at_s=tuple(float(i) for i in range(len(sample))),
                        dispatches_per_sample=32 if time < 1e-4 else 1,
                        method="batch" if time < 1e-4 else "event",
                    )
                    for point, sample, time in zip(points, samples, times, strict=True)
                ),
                compilation=(
                    Compilation(
                        kernel=f"{key.family}_{key.variant}",
                        options="-DREPEATS=1 -cl-nv-verbose",
                        registers_per_work_item=32,
                        local_memory_bytes=4096,
                        private_bytes=0,
                        wave_size=32,
                        max_work_group=1024,
                    ),
                ),
                verification=Verification(passed=True, cases=("97 x 61, 3 generations", "1 x 1")),
                started_at="2026-11-21T10:00:05Z",
                duration_s=3.2,
            )
        )
        self.observations.append(
            Observation(
                key=key,
                metric=metric,
                axis=axis,
                points=tuple(
                    ObservedPoint(
                        point=point,
                        time_s=median,
                        value=metric.value(point.work, median),
                        ci_low=metric.value(point.work, median) * 0.985,
                        ci_high=metric.value(point.work, median) * 1.015,
                        samples=9,
                    )
                    for point, median in zip(points, medians, strict=True)
                ),
                features=observed_features,
                warnings=("The samples drift by 2 % over the sweep.",) if error > 1.2 else (),
            )
        )


Row = tuple[str, str, float, float, float, float]

SHAPES = [(x, y) for x in (1, 8, 32, 64, 256) for y in (1, 4, 16) if 8 <= x * y <= 1024]

VARIANTS: dict[tuple[str, str], Row] = {
    ("game_of_life", "naive"): ("Game of Life, one byte a cell", "cells", 16.0, 32.0, 60.0, 1.06),
    ("game_of_life", "packed64"): ("Game of Life, 64 cells a word", "cells", 64.0, 16.0, 20.0, 1.35),
    ("particles", "aos"): ("Particles, array of structs", "particles", 1.0, 64.0, 8.0, 0.97),
    ("particles", "soa"): ("Particles, structure of arrays", "particles", 1.0, 32.0, 8.0, 1.02),
    ("transpose", "local"): ("Bit-matrix transpose, local memory", "matrices", 1 / 32, 8.0, 12.0, 1.12),
    ("transpose", "shuffle"): ("Bit-matrix transpose, shuffle", "matrices", 1 / 32, 8.0, 8.0, 1.01),
    ("memory", "read"): ("Read bandwidth", "B", 16.0, 16.0, 0.0, 1.04),
}
"""(family, variant) → title, unit, work, bytes and operations of one work-item, observed / predicted time."""


def make_report(
    *,
    name: str = "NVIDIA H200 SXM",
    seed: int = 0,
    families: int | None = None,
    only: Sequence[str] = (),
    cases: bool = False,
) -> Report:
    """Build a full report, or one of the families *only*, or one of as many copies of a family as *families* says.

    With *cases*, the first variant also has a sweep of separate cases.
    """
    builder = _Builder(seed)
    variants = {key: row for key, row in VARIANTS.items() if not only or key[0] in only}
    if families is not None:
        row = VARIANTS["game_of_life", "naive"]
        variants = {(f"family_{i:02d}", "only"): (f"Family {i:02d}", *row[1:]) for i in range(families)}
    infos = {}
    for key, row in variants.items():
        infos["/".join(key)] = _info(*key, row[0], row[3])
        _size_sweep(builder, key, row)
        _shape_sweep(builder, key, row)
    if cases:
        _case_sweep(builder, next(iter(variants)), 12)
    subgroup = WorkloadInfo(
        family="transpose",
        variant="subgroup",
        title="Bit-matrix transpose, sub-group shuffle",
        description="As shuffle, through cl_khr_subgroup_shuffle.",
        skipped="The device offers no cl_khr_subgroup_shuffle.",
    )
    return _report(make_device(name), builder, infos | {"transpose/subgroup": subgroup}, seed)


def _report(device: Device, builder: _Builder, infos: dict[str, WorkloadInfo], seed: int = 0) -> Report:
    return Report(
        tool_version="0.1.0",
        created_at="2026-11-21T10:01:40Z",
        device=device,
        match=EntryMatch(entry=device.id, how="PCI id 10de:2335 is listed in nvidia/h200_sxm."),
        machine=make_machine(),
        settings=RunSettings(seed=seed, command="gpureport --device auto"),
        workloads=infos,
        predictions=tuple(sorted(builder.predictions, key=lambda each: each.kind, reverse=True)),
        measurements=tuple(builder.measurements),
        observations=tuple(builder.observations),
        findings=tuple(builder.findings),
    )


def _info(family: str, variant: str, title: str, nbytes: float) -> WorkloadInfo:
    return WorkloadInfo(
        family=family,
        variant=variant,
        title=title,
        description="Random contents on a torus; two buffers change roles after each dispatch.",
        counting=f"{nbytes:g} bytes a work-item: what is read once and what is written once.",
    )


def _metric(unit: str) -> Metric:
    return Metric(kind="rate", unit=unit, label="read bandwidth" if unit == "B" else "updates")


def _size_sweep(builder: _Builder, variant: tuple[str, str], row: Row) -> None:
    _, unit, work, nbytes, operations, error = row
    points = [_point(int(2 ** (12 + step / 2)), work, nbytes) for step in range(29)]
    model = [_ceilings(p, p.working_set_bytes, p.work_items * operations) for p in points]
    axis = Axis(quantity="working_set", label="working set (both buffers)")
    builder.sweep(_key(variant, "size"), _metric(unit), axis, points, model, operations, error)


def _shape_sweep(builder: _Builder, variant: tuple[str, str], row: Row) -> None:
    _, unit, work, nbytes, operations, error = row
    points = [
        PointKey(
            label=f"{x} x {y}",
            parameters={"local_x": x, "local_y": y},
            work=work * 2**20,
            work_items=2**20,
            working_set_bytes=nbytes * 2**20,
            x=index,
        )
        for index, (x, y) in enumerate(SHAPES)
    ]
    model = [
        {
            "groups": 2**20 / (x * y) / 1.65e9,
            **_ceilings(p, p.working_set_bytes * (4 if x < 8 else 1), p.work_items * operations),
        }
        for p, (x, y) in zip(points, SHAPES, strict=True)
    ]
    axis = Axis(quantity="work_group", label="work-group")
    builder.sweep(_key(variant, "work_group"), _metric(unit), axis, points, model, operations, error)


def _case_sweep(builder: _Builder, variant: tuple[str, str], count: int) -> None:
    points = [altered(_point(2**20, 1.0, 4.0), label=f"case {i}", x=i, parameters={"case": i}) for i in range(count)]
    model = [_ceilings(p, p.working_set_bytes, p.work_items * 60.0 * (i + 1)) for i, p in enumerate(points)]
    axis = Axis(quantity="case", label="instruction")
    builder.sweep(_key(variant, "rates"), _metric("instructions"), axis, points, model, 60.0, 1.1)


def _key(variant: tuple[str, str], sweep: str) -> SweepKey:
    return SweepKey(family=variant[0], variant=variant[1], sweep=sweep)


def slower(report: Report, factor: float, family: str = "") -> Report:
    """Return the report of the same machine with every sample *factor* times as long, or only those of a *family*."""
    measurements = tuple(
        altered(m, points=Points(altered(p, samples_s=tuple(s * factor for s in p.samples_s)) for p in m.points))
        if family in ("", m.key.family)
        else m
        for m in report.measurements
    )
    return altered(report, measurements=measurements)
