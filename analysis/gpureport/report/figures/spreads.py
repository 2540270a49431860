"""Differences of all sweeps of two runs in order, with significant ones in colour."""

from collections.abc import Sequence
from math import asinh, log

from gpureport.compare.records import Difference
from gpureport.report.figures.canvas import Canvas, Pen
from gpureport.report.figures.style import FAINT, INK, MUTED, OBSERVED, SMALL_PT, TINY_PT, WIDTH_IN, fitted

_HEIGHT_IN, _HEAD_IN, _FOOT_IN = 1.5, 0.22, 0.16
_LEFT_IN = 0.55
_LEAST = 0.02
"""Least range of the scale, as the logarithm of a ratio."""
_STRAIGHT = 0.01
"""Logarithm of a ratio beyond which the scale compresses (inverse hyperbolic sine)."""
_TICKS = (-0.9, -0.5, -0.2, -0.1, -0.05, -0.02, -0.01, 0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 9.0)
"""Differences in speed, relative."""


def spread_figure(differences: Sequence[Difference]) -> str:
    """Draw one machine's speeds relative to the baseline: one dot per sweep with its 95 % interval, slowest first."""
    ordered = sorted(differences, key=lambda difference: difference.speed.value)
    canvas = Canvas(_HEAD_IN + _HEIGHT_IN + _FOOT_IN)
    reach = max(_LEAST, 1.2 * max(abs(log(difference.speed.value)) for difference in ordered))
    middle = _FOOT_IN + _HEIGHT_IN / 2

    def up(ratio: float) -> float:
        """Return the height of a ratio: the middle is stretched, and values outside go to the nearer edge."""
        beyond = min(1.0, max(-1.0, asinh(log(ratio) / _STRAIGHT) / asinh(reach / _STRAIGHT)))
        return middle + _HEIGHT_IN / 2 * beyond

    canvas.text(
        (0.0, canvas.height_in - 0.09), fitted(ordered[0].machine, WIDTH_IN, SMALL_PT), size_pt=SMALL_PT, weight=600
    )
    for share in (tick for tick in _TICKS if abs(log(1 + tick)) <= reach):
        canvas.segment((_LEFT_IN, up(1 + share)), (WIDTH_IN, up(1 + share)), Pen(FAINT, 0.5, order=1))
        text = f"{100 * share:+.3g} %" if share else "equal"
        canvas.text((_LEFT_IN - 0.05, up(1 + share)), text, size_pt=TINY_PT, colour=MUTED, ha="right")
    step = (WIDTH_IN - _LEFT_IN) / len(ordered)
    for number, difference in enumerate(ordered):
        colour = OBSERVED if difference.significant else MUTED
        place = _LEFT_IN + (number + 0.5) * step, up(difference.speed.value)
        if difference.speed.ci_low and difference.speed.ci_high:
            ends = (place[0], up(difference.speed.ci_low)), (place[0], up(difference.speed.ci_high))
            canvas.segment(*ends, Pen(colour, 0.5, order=2, alpha=1.0 if difference.significant else 0.5))
        canvas.segment(place, place, Pen(colour, 2.6, order=3, round=True))
    canvas.text((WIDTH_IN, 0.06), f"{len(ordered)} sweeps, slowest first", size_pt=TINY_PT, colour=INK, ha="right")
    return canvas.drawn()
