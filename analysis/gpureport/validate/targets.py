"""Statistics of residuals, and the accuracy targets of the project. Pure functions and data."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from math import inf, isnan, log
from typing import Literal, NamedTuple, cast

import pandas as pd

from gpureport.records.curves import BASES, Basis
from gpureport.spec.drivers import CpuCompiler
from gpureport.validate.residuals import What

_PLACE = ["result", "workload", "sweep", "conditions", "label"]


def where_calibrated(residuals: pd.DataFrame) -> pd.DataFrame:
    """Return specification predictions of times that also have a calibrated one; microbenchmarks have none."""
    times = residuals[residuals["what"] == "times"]
    places = pd.MultiIndex.from_frame(times[_PLACE])
    return times[(times["kind"] == "specification") & places.isin(places[times["kind"] == "calibrated"])]


def summarise(residuals: pd.DataFrame, by: str | list[str]) -> pd.DataFrame:
    """Return statistics of the residuals for each value of the columns *by*, in their order, with that value as index.

    Columns: ``constants``, all independences; ``devices`` and ``n``, the numbers of devices, and of residuals with both
    values; ``median`` and ``p90`` of the errors; ``mape``, the mean of |predicted / observed - 1|; ``ratio``, the
    median of predicted / observed; ``inside``, the share of observed values within the 95 % interval of the prediction;
    the numbers of features ``not_observed`` and ``not_predicted``.
    """
    return residuals.groupby(by, sort=False).agg(
        constants=("independence", constants),
        devices=("device", "nunique"),
        n=("error", "count"),
        median=("error", "median"),
        mape=("ratio", lambda ratios: (ratios - 1).abs().mean()),
        p90=("error", lambda errors: errors.quantile(0.9)),
        ratio=("ratio", "median"),
        inside=("inside", "mean"),
        not_observed=("observed", lambda values: values.isna().sum()),
        not_predicted=("predicted", lambda values: values.isna().sum()),
    )


OWN = "gpureport"


def contests(residuals: pd.DataFrame, by: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each value of the column *by* with the errors of gpureport and its rivals, on exactly the same rows.

    A value occurs once for each set of rivals that have a prediction of the same rows. The frame has a row for each
    predictor, :data:`OWN` first. Its columns are ``n``, and ``mape`` and ``p90``: mean and 90th percentile of
    |predicted / observed - 1|, the measure of publications, of which no prediction that is too low has more than 1.
    """
    both = residuals[residuals["error"].notna()]
    sets = both["rivals"].map(lambda rivals: tuple(rivals or ()))
    for value_and_names, own in both.groupby([both[by], sets], sort=False):
        value, names = cast("tuple[str, tuple[str, ...]]", value_and_names)
        predicted = {OWN: own["predicted"], **{name: own["rivals"].str.get(name) for name in names}}
        errors = pd.DataFrame({name: (each / own["observed"] - 1).abs() for name, each in predicted.items()})
        yield value, pd.DataFrame({"n": len(own), "mape": errors.mean(), "p90": errors.quantile(0.9)})


def constants(independences: Iterable[str]) -> str:
    """Return what the constants of predictions were fitted to; several answers are joined by a comma."""
    return ", ".join(sorted(set(independences)))


class Target(NamedTuple):
    """A required accuracy. A feature without a counterpart counts as an infinite error.

    *specification* and *calibrated* are the largest factors between these predictions and the observation; ``None`` for
    no requirement. *data* describes the results for readers; *devices* are patterns of ids, and *workloads* of
    ``family/variant/sweep``, or of the scoreboard's ``class/operator/``. *rows* are those of other results, or of the
    scoreboard: those of column ``ecc``, or those of devices that no constant was fitted to.
    """

    data: str
    what: What
    statistic: Literal["median", "90 %", "worst"]
    specification: float
    calibrated: float | None = None
    devices: tuple[str, ...] = ("*",)
    workloads: tuple[str, ...] = ("*",)
    published: bool = False
    compiler: CpuCompiler = "pocl"
    rows: Literal["results", "ecc", "unseen"] = "results"

    def limit(self, kind: Basis) -> float | None:
        """Return the largest error, |ln(predicted / observed)|, that is allowed."""
        factor: float | None = getattr(self, kind)
        return factor and log(factor)

    def includes(self, workload: str) -> bool:
        """Return whether the target applies to sweeps of *workload* (``family/variant``)."""
        return any(fnmatch(workload, "/".join(pattern.split("/")[:2])) for pattern in self.workloads)

    def concerned(self, residuals: pd.DataFrame) -> pd.DataFrame:
        """Return the residuals to which the target applies."""
        compared = {"what": self.what, "published": self.published, "compiler": self.compiler}
        own = residuals[(residuals[list(compared)] == pd.Series(compared)).all(axis=1)]
        scored, unseen = own["data_set"] != "", own["independence"].str.startswith("unseen")
        scored &= own["observed"].notna()  # not rows whose predictions are sealed before there are times
        own = own[{"results": own["data_set"] == "", "ecc": scored & own["ecc"], "unseen": scored & unseen}[self.rows]]
        sweeps = own["workload"] + "/" + own["sweep"]
        return own[_matches(own["device"], self.devices) & _matches(sweeps, self.workloads)]


def _matches(texts: "pd.Series[str]", patterns: Iterable[str]) -> "pd.Series[bool]":
    return texts.isin([text for text in texts.unique() if any(fnmatch(text, pattern) for pattern in patterns)])


_RESULT = (
    *("data", "what", "statistic", "kind", "constants", "n", "not_observed", "not_predicted"),
    *("limit", "reached", "of_matched", "result"),
)


def judge(residuals: pd.DataFrame, targets: Iterable[Target]) -> pd.DataFrame:
    """Compare *residuals* with *targets*; return a row for each target and kind of prediction that it limits.

    Columns: ``data``, ``what`` and ``statistic`` of the target; ``kind`` of the prediction; ``constants``, ``n``,
    ``not_observed`` and ``not_predicted`` as in :func:`summarise`; ``limit``; ``reached``, the statistic (infinite if
    unmatched features decide it, NaN without data); ``of_matched``, that without unmatched features; ``result``:
    ``pass`` or ``MISS``, empty without data.
    """
    every = [(target, target.concerned(residuals)) for target in targets]
    results = [
        _result(target, kind, limit, own[own["kind"] == kind])
        for target, own in every
        for kind in BASES
        if (limit := target.limit(kind)) is not None
    ]
    return pd.DataFrame(results, columns=list(_RESULT))


def _result(target: Target, kind: Basis, limit: float, own: pd.DataFrame) -> dict[str, object]:
    reached = _reached(target, own["error"].fillna(inf))
    return {
        "data": target.data,
        "what": target.what,
        "statistic": target.statistic,
        "kind": kind,
        "constants": constants(own["independence"]),
        "n": own["error"].count(),
        "not_observed": own["observed"].isna().sum(),
        "not_predicted": own["predicted"].isna().sum(),
        "limit": limit,
        "reached": reached,
        "of_matched": _reached(target, own["error"].dropna()),
        "result": "" if isnan(reached) else "pass" if reached <= limit else "MISS",
    }


def _reached(target: Target, errors: "pd.Series[float]") -> float:
    share = {"median": 0.5, "90 %": 0.9, "worst": 1.0}[target.statistic]
    return float(errors.quantile(share, interpolation="higher" if inf in errors.to_numpy() else "linear"))


_H200, _H100, _CPU, _A40 = ("nvidia/h200_sxm",), ("nvidia/h100_sxm",), ("cpu/*",), ("nvidia/a40",)
_BENCHED = ("nvidia/a100*", "nvidia/a40", "nvidia/h100*", "amd/mi210")
_CPU_MEMORY, _CPU_STREAMS, _TRANSFERS = ("cpu_memory/*",), ("cpu_streams/*",), ("transfer/*",)
_MEMORY, _RESIDENT, _TRANSPOSES = ("memory/*",), ("memory/*/resident",), ("bit_transpose/*",)
_LIFE, _LIFE_TABLE, _LIFE_BLOCKS = ("game_of_life/*",), ("game_of_life/*/[!w]*",), ("game_of_life/*/work_group*",)
_AMD = ("amd/*",)
_STREAMS = ("stream/*", "cached stream/*", "lattice Boltzmann/*")
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
    Target("AMD GPUs, unseen, streams", "times", "median", 1.15, None, _AMD, _STREAMS, published=True, rows="unseen"),
    Target("AMD GPUs, unseen, streams", "times", "90 %", 1.35, None, _AMD, _STREAMS, published=True, rows="unseen"),
    Target("GDDR with ECC, streams", "times", "median", 1.10, None, ("*",), _STREAMS, published=True, rows="ecc"),
    Target("GDDR with ECC, streams", "times", "90 %", 1.25, None, ("*",), _STREAMS, published=True, rows="ecc"),
)
