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
from typing import TYPE_CHECKING

import pytest
from pypdf import PdfReader
from pypdf.generic import Destination, DictionaryObject, PdfObject

from gpureport.data import data_dir
from gpureport.errors import GpuReportError
from gpureport.records.finding import Verdict
from gpureport.records.levels import Level
from gpureport.records.measurement import Conditions, Reading
from gpureport.records.report import EntryMatch, Report
from gpureport.report.pdf import layout, pdf
from gpureport.report.render import environment, render_html, write_report
from gpureport.report.text.words import TIMES
from gpureport.results.opening import open_report
from gpureport.spec.database import load_database
from tests.make_report import EVIDENCE, make_report
from tests.page_boxes import boxes, strays

if TYPE_CHECKING:
    from weasyprint.document import Document

HOSTILE = "<script>alert('x')</script>\"&'; } body{display:none}\0\x1b\u202e " + "W" * 250


def one_family() -> Report:
    """Return a small report: one family, one variant."""
    return make_report(families=1)


def draft() -> Report:
    """Return a report of a device that the database lacks, from a run that did not end, with a note."""
    match = EntryMatch(
        entry=None, how="No entry has this name.", draft=True, notes=("It reports 12 of 132 units.",) * 3
    )
    return _mismatched(one_family()).model_copy(update={"match": match, "status": "partial"})


def _mismatched(report: Report) -> Report:
    """Return the report with two kernels that move other bytes than the model counts."""
    remark = f"A work-item loads 8 B as compiled, 4 B in the model. {'Registers spill. ' * 20}"
    of = EVIDENCE.model_copy(
        update={"workload": "family_00/only", "loads_bytes_compiled": 8, "agrees": False, "remark": remark}
    )
    return report.model_copy(update={"evidence": (of, of.model_copy(update={"remark": "It stores more."}))})


def hostile() -> Report:
    """Return a report whose names are long and full of mark-up."""
    report = make_report(name=HOSTILE, families=1)
    info = next(iter(report.workloads.values()))
    wild = info.model_copy(update={"title": HOSTILE, "description": HOSTILE * 2, "counting": "</style><img src=x>"})
    findings = tuple(
        f.model_copy(update={"explanation": HOSTILE, "level": Level(name="L" * 80)}) for f in report.findings
    )
    first = report.measurements[0]
    compiled = first.compilation[0].model_copy(update={"log": HOSTILE, "options": "-D" + "X" * 300})
    told = {"throttle_reasons": (HOSTILE, "L" * 80, "power brake"), "others_utilisation": 0.9, "measuring": True}
    readings = tuple(Reading.model_validate({"at_s": at_s, **told}) for at_s in range(200))
    return report.model_copy(
        update={
            "workloads": {**report.workloads, "family_00/only": wild},
            "findings": findings,
            "measurements": (
                first.model_copy(update={"compilation": (compiled,), "began_s": 1.0}),
                *report.measurements[1:],
            ),
            "conditions": (Conditions(workload=HOSTILE, readings=readings),),
            "settings": report.settings.model_copy(update={"command": HOSTILE}),
        }
    )


def nothing_measured() -> Report:
    """Return a report in which every sweep was skipped."""
    report = one_family()
    skipped = tuple(
        m.model_copy(update={"points": (), "compilation": (), "verification": None, "skipped": "The build failed."})
        for m in report.measurements
    )
    return report.model_copy(update={"measurements": skipped, "observations": (), "findings": ()})


def empty() -> Report:
    """Return a report without any workload."""
    update = dict.fromkeys(("predictions", "measurements", "observations", "findings"), ())
    return one_family().model_copy(update={**update, "workloads": {}})


def wrong() -> Report:
    """Return a report whose only variant gave wrong results."""
    report = one_family()
    first = report.measurements[0]
    assert first.verification is not None
    check = first.verification.model_copy(update={"passed": False, "message": "97 x 61: 5 of 5917 cells differ."})
    measured = first.model_copy(update={"points": (), "verification": check, "skipped": "The results are wrong."})
    findings = tuple(f.model_copy(update={"verdict": Verdict.ERROR}) for f in report.findings)
    return report.model_copy(
        update={"measurements": (measured,), "observations": report.observations[1:], "findings": findings}
    )


def forty() -> Report:
    """Return the findings of forty workloads, without their curves."""
    report = make_report(families=40)
    return report.model_copy(update={"predictions": (), "measurements": (), "observations": report.observations[:1]})


def half() -> Report:
    """Return a report whose second half was never measured."""
    report = make_report(only=("game_of_life",))
    count = len(report.measurements) // 2
    kept = {(m.key.variant, m.key.sweep) for m in report.measurements[:count]}
    return report.model_copy(
        update={
            "status": "partial",
            "measurements": report.measurements[:count],
            "observations": report.observations[:count],
            "findings": tuple(f for f in report.findings if (f.key.variant, f.key.sweep) in kept),
        }
    )


def predicted() -> Report:
    """Return a report of a prediction alone."""
    report = one_family()
    specified = tuple(p for p in report.predictions if p.kind == "specification")
    update = dict.fromkeys(("measurements", "observations", "findings"), ())
    return report.model_copy(update={**update, "machine": None, "predictions": specified})


def published() -> Report:
    """Return the report of a published record, with statements."""
    return open_report(Path(__file__).parents[1] / "reports" / "published" / "a40_game_of_life.yaml", load_database)


SCENARIOS = (one_family, draft, hostile, nothing_measured, empty, wrong, forty, half, predicted, published)


@cache
def html_of(scenario: str) -> str:
    """Return the HTML of a scenario, rendered once."""
    return render_html(globals()[scenario]())


@cache
def pages_of(scenario: str) -> "Document":
    """Return the laid-out pages of a scenario."""
    return layout(render_html(globals()[scenario]()))


@cache
def full_pdf() -> PdfReader:
    """Return the PDF of two families."""
    return PdfReader(io.BytesIO(pdf(render_html(make_report(only=("game_of_life", "particles"))))))


@cache
def page_texts() -> list[str]:
    """Return the text of each page of that PDF."""
    return [page.extract_text() for page in full_pdf().pages]


@pytest.mark.parametrize("scenario", [function.__name__ for function in SCENARIOS])
def test_nothing_leaves_its_page(scenario: str) -> None:
    """Texts, tables and pictures lie between the margins, and texts within their table cells."""
    assert not list(strays(pages_of(scenario)))


@pytest.mark.parametrize("scenario", ["hostile", "published"])
def test_nothing_leaves_a_letter(scenario: str) -> None:
    """It is wider than A4, and shorter; page one is still one page."""
    document = layout(render_html(globals()[scenario]()), "letter")

    assert {(page.width, page.height) for page in document.pages} == {(8.5 * 96, 11 * 96)}
    assert not list(strays(document))
    assert not document.pages[0].anchors


@pytest.mark.parametrize("scenario", [function.__name__ for function in SCENARIOS])
def test_page_one_is_one_page(scenario: str) -> None:
    """The contents begin on page two."""
    anchors = [set(page.anchors) for page in pages_of(scenario).pages]

    assert not anchors[0]
    assert any(str(label) == "Contents" for _, label, *_ in pages_of(scenario).pages[1].bookmarks)


@pytest.mark.parametrize("scenario", [function.__name__ for function in SCENARIOS])
def test_the_page_fetches_nothing(scenario: str) -> None:
    """The document has no addresses but fragments and data, and no scripts but ours, whose hashes the policy lists."""
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


def test_hostile_names_are_text() -> None:
    """Mark-up in names, logs, commands and explanations is shown, not obeyed."""
    html = html_of("hostile")

    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in html
    assert "</style><img" not in html
    assert html.count("<style") == 2
    assert html.count("</style") == 2


def test_no_document_has_characters_that_control() -> None:
    """Names may have some, for a terminal or to turn what follows; pages show a sign in their place."""
    html = html_of("hostile")

    assert not {"\0", "\x1b", "\u202e"} & set(html)
    assert "\N{REPLACEMENT CHARACTER}" in html


def test_a_very_long_name_is_cut_on_page_one() -> None:
    """It would fill it; the appendix has what the runtime says."""
    html = render_html(make_report(name="W" * 1000, families=1))

    assert "W" * 240 not in html
    assert f"{'W' * 239}…</h1>" in html


@pytest.mark.parametrize("scenario", [function.__name__ for function in SCENARIOS])
def test_every_link_leads_somewhere(scenario: str) -> None:
    """Chapters and appendices have anchors, no two the same, and so has every section that a caption sends to."""
    html = html_of(scenario)
    targets, anchors = re.findall(r'<a (?:class="see" )?href="#([^"]+)"', html), re.findall(r' id="([^"]+)"', html)
    own = [anchor for anchor in anchors if not re.match(r"[0-9a-f]{8}-", anchor)]

    assert {"numbers", "sources", "uncertainties"} <= set(targets) <= set(anchors)
    assert len(own) == len(set(own))


def test_numbers_name_a_part_of_the_appendix() -> None:
    """Each caption names the families of its curves; only tables over all of them name the whole appendix."""
    html = html_of("one_family")
    named = re.findall(r"Numbers: appendix((?: <span[^>]*><a[^>]*>[A-Z](?:\.\d+)?</a>[.,]</span>)+)", html)

    assert named
    assert len(named) == html.count("Numbers: ")
    assert any(re.search(r"[A-Z]\.\d", each) for each in named)


def test_a_published_record_has_no_observed_values() -> None:
    """Its curves, tables and captions show published ones."""
    file = Path(__file__).parents[1] / "reports" / "published" / "rtx_2060_bit_transpose.yaml"
    body = render_html(open_report(file, load_database)).partition('id="numbers"')[0]
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", body)

    assert "published" in texts
    assert not any("observed" in text.split("not observed")[0] for text in texts)
    assert not re.search(r"[Oo]bserved (?:plateaus|rate|/ predicted)", body)


def test_chapters_come_in_order() -> None:
    """And appendices are lettered."""
    titles = re.findall(r"<h2 id=[^>]*>(.*?)</h2>", html_of("one_family"))

    assert titles == [
        "Cliffs: usable cache capacity",
        "Tapers: work needed for full throughput",
        "Work-group shapes",
        "Efficiency and bottlenecks",
        "Unexpected results",
        "Reliability of predictions and measurements",
        "A. All numbers",
        "B. Measurement methods",
        "C. Assumed uncertainties",
        "D. Environment",
        "E. Skipped measurements",
        "F. Sources of the device\N{RIGHT SINGLE QUOTATION MARK}s values",
        "G. Compiled kernels",
        "H. Glossary",
    ]


def test_addresses_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if an address got into the document, nobody would be asked for it."""

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


def test_page_one_answers() -> None:
    """Device, entry, decisions, trust, the picture."""
    text = page_texts()[0].replace("\n", " ").replace("\N{NO-BREAK SPACE}", " ")

    for words in (
        "NVIDIA H200 SXM",
        "nvidia/h200_sxm",
        "PCI id 10de:2335",
        "Work-group size (p. ",
        "Amount of work (p. ",
        "270 k work-items fill all compute units",
        "Bottleneck (p. ",
        "gpureport predict nvidia/h200_sxm OTHER",
        "Errors of predicted times (measured points): from the specification, median ",
        "compared features are within a factor of 1.2 of the prediction",
        "n90",
    ):
        assert words in text
    assert "DRAFT" not in text


def test_a_draft_says_so_on_page_one() -> None:
    """So does a partial run, and a device that is not as its entry says."""
    html = html_of("draft")
    page_one = html[: html.index('class="contents"')]

    for words in ("DRAFT", "PARTIAL", "No database entry.", "It reports 12 of 132 units."):
        assert words in page_one


def test_code_that_is_not_as_modelled_is_told_in_the_appendix() -> None:
    """It changes no decision, so page one leaves it out."""
    html = html_of("draft")
    told = "family_00/only (step): A work-item loads 8 B as compiled, 4 B in the model."

    assert told not in html[: html.index('class="contents"')]
    assert told in html


def test_wrong_results_are_told() -> None:
    """In the numbers, in the table of verifications, and on page one."""
    html = html_of("wrong")
    page_one = html[: html.index('class="contents"')]

    assert f"Wrong results of only.</strong> 97{TIMES}61: 5 of 5917 cells differ." in html
    assert f"WRONG: 97{TIMES}61" in html
    assert "Wrong results</strong> of only: not timed." in page_one
    assert "Features in error because results are wrong: " in page_one


def test_nothing_measured_is_told() -> None:
    """With the reason for each sweep, and predictions still drawn."""
    html = html_of("nothing_measured")

    assert "Nothing was measured: every workload was skipped." in html
    assert "○ Not measured: only: The build failed." in html
    assert html.count("<figure>") == 4


def test_the_pdf_has_outline_metadata_and_tags() -> None:
    """Title, language, chapters in the outline, tags for assistive software."""
    reader = full_pdf()
    outline = [item.title for item in reader.outline if isinstance(item, Destination)]

    assert reader.metadata is not None
    assert reader.metadata.title == "NVIDIA H200 SXM: predicted and observed"
    assert reader.root_object["/Lang"] == "en-GB"
    assert reader.root_object["/MarkInfo"]["/Marked"]
    assert outline[:3] == ["Contents", "Cliffs: usable cache capacity", "Tapers: work needed for full throughput"]
    assert outline[-1] == "H. Glossary"
    assert reader.metadata.author == "gpureport"
    assert "roofline" in str(reader.metadata["/Keywords"])


def test_the_pdf_brings_its_fonts() -> None:
    """Only the shipped families are in it, each embedded."""
    fonts = {
        str(font.get_object()["/BaseFont"]).split("+")[-1]
        for page in full_pdf().pages
        for font in page["/Resources"].get("/Font", {}).values()
    }

    assert fonts
    assert all(re.match(r"/?(gpureport|Inter|JetBrains)", name) for name in fonts), fonts


def test_figures_can_be_read_and_searched() -> None:
    """The text of figures is text."""
    text = page_texts()[2]

    assert "working set (both buffers)" in text
    assert "L2 cliff 52 MiB" in text


def test_pages_are_numbered_and_headed() -> None:
    """Running header from the second page on; page x / y on each."""
    pages = page_texts()

    assert all(f"{number} / {len(pages)}" in text for number, text in enumerate(pages, start=1))
    assert all("NVIDIA H200 SXM" in text for text in pages)


@pytest.mark.parametrize("template", sorted(path.name for path in data_dir("templates").glob("*.j2")))
def test_every_template_compiles(template: str) -> None:
    """No syntax error hides in a branch that no report takes."""
    assert environment().get_template(template).root_render_func


def test_a_report_is_written_as_html_and_two_pdfs(tmp_path: Path) -> None:
    """Into a folder that need not exist; the appendices have their own PDF; without PDFs if none are wanted."""
    report = empty()

    written = write_report(report, tmp_path / "a" / "b")
    assert [path.name for path in written] == ["report.html", "report.pdf", "report-appendix.pdf"]
    assert all(path.read_bytes().startswith(b"%PDF") for path in written[1:])
    assert len(write_report(report, tmp_path, with_pdf=False)) == 1


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """One sentence, not a traceback."""
    (tmp_path / "file").write_text("")

    with pytest.raises(GpuReportError, match=r"file/report\.pdf: cannot be replaced \(Not a directory\)"):
        write_report(empty(), tmp_path / "file", with_pdf=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    """The system names no file then."""
    (tmp_path / "report.html").symlink_to("/dev/full")

    with pytest.raises(GpuReportError, match=r"report\.html: cannot be written \(No space left on device\)"):
        write_report(empty(), tmp_path, with_pdf=False)


def test_without_pango_html_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence says what the system has to provide."""
    monkeypatch.setitem(sys.modules, "weasyprint", None)

    assert write_report(empty(), tmp_path) == [tmp_path / "report.html"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html"]
    with pytest.raises(GpuReportError, match="apt-get install libpango"):
        pdf(render_html(empty()))


@pytest.mark.parametrize(
    ("name", "text", "html"),
    [
        ("breakable", "particles/structs32_straight", "particles/<wbr>structs32_<wbr>straight"),
        ("breakable", "<b>_/x & 1 / 2", "&lt;b&gt;_/<wbr>x &amp; 1 / 2"),
        ("breakable", "work-items for 90 %", "work-items for 90\xa0%"),
        ("breakable", "at 43.7 Gparticle/s or a/b", 'at <span class="part">43.7 Gparticle/s</span> or a/<wbr>b'),
        ("number", "best sample of all: 43.7 GB/s", 'best sample of all: <span class="part">43.7 GB/s</span>'),
        ("number", "43.7 Gparticle/s", '<span class="part">43.7 Gparticle/s</span>'),
        (
            "number",
            "805 k items (529 to 1322)",
            '<span class="part">805 k items</span> <span class="part">(529 to 1322)</span>',
        ),
        ("number", "a value that is long / 3 MiB", 'a value that is long <span class="part">/ 3 MiB</span>'),
        ("number", "<i> ± 3 %", '&lt;i&gt; <span class="part">± 3 %</span>'),
    ],
)
def test_lines_break_where_names_join_and_not_within_numbers(name: str, text: str, html: str) -> None:
    """Whatever it is, it is escaped."""
    assert str(environment().filters[name](text)) == html


def test_no_word_of_a_table_is_broken() -> None:
    """A long name is broken at a joint, a value before its interval."""
    report = make_report(families=1)
    finding = next(f for f in report.findings if f.position == "plateau")
    wide = finding.model_copy(
        update={"unit": "particles/s", "predicted": 43.7e9, "observed": 44.68e9, "ci_low": 44.54e9, "ci_high": 44.82e9}
    )
    pages = layout(render_html(report.model_copy(update={"findings": (wide,)})))
    texts = (box.text for page in pages.pages for box in boxes(page._page_box) if type(box).__name__ == "TextBox")
    lines = {text.replace("\u00a0", " ").replace("\u2060", "") for text in texts}

    for whole in ("44.68 Gparticle/s", "± 0.3 %"):
        assert any(whole in line for line in lines)
    assert not any(line.endswith(("44.68", "Gparticle/")) or line in ("s", "%") for line in lines)


def structure(node: PdfObject | None) -> Iterator[DictionaryObject]:
    """Yield the tags below a node of the structure tree."""
    below = node.get("/K", []) if isinstance(node, DictionaryObject) else []
    for child in below if isinstance(below, list) else [below]:
        tag = child.get_object()
        if isinstance(tag, DictionaryObject) and "/S" in tag:
            yield tag
            yield from structure(tag)


def test_every_figure_and_table_of_the_pdf_is_tagged() -> None:
    """A figure says what is to be seen in it; tables have heads, and captions that belong to them."""
    tags = list(structure(full_pdf().root_object["/StructTreeRoot"].get_object()))
    kinds = [str(tag["/S"]) for tag in tags]
    figures = [tag for tag in tags if tag["/S"] == "/Figure"]

    assert len(figures) > 5
    assert all(len(str(figure["/Alt"])) > 20 for figure in figures)
    assert {"/Table", "/TH", "/TD", "/Caption", "/H1", "/H2", "/H3", "/L"} <= set(kinds)
