"""Data of interactive charts: the numbers of the report, in the page and not in the PDF."""

import hashlib
import json
import re
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest

from gpureport.cli.rendering import write_documents
from gpureport.records.curves import Points
from gpureport.report.curves import CurveRecords, curves
from gpureport.report.figures.chart import Panel, Series, chart_json, variants
from gpureport.report.figures.rooflines import Dot, roofline_chart, roofline_dot
from gpureport.report.figures.sweeps import case_chart, size_chart
from gpureport.report.run.efficiency import limits
from tests.make_report import make_report

VENDOR = Path(__file__).parents[1] / "templates" / "vendor"
HOSTILE = "</script><b>\u202e"


report = cache(partial(make_report, only=("game_of_life", "particles"), cases=True))


def curve(quantity: str) -> CurveRecords:
    """Return the first sweep over *quantity* that was observed."""
    return next(c for c in curves(report()) if c.axis.quantity == quantity and c.observation)


def named(panel: Panel, name: str) -> Series:
    (series,) = (each for each in panel.series if each.name == name)
    return series


def places(series: Series) -> list[tuple[float, float]]:
    return list(zip(series.x, series.y, strict=True))


def test_a_curve_has_the_points_of_its_records() -> None:
    found = curve("working_set")
    assert found.prediction
    spreads = [1 + number / 8 for number in range(len(found.prediction.points))]
    banded = tuple(p.model_copy(update={"spread": s}) for p, s in zip(found.prediction.points, spreads, strict=True))
    kind = found.prediction.kind
    found = replace(found, **{kind: found.prediction.model_copy(update={"points": Points(banded)})})
    (stack,) = size_chart([found], ["title"]).columns
    assert found.observation
    assert found.specification
    points = sorted(found.observation.points, key=lambda point: point.point.x)
    predicted = sorted(found.specification.points, key=lambda point: point.point.x)
    tracks, values, ratios = stack
    seen = named(values, "observed")

    assert places(seen) == [(p.point.x, p.value) for p in points]
    assert places(named(values, "predicted from the specification")) == [(p.point.x, p.value) for p in predicted]
    assert list(zip(seen.low, seen.high, strict=True)) == [(p.ci_low, p.ci_high) for p in points]
    (with_band,) = (each for each in values.series if each.role == "predicted" and each.low)
    factors = [high / y for y, high in zip(with_band.y, with_band.high, strict=True) if high]
    assert factors == pytest.approx(spreads)
    assert [panel.joined for panel in stack] == [True, True, False]
    assert (values.x.unit, values.x.scale, values.y.unit) == ("B", "log2", found.metric.value_unit)
    assert tracks.y.rows[0] == "bottleneck"
    assert all(y == pytest.approx(1) for y in ratios.series[1 if found.calibrated else 0].y)


def first_dots() -> list[Dot]:
    """Return the dots of all kernels."""
    kernels = limits(curves(report()), report().device.compute_units)
    dots = (roofline_dot(each.key.variant, each.predicted, each.observed, report().device) for each in kernels)
    return list(filter(None, dots))


def test_a_roofline_has_its_dots_below_its_ceilings() -> None:
    device = report().device
    dots = first_dots()
    panels = [panel for column in roofline_chart(dots, device).columns for panel in column]
    assert len(panels) == len({dot.operations for dot in dots})
    predicted = sorted(place for panel in panels for place in places(named(panel, "predicted")))
    assert predicted == sorted((dot.intensity, dot.predicted_per_s) for dot in dots)
    for panel in panels:
        slopes = [each for each in panel.series if each.role == "muted" and each.y[0] < each.y[1]]
        assert len(slopes) <= 2 + len(device.caches)
        for intensity, value in places(named(panel, "predicted")):
            assert value <= 1.01 * max(intensity * each.y[0] / each.x[0] for each in slopes)
        memory = next(each for each in slopes if variants(each.name)[-1] == "DRAM")
        slope = device.memory.bandwidth_bytes_per_s
        assert places(memory) == [pytest.approx((x, x * slope)) for x in memory.x]


def test_a_roofline_names_each_dot_once_observed_or_not() -> None:
    device = report().device
    first, *others = first_dots()
    dots = [
        first._replace(operations="fp32"),
        *(dot._replace(operations="fp32", observed_per_s=None) for dot in others),
    ]
    ((panel,),) = roofline_chart(dots, device).columns
    labels = [text for each in panel.series if each.labelled for text in each.texts if text]
    assert sorted(labels) == sorted(dot.name for dot in dots)


def test_names_cannot_leave_their_element() -> None:
    text = chart_json(case_chart([curve("case")], [HOSTILE]))
    assert "<" not in text
    assert "\u202e" not in text
    assert json.loads(text)[0]["panels"][0]["title"] == "</script><b> "


def test_data_are_in_the_page_and_not_in_the_pdf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[str] = []

    def taken(page: str, **_: object) -> bytes:
        given.append(page)
        return b""

    monkeypatch.setattr("gpureport.report.render.started", partial)
    monkeypatch.setattr("gpureport.report.render.pdf", taken)
    monkeypatch.setattr("gpureport.report.render.pdf_problem", lambda: None)
    file, *_ = write_documents(report(), tmp_path, no_pdf=False, paper="a4")
    data = re.findall(r'<script type="application/json">(.*?)</script>', file.read_text(), re.DOTALL)
    assert len(data) >= 4
    assert all(json.loads(text) for text in data)
    (page,) = given
    assert "<script" not in page
    assert "<svg" not in page


def test_vendored_files_are_those_of_the_locked_version() -> None:
    sums = dict(reversed(line.split()) for line in (VENDOR / "sha256sums.txt").read_text().splitlines())
    files = {path.relative_to(VENDOR).as_posix(): path.read_bytes() for path in (VENDOR / "uplot").iterdir()}
    assert {name: hashlib.sha256(content).hexdigest() for name, content in files.items()} == sums
    lock = json.loads((VENDOR / "package-lock.json").read_text())["packages"]
    wanted = json.loads((VENDOR / "package.json").read_text())["dependencies"]
    assert lock[""]["dependencies"] == wanted
    package = lock["node_modules/uplot"]
    assert package["integrity"].startswith("sha512-")
    assert package["license"] == "MIT"
    assert package["version"] == wanted["uplot"]
    assert f"(v{wanted['uplot']})" in files["uplot/uPlot.iife.min.js"].decode()[:100]
