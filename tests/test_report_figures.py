"""Figures: deterministic, safe in a page, and correct in edge cases."""
# ruff: noqa: D103 - the names of the tests say what they check

import re
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.records.curves import Axis, Metric, Observation, ObservedPoint, PointKey, SweepKey
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, curves, paired
from gpureport.report.figures.cases import case_figure
from gpureport.report.figures.essentials import essentials, essentials_figure
from gpureport.report.figures.marks import FeatureMark, draw_marks, label_line
from gpureport.report.figures.overview import overview_figure, overview_rows
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.roofline import roofline_dots, roofline_figure
from gpureport.report.figures.sizes import size_figure
from gpureport.report.figures.theme import ACCENTS, OBSERVED, PREDICTED, decimal_ticks, readable, sheet, spread, theme
from gpureport.report.figures.traces import binned
from gpureport.report.run.sweeps import kind_of, pictures
from gpureport.text import shorten
from tests.drawn_texts import faults
from tests.make_report import many_variants

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure


@pytest.fixture(scope="module")
def size_curve(report: Report) -> CurveRecords:
    return curves(report)[2]


def svg(draw: "Callable[[], Figure]") -> str:
    return Picture(draw, "caption").svg()


def texts(draw: "Callable[[], Figure]") -> list[str]:
    """Return the texts of a figure, which must be well-formed."""
    return [element.text or "" for element in ET.fromstring(svg(draw)).iter() if element.tag.endswith("text")]  # noqa: S314


def observed_only(values: list[float], label: str = "4 KiB") -> CurveRecords:
    """Return a curve of observed *values* at 4 KiB, 8 KiB and so on."""
    points = tuple(
        ObservedPoint(
            point=PointKey(label=label, parameters={"bytes": int(x)}, work=1, work_items=64, working_set_bytes=x, x=x),
            time_s=1,
            value=value,
            ci_low=value * 0.9,
            ci_high=value * 1.1,
            samples=5,
        )
        for x, value in zip((4096.0 * 2**i for i in range(99)), values, strict=False)
    )
    key = SweepKey(family="w", variant="v", sweep="s")
    metric = Metric(kind="rate", unit="B", label="read bandwidth")
    axis = Axis(quantity="working_set", label="working set")
    observation = Observation(key=key, metric=metric, axis=axis, points=points, features=())
    return CurveRecords(key, metric, axis, observation=observation)


def test_figures_do_not_affect_the_page(size_curve: CurveRecords) -> None:
    picture = Picture(partial(size_figure, [size_curve], [["naive"]]), "caption")
    one, two = picture.svg(1), picture.svg(2)
    ids = [set(re.findall(r'id="([^"]+)"', text)) for text in (one, two)]

    assert "<style" not in one
    assert "style=" not in one
    assert ET.fromstring(one).attrib["font-family"].startswith("'Inter'")  # noqa: S314
    assert ids[0]
    assert ids[0] & ids[1] <= {"figure_1"}


def test_texts_of_figures_do_not_overlap(report: Report) -> None:
    many = [curve for curve in curves(many_variants(1, 3)) if kind_of(curve) == "sizes"]
    dots = roofline_dots(curves(report), report.device)
    drawn = essentials(curves(report), str, report.device)
    assert drawn is not None

    for count in (1, 2, 3):
        assert faults(partial(size_figure, many[:count], [[curve.key.variant] for curve in many[:count]])) == []
    assert faults(partial(roofline_figure, dots, report.device)) == []
    assert faults(partial(essentials_figure, drawn)) == []
    assert faults(partial(overview_figure, overview_rows(paired(report.findings)))) == []
    for curve in curves(many_variants(2, 1)):
        for picture in pictures([curve]):
            assert faults(picture.draw) == []


@pytest.mark.parametrize("values", [[5e9], [1e9, 1e9], [1e9, 3e12], [1e-9, 2e9], [1e-3, 1e30]])
def test_curves_of_few_or_odd_points_are_drawn(values: list[float]) -> None:
    assert "observed" in texts(partial(size_figure, [observed_only(values)], [["observed"]]))


def test_untrusted_names_are_text() -> None:
    for label in ("<script>x</script>", "設備" * 40, "a\x07\nb", "$\\frac{$"):
        draw = partial(case_figure, [observed_only([1e9, 2e9], label)], [[label]])

        assert "<script" not in svg(draw)
        assert shorten(label, 24) in texts(draw)


@pytest.mark.parametrize("high", [3e8, 8.7e8, 3.35e11, 1.6e12, 9.9e14])
@pytest.mark.parametrize("span", [1.5, 19, 25, 77, 300, 1e4])
def test_ticks_of_cases_do_not_overlap(high: float, span: float) -> None:
    metric = Metric(kind="rate", unit="instruction", label="instruction rate")
    curve = replace(observed_only([high / span, high]), metric=metric)
    assert faults(partial(case_figure, [curve, curve], [["rate"], ["sub_group_rate"]])) == []


def test_a_long_name_without_a_variant_shows_its_end(report: Report) -> None:
    rows = {"long_" * 12 + "family": [pair.main for pair in paired(report.findings) if pair.main.ratio][:3]}
    assert any(text.startswith("…") and text.endswith("family") for text in texts(partial(overview_figure, rows)))


def test_traces_keep_the_extremes() -> None:
    times = np.ones(5000)
    times[1234] = 7.0
    at, middle, least, most = binned(np.arange(5000.0), times)

    assert len(at) == len(middle) == len(least) == len(most) < 200
    assert (middle.max(), least.min(), most.max()) == (1.0, 1.0, 7.0)


def test_a_wide_mark_overlaps_no_text() -> None:
    cliff = FeatureMark("cliff", 48, 50, 52, 49, 51, ("cliff, longer than the panel " * 9, "cliff"))
    taper = FeatureMark("taper", 51, 52, 52, 40, 70, ("taper",))
    with theme():
        _, (axis,) = sheet([(0, 1)])
        axis.set(xscale="log", xlim=(1, 2000))
        draw_marks([axis], (cliff, taper), 1.1, "#112233")
    one, two = axis.texts
    left, right = (axis.transData.transform((x, 1))[0] for x in (40, 70))

    assert (one.get_text(), one.get_ha(), two.get_text(), two.get_ha()) == ("cliff", "right", "taper", "left")
    assert axis.transAxes.transform(one.xy)[0] < left
    assert axis.transAxes.transform(two.xy)[0] > right


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.01, 0.2))
def test_spread_keeps_order_and_distance(positions: list[float], gap: float) -> None:
    placed = spread(positions, gap)
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    sequence = [placed[i] for i in order]

    assert all(b - a >= gap * (1 - 1e-9) for a, b in pairwise(sequence))
    assert sum(placed) == pytest.approx(sum(positions), abs=1e-6)


@given(st.floats(1e-9, 1e15), st.floats(1, 1e12))
def test_ticks_are_few_round_and_inside(low: float, factor: float) -> None:
    high = low * factor
    ticks = decimal_ticks(low, high)

    assert len(ticks) <= 8
    assert all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)


def test_a_label_covers_no_curve() -> None:
    from matplotlib.figure import Figure

    with theme():
        axis = Figure(figsize=(4, 2)).add_axes((0.1, 0.1, 0.8, 0.8))
        x = np.linspace(0, 10, 50)
        axis.plot(x, np.full(50, 5.0))
        axis.plot(x, 5.5 + 0.4 * np.sin(5 * x), ".")
        axis.set(xlim=(0, 10), ylim=(0, 10))
        for text in ("first", "second"):
            label_line(axis, text, (4.0, 6.0), 5.0, "#E69F00")

    boxes = [text.get_window_extent() for text in axis.texts]
    assert not boxes[0].overlaps(boxes[1])
    for line in axis.lines:
        assert not any(box.contains(*at) for at in axis.transData.transform(line.get_xydata()) for box in boxes)


@pytest.mark.parametrize("colour", [*ACCENTS, OBSERVED, PREDICTED])
def test_coloured_texts_are_readable(colour: str) -> None:
    parts = [int(readable(colour)[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]

    assert 1.05 / (float(np.dot((0.2126, 0.7152, 0.0722), linear)) + 0.05) >= 4.5
    assert readable("#000000") == "#000000"
