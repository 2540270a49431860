"""Statistics of residuals, and the accuracy targets of the project (``tables/targets.yaml``). Pure functions."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from math import inf, isnan, log
from typing import Any, Literal, NamedTuple, cast

import pandas as pd
from pydantic import TypeAdapter

from gpureport.inputs import shipped_table
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


TARGETS = TypeAdapter(tuple[Target, ...]).validate_python(
    {name: value for name, value in (group | limit).items() if name != "limits"}
    for group in shipped_table("targets", list[dict[str, Any]])
    for limit in group["limits"]
)
"""``tables/targets.yaml``: a target for each limit of a group of results."""
