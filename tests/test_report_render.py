"""The document: page one, contents, escaping, no fetches, nothing outside its page."""

import base64
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from pypdf import PdfReader
from pypdf.generic import Destination, DictionaryObject, PdfObject

from gpureport.cli.rendering import write_documents
from gpureport.errors import GpuReportError
from gpureport.records.curves import Level, Points
from gpureport.records.measurement import Conditions, Reading
from gpureport.records.report import Report
from gpureport.report import Paper
from gpureport.report.pdf import layout, pdf
from gpureport.report.render import typeset
from gpureport.report.text.tables import Table
from tests.builders import altered
from tests.kept import record, render_html
from tests.make_report import make_report
from tests.page_boxes import strays

HOSTILE = "<script>alert('x')</script>\"&'; } body{display:none}\0\x1b\u202e " + "W" * 250


def one_family() -> Report:
    return make_report(families=1)


def hostile() -> Report:
    """Return a report whose names are long and full of mark-up."""
    report = make_report(name=HOSTILE, families=1)
    info = next(iter(report.workloads.values()))
    wild = altered(info, title=HOSTILE, description=HOSTILE * 2, counting="</style><img src=x>")
    findings = tuple(altered(f, level=Level(name="L" * 80)) for f in report.findings)
    first = report.measurements[0]
    compiled = altered(first.compilation[0], log=HOSTILE, options="-D" + "X" * 300)
    told = {"throttle_reasons": (HOSTILE, "L" * 80, "power brake"), "others_utilisation": 0.9, "measuring": True}
    readings = tuple(Reading.model_validate({"at_s": at_s, **told}) for at_s in range(200))
    return altered(
        report,
        workloads={**report.workloads, "family_00/only": wild},
        findings=findings,
        measurements=(
            altered(first, compilation=(compiled,), began_s=1.0),
            *report.measurements[1:],
        ),
        conditions=(Conditions(workload=HOSTILE, readings=readings),),
        settings=altered(report.settings, command=HOSTILE),
    )


def nothing_measured() -> Report:
    report = one_family()
    skipped = tuple(
        altered(m, points=Points(), compilation=(), verification=None, skipped="The build failed.")
        for m in report.measurements
    )
    return altered(report, measurements=skipped, observations=(), findings=())


def empty() -> Report:
    update = dict.fromkeys(("predictions", "measurements", "observations", "findings"), ())
    return one_family().model_copy(update={**update, "workloads": {}})


def published() -> Report:
    """Return the report of a published record, with statements."""
    return record("a40_game_of_life")


SLOW = ("nothing_measured", "empty")
SCENARIOS = ("hostile", "published", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW))
PAPERS = (("a4", (794, 1123)), pytest.param("letter", (816, 1056), marks=pytest.mark.slow))


@cache
def html_of(scenario: str) -> str:
    return render_html(globals()[scenario]())


@pytest.mark.usefixtures("pango")
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(("paper", "size"), PAPERS)
def test_nothing_leaves_its_page_and_page_one_is_one_page(scenario: str, paper: Paper, size: tuple[int, int]) -> None:
    document = layout(html_of(scenario), paper)

    assert {(round(page.width), round(page.height)) for page in document.pages} == {size}
    assert not list(strays(document))
    assert set(document.pages[0].anchors) == {"main"}
    assert document.pages[1].anchors


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_page_fetches_nothing_and_its_links_lead_somewhere(scenario: str) -> None:
    html = html_of(scenario)
    addresses = re.findall(r'(?:\bsrc|href|action|data)="([^"]*)"|url\(([^)]*)\)', html)

    assert all(a.startswith(("#", "data:")) for pair in addresses for a in pair if a)
    assert "@import" not in html
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == html.count("<script")
    hashes = [hashlib.sha256(text.encode()).digest() for attributes, text in scripts if not attributes]
    assert [base64.b64decode(each) for each in re.findall(r"'sha256-([^']*)'", html.partition("</head>")[0])] == hashes
    data = [(attributes, text) for attributes, text in scripts if attributes]
    assert all(attributes == ' type="application/json"' and json.loads(text) for attributes, text in data)
    targets, anchors = re.findall(r'<a (?:class="see" )?href="#([^"]+)"', html), re.findall(r' id="([^"]+)"', html)
    own = [anchor for anchor in anchors if not re.match(r"[0-9a-f]{8}-", anchor)]
    assert {"numbers", "sources", "uncertainties", *targets} <= set(anchors)
    assert len(own) == len(set(own))


def test_hostile_names_are_text() -> None:
    html = html_of("hostile")

    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in html
    assert "</style><img" not in html
    assert html.count("<style") == 2
    assert html.count("</style") == 2


@pytest.mark.usefixtures("pango")
def test_addresses_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was fetched")

    monkeypatch.setattr("urllib.request.OpenerDirector.open", refuse)
    picture = base64.b64encode(b'<svg xmlns="http://www.w3.org/2000/svg"><image href="http://localhost:9/x"/></svg>')
    body = (
        '<img src="http://localhost:9/x.png" alt="x"><img src="file:///etc/hostname" alt="x">'
        '<link rel="stylesheet" href="file:///etc/passwd">'
        f'<img src="data:image/svg+xml;base64,{picture.decode()}" alt="x">'
    )

    with pytest.raises(AssertionError):
        __import__("urllib.request").request.OpenerDirector().open("data:,x")
    assert layout(f'<html lang="en"><title>x</title>{body}').write_pdf()


def structure(node: PdfObject | None) -> Iterator[DictionaryObject]:
    below = node.get("/K", []) if isinstance(node, DictionaryObject) else []
    for child in below if isinstance(below, list) else [below]:
        tag = child.get_object()
        if isinstance(tag, DictionaryObject) and "/S" in tag:
            yield tag
            yield from structure(tag)


@pytest.mark.usefixtures("pango")
def test_the_pdf_has_outline_metadata_tags_fonts_and_page_numbers() -> None:
    reader = PdfReader(io.BytesIO(pdf(render_html(one_family()))))
    outline = [item.title for item in reader.outline if isinstance(item, Destination)]
    texts = [page.extract_text() for page in reader.pages]
    fonts = {
        str(font.get_object()["/BaseFont"]).split("+")[-1]
        for page in reader.pages
        for font in page["/Resources"].get("/Font", {}).values()
    }
    tags = list(structure(reader.root_object["/StructTreeRoot"].get_object()))
    figures = [tag for tag in tags if tag["/S"] == "/Figure"]

    assert reader.metadata is not None
    assert reader.metadata.title == "NVIDIA H200 SXM: predicted and observed"
    assert reader.root_object["/Lang"] == "en-GB"
    assert reader.root_object["/MarkInfo"]["/Marked"]
    assert (outline[0], outline[-1]) == ("Cliffs: usable cache capacity", "Glossary")
    assert reader.metadata.author == "gpureport"
    assert "roofline" in str(reader.metadata["/Keywords"])
    assert fonts
    assert all(re.match(r"/?(gpureport|Inter|JetBrains)", name) for name in fonts), fonts
    assert all(f"{number} / {len(texts)}" in text for number, text in enumerate(texts, start=1))
    assert all("NVIDIA H200 SXM" in text for text in texts)
    assert "working set (both buffers)" in " ".join(texts)  # the text of figures is text
    assert len(figures) > 2
    assert all(len(str(figure["/Alt"])) > 20 for figure in figures)
    assert {"/Table", "/TH", "/TD", "/Caption", "/H1", "/H2", "/H3", "/L"} <= {str(tag["/S"]) for tag in tags}


def test_without_pango_html_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)

    assert write_documents(empty(), tmp_path, no_pdf=False, paper="a4") == [tmp_path / "report.html"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html"]
    with pytest.raises(GpuReportError, match="apt-get install libpango"):
        pdf(render_html(empty()))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ('<a href="#a_b">particles/structs32_s</a>', '<a href="#a_b">particles/<wbr>structs32_s</a>'),
        ("&lt;b&gt;_/x &amp; 1 / 2 <code>a_b</code>", "&lt;b&gt;_/<wbr>x &amp; 1 / 2 <code>a_b</code>"),
        ("of rx_7900_xtx and instructions_per_cycle", "of rx_7900_xtx and instructions_per_cycle"),
        ("words_changed_random_glider of 6 cases", "words_changed_random_<wbr>glider of 6\xa0cases"),
        ("nvidia-h200 to-do", '<span class="whole">nvidia-h200</span> to-do'),
        ("3 Tmultiply-add/s", '3\xa0<span class="whole">Tmultiply-add/s</span>'),
        ("work-items for 90 %", "work-items for 90\xa0%"),
        ("at 43.7 Gparticle/s or a/b", "at 43.7\xa0Gparticle/s or a/<wbr>b"),
        ("805 k items (529 to 1322)", "805\xa0k items (529\xa0to\xa01322)"),
        ("3 MiB / 4 MiB ± 3 %", "3\xa0MiB / 4\xa0MiB ±\xa03\xa0%"),
        ("(a long text in brackets)", "(a long text in brackets)"),
    ],
)
def test_lines_break_where_names_join_and_not_within_numbers(text: str, html: str) -> None:
    assert typeset(text) == html


@pytest.mark.parametrize(
    ("cell", "words", "whole"),
    [("52 GB/s ± 22 %", True, True), ("328 Tmultiply-add/s ± 42 %", True, False), ("a" * 40, False, False)],
)
def test_a_table_breaks_lines_before_intervals_then_words(cell: str, words: bool, whole: bool) -> None:
    table = Table(("kernel", *"abcd"), (("words_changed_random", *[cell] * 4),))
    assert (table.fits(whole=False), table.fits(whole=True)) == (words, whole)
