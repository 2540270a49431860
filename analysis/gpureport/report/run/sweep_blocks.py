"""Figures of sweeps: in chapters those that deviate and typical ones, in the appendix the others."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpureport.records.report import Report
from gpureport.report.curves import FLAT, CurveRecords
from gpureport.report.figures.picture import Picture
from gpureport.report.grouping import grouped
from gpureport.report.pictures import kind_of, pictures
from gpureport.report.run.selection import Selection
from gpureport.report.text.captions import panel_titles
from gpureport.report.text.tables import Table
from gpureport.report.text.words import with_names
from gpureport.units import format_percent


@dataclass(frozen=True)
class Block:
    """Part of a chapter: figures, a table, or both."""

    anchor: str
    title: str
    figures: tuple[Picture, ...] = ()
    table: Table | None = None
    caption: str = ""
    """Of the table."""
    notes: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    """Anchors of the numbers in the appendix."""


def chapter_blocks(report: Report, anchor: str, chosen: Selection) -> list[Block]:
    """Draw the typical and the deviating curves of a chapter."""
    traces = [curve for curve in chosen.shown if kind_of(curve) == "traces"]
    typical, deviating = ([c for c in some if c not in traces] for some in (chosen.typical, chosen.deviating))
    more = f"The appendix shows {chosen.left_out} more curves that deviate."
    planned = (
        ("typical", "Typical curves", typical, ()),
        ("deviations", "Curves that deviate from the prediction", deviating, (more,) if chosen.left_out else ()),
        ("traces", "Successive dispatches", traces, ()),
    )
    blocks = (
        Block(f"{anchor}-{name}", title, curve_pictures(report, found), notes=notes, numbers=family_anchors(found))
        for name, title, found, notes in planned
    )
    return [block for block in blocks if block.figures]


def family_anchors(found: Iterable[CurveRecords]) -> tuple[str, ...]:
    """Return the anchors of the families' parts of the appendix."""
    return tuple(dict.fromkeys(family_anchor(curve.key.family) for curve in found))


def family_anchor(family: str) -> str:
    """Return the anchor of a family's part of the appendix."""
    return f"family-{re.sub(r'[^a-z0-9]+', '-', family.lower())}"


def other_curves(report: Report, anchor: str, members: Sequence[CurveRecords], shown: Iterable[CurveRecords]) -> Block:
    """Draw the sweeps of one kind that no chapter shows, with notes on all of them; agreeing cases are not drawn."""
    known_skips = {f"{info.family}/{info.variant}": info.skipped for info in report.workloads.values()}
    skipped = [
        (c.key.variant, c.measurement.skipped)
        for c in members
        if c.measurement and c.measurement.skipped != known_skips.get(c.key.workload)
    ]
    known = report.publication.conditions if report.publication else {}
    published = with_names((c.key.variant, known[str(c.key)]) for c in members if str(c.key) in known)
    notes = [f"○ Not measured: {text}" for text in with_names((name, why) for name, why in skipped if why)]
    elsewhere = {curve.key for curve in shown}
    others = [curve for curve in members if curve.key not in elsewhere and kind_of(curve) != "cases"]
    flat = [curve for curve in others if curve.is_work_group and curve.is_flat]
    if flat:
        names = ", ".join(curve.key.variant for curve in flat)
        notes.append(f"Not drawn, because all values are within {format_percent(FLAT - 1)} of each other: {names}.")
    return Block(
        anchor=f"curves-{anchor}",
        title="",
        figures=curve_pictures(report, [curve for curve in others if curve not in flat]),
        notes=(*notes, *([f"As published: {'. '.join(published)}."] if published else [])),
    )


def curve_pictures(report: Report, found: Iterable[CurveRecords]) -> tuple[Picture, ...]:
    """Draw curves, the same kinds of sweeps together."""
    clocks = report.machine.clocks if report.machine else ()
    kinds = grouped((kind_of(curve), curve) for curve in found)
    return tuple(
        picture for members in kinds.values() for picture in pictures(members, clocks, panel_titles(report, members))
    )
