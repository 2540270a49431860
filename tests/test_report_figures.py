"""Figures: deterministic, safe in a page, and correct in edge cases."""

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

from gpureport.records.features import CurveFeature
from gpureport.records.finding import Verdict
from gpureport.records.keys import Axis, Metric, PointKey, SweepKey
from gpureport.records.levels import Level
from gpureport.records.observation import Observation, ObservedPoint
from gpureport.records.report import Clock, Report
from gpureport.report.figures.cases import case_figure, case_labels
from gpureport.report.figures.essentials import essentials, essentials_figure
from gpureport.report.figures.marks import FeatureMark, draw_marks, feature_marks, label_line, place, plateaus
from gpureport.report.figures.overview import MOST_ROWS, overview_figure, overview_rows
from gpureport.report.figures.picture import Picture
from gpureport.report.figures.roofline import roofline_dots, roofline_figure
from gpureport.report.figures.samples import MOST_PANELS as MOST_SAMPLED
from gpureport.report.figures.samples import deviating_points, sample_figure
from gpureport.report.figures.shapes import rated
from gpureport.report.figures.sizes import MOST_PANELS, mark_lines, size_figure, x_text
from gpureport.report.figures.style import (
    ACCENTS,
    OBSERVED,
    PREDICTED,
    decimal_ticks,
    first_fitting,
    linear_ticks,
    readable,
    shorten,
    spread,
)
from gpureport.report.figures.theme import dots, sheet, theme
from gpureport.report.figures.traces import Trace, binned, ratio_limits, trace_figure, traces
from gpureport.report.grouping import in_figures
from gpureport.report.pictures import kind_of, pictures
from gpureport.report.run.curves import CurveRecords, curves, paired, reading_units
from gpureport.report.text.captions import panel_titles, trace_caption
from tests.drawn_texts import faults
from tests.make_report import make_report, many_variants

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

DEVICE = make_report().device


@pytest.fixture(scope="module")
def size_curve(report: Report) -> CurveRecords:
    """Return a sweep over sizes."""
    return curves(report)[2]


@pytest.fixture(scope="module")
def shape_curve(report: Report) -> CurveRecords:
    """Return a sweep over work-group shapes."""
    return curves(report)[1]


def svg(draw: "Callable[[], Figure]") -> str:
    """Return the SVG element of a figure."""
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
    return CurveRecords(key, metric, axis, None, None, None, observation, ())


def test_figures_are_deterministic(report: Report, size_curve: CurveRecords) -> None:
    """No date, no random id: the same report gives the same bytes."""
    roofline = partial(roofline_figure, roofline_dots(curves(report), report.device), report.device)

    for draw in (partial(size_figure, [size_curve], [["naive"]]), roofline):
        assert svg(draw) == svg(draw)


def test_figures_do_not_affect_the_page(size_curve: CurveRecords) -> None:
    """They have no style rules and use the page's font; names of parts differ between the figures of a page."""
    picture = Picture(partial(size_figure, [size_curve], [["naive"]]), "caption")
    one, two = picture.svg(1), picture.svg(2)
    ids = [set(re.findall(r'id="([^"]+)"', text)) for text in (one, two)]

    assert "<style" not in one
    assert "style=" not in one
    assert ET.fromstring(one).attrib["font-family"].startswith("'Inter'")  # noqa: S314
    assert ids[0]
    assert ids[0] & ids[1] <= {"figure_1"}


def test_a_figure_shows_both_predictions_and_the_observation(size_curve: CurveRecords) -> None:
    """With bottlenecks, marks and plateaus with their values, and the values relative to the prediction."""
    found = texts(partial(size_figure, [size_curve], [["naive"]]))

    assert {"naive", "launch", "DRAM", "bottleneck", "predicted", "observed", "observed /", "GB/s"} & set(found)
    assert {"L2 cliff 52 MiB", "L2 cliff 38.5 MiB"} <= set(found)
    assert any(text.endswith(" 610 k") for text in found)


def test_texts_of_figures_do_not_overlap(report: Report) -> None:
    """Every kind of figure, and every number of panels."""
    many = [curve for curve in curves(many_variants(1, 9)) if kind_of(curve) == "sizes"]
    dots = roofline_dots(curves(report), report.device)
    drawn = essentials(curves(report), str, report.device)
    assert drawn is not None

    for count in (1, 2, 3, 9):
        assert faults(partial(size_figure, many[:count], [[curve.key.variant] for curve in many[:count]])) == []
    assert faults(partial(roofline_figure, dots, report.device)) == []
    assert faults(partial(essentials_figure, drawn)) == []
    assert faults(partial(overview_figure, overview_rows(paired(report.findings)))) == []
    for curve in curves(many_variants(2, 1)):
        for picture in pictures([curve]):
            assert faults(picture.draw) == []


@pytest.mark.parametrize("values", [[5e9], [1e9, 1e9], [1e9, 3e12], [1e-9, 2e9], [1e-3, 1e30]])
def test_curves_of_few_or_odd_points_are_drawn(values: list[float]) -> None:
    """One point, a flat curve, absurd ranges."""
    assert "observed" in texts(partial(size_figure, [observed_only(values)], [["observed"]]))


def test_untrusted_names_are_text() -> None:
    """Labels with mark-up, other scripts or control characters are text, cut to the available width."""
    for label in ("<script>x</script>", "設備" * 40, "a\x07\nb", "$\\frac{$"):
        draw = partial(case_figure, [observed_only([1e9, 2e9], label)], [[label]])

        assert "<script" not in svg(draw)
        assert shorten(label, 24) in texts(draw)


def test_the_caption_is_for_screen_readers(size_curve: CurveRecords) -> None:
    """The caption is the figure's title, escaped."""
    title = ET.fromstring(Picture(partial(size_figure, [size_curve], [["naive"]]), 'L2 < "L3"').svg())[0]  # noqa: S314

    assert title.tag.endswith("title")
    assert title.text == 'L2 < "L3"'


def test_every_dot_is_drawn() -> None:
    """However many there are, and however close."""

    def draw() -> "Figure":
        figure, ((axis,),) = sheet([(0, 1)])
        dots(axis, np.arange(500.0), np.full(500, 1e-9), "#123456")
        return figure

    (path,) = (e.attrib["d"] for e in ET.fromstring(svg(draw)).iter() if e.get("stroke") == "#123456")  # noqa: S314
    assert path.count("M") == 500


def test_the_longest_title_that_fits_is_drawn(report: Report, size_curve: CurveRecords) -> None:
    """The workload's title with its identifier where there is room, else the identifier; the last one is cut."""
    assert first_fitting(["a long title (id)", "id"], 3.0) == "a long title (id)"
    assert first_fitting(["a long title (id)", "id"], 0.3) == "id"
    assert first_fitting(["a long title (id)"], 0.4) == "… (id)"  # identifiers differ at their ends

    titles = panel_titles(report, [size_curve])[size_curve.key]
    assert titles[0].endswith(f"({titles[-1]})")


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

    assert (taper.feature, cliff.feature) == ("taper", "cliff")
    assert cliff.start < cliff.low < cliff.main < cliff.high < cliff.end
    assert cliff.texts[0] == "L2 cliff 38.5 MiB"


def test_work_items_are_written_as_powers(size_curve: CurveRecords) -> None:
    """An axis of counts has superscripts, an axis of bytes has units."""
    counted = replace(size_curve, axis=Axis(quantity="work_items", label="n"))

    assert x_text(counted)(2.0**20) == "2²⁰"
    assert x_text(size_curve)(2.0**20) == "1 MiB"


def test_curves_of_one_kind_share_a_figure() -> None:
    """Many panels are divided evenly into several figures."""
    found = [curve for curve in curves(many_variants(2, 5)) if kind_of(curve) == "sizes"]

    assert len(pictures(found[:MOST_PANELS])) == 1
    first, *_, last = pictures(found)
    assert {"variant_0", "variant_1"} <= set(texts(first.draw))
    assert "cliffs and tapers agree" in first.caption
    assert last.caption.startswith("0 of 6 cliffs and tapers agree")


def test_only_needed_lines_of_marks_are_there(size_curve: CurveRecords) -> None:
    """Cliffs before tapers, predicted before observed; none for searches."""
    lines = [("cliff", "predicted"), ("cliff", "observed"), ("taper", "predicted"), ("taper", "observed")]

    assert mark_lines([size_curve]) == ((None, "bottleneck"), *lines)
    assert mark_lines([observed_only([1e9, 2e9])]) == ()
    assert mark_lines([with_shapes([(32, 1), (64, 1), (128, 1)])]) == ()


def test_points_of_one_style_are_one_element() -> None:
    """The number of elements does not grow with the points: layout engines process each of them."""
    few, many = (
        svg(partial(size_figure, [observed_only([1e9 + n for n in range(count)])], [["a"]])) for count in (15, 45)
    )

    assert abs(many.count("<path") - few.count("<path")) < 5
    assert many.count("<path") < 40


def test_intervals_stay_within_the_axes(size_curve: CurveRecords) -> None:
    """The top of an interval is not cut off."""
    assert size_curve.observation is not None
    widest = max(point.ci_high for point in size_curve.observation.points)
    with theme():
        figure = size_figure([size_curve], [["naive"]])

    assert figure.axes[0].get_ylim()[1] > widest


def test_plateaus_end_at_their_cliffs(size_curve: CurveRecords) -> None:
    """The first from the taper, the next from the end of the cliff; a fitted one has the best sample."""
    assert size_curve.observation is not None
    points = size_curve.observation.points
    rates = [
        CurveFeature(
            feature="rate", position="plateau", level=Level(name=name), value=value, unit="B/s", best_point=best
        )
        for name, value, best in (("L2", 9e12, None), ("DRAM", 4e12, 3e12))
    ]
    taper, cliff = feature_marks(size_curve.observation.features, points)
    first, second = plateaus((*(f for f in size_curve.observation.features if f.feature != "rate"), *rates), points)

    assert (first.start, first.end) == (pytest.approx(taper.main), pytest.approx(cliff.start))
    assert cliff.end < second.start < second.end == max(point.point.x for point in points)
    assert (first.best_point, second.best_point) == (None, 3e12)


def test_ratios_beyond_the_strip_have_arrows(size_curve: CurveRecords) -> None:
    """An observation far from its prediction does not compress the others; 20 % stay visible."""
    assert size_curve.observation is not None
    first, *others = size_curve.observation.points
    far = first.model_copy(update={"value": first.value * 100, "ci_low": first.value, "ci_high": first.value * 101})
    wild = size_curve.observation.model_copy(update={"points": (far, *others)})
    with theme():
        calm, moved = (
            size_figure([replace(size_curve, observation=seen)], [["a"]]).axes[1]
            for seen in (size_curve.observation, wild)
        )

    assert moved.get_ylim()[1] <= 4
    assert calm.get_ylim()[1] < 2
    assert len(moved.lines) == len(calm.lines) + 1


def test_each_kind_of_sweep_has_its_figure() -> None:
    """Maps for two dimensions, curves for one, bars for cases and other shapes, traces for frames."""
    kinds = {curve.key.sweep: kind_of(curve) for curve in curves(many_variants(2, 1))}
    assert kinds == {"size": "sizes", "work_group": "shapes", "rates": "cases", "frames": "traces"}

    flat, odd = (with_shapes(shapes) for shapes in ([(32, 1), (64, 1), (128, 1)], [(24, 3), (32, 2), (32, 4)]))
    few = with_shapes([(32, 1), (64, 1)])
    assert kind_of(flat) == "sizes"
    assert kind_of(few) == "cases"
    assert kind_of(odd) == "cases"
    assert "64" in texts(pictures([flat])[0].draw)
    assert "24 x 3" in texts(pictures([odd])[0].draw)


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
    assert texts(partial(case_figure, [curve], [["fma"]])).count("case 3") == 1


@pytest.mark.parametrize("high", [3e8, 8.7e8, 3.35e11, 1.6e12, 9.9e14])
@pytest.mark.parametrize("span", [1.5, 19, 25, 77, 300, 1e4])
def test_ticks_of_cases_do_not_overlap(high: float, span: float) -> None:
    """Even with a long unit and two panels side by side."""
    metric = Metric(kind="rate", unit="instruction", label="instruction rate")
    curve = replace(observed_only([high / span, high]), metric=metric)
    assert faults(partial(case_figure, [curve, curve], [["rate"], ["sub_group_rate"]])) == []


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
    assert any(text.startswith("aos: 65536, ") for text in texts(partial(trace_figure, found)))


def test_a_trace_s_title_keeps_the_median() -> None:
    """For long names of variants and several panels side by side."""
    trace = Trace("a variant with a name that is long: 7.86 M (480 MiB)", np.arange(3.0), np.full(3, 4.25e-6))
    titles = [text for text in texts(partial(trace_figure, [trace] * 6)) if text.startswith("a variant")]

    assert len(titles) == 6
    assert all(title.endswith("…, median 4.25 µs") for title in titles)


def test_traces_have_axes_of_their_own() -> None:
    """A short trace beside a long one uses its whole panel; a slow first dispatch does not extend the axis below 0."""
    times = np.ones(300)
    times[0] = 9.0
    short, long = (Trace("a", np.linspace(0, end, 300), times) for end in (0.1, 60.0))
    found = texts(partial(trace_figure, [short, long]))

    assert "time since the first dispatch (ms)" in found
    assert "time since the first dispatch (s)" in found
    medians = np.array([0.97, 1.0, 2.44])
    assert ratio_limits(medians, medians) == (pytest.approx(0.955), pytest.approx(3.16))
    assert ratio_limits(medians, 2 * medians) == (pytest.approx(0.955), pytest.approx(1 + 1.1 * 3.88))
    assert ratio_limits(medians, 100 * medians)[1] == pytest.approx(1 + 1.1 * 3 * 1.44)
    assert ratio_limits(np.array([0.1, 1.0]), medians)[0] == 0.0


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
    cliff = FeatureMark("cliff", 48, 50, 52, 49, 51, ("cliff, longer than the panel " * 9, "cliff"))
    taper = FeatureMark("taper", 51, 52, 52, 40, 70, ("taper",))
    with theme():
        _, ((axis,),) = sheet([(0, 1)])
        axis.set(xscale="log", xlim=(1, 2000))
        draw_marks([axis], (cliff, taper), 1.1, "#112233")
    one, two = axis.texts
    left, right = (axis.transData.transform((x, 1))[0] for x in (40, 70))

    assert (one.get_text(), one.get_ha(), two.get_text(), two.get_ha()) == ("cliff", "right", "taper", "left")
    assert axis.transAxes.transform(one.xy)[0] < left
    assert axis.transAxes.transform(two.xy)[0] > right


@given(st.integers(1, 60), st.integers(1, 12))
def test_parts_are_even_and_complete(count: int, most: int) -> None:
    """No figure exceeds the limit, and their numbers of panels differ by at most one."""
    parts = list(in_figures(range(count), most))

    assert [item for part in parts for item in part] == list(range(count))
    assert max(map(len, parts)) <= most
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_the_roofline_takes_the_largest_size_of_each_variant(report: Report) -> None:
    """Variants without operations are left out."""
    dots = roofline_dots(curves(report), report.device)

    assert [dot.name for dot in dots] == ["naive", "packed64", "aos", "soa", "local", "shuffle"]
    assert dots[0].intensity == pytest.approx(60 / 32, rel=0.01)
    assert {dot.operations for dot in dots} == {"int32"}
    assert "packed64" in texts(partial(roofline_figure, dots, report.device))
    assert dots[0].observed_per_s == pytest.approx(dots[0].predicted_per_s, rel=0.08)


def test_a_roofline_has_a_panel_for_each_class_of_operations(report: Report) -> None:
    """Names of variants stay on the sheet, even long ones."""
    dots = roofline_dots(curves(report), report.device)
    long = replace(dots[0], name="words_changed_random_glider_and_more", operations="instruction")
    with theme():
        figure = roofline_figure([*dots, long], report.device)

    assert len(figure.axes) == 2
    assert faults(partial(roofline_figure, [*dots, long], report.device)) == []


def test_samples_of_the_farthest_points_are_drawn(report: Report) -> None:
    """One point for each curve with a value that is off, the farthest first."""
    found = deviating_points(curves(report))
    astray = {str(f.key.workload) for f in report.findings if f.verdict in (Verdict.OFF, Verdict.ERROR)}

    assert found
    assert {point.workload for point in found} <= astray
    assert all(a.distance >= b.distance for a, b in pairwise(found))
    assert all(len(point.at) == len(point.ratios) for point in found)
    for part in in_figures(found, MOST_SAMPLED):
        assert faults(partial(sample_figure, part)) == []


def test_many_workloads_share_rows() -> None:
    """The figure keeps its height, and shows the workloads farthest from 1."""
    rows = overview_rows(paired(make_report(families=20).findings))

    assert len(rows) == MOST_ROWS
    assert "family_00" in texts(partial(overview_figure, rows))


def test_ratios_beyond_the_axis_are_drawn_at_its_edge(report: Report) -> None:
    """A ratio of 1000 does not compress the scale of the others."""
    wild = report.findings[0].model_copy(update={"ratio": 1000.0})

    found = texts(partial(overview_figure, overview_rows(paired([wild, *report.findings[10:12]]))))

    assert "10" in found
    assert "1000" not in found


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
    """1-2-5, or powers of ten."""
    high = low * factor
    ticks = decimal_ticks(low, high)

    assert len(ticks) <= 8
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


def test_page_one_shows_caches_and_families(report: Report) -> None:
    """Latency and bandwidth with the capacities of caches; for each family its n90, which is at 90 % of the plateau."""
    drawn = essentials(curves(report), str.upper, report.device)

    assert drawn is not None
    assert [curve.key.variant for curve in drawn.bandwidth] == ["read"]
    assert {"GAME_OF_LIFE", "PARTICLES"} <= {line.name for line in drawn.work}
    for line in drawn.work:
        assert np.interp(np.log(line.n90), np.log(line.items), line.shares) == pytest.approx(0.9, abs=0.05)
    found = texts(partial(essentials_figure, drawn))
    assert any(text.startswith("L2 ") for text in found)
    assert any(text.startswith("resident at once: ") for text in found)
    assert faults(partial(essentials_figure, drawn)) == []


def test_page_one_without_observations_shows_predictions(report: Report) -> None:
    """Without curves there is no figure."""
    found = [replace(curve, observation=None, pairs=()) for curve in curves(report)]
    drawn = essentials(found, str, DEVICE)

    assert drawn is not None
    assert all(line.predicted is None for line in drawn.work)
    assert texts(partial(essentials_figure, drawn))
    assert essentials((), str, DEVICE) is None


def test_a_label_covers_no_curve() -> None:
    """It is near its line where there is room; the line, dots and other texts stay visible."""
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
    """Contrast with white of at least 4.5 (WCAG 2), computed by hand; dark colours stay unchanged."""
    parts = [int(readable(colour)[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]

    assert 1.05 / (float(np.dot((0.2126, 0.7152, 0.0722), linear)) + 0.05) >= 4.5
    assert readable("#000000") == "#000000"


def test_a_curve_of_few_units_is_labelled_with_their_number(report: Report, size_curve: CurveRecords) -> None:
    """Its values are not comparable with those of all units; they get no labels."""
    drawn = essentials(curves(report), str, report.device)
    assert drawn is not None
    (curve,) = drawn.bandwidth
    observation = curve.observation
    assert observation is not None
    few = tuple(
        p.model_copy(update={"point": p.point.model_copy(update={"parameters": {**p.point.parameters, "groups": 25}})})
        for p in observation.points
    )
    changed = replace(
        curve, specification=None, calibrated=None, observation=observation.model_copy(update={"points": few})
    )
    found = texts(partial(essentials_figure, replace(drawn, bandwidth=(changed,), compute_units=132)))

    assert reading_units(changed, 132) == 25
    assert reading_units(size_curve, 132) == 132
    assert "only 25 of 132 units" in found
