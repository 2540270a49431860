"""Statistics of residuals, and the accuracy targets of the project. Pure functions and data."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from math import inf, log
from statistics import median
from typing import Literal

import numpy as np

from gpureport.findings.verdicts import ErrorStatistics, error_statistics
from gpureport.grouping import grouped
from gpureport.records.curves import BASES, Basis
from gpureport.spec.drivers import CpuCompiler
from gpureport.validate.residuals import Residual, What


@dataclass(frozen=True)
class Summary:
    """Statistics of several residuals.

    Attributes:
        errors: of the residuals with both values; ``None`` if there are none.
        ratio: median of predicted / observed.
        inside: share of observed values within the 95 % interval of the prediction.
        not_observed: number of predicted features that were not observed.
        not_predicted: number of observed features that were not predicted.
    """

    errors: ErrorStatistics | None
    ratio: float | None
    inside: float | None
    not_observed: int
    not_predicted: int

    @property
    def n(self) -> int:
        """Number of residuals with both values."""
        return self.errors.n if self.errors else 0


def where_calibrated(residuals: Iterable[Residual]) -> list[Residual]:
    """Return the specification predictions of the times that also have a calibrated one.

    Microbenchmarks have none. So only these points show whether calibration improves predictions.
    """
    times = grouped((c.curve.kind, c) for c in residuals if c.what == "times")
    calibrated = set(map(_place, times.get("calibrated", ())))
    return [c for c in times.get("specification", ()) if _place(c) in calibrated]


def _place(residual: Residual) -> tuple[str, str, str, str]:
    curve = residual.curve
    return curve.result, str(curve.key), curve.conditions, residual.label


def summarise(residuals: Iterable[Residual]) -> Summary:
    """Return the statistics of *residuals*; those without both values are only counted."""
    every = list(residuals)
    ratios = [c.ratio for c in every if c.ratio is not None]
    insides = [c.inside for c in every if c.inside is not None]
    return Summary(
        errors=error_statistics([c.error for c in every if c.error is not None]),
        ratio=median(ratios) if ratios else None,
        inside=sum(insides) / len(insides) if insides else None,
        not_observed=sum(c.observed is None for c in every),
        not_predicted=sum(c.predicted is None for c in every),
    )


@dataclass(frozen=True)
class Target:
    """A required accuracy. A feature without a counterpart counts as an infinite error.

    Attributes:
        data: displayed description of the results.
        what: the compared quantity.
        statistic: of the errors.
        specification: largest factor between the specification prediction and the observation.
        calibrated: likewise for the calibrated prediction; ``None`` for no requirement.
        devices: patterns of device ids.
        workloads: patterns of ``family/variant/sweep``.
        levels: patterns of memory levels.
        published: whether the results are published ones.
        compiler: of kernels for CPUs.
    """

    data: str
    what: What
    statistic: Literal["median", "90 %", "worst"]
    specification: float
    calibrated: float | None = None
    devices: tuple[str, ...] = ("*",)
    workloads: tuple[str, ...] = ("*",)
    levels: tuple[str, ...] = ("*",)
    published: bool = False
    compiler: CpuCompiler = "pocl"

    def limit(self, kind: Basis) -> float | None:
        """Return the largest error, |ln(predicted / observed)|, that is allowed."""
        factor: float | None = getattr(self, kind)
        return factor and log(factor)

    def includes(self, workload: str) -> bool:
        """Return whether the target applies to sweeps of *workload* (``family/variant``)."""
        return any(fnmatch(workload, "/".join(pattern.split("/")[:2])) for pattern in self.workloads)

    def concerns(self, residual: Residual) -> bool:
        """Return whether the target applies to *residual*."""
        curve = residual.curve
        if (residual.what, curve.published, curve.compiler) != (self.what, self.published, self.compiler):
            return False
        tested = ((curve.device, self.devices), (str(curve.key), self.workloads), (residual.level, self.levels))
        return all(any(fnmatch(text, pattern) for pattern in patterns) for text, patterns in tested)


@dataclass(frozen=True)
class TargetResult:
    """The accuracy of one kind of prediction against a target.

    Attributes:
        target: the requirement.
        kind: of the prediction.
        summary: of all residuals of the target.
        reached: the statistic; infinite if unmatched features decide it, ``None`` without data.
        of_matched: the statistic without unmatched features.
        passed: whether the limit is kept; ``None`` without data.
    """

    target: Target
    kind: Basis
    summary: Summary
    reached: float | None
    of_matched: float | None
    passed: bool | None


def judge(residuals: Sequence[Residual], targets: Iterable[Target]) -> tuple[tuple[TargetResult, ...], ...]:
    """Compare *residuals* with *targets*; return for each a result for every kind of prediction that it limits."""
    judged = []
    for target in targets:
        concerned = [c for c in residuals if target.concerns(c)]
        kinds = [kind for kind in BASES if target.limit(kind) is not None]
        judged.append(tuple(_result(target, kind, [c for c in concerned if c.curve.kind == kind]) for kind in kinds))
    return tuple(judged)


def _result(target: Target, kind: Basis, concerned: Sequence[Residual]) -> TargetResult:
    limit, reached = target.limit(kind), _reached(target, concerned)
    passed = None if reached is None or limit is None else reached <= limit
    of_matched = _reached(target, [c for c in concerned if c.error is not None])
    return TargetResult(target, kind, summarise(concerned), reached, of_matched, passed)


def _reached(target: Target, concerned: Sequence[Residual]) -> float | None:
    if not concerned:
        return None
    errors = sorted(inf if c.error is None else c.error for c in concerned)
    share = {"median": 0.5, "90 %": 0.9, "worst": 1.0}[target.statistic]
    return float(np.quantile(errors, share, method="higher" if errors[-1] == inf else "linear"))


_H200, _H100, _CPU, _A40 = ("nvidia/h200_sxm",), ("nvidia/h100_sxm",), ("cpu/*",), ("nvidia/a40",)
_BENCHED = ("nvidia/a100*", "nvidia/a40", "nvidia/h100*", "amd/mi210")
_CPU_MEMORY, _CPU_STREAMS, _TRANSFERS = ("cpu_memory/*",), ("cpu_streams/*",), ("transfer/*",)
_MEMORY, _RESIDENT, _TRANSPOSES = ("memory/*",), ("memory/*/resident",), ("bit_transpose/*",)
_LIFE, _LIFE_TABLE, _LIFE_BLOCKS = ("game_of_life/*",), ("game_of_life/*/[!w]*",), ("game_of_life/*/work_group*",)
_TAPERED = ("memory/copy/*", "memory/read/*", "memory/write/*", "memory/triad/*", "particles/*", "bit_transpose/*")

TARGETS = (
    Target("H200, all families", "times", "median", 1.15, 1.06, _H200),
    Target("H200, all families", "times", "90 %", 1.40, 1.15, _H200),
    Target("H200, caches", "latency cliffs", "worst", 1.10, None, _H200),
    Target("H200, caches", "bandwidth cliffs", "worst", 1.10, 1.05, _H200),
    Target("H200, caches, streams", "bandwidth cliffs", "worst", 1.10, None, _H200, _MEMORY),
    Target("PoCL, all families", "times", "median", 1.25, 1.25, _CPU),
    Target("PoCL, all families", "times", "90 %", 1.80, 1.80, _CPU),
    Target("PoCL, caches", "latency cliffs", "worst", 1.10, None, _CPU),
    Target("PoCL, caches", "bandwidth cliffs", "worst", 1.10, 1.05, _CPU),
    Target("PoCL, caches, streams", "bandwidth cliffs", "worst", 1.10, None, _CPU, _MEMORY),
    Target("Intel's runtime for CPUs, essential workloads", "times", "median", 1.30, 1.30, _CPU, compiler="intel"),
    Target("Intel's runtime for CPUs, essential workloads", "times", "90 %", 2.20, 2.20, _CPU, compiler="intel"),
    Target("H200, streams, particles, transposes", "n90", "median", 1.20, 1.10, _H200, _TAPERED),
    Target(
        "RX 7900 XT, particles", "times", "median", 1.15, None, ("amd/rx_7900_xt",), ("particles/*",), published=True
    ),
    Target("A40, Game of Life, table", "times", "median", 1.20, None, _A40, _LIFE_TABLE, published=True),
    Target("A40, Game of Life, block sizes", "times", "median", 1.20, None, _A40, _LIFE_BLOCKS, published=True),
    Target("RTX 2070, Game of Life", "times", "worst", 1.20, None, ("nvidia/rtx_2070",), _LIFE, published=True),
    Target("RTX 2060, transposes", "knees", "median", 1.25, None, ("nvidia/rtx_2060",), _TRANSPOSES, published=True),
    Target("HD 520, transposes", "knees", "median", 1.25, None, ("intel/hd_520",), _TRANSPOSES, published=True),
    Target("A100, A40, H100, MI210", "plateaus", "worst", 1.10, None, _BENCHED, _RESIDENT, published=True),
    Target("A100, A40, H100, MI210", "n90", "median", 1.20, None, _BENCHED, _RESIDENT, published=True),
    Target("A100, A40, H100, MI210", "latency cliffs", "worst", 1.10, None, _BENCHED, _MEMORY, published=True),
    Target("A100, A40, H100, MI210", "bandwidth cliffs", "worst", 1.10, None, _BENCHED, _MEMORY, published=True),
    Target("CPUs, cloud machines", "latencies", "median", 1.20, None, workloads=_CPU_MEMORY, published=True),
    Target("CPUs, cloud machines", "latencies", "90 %", 1.65, None, workloads=_CPU_MEMORY, published=True),
    Target("CPUs, cloud machines", "bandwidths", "median", 1.25, None, workloads=_CPU_MEMORY, published=True),
    Target("CPUs, cloud machines", "bandwidths", "90 %", 2.10, None, workloads=_CPU_MEMORY, published=True),
    Target("CPUs, bare metal, streams", "bandwidths", "median", 1.15, None, workloads=_CPU_STREAMS, published=True),
    Target("CPUs, bare metal, streams", "bandwidths", "90 %", 1.35, None, workloads=_CPU_STREAMS, published=True),
    Target("GPUs of cloud machines, transfers", "bandwidths", "median", 1.10, None, ("*",), _TRANSFERS, published=True),
    Target("GPUs of cloud machines, transfers", "bandwidths", "90 %", 1.20, None, ("*",), _TRANSFERS, published=True),
    Target("H100 of cloud machines, transfers", "bandwidths", "median", 1.10, None, _H100, _TRANSFERS, published=True),
)
"""The targets of the project."""
