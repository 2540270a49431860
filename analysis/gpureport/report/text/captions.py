"""Titles and captions of figures."""

from collections import Counter
from collections.abc import Sequence

from gpureport.records.curves import SweepKey
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, seen_word
from gpureport.report.text.sentences import text
from gpureport.report.text.words import family_name


def section_title(members: Sequence[CurveRecords]) -> str:
    """Name sweeps of one kind: the quantity and the axis."""
    first = members[0]
    name = first.key.sweep_name.capitalize()
    against = "" if first.axis.quantity == "case" else f" against {first.axis.label}"
    return f"{name}: {_value_name(members)}{against}"


def panel_titles(report: Report, members: Sequence[CurveRecords]) -> dict[SweepKey, str]:
    """Return the identifier of each sweep with the title of its workload.

    Of members of one family, its name, which the block's title has, is left out. Several sweeps of a variant have
    their names.
    """
    sweeps = Counter((key.workload, axis.quantity) for key, axis in {(p.key, p.axis) for p in report.predictions})
    families = {curve.key.family for curve in members}
    alike = len(families) == 1
    family = family_name(report, *families) if alike else ""
    found: dict[SweepKey, str] = {}
    for curve in members:
        info = report.workloads.get(curve.key.workload)
        several = sweeps[curve.key.workload, curve.axis.quantity] > 1
        same = info is not None and info.title == curve.key.variant  # a source of the user
        title = info.title.removeprefix(family).lstrip(" ,:") if info and not same else ""
        name = curve.key.variant if alike or same else curve.key.workload
        parts = f"{name}{f', {curve.key.sweep_name}' if several else ''}", f"{title[:1].upper()}{title[1:]}"
        found[curve.key] = ": ".join(filter(None, parts))
    return found


def _value_name(members: Sequence[CurveRecords]) -> str:
    labels = {curve.metric.label for curve in members}
    first = members[0].metric
    return first.label if len(labels) == 1 else "rates" if first.kind == "rate" else "times"


def curve_caption(curves: Sequence[CurveRecords], *, cases: bool) -> str:
    """Say what the marks and lines of curves over sizes, or of separate cases, stand for."""
    seen = seen_word(curves) if any(curve.observation for curve in curves) else ""
    return text("curve_caption", cases=cases, seen=seen)
