"""Figures: the same text for the same report, safe to stand in a page, and sensible at the edges."""

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport.records import Axis, Metric, Observation, ObservedPoint, PointKey, SweepKey
from gpureport.report.curves import Curve, comparisons, curves
from gpureport.report.document import Report
from gpureport.report.figures.curve import curve_figure, feature_marks, place, x_text
from gpureport.report.figures.overview import MOST_ROWS, overview_figure, overview_rows
from gpureport.report.figures.roofline import roofline_dots, roofline_figure
from gpureport.report.figures.style import binary_ticks, decimal_ticks, shorten, spread, tick_text
from gpureport.report.figures.svg import PAGE_FONT, described
from gpureport.report.figures.work_group import MOST_SHAPES, ranked, shown, work_group_figure
from tests.make_report import make_report


@pytest.fixture(scope="module")
def report() -> Report:
    """Return the full synthetic report."""
    return make_report()


@pytest.fixture(scope="module")
def size_curve(report: Report) -> Curve:
    """Return a sweep over sizes."""
    return curves(report)[2]


@pytest.fixture(scope="module")
def shape_curve(report: Report) -> Curve:
    """Return a sweep over work-group shapes."""
    return curves(report)[1]


def texts(svg: str) -> list[str]:
    """Return the texts of a figure; it must be well-formed."""
    return [element.text or "" for element in ET.fromstring(svg).iter() if element.tag.endswith("text")]  # noqa: S314


def observed_only(values: list[float], label: str = "4 KiB") -> Curve:
    """Return a curve of observed *values* at 4 KiB, 8 KiB and so on."""
    points = tuple(
        ObservedPoint(
            point=PointKey(label=label, parameters={}, work=1, work_items=64, working_set_bytes=x, x=x),
            time_s=1,
            value=value,
            ci_low=value * 0.9,
            ci_high=value * 1.1,
            samples=5,
        )
        for x, value in zip((4096.0 * 2**i for i in range(99)), values, strict=False)
    )
    key = SweepKey(workload="w", variant="v", sweep="s")
    metric = Metric(kind="rate", unit="B", label="read bandwidth")
    axis = Axis(quantity="working_set", label="working set")
    observation = Observation(key=key, metric=metric, axis=axis, points=points, features=())
    return Curve(key, metric, axis, None, None, None, observation, ())


def test_figures_are_deterministic(report: Report, size_curve: Curve) -> None:
    """No date, no random id: the same report gives the same bytes."""
    assert curve_figure(size_curve) == curve_figure(size_curve)
    assert roofline_figure(roofline_dots(curves(report)), report.device) == roofline_figure(
        roofline_dots(curves(report)), report.device
    )


def test_figures_do_not_meddle_with_the_page(size_curve: Curve, shape_curve: Curve) -> None:
    """No style rules, no ids in common, every reference within the figure, the page's own font."""
    one, two = curve_figure(size_curve), work_group_figure(shape_curve)
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (one, two)]
    references = set(re.findall(r'(?:href="#|url\(#)([^")]+)', one))

    assert "<style" not in one
    assert "style=" not in one
    assert "DejaVu" not in one
    assert f"'{PAGE_FONT}'" in one
    assert not ids[0] & ids[1]
    assert references
    assert references <= ids[0]


def test_a_figure_shows_both_predictions_and_the_observation(size_curve: Curve) -> None:
    """Rows of the strip, what binds, marks with values, named plateaus."""
    found = texts(curve_figure(size_curve))

    assert {"what binds", "specification", "calibrated", "observed", "launch", "DRAM", "L2"} <= set(found)
    assert "L2 52 MiB" in found
    assert "L2 38.5 MiB" in found
    assert "fills at 610 k" in found


@pytest.mark.parametrize("values", [[5e9], [1e9, 1e9], [1e9, 3e12], [0.0, 2e9], [1e-3, 1e30]])
def test_curves_of_few_or_odd_points_are_drawn(values: list[float]) -> None:
    """One point, a flat curve, a zero on a logarithmic axis, an absurd range."""
    assert "observed" in texts(curve_figure(observed_only(values)))


def test_untrusted_names_are_text(shape_curve: Curve) -> None:
    """A label of mark-up, of another script, or with control characters is text, cut to its place."""
    for label in ("<script>x</script>", "設備" * 40, "a\x07\nb", "$\\frac{$"):
        curve = observed_only([1e9, 2e9], label)
        svg = work_group_figure(
            Curve(curve.key, curve.metric, shape_curve.axis, None, None, None, curve.observation, ())
        )

        assert "<script" not in svg
        assert shorten(label, 20) in texts(svg)


def test_the_caption_is_what_a_reader_hears(size_curve: Curve) -> None:
    """The caption is the figure's title, escaped."""
    svg = described(curve_figure(size_curve), 'L2 < "L3"')
    title = ET.fromstring(svg)[0]  # noqa: S314

    assert title.tag.endswith("title")
    assert title.text == 'L2 < "L3"'


def test_features_are_placed_on_the_axis(size_curve: Curve) -> None:
    """Bytes where x is bytes; work-items through the points; nothing outside the sweep."""
    assert size_curve.specification is not None
    points = size_curve.specification.points

    assert place(points[4].point.x, "B", points) == pytest.approx(points[4].point.x)
    assert place(points[4].point.work_items, "work-items", points) == pytest.approx(points[4].point.x)
    assert place(1e15, "B", points) is None
    assert place(1e9, "B/s", points) is None
    assert place(100, "B", points[:1]) is None


def test_marks_run_from_departure_to_arrival(size_curve: Curve) -> None:
    """A mark spans its positions, with the main one inside and its interval around it."""
    assert size_curve.observation is not None
    taper, cliff = feature_marks(size_curve.observation.features, size_curve.observation.points)

    assert taper.marker == "^"
    assert cliff.start < cliff.low < cliff.main < cliff.high < cliff.end
    assert cliff.text == "L2 38.5 MiB"


def test_work_items_are_written_as_powers(size_curve: Curve) -> None:
    """An axis of counts has superscripts, an axis of bytes has units."""
    counted = Curve(*[getattr(size_curve, name) for name in ("key", "metric")], Axis(quantity="work_items", label="n"),
                    None, None, None, size_curve.observation, ())  # fmt: skip

    assert x_text(counted)(2.0**20) == "2²⁰"
    assert x_text(size_curve)(2.0**20) == "1 MiB"


def test_shapes_are_ranked_and_the_middle_is_left_out() -> None:
    """The best are on top; of too many, both ends stay."""
    curve = observed_only([float(value) for value in range(1, 41)])
    labels = [p.model_copy(update={"point": p.point.model_copy(update={"label": str(i)})})
              for i, p in enumerate(ranked(curve))]  # fmt: skip

    assert [p.value for p in ranked(curve)][:2] == [40.0, 39.0]
    assert shown(labels)[0] == "0"
    assert shown(labels)[-1] == "39"
    assert len(shown(labels)) == MOST_SHAPES


def test_the_roofline_takes_the_largest_size_of_each_variant(report: Report) -> None:
    """Variants without operations have no place on it."""
    dots = roofline_dots(curves(report))

    assert [dot.name for dot in dots] == ["naive", "packed64", "aos", "soa", "local", "shuffle"]
    assert dots[0].intensity == pytest.approx(60 / 32)
    assert dots[0].observed_per_s == pytest.approx(dots[0].predicted_per_s, rel=0.05)


def test_many_workloads_share_rows() -> None:
    """The picture of page one keeps its height, and shows what is farthest off."""
    rows = overview_rows(comparisons(make_report(families=20).findings))

    assert len(rows) == MOST_ROWS
    assert "family_00" in texts(overview_figure(rows))


def test_ratios_beyond_the_axis_are_drawn_at_its_edge(report: Report) -> None:
    """A finding a thousand times off does not press all others together."""
    wild = report.findings[0].model_copy(update={"ratio": 1000.0})

    svg = overview_figure(overview_rows(comparisons([wild, *report.findings[10:12]])))

    assert "10" in texts(svg)
    assert "1000" not in texts(svg)


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.01, 0.2))
def test_spread_keeps_order_and_distance(positions: list[float], gap: float) -> None:
    """Labels end up at least a gap apart, in the order of what they name, around the same mean."""
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


def test_tick_texts_have_no_idle_zeros() -> None:
    """The unit stays; zeros that are part of the number stay."""
    assert tick_text(10e9, "B/s") == "10 GB/s"
    assert tick_text(100e9, "B/s") == "100 GB/s"
    assert tick_text(2.5e9, "B/s") == "2.5 GB/s"
    assert tick_text(1e-6, "s") == "1 µs"
