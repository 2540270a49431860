"""The HTML in Chromium: charts, tables, colours and widths; it fetches nothing, and reports no error."""

import csv
import os
import re
import shutil
from ctypes.util import find_library
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from gpureport.cli import main
from gpureport.compare import compare, excerpt
from gpureport.fleet.analysis import analyse
from gpureport.fleet.document import write_documents
from gpureport.records.ceilings import ceiling_label
from gpureport.records.curves import Observation, ObservedPoint, Points
from gpureport.records.finding import Verdict
from gpureport.records.prediction import Prediction
from gpureport.records.report import Report
from gpureport.results.opening import predicted
from gpureport.workloads import select
from tests.kept import database, filled, record, render_html
from tests.make_fleet import a_run, eight_nodes
from tests.make_report import make_report

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Locator, Page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FEW = ("memory/read", "memory/latency")
WIDE, PHONE = 1400, 390
FOUR_DIGITS = 6e-4
"""Relative error of values with four significant digits."""
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "B": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "": 1}
BROKEN_WORDS = """[...document.querySelectorAll("tbody tr > :first-child")].flatMap((cell) =>
    [...cell.childNodes].flatMap((node) => [...(node.data ?? "").matchAll(/[^\\s\\u00a0-]+/g)].filter((word) => {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        return new Set([...range.getClientRects()].map(({top}) => Math.round(top))).size > 1;
    })))"""
"""The words in first columns that are written in several lines."""
REPEATED = "[...document.querySelectorAll('[id]')].map(({id}) => id).filter((id, at, ids) => ids.indexOf(id) < at)"
"""Identifiers that several elements have."""
FIGURE = "figure:has(.charts)"
VALUES = ".uplot:has(.u-legend)"
"""Charts of values: rows of marks above them have no legend."""

OTHERS = ("predicted", "devices", "comparison", "published")
KINDS = ("run", *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS))

pytestmark = pytest.mark.skipif(
    BROWSER is None or find_library("atomic") is None,  # without the latter, Playwright's driver does not start
    reason="there is no Chromium or libatomic (Debian: apt-get install chromium libatomic1)",
)


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with sync_api.sync_playwright() as playwright:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = playwright.chromium.launch(executable_path=BROWSER, args=options)
        yield opened
        opened.close()


@pytest.fixture
def show(browser: "Browser", tmp_path: Path) -> "Iterator[Callable[..., Page]]":
    """Show HTML, without a network; afterwards nothing was fetched, refused or wrong."""
    found: list[str] = []

    def shown(html: str, *, width: int = WIDE, scripts: bool = True, scheme: str = "light") -> "Page":
        (tmp_path / "page.html").write_text(html, encoding="utf-8")
        address = (tmp_path / "page.html").as_uri()
        context = browser.new_context(
            viewport={"width": width, "height": 900}, java_script_enabled=scripts, color_scheme=scheme
        )
        page = context.new_page()
        page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: found.append(str(error)))
        page.on("request", lambda request: found.append(request.url) if request.url != address else None)
        page.route("**/*", lambda route: route.continue_() if route.request.url == address else route.abort())
        page.goto(address)
        found.extend(page.evaluate(REPEATED))
        return page

    yield shown
    for context in browser.contexts:
        context.close()
    assert not [text for text in found if not text.startswith(("data:", "blob:"))]


@cache
def report() -> Report:
    """A small report with one sweep of each kind; its separate cases are not as predicted, so that they are drawn."""
    made = make_report(only=("game_of_life",), cases=True)
    changed = {"verdict": Verdict.OFF}
    findings = (f.model_copy(update=changed) if f.position == "case" else f for f in made.findings)
    return made.model_copy(
        update={"findings": tuple(findings), "predictions": tuple(map(with_bands, made.predictions))}
    )


def with_bands(prediction: Prediction) -> Prediction:
    points = (point.model_copy(update={"spread": 1.25}) for point in prediction.points)
    return prediction.model_copy(update={"points": Points(points)})


@cache
def html() -> str:
    return render_html(report())


def a_curve() -> tuple[Prediction, Observation]:
    """The first sweep over sizes, as predicted and as observed."""
    observation = next(o for o in report().observations if o.axis.quantity == "working_set")
    return next(p for p in reversed(report().predictions) if p.key == observation.key), observation


def figure_of(page: "Page", label: str) -> "Locator":
    """Return the first figure with charts that have this x axis, after they are drawn."""
    figures = page.locator(FIGURE)
    for number in range(figures.count()):
        figures.nth(number).scroll_into_view_if_needed()
        figures.nth(number).locator(".plot canvas").first.wait_for()
        if label in (figures.nth(number).locator(VALUES).first.locator(".u-legend").text_content() or ""):
            return figures.nth(number)
    raise AssertionError(f"no chart against {label}")


def the_figure(page: "Page") -> "Locator":
    return figure_of(page, a_curve()[1].axis.label)


def hover(page: "Page", figure: "Locator", across: float, up: float = 0.5) -> dict[str, str]:
    """Return the values of the first chart at a share of its width, by name."""
    box = figure.locator(VALUES).first.locator(".u-over").bounding_box()
    assert box
    page.mouse.move(box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"])
    rows = figure.locator(VALUES).first.locator(".u-legend tr").all()
    return {(row.locator("th").text_content() or ""): (row.locator("td").text_content() or "") for row in rows}


def numbers(text: str) -> list[float]:
    found = re.fullmatch(r"([\d.]+)(?: (KiB|MiB|GiB|B(?!/)|[kMGT]?)[^(]*)?(?:\(([\d.]+) to ([\d.]+)\))?", text)
    assert found, text
    scale = UNITS[found[2] or ""]
    return [float(each) * scale for each in (found[1], found[3], found[4]) if each]


def at(points: "tuple[ObservedPoint, ...]", x: float) -> ObservedPoint:
    (point,) = (point for point in points if point.point.x == pytest.approx(x, rel=FOUR_DIGITS))
    return point


@pytest.mark.parametrize("across", [0.2, 0.9])
def test_hovering_shows_the_values_of_the_report(show: "Callable[..., Page]", across: float) -> None:
    prediction, observation = a_curve()
    page = show(html())
    shown = hover(page, the_figure(page), across)

    x, *_ = numbers(shown[observation.axis.label])
    seen = at(observation.points, x)
    predicted = next(p for p in prediction.points if p.point == seen.point)
    assert numbers(shown["observed"]) == pytest.approx([seen.value, seen.ci_low, seen.ci_high], rel=FOUR_DIGITS)
    band = [predicted.value, predicted.value / predicted.spread, predicted.value * predicted.spread]
    name = "predicted, calibrated" if prediction.kind == "calibrated" else "predicted from the specification"
    value, bottleneck = shown[name].split(", ")
    assert bottleneck == ceiling_label(predicted.bottleneck)
    assert numbers(value) == pytest.approx(band, rel=FOUR_DIGITS)


def pixels(figure: "Locator", name: str) -> int:
    """Return how many pixels of the first chart have the colour of a CSS variable."""
    return int(
        figure.locator(VALUES)
        .first.locator("canvas")
        .evaluate(
            """(canvas, name) => {
                const probe = document.createElement("p");
                probe.style.color = `var(${name})`;
                document.body.append(probe);
                const [r, g, b] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
                probe.remove();
                const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                let count = 0;
                for (let i = 0; i < data.length; i += 4) {
                    count += data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255;
                }
                return count;
            }""",
            name,
        )
    )


def test_names_hide_and_show_their_series(show: "Callable[..., Page]") -> None:
    page = show(html())
    figure = the_figure(page)
    name = figure.locator(VALUES).first.locator(".u-legend th", has_text="observed")
    dots = pixels(figure, "--observed")
    assert dots > 100
    name.click()
    page.wait_for_timeout(100)
    assert name.get_attribute("aria-pressed") == "false"
    assert pixels(figure, "--observed") == 0
    name.press("Enter")
    page.wait_for_timeout(100)
    assert name.get_attribute("aria-pressed") == "true"
    assert pixels(figure, "--observed") == dots


def test_the_download_contains_the_values_of_the_report(show: "Callable[..., Page]", tmp_path: Path) -> None:
    observation = a_curve()[1]
    page = show(html().replace('"name":"observed"', '"name":"=observed"'))  # which a spreadsheet would execute
    with page.expect_download() as started:
        the_figure(page).get_by_role("button", name="Download CSV").click()
    assert started.value.suggested_filename.endswith(".csv")
    started.value.save_as(tmp_path / "data.csv")

    with (tmp_path / "data.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    mine = [row for row in rows if row["series"] == "'=observed"]
    points = sorted(observation.points, key=lambda point: point.point.x)
    assert [float(row["x"]) for row in mine] == pytest.approx([point.point.x for point in points], rel=1e-5)
    for column, values in (
        ("value", [point.value for point in points]),
        ("low", [point.ci_low for point in points]),
        ("high", [point.ci_high for point in points]),
    ):
        assert [float(row[column]) for row in mine] == pytest.approx(values, rel=1e-5)
    assert {(row["unit of x"], row["unit of value"]) for row in mine} == {("B", observation.metric.value_unit)}


@pytest.mark.slow
def test_the_page_of_a_fleet_reports_no_error(show: "Callable[..., Page]", tmp_path: Path) -> None:
    fleet = analyse(eight_nodes(a_run(tmp_path), tmp_path / "store"))
    page, *_ = write_documents(fleet, tmp_path / "site", with_pdf=False)
    show(page.read_text(encoding="utf-8"))


def test_the_strip_below_a_curve_shows_ratios(show: "Callable[..., Page]") -> None:
    prediction, observation = a_curve()
    page = show(html())
    figure = the_figure(page)
    shown = hover(page, figure, 0.5)
    strip = figure.locator(".plot").first.locator(".uplot").nth(2)
    (row,) = (row for row in strip.locator(".u-legend tr").all() if row.is_visible())
    assert row.locator("th").inner_text() == "observed / predicted"
    ratio, *_ = numbers(row.locator("td").inner_text())
    seen = numbers(shown["observed"])[0]
    observed = next(p for p in observation.points if p.value == pytest.approx(seen, rel=FOUR_DIGITS))
    predicted = next(p for p in prediction.points if p.point == observed.point)
    assert ratio == pytest.approx(observed.value / predicted.value, rel=FOUR_DIGITS)


def test_without_scripts_figures_are_drawings(show: "Callable[..., Page]") -> None:
    page = show(html(), scripts=False)
    assert page.locator("figure > svg").first.is_visible()
    assert page.locator(".charts, .tools").count() == 0


def test_headings_sort_tables(show: "Callable[..., Page]") -> None:
    page = show(render_html(make_report(only=("game_of_life",))))
    tables = page.locator("table", has=page.locator("th", has_text="bottleneck")).all()
    table = max(tables, key=lambda each: each.locator("tbody tr").count())
    head = table.locator("th", has_text="observed").first
    column = head.evaluate("head => head.cellIndex")

    def cells() -> list[str]:
        return [row.locator("td").nth(column).inner_text().strip() for row in table.locator("tbody tr").all()]

    head.click()
    up = cells()
    head.click()
    values = page.evaluate("texts => texts.map(size)", up)
    assert len(set(values)) >= 2
    assert values == sorted(values)
    assert cells() == up[::-1]
    texts = ["2^20 cells", "1.5 MiB", "900 KiB", "3.00 µs", "12 ms", "4 M items", "7 matrices", "—"]
    sizes = [2**20, 1.5 * 2**20, 900 * 2**10, pytest.approx(3e-6), 0.012, 4e6, 7, None]
    assert page.evaluate("texts => texts.map(size)", texts) == sizes


def test_no_other_script_runs(browser: "Browser", tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(html().replace("</body>", "<script>document.title = 'taken over'</script></body>"))
    page = browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(path.as_uri())
    assert page.title() == "NVIDIA H200 SXM: predicted and observed"
    assert len(refused) == 1
    assert "Content Security Policy" in refused[0]


@cache
def page_of(kind: str) -> str:
    if kind == "run":
        return html()
    if kind == "published":
        return render_html(record("a40_memory"))
    if kind == "predicted":
        return render_html(predicted(database().device("nvidia/h200_sxm"), select(FEW))[0])
    if kind == "comparison":
        runs = {str(number): (excerpt(make_report(seed=number, only=("memory",))),) for number in range(2)}
        return filled("comparison.html.j2", {"comparison": compare(runs)})
    with TemporaryDirectory() as folder:
        assert main(["predict", "h200", "rx7900xt", "-w", ",".join(FEW), "--pdf", "-o", folder]) == 0
        return (Path(folder) / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [WIDE, 800, PHONE])
def test_every_document_fits_the_screen(show: "Callable[..., Page]", kind: str, width: int) -> None:
    page = show(page_of(kind), width=width)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.hash") == "#main"
    for _ in range(20):
        page.mouse.wheel(0, 900)
        page.wait_for_timeout(20)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not page.evaluate(BROKEN_WORDS)
    contents = page.locator("body:has(> main) > nav.contents")
    beside = contents.evaluate("nav => getComputedStyle(nav).position === 'fixed'")
    assert beside is contents.evaluate("nav => nav.querySelector('details').open") is (width == WIDE)
    assert contents.locator("a").count() >= 2
    page.get_by_label("Search this page").fill("GLOSSARY")
    page.locator(".found a").first.click()
    assert "glossary" in page.locator("main :target").inner_text().lower()
    page.wait_for_function(
        """phone => document.querySelector(".scroll") && [...document.querySelectorAll(".scroll")].every((box) =>
            getComputedStyle(box, "::before").content.includes("sideways")
                === (phone && box.scrollWidth > box.clientWidth))""",
        arg=width == PHONE,
    )
