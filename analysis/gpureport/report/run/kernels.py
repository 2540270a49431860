"""Kernels of the user: what limits each, where its rate changes, and which changes would make it faster."""

from collections.abc import Iterable, Iterator, Sequence

from gpureport.records.ceilings import ceiling_text
from gpureport.records.features import CurveFeature
from gpureport.records.finding import Advice
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords
from gpureport.report.run.limits import EXCEEDED, Limit, limits, unexplained_note
from gpureport.report.run.sweep_blocks import Block
from gpureport.report.text.tables import Table
from gpureport.report.text.words import kernel_name
from gpureport.text import N90
from gpureport.units import UNKNOWN, format_bytes, format_percent, format_ratio, format_value

_MOST = 12
"""Changes of all kernels that the table lists."""
MOST_TOLD = 4
"""The most kernels with sentences; the table has all."""
_SMALL = 0.1
"""Shares below have a decimal."""
_RATE = 16
"""Characters of a rate such as 17.0 Gelement/s."""


def of_user(report: Report, found: Iterable[CurveRecords]) -> list[CurveRecords]:
    """Return the curves of kernels of the user."""
    names = {name for name, info in report.workloads.items() if info.described}
    return [curve for curve in found if curve.key.workload in names]


def answers(report: Report, found: Sequence[CurveRecords]) -> list[str]:
    """Say for each kernel what limits it, and the change with the largest gain."""
    return [_answer(report, limit) for limit in limits(of_user(report, found))]


def _answer(report: Report, limit: Limit) -> str:
    value = limit.observed.value if limit.observed else limit.predicted.value
    reaches = "reaches" if limit.observed else "is predicted to reach"
    text = (
        f"{kernel_name(report, limit.key)} {reaches} {format_value(value, limit.unit)} at {limit.predicted.point.label}"
    )
    share = f"{ceiling_text(limit.bottleneck)} ({_share(limit.efficiency)} of this limit)"
    if limit.passed:
        return f"{text}. This is more than its lowest limit allows: {share}. {EXCEEDED}"
    best = next((each for each in report.advice if each.workload == limit.key.workload), None)
    if not limit.is_explained:
        doubt = " The predicted gains of changes are therefore uncertain." if best else ""
        return f"{text}. No single limit of the model explains this rate; the nearest one is {share}.{doubt}"
    advised = f" To make it faster, {best.change}: predicted {_gain(best)}." if best else ""
    return f"{text}, limited by {share}.{advised}"


def _share(share: float) -> str:
    return format_percent(share, ".1f" if share < _SMALL else ".0f")


def _gain(advice: Advice) -> str:
    return f"{format_ratio(advice.gain)} times as fast"


def kernel_blocks(report: Report, found: Sequence[CurveRecords]) -> list[Block]:
    """Return the table of kernels, and that of changes with their gains."""
    own = of_user(report, found)
    known = limits(own)
    rows = tuple(_row(report, limit, own) for limit in known)
    columns = ("kernel", "rate", "bottleneck", "efficiency", "cliffs", "n90", "best work-group", "occupancy")
    advice = tuple(_advice_row(report, each) for each in sorted(report.advice, key=lambda each: -each.gain)[:_MOST])
    gains = Table(("kernel", "change", "predicted gain"), advice, frozenset({"predicted gain"}))
    about = (
        f"Rate at the largest size. Efficiency: rate / the rate that the bottleneck allows. Cliffs: midpoints. {N90}. "
        f"Occupancy: resident waves / maximum, and its limit.{unexplained_note(known)}"
    )
    about_gains = (
        "Each change alone, at the largest size. Gain: predicted time / predicted time after the change. Changes with "
        "less than 5 % are left out."
    )
    table = Table(columns, rows, frozenset({"rate", "efficiency", "n90"}), short=_RATE)
    return [
        *([Block("own-kernels", "Your kernels", table=table, caption=about, numbers=("numbers",))] if rows else []),
        *([Block("advice", "Changes that would make them faster", table=gains, caption=about_gains)] if advice else []),
    ]


def _row(report: Report, limit: Limit, own: Iterable[CurveRecords]) -> tuple[str, ...]:
    curves = [curve for curve in own if curve.key.workload == limit.key.workload]
    return (
        kernel_name(report, limit.key),
        format_value(limit.observed.value if limit.observed else limit.predicted.value, limit.unit),
        limit.name,
        _share(limit.efficiency),
        ", ".join(map(_cliff, _features(curves, "midpoint"))) or UNKNOWN,
        next((format_value(f.value, "") for f in _features(curves, "n90")), UNKNOWN),
        next((_best(curve) for curve in curves if curve.is_work_group), UNKNOWN),
        limit.occupancy,
    )


def _cliff(feature: CurveFeature) -> str:
    at = format_bytes(feature.value)
    return at if feature.level.is_unexplained else f"{feature.level} {at}"


def _features(curves: Iterable[CurveRecords], position: str) -> Iterator[CurveFeature]:
    """Yield the features of sweeps over sizes: observed ones, where anything was observed."""
    for curve in curves:
        record = curve.observation or curve.prediction
        if record and not curve.is_work_group:
            yield from (feature for feature in record.features if feature.position == position)


def _best(curve: CurveRecords) -> str:
    """Return the fastest work-group of a search: the observed one, else the predicted one."""
    seen = curve.observation.points if curve.observation else ()
    expected = curve.prediction.points if curve.prediction else ()
    values = {each.point.label: each.value for each in (seen or expected)}
    return max(values, key=values.__getitem__, default=UNKNOWN)


def _advice_row(report: Report, advice: Advice) -> tuple[str, ...]:
    family, _, variant = advice.workload.partition("/")
    info = report.workloads.get(advice.workload)
    return (kernel_name(report, info) if info else f"{family} ({variant})", advice.change, _gain(advice))
