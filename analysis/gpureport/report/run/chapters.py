"""The chapters of the document: in each, the answer comes first, then compact tables and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpureport.findings.advice import Search
from gpureport.grouping import grouped
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, of_user
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.runs import working_set_chart, working_sets
from gpureport.report.run import caches, efficiency, kernels, trust, whole_device, work
from gpureport.report.run.sweeps import Selection, curve_pictures, selection
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import Table
from gpureport.report.text.words import seen_in

_FEW = 2  # the most kernels of the user that page one draws

Contents = Mapping[str, Table | Sequence[Picture]]
"""Tables and figures by the names that the macro of a chapter has for them."""


@dataclass(frozen=True)
class Chapter:
    """One topic: sentences, then what its macro in ``chapters.html.j2`` shows, then curves."""

    anchor: str
    title: str
    answers: tuple[str, ...]
    contents: Contents
    typical: tuple[Picture, ...]
    deviating: tuple[Picture, ...]
    left_out: int
    """Deviating curves that only the appendix shows."""


def chapters(
    report: Report, found: Sequence[CurveRecords], chosen: Mapping[str, Selection], searched: Sequence[Search]
) -> tuple[Chapter, ...]:
    """Draw all chapters that have contents.

    Args:
        report: the source of everything.
        found: its curves.
        chosen: the curves that are drawn, of :func:`selections`.
        searched: the searches for work-group shapes.
    """
    reliability = f"Reliability of predictions{'' if report.machine is None else ' and measurements'}"
    with_ratios = _working_sets(report, found) is not None
    planned: tuple[tuple[str, str, Sequence[str], Contents], ...] = (
        ("own", "Your kernels", kernels.answers(report, found)[: kernels.MOST_TOLD], kernels.contents(report, found)),
        (
            "caches",
            "Cliffs: usable cache capacity",
            caches.answers(report, found),
            {"cliffs": caches.level_table(report, found)},
        ),
        (
            "work",
            "Tapers: work needed for full throughput",
            work.answers(report, found),
            {"tapers": work.taper_table(report, found)},
        ),
        ("groups", "Work-group shapes", [work.work_group_size(report)], {"shapes": work.shape_table(report, searched)}),
        (
            "limits",
            "Efficiency and bottlenecks",
            efficiency.answers(report, found),
            {"rooflines": tuple(efficiency.rooflines(report, found))},
        ),
        (
            "device",
            "The whole device: transfers, power and energy",
            whole_device.answers(report),
            whole_device.contents(report, found),
        ),
        (
            "trust",
            reliability,
            trust.answers(report),
            {"ratios": tuple(filter(None, [trust.ratio_picture(report)])) if with_ratios else ()},
        ),
    )
    every = (
        Chapter(
            anchor,
            title,
            tuple(filter(None, answers)),
            contents,
            typical=curve_pictures(report, curves.typical),
            deviating=curve_pictures(report, curves.deviating),
            left_out=curves.left_out,
        )
        for anchor, title, answers, contents in planned
        for curves in [chosen.get(anchor, Selection())]
    )
    return tuple(c for c in every if c.answers or any(c.contents.values()) or c.typical or c.deviating)


def selections(report: Report, found: Sequence[CurveRecords]) -> dict[str, Selection]:
    """Return the curves that each chapter draws, by its anchor.

    None draws traces of frames, nor transfers within a memory that device and host share.
    """
    shared = report.device.host_link.kind == "shared"
    drawn = (curve for curve in found if not (shared and curve.key.family == "transfer"))
    of = grouped((_chapter_of(curve), curve) for curve in drawn if curve.key.sweep != "frames")
    return {anchor: selection(curves) for anchor, curves in of.items()}


def _chapter_of(curve: CurveRecords) -> str:
    if curve.key.family == "transfer":
        return "device"
    return {"working_set": "caches", "work_items": "work", "work_group": "groups", "case": "limits"}[
        curve.axis.quantity
    ]


def first_figure(report: Report, found: Sequence[CurveRecords]) -> Picture | None:
    """Return the figure of page one: the curves of a few kernels of the user, those of working sets, or all ratios.

    None if there is nothing to draw.
    """
    own = [curve for curve in of_user(report, found) if not curve.is_work_group]
    if 0 < len(own) <= _FEW and (drawn_own := curve_pictures(report, own)):
        return drawn_own[0]
    return _working_sets(report, found) or trust.ratio_picture(report)


def _working_sets(report: Report, found: Sequence[CurveRecords]) -> Picture | None:
    drawn = working_sets(found)
    caption = text("working_sets_caption", observed=bool(report.observations), seen=seen_in(report))
    return Picture(working_set_chart(drawn, report.device), caption) if drawn else None
