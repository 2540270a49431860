"""What changes from one device to another, and for which kernels: the first sentences of a comparison."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log, log1p
from statistics import median_low

from gpureport.predict.ceilings import Ceiling, Kind, ceilings
from gpureport.predict.contrast import SAME, Contrast, PredictedRatio
from gpureport.predict.outlook import best_point
from gpureport.report.grouping import grouped
from gpureport.report.prediction.side_by_side import Beside, Side, over, ratio_text
from gpureport.report.text.tables import Table
from gpureport.report.text.words import listed, low_to_high
from gpureport.units import format_ratio, format_value

EQUAL = log1p(0.05)
"""Largest logarithm of a ratio that counts as equal."""
_MOST_CEILINGS, _MOST_EFFECTS, _MOST_EQUAL, _MOST_KERNELS = 4, 3, 5, 2
_KINDS: dict[Kind, str] = {"bandwidth": "bandwidth", "latency": "latency", "rate": "rate", "launch": "launch rate"}


@dataclass(frozen=True)
class Effect:
    """The predicted speed ratio of kernels at the sizes where one bottleneck limits them on the first device.

    Attributes:
        bottleneck: on the first device.
        other_bottleneck: on the other device, the most frequent.
        kernels: their names, ``family/variant``.
        ratio: that of the median kernel, each at its median size.
        ends: lowest and highest ratio of a kernel.
    """

    bottleneck: str
    other_bottleneck: str
    kernels: tuple[str, ...]
    ratio: PredictedRatio
    ends: tuple[float, float]

    @property
    def is_equal(self) -> bool:
        """Whether all kernels are equally fast on both devices."""
        return all(abs(log(end)) <= EQUAL for end in self.ends)


def effects(contrasts: Sequence[Contrast]) -> tuple[Effect, ...]:
    """Return the effect for each bottleneck of the first device, that with the most kernels first."""
    points = grouped(
        ((point.first_bottleneck, contrast.key.workload), point) for contrast in contrasts for point in contrast.points
    )
    others = {
        bottleneck: Counter(point.other_bottleneck for point in found).most_common(1)[0][0]
        for bottleneck, found in grouped((p.first_bottleneck, p) for c in contrasts for p in c.points).items()
    }
    kernels = grouped(
        (bottleneck, (kernel, _median([point.ratio for point in found])))
        for (bottleneck, kernel), found in points.items()
    )
    found = (
        Effect(
            bottleneck=bottleneck,
            other_bottleneck=others[bottleneck],
            kernels=tuple(kernel for kernel, _ in each),
            ratio=_median([ratio for _, ratio in each]),
            ends=(min(ratio.value for _, ratio in each), max(ratio.value for _, ratio in each)),
        )
        for bottleneck, each in kernels.items()
    )
    return tuple(sorted(found, key=lambda effect: -len(effect.kernels)))


def _median(ratios: Sequence[PredictedRatio]) -> PredictedRatio:
    middle = median_low(ratio.value for ratio in ratios)
    return next(ratio for ratio in ratios if ratio.value == middle)


def headline(first: Side, other: Beside) -> Iterator[str]:
    """Yield sentences: which limits differ, with both values; which kernels gain or lose; which do not change."""
    yield from _limits(first, other.side)
    found = effects(other.contrasts)
    changed = [effect for effect in found if not effect.is_equal]
    for effect in sorted(changed, key=_weight)[:_MOST_EFFECTS]:
        yield _effect_text(effect, first, other)
    same = [effect.bottleneck for effect in found if effect.is_equal]
    if same:
        more = len(same) - _MOST_EQUAL
        names = [*same[:_MOST_EQUAL], f"{more} others"] if more > 1 else same
        both = f"{first.letter} and {other.side.letter}"
        yield f"Kernels limited on {first.letter} by {listed(names)} are equally fast on {both} (within 5 %)."


def _weight(effect: Effect) -> float:
    return -abs(log(effect.ratio.value)) * len(effect.kernels)


def _effect_text(effect: Effect, first: Side, other: Beside) -> str:
    count = len(effect.kernels)
    kernels = f"{count} kernels" if count > 1 else effect.kernels[0]
    between = f", {' to '.join(map(format_ratio, effect.ends))} by kernel" if count > 1 else ""
    return (
        f"Limited by {effect.bottleneck} on {first.letter} ({kernels}): {other.side.letter} is "
        f"{ratio_text(effect.ratio)} times as fast{between}{_example(effect, first, other)}."
    )


def _example(effect: Effect, first: Side, other: Beside) -> str:
    """Write the best values of the kernel whose best point has the bottleneck and most nearly the effect's ratio."""
    at_best = [contrast for contrast in other.contrasts if contrast.first_bottleneck == effect.bottleneck]
    distances = [abs(log(contrast.best.value / effect.ratio.value)) for contrast in at_best]
    if min(distances, default=SAME) >= SAME:
        return ""
    chosen = at_best[distances.index(min(distances))]
    sides = [{p.key: p for p in side.predictions} for side in (other.side, first)]
    values = [format_value(best_point(found[chosen.key]).value, chosen.metric.value_unit) for found in sides]
    return f"; for example, {chosen.key.workload} reaches {' instead of '.join(values)}"


def _limits(first: Side, other: Side) -> Iterator[str]:
    """Compare the ceilings that differ, by kind; those with equal values are named together."""
    mine, theirs = ({(c.kind, c.name): c for c in ceilings(side.device)} for side in (first, other))
    different = [(c, theirs[key]) for key, c in mine.items() if key in theirs and _differ(c, theirs[key])]
    for kind in _KINDS:
        changes = grouped((_change(a, b), a.name) for a, b in different if a.kind == kind)
        texts = [change.format(names=", ".join(names)) for change, names in list(changes.items())[:_MOST_CEILINGS]]
        if texts:
            yield f"Compared with {first.letter}, {other.letter} has {listed(texts)}."
    if not different:
        yield f"All limits of {other.letter} and {first.letter} are equal (within 5 %)."


def _differ(one: Ceiling, other: Ceiling) -> bool:
    return abs(log(other.value / one.value)) > EQUAL


def _change(one: Ceiling, other: Ceiling) -> str:
    """Write the change of a ceiling, with a place for names."""
    word = "time" if one.kind == "launch" and one.unit == "s" else _KINDS[one.kind]
    values = f"{format_value(other.value, other.unit)} instead of {format_value(one.value, one.unit)}"
    return f"{format_ratio(other.value / one.value)} times the {word} of {{names}} ({values})"


def effects_table(first: Side, other: Beside) -> Table:
    """List the speed ratio by bottleneck of the first device."""
    a, b = first.letter, other.side.letter
    rows = tuple(
        (
            effect.bottleneck,
            effect.other_bottleneck,
            str(len(effect.kernels)),
            ratio_text(effect.ratio),
            low_to_high(*map(format_ratio, effect.ends)) if len(effect.kernels) > 1 else "",
            _kernel_names(effect.kernels),
        )
        for effect in effects(other.contrasts)
    )
    columns = (f"limited on {a} by", f"on {b} by", "kernels", over(b, a), "range", "for example")
    return Table(columns, rows, frozenset({"kernels", over(b, a), "range"}))


def _kernel_names(kernels: Sequence[str]) -> str:
    more = f" and {len(kernels) - _MOST_KERNELS} more" if len(kernels) > _MOST_KERNELS else ""
    return f"{', '.join(kernels[:_MOST_KERNELS])}{more}"
