"""Figures: deterministic, safe in a page, and correct in edge cases."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.records.curves import Axis, CurveFeature, Level, Metric, Observation, ObservedPoint, PointKey, SweepKey
from gpureport.records.measurement import Energy, PowerLoad, Reading
from gpureport.records.report import Report
from gpureport.report.curves import CurveRecords, curves, paired
from gpureport.report.figures.chart import Axis as ChartAxis
from gpureport.report.figures.chart import Chart, Panel, Series
from gpureport.report.figures.draw import draw, round_ticks
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.runs import power_chart, ratio_chart, ratio_rows, working_set_chart, working_sets
from gpureport.report.figures.sweeps import case_chart, plateaus, size_chart
from gpureport.report.figures.theme import COLOURS, readable, theme
from gpureport.report.run.efficiency import rooflines
from gpureport.report.run.sweeps import curve_pictures
from gpureport.text import shorten
from tests.drawn_texts import faults
from tests.make_report import make_report


@pytest.fixture(scope="module")
def size_curve(report: Report) -> CurveRecords:
    return curves(report)[2]


def svg(chart: Chart) -> str:
    return Picture(chart, "caption").svg()


def texts(chart: Chart) -> list[str]:
    """Return the texts of a figure, which must be well-formed."""
    return [element.text or "" for element in ET.fromstring(svg(chart)).iter() if element.tag.endswith("text")]  # noqa: S314


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
    picture = Picture(size_chart([size_curve], ["naive"]), "caption")
    one, two = picture.svg(1), picture.svg(2)
    ids = [set(re.findall(r'id="([^"]+)"', text)) for text in (one, two)]

    assert "<style" not in one
    assert "style=" not in one
    assert ET.fromstring(one).attrib["font-family"].startswith("'Inter'")  # noqa: S314
    assert ids[0]
    assert ids[0] & ids[1] <= {"figure_1"}


def test_texts_of_figures_do_not_overlap(report: Report) -> None:
    every = curves(make_report(only=("game_of_life", "particles"), cases=True))
    many = [curve for curve in every if curve.axis.quantity == "working_set"]
    drawn = working_sets(curves(report))
    assert drawn

    for count in (1, 2, 3):
        assert faults(size_chart(many[:count], [curve.key.variant for curve in many[:count]])) == []
    assert {len(faults(picture.chart)) for picture in rooflines(report, curves(report))} == {0}
    assert faults(working_set_chart(drawn, report.device)) == []
    assert faults(ratio_chart(ratio_rows(paired(report.findings)))) == []
    for curve in every:
        for picture in curve_pictures(report, [curve]):
            assert faults(picture.chart) == []


@pytest.mark.parametrize("values", [[5e9], [1e9, 1e9], [1e9, 3e12], [1e-9, 2e9], [1e-3, 1e30]])
def test_curves_of_few_or_odd_points_are_drawn(values: list[float]) -> None:
    assert "observed" in texts(size_chart([observed_only(values)], ["observed"]))


def test_untrusted_names_are_text() -> None:
    for label in ("<script>x</script>", "設備" * 40, "a\x07\nb", "$\\frac{$"):
        chart = case_chart([observed_only([1e9, 2e9], label)], [label])

        assert "<script" not in svg(chart)
        assert any(shorten(label, 24).rstrip("…") in text for text in texts(chart))


@pytest.mark.parametrize("high", [3e8, 8.7e8, 3.35e11, 1.6e12, 9.9e14])
@pytest.mark.parametrize("span", [1.5, 19, 25, 77, 300, 1e4])
def test_ticks_of_cases_do_not_overlap(high: float, span: float) -> None:
    metric = Metric(kind="rate", unit="instruction", label="instruction rate")
    curve = replace(observed_only([high / span, high]), metric=metric)
    assert faults(case_chart([curve, curve], ["rate", "sub_group_rate"])) == []


def test_values_beside_rows_have_the_unit_of_the_axis() -> None:
    """The axis ends beyond 1 G, where the interval does; the value does not."""
    metric = Metric(kind="rate", unit="adds", label="adds")
    words = texts(case_chart([replace(observed_only([0.95e9]), metric=metric)], ["title"]))
    assert {"950", "adds (Madd/s)"} <= {*words}


def test_a_wide_mark_overlaps_no_text() -> None:
    names = (("cliff longer than the panel" * 9, "cliff"), "taper")
    marks = Series.of("", "observed", "down", [(50, 0, 48, 52), (52, 0, 40, 70)], texts=names, labelled=True)
    panel = Panel(ChartAxis(scale="log2", ends=(1, 2000)), ChartAxis(scale="rows", rows=("",)), (marks,))
    with theme():
        (axis,) = draw(Chart(((panel,),))).axes
        middles = {text.get_text(): axis.transAxes.transform(text.get_position())[0] for text in axis.texts}
        left, right = (axis.transData.transform((x, 0))[0] for x in (40, 70))

    assert middles.keys() == {"cliff", "taper"}
    assert not any(left < middle < right for middle in middles.values())


def test_a_text_is_beside_no_other_mark() -> None:
    """Between two marks is room for neither name, and right of the second one for none."""
    points = [(1000, 0), (1700, 0)]
    marks = Series.of("", "observed", "down", points, texts=("L1 of some size", "L2 of some size"), labelled=True)
    panel = Panel(ChartAxis(scale="log2", ends=(1, 2000)), ChartAxis(scale="rows", rows=("",)), (marks,))
    with theme():
        (axis,) = draw(Chart(((panel,),))).axes
        written = {text.get_text() for text in axis.texts}

    assert written & {"L1 of some size", "L2 of some size"} == {"L1 of some size"}


def plateau(value: float, best: float | None = None) -> CurveFeature:
    level = Level(name="L1")
    return CurveFeature(feature="rate", position="plateau", value=value, unit="B/s", level=level, best_point=best)


@pytest.mark.parametrize(
    ("values", "value", "spans"),
    [
        ([5.0, 5.1, 4.9, 2.0], 5.0, [(4096, 16384)]),
        ([3.0, 4.0, 4.8, 4.9], 8.4, []),  # fitted, and no sample reaches it
        ([100.0, 60.0, 36.0, 22.0], 36.0, []),  # falling
    ],
)
def test_plateaus_are_drawn_where_samples_are(
    values: list[float], value: float, spans: list[tuple[float, float]]
) -> None:
    seen = observed_only(values).observation
    assert seen
    found = plateaus(seen.model_copy(update={"features": (plateau(value),)}), "observed")
    assert [line.x for line in found] == spans


def test_power_is_that_of_the_table() -> None:
    readings = tuple(Reading(at_s=at, power_w=500 + at) for at in range(4))
    loads = [PowerLoad(name="read", power_w=712.0, by_counter=known, readings=readings) for known in (True, False)]
    counted, sensed = (power_chart(Energy(sensor="NVML", loads=(load,))) for load in loads)
    (panel,), (other,) = counted.columns[0], sensed.columns[0]
    assert [(each.y, each.role) for each in panel.series if each.labelled] == [((712.0, 712.0), "observed")]
    assert [each.role for each in panel.series if not each.labelled] == ["muted"]
    assert [each.role for each in other.series] == ["observed"]


def test_texts_avoid_lines_and_intervals_beyond_the_axis_have_arrows() -> None:
    level = Series("712 W", "observed", "line", (0, 10), (5, 5), labelled=True)
    crossing = Series("", "muted", "line", (5, 5), (5, 10))
    dots = Series.of("", "green", "dots", [(1, 2, 1, 30)])
    with theme():
        figure = draw(Chart(((Panel(ChartAxis("x"), ChartAxis("y", ends=(0, 10)), (level, crossing, dots)),),)))
    (axes,), bare = figure.axes, draw(Chart(((Panel(ChartAxis("x"), ChartAxis("y", ends=(0, 10)), (level,)),),)))
    (label,), (middle,) = ([t for t in each.texts if t.get_text() == "712 W"] for each in (axes, *bare.axes))
    assert label.get_position() != middle.get_position()
    assert [line.get_marker() for line in axes.lines].count("^") == 1


@given(st.floats(1e-9, 1e15), st.floats(1, 1e12))
def test_ticks_are_few_round_and_inside(low: float, factor: float) -> None:
    high = low * factor
    ticks = round_ticks(low, high, 8, logarithmic=True)

    assert len(ticks) <= 8
    assert all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)


@pytest.mark.parametrize("colour", COLOURS.values())
def test_coloured_texts_are_readable(colour: str) -> None:
    parts = [int(readable(colour)[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]

    assert 1.05 / (float(np.dot((0.2126, 0.7152, 0.0722), linear)) + 0.05) >= 4.5
    assert readable("#000000") == "#000000"
