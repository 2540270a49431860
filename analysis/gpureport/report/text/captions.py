"""Titles and captions of figures."""

from collections import Counter
from collections.abc import Sequence

from gpureport.grouping import grouped
from gpureport.records.curves import SweepKey
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, most_distant, seen_word
from gpureport.report.figures.rooflines import Dot
from gpureport.report.text.sentences import text
from gpureport.report.text.words import family_name

_FEW = 2  # the most cliffs and tapers with a sentence each


def section_title(members: Sequence[CurveRecords]) -> str:
    """Name sweeps of one kind: the quantity and the axis."""
    first = members[0]
    name = first.key.sweep_name.capitalize()
    against = "" if first.axis.quantity == "case" else f" against {first.axis.label}"
    return f"{name}: {_value_name(members)}{against}"


def panel_titles(report: Report, members: Sequence[CurveRecords]) -> dict[SweepKey, tuple[str, ...]]:
    """Return titles of each sweep, the longest first: the workload's title with its identifier, or only that.

    Of members of one family, its name, which the block's title has, is left out. Several sweeps of a variant have
    their names.
    """
    sweeps = Counter((key.workload, axis.quantity) for key, axis in {(p.key, p.axis) for p in report.predictions})
    families = {curve.key.family for curve in members}
    alike = len(families) == 1
    family = family_name(report, *families) if alike else ""
    found: dict[SweepKey, tuple[str, ...]] = {}
    for curve in members:
        info = report.workloads.get(curve.key.workload)
        several = sweeps[curve.key.workload, curve.axis.quantity] > 1
        same = info is not None and info.title == curve.key.variant  # a source of the user
        identifier = (
            f"{curve.key.variant if alike or same else curve.key.workload}"
            f"{f', {curve.key.sweep_name}' if several else ''}"
        )
        title = info.title.removeprefix(family).lstrip(" ,:") if info and not same else ""
        long = (f"{title[:1].upper()}{title[1:]} ({identifier})",) if title else ()
        found[curve.key] = (*long, identifier, *((curve.key.variant,) if not alike else ()))
    return found


def _value_name(members: Sequence[CurveRecords]) -> str:
    labels = {curve.metric.label for curve in members}
    first = members[0].metric
    return first.label if len(labels) == 1 else "rates" if first.kind == "rate" else "times"


def size_caption(curves: Sequence[CurveRecords]) -> str:
    """Count the cliffs and tapers that are as predicted, with the largest deviation; or else list what is drawn."""
    every = [pair for curve in curves for pair in curve.features_found if pair.main.feature != "rate"]
    pairs = [pair for pair in every if pair.specification] or every
    if not pairs:
        return _contents(curves)
    astray = [pair for pair in pairs if pair.is_astray]
    largest, first = most_distant(astray) if astray else (None, "")
    named = len({pair.main.key.variant for pair in pairs}) > 1
    mains = [pair.main for pair in pairs]
    return text("size_caption", mains=mains, few=len(pairs) <= _FEW, named=named, largest=largest, first=first)


def _contents(curves: Sequence[CurveRecords]) -> str:
    predicted, observed = any(c.prediction for c in curves), any(c.observation for c in curves)
    drawn = [name for name, there in (("predicted", predicted), (seen_word(curves), observed)) if there]
    return f"{' and '.join(drawn).capitalize()}: {', '.join(dict.fromkeys(curve.key.variant for curve in curves))}."


def case_caption(curves: Sequence[CurveRecords]) -> str:
    """Return the range of observed / predicted over separate cases, of times and of rates apart."""
    mains = [pair.main for curve in curves for pair in curve.pairs if pair.main.position == "case"]
    known = sorted((main for main in mains if main.ratio), key=lambda main: main.ratio or 0.0)
    if not known:
        return _contents(curves)
    kinds = grouped((main.unit == "s", main) for main in known)
    return text("case_caption", seen=seen_word(curves), kinds=kinds, verdicts=[main.verdict for main in mains])


def roofline_caption(family: str, dots: Sequence[Dot], seen: str) -> str:
    """Compare the rates of a family's variants, *seen* how, with their predictions."""
    shares = {d.name: d.observed_per_s / d.predicted_per_s for d in dots if d.observed_per_s}
    ends = [pick(shares, key=shares.__getitem__) for pick in (min, max)] if shares else []
    return text("roofline_caption", family=family, ends={name: shares[name] for name in ends}, seen=seen)
