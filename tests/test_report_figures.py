"""Figures: deterministic, safe in a page, and correct in edge cases."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.records.finding import Verdict
from gpureport.records.keys import Axis, Metric, PointKey, SweepKey
from gpureport.records.levels import Level
from gpureport.records.observation import Observation, ObservedPoint
from gpureport.records.report import Clock, Report
from gpureport.report.figures.canvas import Canvas, Ink, Pen
from gpureport.report.figures.cases import case_figure, case_labels
from gpureport.report.figures.essentials import essentials, essentials_figure
from gpureport.report.figures.marks import FeatureMark, draw_marks, feature_marks, place
from gpureport.report.figures.overview import MOST_ROWS, overview_figure, overview_rows
from gpureport.report.figures.panels import Panel, Scale, in_figures, value_scale
from gpureport.report.figures.roofline import legend_text, look, roofline_dots, roofline_figure
from gpureport.report.figures.shapes import rated, shape_figure
from gpureport.report.figures.sizes import MOST_PANELS, heights, size_figure, value_label, x_text
from gpureport.report.figures.style import (
    SMALL_PT,
    binary_ticks,
    decimal_ticks,
    linear_ticks,
    shorten,
    spread,
    text_in,
    tick_text,
)
from gpureport.report.figures.svg import PAGE_FONT, described
from gpureport.report.figures.traces import Trace, binned, ratio_scale, trace_figure, traces
from gpureport.report.pictures import kind_of, pictures
from gpureport.report.run.curves import CurveRecords, curves, paired
from gpureport.report.run.limits import limits
from gpureport.report.text.captions import trace_caption
from tests.figure_texts import boxes, size_pt
from tests.make_report import make_report, many_variants

DEVICE = make_report().device


@pytest.fixture(scope="module")
def report() -> Report:
    """Return the full synthetic report."""
    return make_report()


@pytest.fixture(scope="module")
def size_curve(report: Report) -> CurveRecords:
    """Return a sweep over sizes."""
    return curves(report)[2]


@pytest.fixture(scope="module")
def shape_curve(report: Report) -> CurveRecords:
    """Return a sweep over work-group shapes."""
    return curves(report)[1]


def texts(svg: str) -> list[str]:
    """Return the texts of a figure; it must be well-formed."""
    return [element.text or "" for element in ET.fromstring(svg).iter() if element.tag.endswith("text")]  # noqa: S314


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
    return CurveRecords(key, metric, axis, None, None, None, observation, ())


def test_figures_are_deterministic(report: Report, size_curve: CurveRecords) -> None:
    """No date, no random id: the same report gives the same bytes."""
    assert size_figure([size_curve], ["naive"]) == size_figure([size_curve], ["naive"])
    assert roofline_figure(roofline_dots(curves(report), report.device), report.device) == roofline_figure(
        roofline_dots(curves(report), report.device), report.device
    )


def test_figures_do_not_affect_the_page(report: Report, shape_curve: CurveRecords) -> None:
    """They have no style rules, ids or references, and use the page's font."""
    dots = roofline_dots(curves(report), report.device)
    one, two = roofline_figure(dots, report.device), shape_figure([shape_curve], ["naive"])
    ids = re.findall(r"\bid=|href=|url\(", one + two)

    assert "<style" not in one
    assert "style=" not in one
    assert "DejaVu" not in one
    assert f'font-family="{PAGE_FONT}, sans-serif"' in one
    assert ids == []


def test_a_figure_shows_both_predictions_and_the_observation(size_curve: CurveRecords) -> None:
    """With bottlenecks, and marks with their values."""
    found = texts(size_figure([size_curve], ["naive"]))

    assert {"naive", "launch", "DRAM"} <= set(found)
    assert {"L2 cliff 52 MiB", "L2 cliff 38.5 MiB"} <= set(found)
    assert any(text.endswith(" 610 k") for text in found)


@pytest.mark.parametrize("values", [[5e9], [1e9, 1e9], [1e9, 3e12], [1e-9, 2e9], [1e-3, 1e30]])
def test_curves_of_few_or_odd_points_are_drawn(values: list[float]) -> None:
    """One point, a flat curve, absurd ranges."""
    assert "observed" in texts(size_figure([observed_only(values)], ["observed"]))


def test_untrusted_names_are_text() -> None:
    """Labels with mark-up, other scripts or control characters are text, cut to the available width."""
    for label in ("<script>x</script>", "設備" * 40, "a\x07\nb", "$\\frac{$"):
        svg = case_figure([observed_only([1e9, 2e9], label)], ["variant"])

        assert "<script" not in svg
        assert shorten(label, 26) in texts(svg)


def test_the_caption_is_for_screen_readers(size_curve: CurveRecords) -> None:
    """The caption is the figure's title, escaped."""
    svg = described(size_figure([size_curve], ["naive"]), 'L2 < "L3"')
    title = ET.fromstring(svg)[0]  # noqa: S314

    assert title.tag.endswith("title")
    assert title.text == 'L2 < "L3"'


def test_features_are_placed_on_the_axis(size_curve: CurveRecords) -> None:
    """Bytes if x is bytes; work-items by interpolation between points; nothing outside the sweep."""
    assert size_curve.specification is not None
    points = size_curve.specification.points

    assert place(points[4].point.x, "B", points) == pytest.approx(points[4].point.x)
    assert place(points[4].point.work_items, "work-items", points) == pytest.approx(points[4].point.x)
    assert place(1e15, "B", points) is None
    assert place(1e9, "B/s", points) is None
    assert place(100, "B", points[:1]) is None


def test_marks_extend_from_onset_to_end(size_curve: CurveRecords) -> None:
    """A mark covers the transition range, with the main position and its interval inside."""
    assert size_curve.observation is not None
    taper, cliff = feature_marks(size_curve.observation.features, size_curve.observation.points)

    assert taper.shape == "up"
    assert cliff.start < cliff.low < cliff.main < cliff.high < cliff.end
    assert cliff.texts[0] == "L2 cliff 38.5 MiB"


def test_work_items_are_written_as_powers(size_curve: CurveRecords) -> None:
    """An axis of counts has superscripts, an axis of bytes has units."""
    counted = replace(size_curve, axis=Axis(quantity="work_items", label="n"))

    assert x_text(counted)(2.0**20) == "2²⁰"
    assert x_text(size_curve)(2.0**20) == "1 MiB"


def test_curves_of_one_kind_share_a_figure() -> None:
    """Many panels are divided evenly into several figures."""
    found = [curve for curve in curves(many_variants(2, 4)) if kind_of(curve) == "sizes"]

    assert len(pictures(found[:MOST_PANELS])) == 1
    first, second = pictures(found)
    assert {"variant_0", "variant_1", "variant_2", "variant_3"} <= set(texts(first.svg))
    assert first.caption.startswith("8 of 8 cliffs and tapers agree")
    assert second.caption.startswith("0 of 8 cliffs and tapers agree")


def test_marks_of_a_roofline_are_distinct() -> None:
    """Up to the number of pairs of a colour and a shape."""
    assert len({look(number) for number in range(49)}) == 49


def test_shapes_of_one_style_are_one_element() -> None:
    """The number of elements does not grow with the points: layout engines process each of them."""
    many = curves(many_variants(1, 6))
    one, six = (size_figure([c for c in many if kind_of(c) == "sizes"][:n], list("abcdef")[:n]) for n in (1, 6))

    assert six.count("<path") == one.count("<path") < 25


def test_intervals_stay_within_the_axes(size_curve: CurveRecords) -> None:
    """The top of an interval is not cut off."""
    assert size_curve.observation is not None
    widest = max(point.ci_high for point in size_curve.observation.points)

    assert value_scale(heights(size_curve), "B/s").high > widest


def test_each_kind_of_sweep_has_its_figure() -> None:
    """Maps for two dimensions, curves for one, bars for cases and other shapes, traces for frames."""
    kinds = {curve.key.sweep: kind_of(curve) for curve in curves(many_variants(2, 1))}
    assert kinds == {"size": "sizes", "work_group": "shapes", "rates": "cases", "frames": "traces"}

    flat, odd = (with_shapes(shapes) for shapes in ([(32, 1), (64, 1), (128, 1)], [(24, 3), (32, 2), (32, 4)]))
    few = with_shapes([(32, 1), (64, 1)])
    assert kind_of(flat) == "sizes"
    assert kind_of(few) == "cases"
    assert kind_of(odd) == "cases"
    assert "64" in texts(pictures([flat])[0].svg)
    assert "24 x 3" in texts(pictures([odd])[0].svg)


def with_shapes(shapes: list[tuple[int, int]]) -> CurveRecords:
    """Return an observed search over *shapes*."""
    curve = observed_only([float(i + 1) for i in range(len(shapes))])
    assert curve.observation is not None
    points = tuple(
        p.model_copy(
            update={
                "point": p.point.model_copy(update={"label": f"{x} x {y}", "parameters": {"local_x": x, "local_y": y}})
            }
        )
        for p, (x, y) in zip(curve.observation.points, shapes, strict=True)
    )
    seen = curve.observation.model_copy(update={"points": points})
    return replace(curve, axis=Axis(quantity="work_group", label="work-group"), observation=seen)


def test_maps_show_shares_of_the_best() -> None:
    """1 for the best shape; for times the inverse."""
    curve = with_shapes([(32, 1), (16, 2), (8, 4)])

    assert rated(curve) == {(32, 1): pytest.approx(1 / 3), (16, 2): pytest.approx(2 / 3), (8, 4): 1.0}
    times = replace(curve, metric=Metric(kind="time", unit="loads", label="latency"))
    assert rated(times)[8, 4] == pytest.approx(1 / 3)


def test_cases_keep_the_order_of_the_sweep() -> None:
    """From top to bottom, not sorted by value."""
    curve = next(c for c in curves(many_variants(1, 1)) if c.key.sweep == "rates")

    assert case_labels(curve) == [f"case {i}" for i in range(12)]
    assert texts(case_figure([curve], ["fma"])).count("case 3") == 1


@pytest.mark.parametrize("high", [3e8, 8.7e8, 3.35e11, 1.6e12, 9.9e14])
@pytest.mark.parametrize("span", [1.5, 19, 25, 77, 300, 1e4])
def test_ticks_of_cases_do_not_overlap(high: float, span: float) -> None:
    """Even with a long unit and two panels side by side."""
    metric = Metric(kind="rate", unit="instruction", label="instruction rate")
    curve = replace(observed_only([high / span, high]), metric=metric)
    found = boxes(case_figure([curve, curve], ["rate", "sub_group_rate"]))
    ticks = sorted(box for text, box in found if "instr/s" in text or text == "0")

    assert len(ticks) >= 4
    assert all(left[2] + 1 < right[0] for left, right in pairwise(ticks))


def test_traces_keep_the_extremes() -> None:
    """A spike is drawn, however many dispatches there are."""
    times = np.ones(5000)
    times[1234] = 7.0
    at, middle, least, most = binned(np.arange(5000.0), times)

    assert len(at) == len(middle) == len(least) == len(most) < 200
    assert (middle.max(), least.min(), most.max()) == (1.0, 1.0, 7.0)


def test_a_trace_of_one_dispatch_is_drawn() -> None:
    """Without time stamps, dispatches follow each other without gaps."""
    curve = next(c for c in curves(many_variants(2, 1)) if c.key.sweep == "frames")
    assert curve.measurement is not None
    points = tuple(
        point.model_copy(update={"samples_s": point.samples_s[:n], "taken_at_s": ()})
        for n, point in zip((1, 3, 0), curve.measurement.points, strict=False)
    )
    found = traces(replace(curve, measurement=curve.measurement.model_copy(update={"points": points})), "aos")

    assert [len(trace.times_s) for trace in found] == [1, 3]
    assert found[1].at_s[2] == pytest.approx(sum(points[1].samples_s[:2]))
    assert any(text.startswith("aos: 65536: ") for text in texts(trace_figure(found)))


def test_a_trace_s_title_keeps_the_median() -> None:
    """For long names of variants and several panels side by side."""
    trace = Trace("a variant with a name that is long: 7.86 M (480 MiB)", np.arange(3.0), np.full(3, 4.25e-6))
    titles = [text for text in texts(trace_figure([trace] * 6)) if text.startswith("a variant")]

    assert len(titles) == 6
    assert all(title.endswith("…: 4.25 µs") for title in titles)


def test_traces_have_axes_of_their_own() -> None:
    """A short trace beside a long one uses its whole panel; a slow first dispatch does not extend the axis below 0."""
    times = np.ones(300)
    times[0] = 9.0
    short, long = (Trace("a", np.linspace(0, end, 300), times) for end in (0.1, 60.0))
    found = texts(trace_figure([short, long]))

    assert "100 ms" in found
    assert "60 s" in found
    scale = ratio_scale(np.array([0.97, 1.0, 2.44]))
    assert scale.low == pytest.approx(0.955)
    assert scale.texts == ("1", "2", "3")
    assert ratio_scale(np.array([0.1, 1.0])).low == 0.0


def test_the_shared_axis_has_the_common_words_of_the_labels() -> None:
    """Labels without a common word give ``rate``."""
    one = observed_only([1e9, 2e9])
    curves_of = {
        label: replace(one, metric=one.metric.model_copy(update={"label": label}))
        for label in ("read bandwidth", "bandwidth", "updates")
    }

    assert value_label([one, curves_of["read bandwidth"]]) == "read bandwidth"
    assert value_label([one, curves_of["bandwidth"]]) == "bandwidth"
    assert value_label([one, curves_of["updates"]]) == "rate"


def test_the_caption_of_traces_reports_a_clock_ramp() -> None:
    """The first dispatch, the drift, and the clocks only if none ever changed."""
    ramp = Trace("a", np.arange(9.0), np.array([4.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    even = Trace("b", np.arange(9.0), np.ones(9))
    clocks = [Clock(label=f"SM clock after {name}", clock_hz=1.98e9) for name in "ab"]

    caption = trace_caption([ramp, even], clocks)
    assert "1.00 to 4.00 times the median" in caption
    assert "changes by \N{MINUS SIGN}50.0 % to 0 %." in caption
    assert "ramp" in caption
    assert "SM clock (1.98 GHz)" in caption
    changed = [*clocks, Clock(label="SM clock after c", clock_hz=1.2e9)]
    assert all("ramp" not in trace_caption([even], known) for known in ((), clocks[:1], changed))


def test_a_wide_mark_overlaps_no_text() -> None:
    """The texts of two overlapping marks are to the left and right of both; a shorter text replaces one too long."""
    canvas = Canvas(2.0)
    panel = Panel(
        canvas, 1.0, 0.5, 4.0, 1.0, Scale(0, 100, (), (), logarithmic=False), Scale(0, 1, (), (), logarithmic=False)
    )
    cliff = FeatureMark(48, 50, 52, 49, 51, ("cliff, longer than the panel " * 9, "cliff"), "down")
    taper = FeatureMark(51, 52, 52, 40, 70, ("taper", ""), "up")
    draw_marks(panel, (cliff, taper), 1.6, "#112233")

    one, two = canvas.labels
    assert (one.text, one.ha, two.text, two.ha) == ("cliff", "right", "taper", "left")
    assert one.place[0] < panel.across(40)
    assert two.place[0] > panel.across(70)


def test_ticks_of_neighbouring_panels_do_not_overlap() -> None:
    """A text under the right end of a panel ends at the panel's edge."""
    canvas = Canvas(2.0)
    scale = Scale(0.0, 60.0, (0.0, 60.0), ("0", "60 ms"), logarithmic=False)
    left = Panel(canvas, 1.0, 0.5, 1.0, 1.0, scale, scale)
    left.frame(labels=(True, False))

    (end,) = (label for label in canvas.labels if label.text == "60 ms")
    assert end.place[0] + text_in("60 ms", SMALL_PT) / 2 == pytest.approx(left.right_in)


@given(st.integers(1, 60), st.integers(1, 12))
def test_parts_are_even_and_complete(count: int, most: int) -> None:
    """No figure exceeds the limit, and their numbers of panels differ by at most one."""
    parts = list(in_figures(range(count), most))

    assert [item for part in parts for item in part] == list(range(count))
    assert max(map(len, parts)) <= most
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_canvas_joins_shapes_of_one_style() -> None:
    """A line style and a shade are one element each, and dots are drawn."""
    canvas = Canvas(1.0)
    for x in range(5):
        canvas.segment((x, 0.5), (x, 0.5), Pen("#112233", 2, round=True))
        canvas.rectangle((x, 0.1), (x + 0.5, 0.2), Ink("#445566"))
    canvas.text((0.5, 0.5), 'a < "b"', weight=600)
    shade, line, label = ET.fromstring(canvas.drawn())  # noqa: S314

    assert shade.attrib == {"d": shade.attrib["d"], "fill": "#445566"}
    assert shade.attrib["d"].startswith("M0 64.8L36 64.8L36 57.6L0 57.6Z")
    assert line.attrib["d"].startswith("M0 36h0M72 36h0")
    assert (line.attrib["stroke"], line.attrib["stroke-linecap"]) == ("#112233", "round")
    assert (label.text, label.attrib["font-weight"]) == ('a < "b"', "600")


def test_a_canvas_draws_by_order() -> None:
    """Shapes with a higher order are on top, independent of the sequence of calls; texts are on top of all."""
    canvas = Canvas(1.0)
    canvas.text((0, 0), "above all")
    canvas.segment((0, 0), (1, 1), Pen("#333333", 1, dashes=(4, 2), order=3))
    canvas.rectangle((0, 0), (1, 1), Ink("#111111", alpha=0.5))
    canvas.mark((1, 0.5), "diamond", 0.1, Ink("#222222", order=2))
    drawn = list(ET.fromstring(canvas.drawn()))  # noqa: S314

    assert [element.get("fill") for element in drawn] == ["#111111", "#222222", "none", "#222222"]
    assert drawn[0].get("fill-opacity") == "0.5"
    assert drawn[2].get("stroke-dasharray") == "4 2"
    assert drawn[3].text == "above all"


@pytest.mark.parametrize(("va", "y"), [("bottom", 36 - 2.1), ("center", 36 + 2.8), ("top", 36 + 7.6)])
def test_text_is_where_it_was_placed(va: Any, y: float) -> None:
    """Horizontal by the height of capitals, and upright by rotation around its place."""
    canvas = Canvas(1.0)
    canvas.text((1, 0.5), "level", size_pt=10, ha="right", va=va)
    canvas.text((1, 0.5), "upright", size_pt=10, va=va, upright=True)
    level, upright = ET.fromstring(canvas.drawn())  # noqa: S314

    assert (level.get("text-anchor"), level.get("transform")) == ("end", None)
    assert float(level.attrib["x"]) == 72
    assert float(level.attrib["y"]) == float(upright.attrib["y"]) == pytest.approx(y)
    assert upright.get("transform") == "rotate(-90 72 36)"


def test_the_roofline_takes_the_largest_size_of_each_variant(report: Report) -> None:
    """Variants without operations are left out."""
    dots = roofline_dots(curves(report), report.device)

    assert [dot.name for dot in dots] == ["naive", "packed64", "aos", "soa", "local", "shuffle"]
    assert dots[0].intensity == pytest.approx(60 / 32, rel=0.01)
    assert {dot.operations for dot in dots} == {"int32"}
    assert "packed64 (int32)" in texts(roofline_figure(dots, report.device))
    assert dots[0].observed_per_s == pytest.approx(dots[0].predicted_per_s, rel=0.08)


def test_the_roofline_s_legend_stays_on_the_sheet(report: Report) -> None:
    """For long names of variants."""
    dots = roofline_dots(curves(report), report.device)
    long = replace(dots[0], name="words_changed_random_glider", operations="instruction")
    figure = roofline_figure([long], report.device)

    assert dict(boxes(figure))[legend_text(long)][2] < size_pt(figure)[0]


def test_many_workloads_share_rows() -> None:
    """The figure keeps its height, and shows the workloads farthest from 1."""
    rows = overview_rows(paired(make_report(families=20).findings))

    assert len(rows) == MOST_ROWS
    assert "family_00" in texts(overview_figure(rows))


def test_ratios_beyond_the_axis_are_drawn_at_its_edge(report: Report) -> None:
    """A ratio of 1000 does not compress the scale of the others."""
    wild = report.findings[0].model_copy(update={"ratio": 1000.0})

    svg = overview_figure(overview_rows(paired([wild, *report.findings[10:12]])))

    assert "10" in texts(svg)
    assert "1000" not in texts(svg)


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.01, 0.2))
def test_spread_keeps_order_and_distance(positions: list[float], gap: float) -> None:
    """Labels are at least a gap apart, in the same order, with the same mean."""
    placed = spread(positions, gap)
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    sequence = [placed[i] for i in order]

    assert all(b - a >= gap * (1 - 1e-9) for a, b in pairwise(sequence))
    assert sum(placed) == pytest.approx(sum(positions), abs=1e-6)


@given(st.floats(1e-9, 1e15), st.floats(1, 1e12))
def test_ticks_are_few_round_and_inside(low: float, factor: float) -> None:
    """Both kinds of axis."""
    high = low * factor
    for ticks in (binary_ticks(low, high), decimal_ticks(low, high)):
        assert len(ticks) <= 9
        assert all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.integers(2, 9))
def test_linear_ticks_are_few_even_and_inside(low: float, span: float, most: int) -> None:
    """At least one tick; steps are 1, 2, 2.5 or 5 times a power of ten."""
    ticks = linear_ticks(low, low + span, most)
    steps = {f"{b - a:.3g}" for a, b in pairwise(ticks)} if span > 1e-6 * abs(low) else set()

    assert 1 <= len(ticks) <= most
    assert all(low - span / 1e3 <= tick <= low + span * 1.001 for tick in ticks)
    assert len(steps) <= 1
    assert all(step.strip("0.").split("e")[0].replace(".", "").strip("0") in {"1", "2", "25", "5"} for step in steps)


def test_tick_texts_have_no_trailing_zeros() -> None:
    """The unit stays, and so do zeros of whole numbers."""
    assert tick_text(10e9, "B/s") == "10 GB/s"
    assert tick_text(100e9, "B/s") == "100 GB/s"
    assert tick_text(2.5e9, "B/s") == "2.5 GB/s"
    assert tick_text(1e-6, "s") == "1 µs"


def test_page_one_shows_each_cache_and_family_in_a_row() -> None:
    """Predicted and observed marks with their intervals, and how many agree."""
    found = curves(make_report(only=("game_of_life", "particles")))
    caches, work, shares = essentials(found, limits(found), str.upper, DEVICE)

    assert [row.name for row in caches.rows] == ["L2"]
    assert [row.name for row in work.rows] == [row.name for row in shares.rows] == ["GAME_OF_LIFE", "PARTICLES"]
    assert (len(caches.rows[0].predicted), len(caches.rows[0].observed)) == (4, 4)
    assert all(mark.low < mark.value < mark.high for row in work.rows for mark in row.observed)
    assert caches.rows[0].remark == "3 of 4 agree"
    svg = essentials_figure((caches, work, shares), "published")
    assert {caches.title, work.title, shares.title, "GAME_OF_LIFE", "published", "100 %"} <= set(texts(svg))


def test_transitions_count_with_the_cache_that_may_cause_them() -> None:
    """Unexplained transitions have their own row."""
    report = make_report(only=("particles",))
    remarks = []
    for size in (1.04 * 2**30, 40 * 2**20):
        level = Level.unexplained(size)
        transition = {"level": level, "observed": size, "predicted": None, "verdict": Verdict.NOT_PREDICTED}
        findings = [f.model_copy(update=transition) if f.position == "midpoint" else f for f in report.findings]
        found = curves(report.model_copy(update={"findings": (*report.findings, *findings)}))
        caches, *_ = essentials(found, limits(found), str, report.device)
        remarks.append({row.name: row.remark for row in caches.rows})
    isolated, together = remarks
    ours = isolated.pop("L2")

    assert list(isolated) == ["unexplained"]
    assert isolated["unexplained"].startswith("0 of ")
    assert list(together) == ["L2"]
    assert together["L2"] != ours
    assert together["L2"].split()[0] == ours.split()[0]


def test_page_one_says_that_rows_are_left_out() -> None:
    """If there are too many families, the first are drawn."""
    found = curves(make_report(families=10))
    _, work, shares = essentials(found, limits(found), str, DEVICE)

    assert work.title.endswith(" (the first 8 of 10)")
    assert len(work.rows) == len(shares.rows) == 8


def test_page_one_without_observations_shows_predictions(report: Report) -> None:
    """Only hollow marks; without any values there is no part."""
    found = [replace(curve, observation=None, pairs=()) for curve in curves(report)]
    parts = essentials(found, limits(found), str, DEVICE)

    assert not any(row.observed or row.remark for part in parts for row in part.rows)
    assert "observed (95 %)" not in texts(essentials_figure(parts, "observed (95 %)"))
    assert essentials((), (), str, DEVICE) == ()
