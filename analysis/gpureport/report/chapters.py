"""The document as the templates see it: a chapter a workload family, a section a variant, a figure a sweep."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpureport.records import Prediction, Verification
from gpureport.report.curves import Comparison, Curve, curves
from gpureport.report.document import Report, WorkloadInfo
from gpureport.report.figures.curve import curve_figure
from gpureport.report.figures.roofline import roofline_dots, roofline_figure
from gpureport.report.figures.work_group import work_group_figure
from gpureport.report.tables import Table, occupancy_table
from gpureport.report.words import curve_caption, explanations, roofline_caption, work_group_caption


@dataclass(frozen=True)
class Figure:
    """A picture and what to see in it."""

    svg: str
    caption: str


@dataclass(frozen=True)
class SweepSection:
    """One sweep: its figure (``None`` without any point), and predicted against observed."""

    title: str
    figure: Figure | None
    comparisons: tuple[Comparison, ...]
    explanations: tuple[str, ...]
    warnings: tuple[str, ...]
    skipped: str | None


@dataclass(frozen=True)
class VariantSection:
    """One variant of a family."""

    anchor: str
    info: WorkloadInfo
    verification: Verification | None
    sweeps: tuple[SweepSection, ...]
    occupancy: Table
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Chapter:
    """One family."""

    anchor: str
    title: str
    variants: tuple[VariantSection, ...]
    roofline: Figure | None


def chapters(report: Report) -> tuple[Chapter, ...]:
    """Plan and draw all chapters."""
    by_variant: dict[tuple[str, str], list[Curve]] = {
        (info.family, info.variant): [] for info in report.workloads.values()
    }
    for curve in curves(report):
        by_variant.setdefault((curve.key.workload, curve.key.variant), []).append(curve)
    families = dict.fromkeys(family for family, _ in by_variant)
    return tuple(
        _chapter(
            report,
            number,
            family,
            {variant: found for (owner, variant), found in by_variant.items() if owner == family},
        )
        for number, family in enumerate(families, start=1)
    )


def _chapter(report: Report, number: int, family: str, variants: dict[str, list[Curve]]) -> Chapter:
    infos = {variant: _info(report, family, variant) for variant in variants}
    dots = roofline_dots([curve for found in variants.values() for curve in found])
    return Chapter(
        anchor=f"chapter-{number}",
        title=family_title(family, [info.title for info in infos.values()]),
        variants=tuple(
            _variant(f"chapter-{number}-{index}", infos[variant], found)
            for index, (variant, found) in enumerate(variants.items(), start=1)
        ),
        roofline=Figure(roofline_figure(dots, report.device), roofline_caption(dots)) if dots else None,
    )


def _info(report: Report, family: str, variant: str) -> WorkloadInfo:
    """Return what the report says of a variant, or just its names."""
    known = report.workloads.get(f"{family}/{variant}")
    return known or WorkloadInfo(family=family, variant=variant, title=f"{family}/{variant}", description="")


def family_title(family: str, titles: Sequence[str]) -> str:
    """Return what several titles have in common before a comma, or else the family's name in words."""
    heads = {re.split(r"[,:(]", title)[0].strip() for title in titles}
    return heads.pop() if len(titles) > 1 and len(heads) == 1 else family.replace("_", " ").capitalize()


def _variant(anchor: str, info: WorkloadInfo, found: Sequence[Curve]) -> VariantSection:
    predictions = [p for curve in found for p in (curve.specification, curve.calibrated) if p]
    checks = [curve.measurement.verification for curve in found if curve.measurement]
    return VariantSection(
        anchor=anchor,
        info=info,
        verification=next((check for check in checks if check), None),
        sweeps=tuple(_sweep(curve) for curve in found),
        occupancy=occupancy_table(found),
        notes=_notes(predictions),
    )


def _notes(predictions: Sequence[Prediction]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for prediction in predictions for note in prediction.notes))


def _sweep(curve: Curve) -> SweepSection:
    return SweepSection(
        title=curve.key.sweep.replace("_", " ").capitalize(),
        figure=_figure(curve),
        comparisons=curve.comparisons,
        explanations=explanations(curve.comparisons),
        warnings=curve.observation.warnings if curve.observation else (),
        skipped=curve.measurement.skipped if curve.measurement else None,
    )


def _figure(curve: Curve) -> Figure | None:
    if not any(point.value > 0 and (curve.is_work_group or point.point.x > 0) for point in curve.points):
        return None
    if curve.is_work_group:
        return Figure(work_group_figure(curve), work_group_caption(curve))
    return Figure(curve_figure(curve), curve_caption(curve))
