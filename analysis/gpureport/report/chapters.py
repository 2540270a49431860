"""The document as the templates see it: a chapter a family, a section a kind of sweep, a panel a variant."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpureport.records import Verification
from gpureport.report.captions import roofline_caption, section_title
from gpureport.report.curves import Curve, Group, curves
from gpureport.report.document import Report, WorkloadInfo
from gpureport.report.figures.roofline import roofline_dots, roofline_figure
from gpureport.report.forecast import feature_table
from gpureport.report.pictures import Figure, kind_of, pictures
from gpureport.report.tables import Table, occupancy_table
from gpureport.report.words import explanations, family_name, with_names


@dataclass(frozen=True)
class Variant:
    """One variant of a family, in words, and whether its results were right."""

    info: WorkloadInfo
    verification: Verification | None

    @property
    def wrong(self) -> str | None:
        """What was wrong with its results, if anything was."""
        check = self.verification
        return check.message if check and not check.passed else None


@dataclass(frozen=True)
class Section:
    """All sweeps of one kind in a family: figures, predicted against observed, and what to know of them."""

    anchor: str
    title: str
    figures: tuple[Figure, ...]
    groups: tuple[Group, ...]
    explanations: tuple[str, ...]
    warnings: tuple[str, ...]
    skipped: tuple[str, ...]
    conditions: tuple[str, ...] = ()
    """Under which others measured it, if they did."""
    features: Table | None = None
    """What is predicted, where that is all there is."""

    @property
    def calibrated(self) -> bool:
        """Whether any of its values has a calibrated prediction."""
        return any(group.main.calibrated for group in self.groups)


@dataclass(frozen=True)
class Chapter:
    """One family."""

    anchor: str
    title: str
    variants: tuple[Variant, ...]
    sections: tuple[Section, ...]
    roofline: Figure | None
    occupancy: Table
    notes: tuple[str, ...]


def chapters(report: Report) -> tuple[Chapter, ...]:
    """Plan and draw all chapters."""
    families: dict[str, list[Curve]] = {info.family: [] for info in report.workloads.values()}
    for curve in curves(report):
        families.setdefault(curve.key.workload, []).append(curve)
    return tuple(
        _chapter(report, f"chapter-{number}", family, found)
        for number, (family, found) in enumerate(families.items(), start=1)
    )


def _chapter(report: Report, anchor: str, family: str, found: Sequence[Curve]) -> Chapter:
    infos = [info for info in report.workloads.values() if info.family == family]
    names = dict.fromkeys([*(info.variant for info in infos), *(curve.key.variant for curve in found)])
    variants = tuple(_variant(report, family, name, found) for name in names)
    dots = roofline_dots(found, report.device)
    predictions = [p for curve in found for p in (curve.specification, curve.calibrated) if p]
    return Chapter(
        anchor=anchor,
        title=family_name(report, family),
        variants=variants,
        sections=_sections(anchor, variants, found, report),
        roofline=Figure(roofline_figure(dots, report.device), roofline_caption(dots)) if dots else None,
        occupancy=occupancy_table(found),
        notes=with_names((p.key.variant, note) for p in predictions for note in p.notes),
    )


def _variant(report: Report, family: str, name: str, found: Iterable[Curve]) -> Variant:
    """Return what the report says of a variant, or just its names."""
    known = report.workloads.get(f"{family}/{name}")
    checks = [curve.measurement.verification for curve in found if curve.key.variant == name and curve.measurement]
    return Variant(
        info=known or WorkloadInfo(family=family, variant=name, title=f"{family}/{name}", description=""),
        verification=next((check for check in checks if check), None),
    )


def _sections(anchor: str, variants: Iterable[Variant], found: Iterable[Curve], report: Report) -> tuple[Section, ...]:
    """Put sweeps of one kind together: of one name, axis and unit, that one kind of figure shows."""
    kinds: dict[tuple[str, ...], list[Curve]] = {}
    for curve in found:
        kind = (curve.axis.quantity, curve.axis.label, curve.key.sweep, curve.value_unit, kind_of(curve))
        kinds.setdefault(kind, []).append(curve)
    told = {variant.info.variant: variant.info.skipped for variant in variants}
    return tuple(
        _section(f"{anchor}-{number}", members, told, report) for number, members in enumerate(kinds.values(), start=1)
    )


def _section(anchor: str, members: Sequence[Curve], told: dict[str, str | None], report: Report) -> Section:
    groups = tuple(group for curve in members for group in curve.groups)
    skipped = ((c.key.variant, c.measurement.skipped) for c in members if c.measurement and c.measurement.skipped)
    warnings = ((c.key.variant, warning) for c in members if c.observation for warning in c.observation.warnings)
    known = report.publication.conditions if report.publication else {}
    return Section(
        anchor=anchor,
        title=section_title(members),
        figures=pictures(members, report.machine.clocks if report.machine else ()),
        groups=groups,
        explanations=explanations(groups),
        warnings=with_names(warnings),
        skipped=with_names((name, reason) for name, reason in skipped if reason != told.get(name)),
        conditions=with_names((c.key.variant, known[str(c.key)]) for c in members if str(c.key) in known),
        features=feature_table([c.specification for c in members if c.specification])
        if report.only_predicted
        else None,
    )
