"""The appendix of all numbers: by family, kind of sweep and feature."""

from collections.abc import Container, Iterable, Sequence

from gpureport.explain.hypotheses import statement
from gpureport.findings.advice import searches
from gpureport.findings.verdicts import reasons
from gpureport.grouping import grouped
from gpureport.records.curves import SweepKey
from gpureport.records.report import Report, WorkloadInfo
from gpureport.report.curves import CurveRecords
from gpureport.report.forecast import feature_table
from gpureport.report.run.sweeps import kind_of, other_curves, section_title, sweep_notes
from gpureport.report.text.sentences import text
from gpureport.report.text.tables import shares_table
from gpureport.report.text.words import family_name, feature_name, with_names

Facts = dict[str, object]
"""What the template of the numbers gets, by name."""


def families(report: Report, found: Sequence[CurveRecords], shown: Container[SweepKey] = ()) -> tuple[Facts, ...]:
    """Return the numbers of every family in the report's order, with the figures of all sweeps but those *shown*."""
    names = dict.fromkeys([*(info.family for info in report.workloads.values()), *(c.key.family for c in found)])
    return tuple(_family(report, name, [c for c in found if c.key.family == name], shown) for name in names)


def _family(report: Report, family: str, found: Sequence[CurveRecords], shown: Container[SweepKey]) -> Facts:
    infos = {info.variant: info for info in report.workloads.values() if info.family == family}
    for name in dict.fromkeys(curve.key.variant for curve in found if curve.key.variant not in infos):
        infos[name] = WorkloadInfo(family=family, variant=name, title=f"{family}/{name}", description="")
    kinds = grouped(((c.axis.quantity, c.axis.label, c.key.sweep, c.metric.value_unit, kind_of(c)), c) for c in found)
    predictions = [p for curve in found for p in (curve.specification, curve.calibrated) if p]
    return {
        "title": family_name(report, family),
        "variants": infos.values(),
        "checks": {
            curve.key.variant: curve.measurement.verification
            for curve in reversed(found)
            if curve.measurement and curve.measurement.verification
        },
        "sections": [_section(members, report) for members in kinds.values()],
        "shapes": shares_table(searches(record for c in found if (record := c.observation or c.prediction))),
        "figures": other_curves(report, found, shown),
        "notes": with_names((p.key.variant, note) for p in predictions for note in p.notes),
    }


def _explanations(report: Report, members: Iterable[CurveRecords]) -> tuple[str, ...]:
    """Return the explanations of values that are not as predicted, each after the variants and values it explains.

    Results of hypothesis tests apply to whole curves: they come last, once a curve.
    """
    own, tested = [], []
    for curve in members:
        check = curve.measurement and curve.measurement.verification
        for pair in curve.astray:
            facts = {"reasons": reasons(report.device, curve, pair.main), "check": check}
            own.append((f"{curve.key.variant}, {feature_name(pair.main)}", text("reasons", **facts)))
        if curve.astray and curve.explanation:
            tested.append((curve.key.variant, text("tested", found=curve.explanation, statement=statement)))
    return with_names((name, words) for name, words in (*own, *tested) if words)


def _section(members: Sequence[CurveRecords], report: Report) -> Facts:
    warnings = ((c.key.variant, warning) for c in members if c.observation for warning in c.observation.warnings)
    predictions = [c.specification for c in members if c.specification]
    pairs = [pair for curve in members for pair in curve.features_found]
    return {
        "title": section_title(members),
        "pairs": pairs,
        "calibrated": any(pair.calibrated for pair in pairs),
        "explanations": _explanations(report, members),
        "warnings": with_names(warnings),
        "notes": sweep_notes(report, members),
        "features": feature_table(predictions) if report.only_predicted else None,
    }
