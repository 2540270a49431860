"""Facts on findings that are not as predicted, which documents explain with them. Pure functions.

They do not guess why prediction and observation differ: ``gpureport.explain.trials`` tests hypotheses about that.
"""

from dataclasses import dataclass

from gpureport.findings.verdicts import AboveCeiling, above_ceiling
from gpureport.observe.features import IDLE, work_per_item
from gpureport.records.columns import Curve
from gpureport.records.finding import Finding, Verdict
from gpureport.spec.models import Cache, Device


@dataclass(frozen=True)
class Reasons:
    """Facts on one finding.

    Attributes:
        finding: a value that is not as predicted.
        value: the predicted, or else the observed value.
        above_ceiling: the limit of the database entry that an erroneous rate exceeds.
        cache: the cache that the finding belongs to.
        idle: work of a work-item beyond a cliff / before it, if more work-items are idle there.
    """

    finding: Finding
    value: float
    above_ceiling: AboveCeiling | None
    cache: Cache | None
    idle: float | None


def reasons(device: Device, curve: Curve, finding: Finding) -> Reasons | None:
    """Return the facts on a *finding* of a *curve*, whose predictions have the features that were compared.

    ``None``: the curve was not timed, because its results are wrong.
    """
    f, seen, value = finding, curve.observation, finding.predicted or finding.observed
    prediction = curve.specification if f.basis == "specification" else curve.calibrated
    if not (value and prediction and prediction.points and seen and seen.points):
        return None
    above = None
    if f.verdict is Verdict.ERROR and f.observed is not None:
        above = above_ceiling(device, prediction, seen, f.position, f.level.name, f.observed)
    share = work_per_item(value, (point.point for point in prediction.points))
    cache = next((cache for cache in device.caches if cache.name == f.level.name), None)
    return Reasons(f, value, above, cache, share if share < IDLE else None)
