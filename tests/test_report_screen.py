"""The HTML in a browser: it fits a phone, tables sort, figures enlarge, and only our script runs."""

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from gpureport.report.render import render_html
from tests.make_report import make_report

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LONGEST_S = 60

needs_a_browser = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")

PROBE = """
const result = {width: document.documentElement.scrollWidth <= innerWidth};
const table = [...document.querySelectorAll("table")].find((t) => t.tHead.textContent.includes("midpoint"));
const heads = [...table.tHead.rows[0].cells];
const column = heads.findIndex((head) => head.textContent.trim().startsWith("midpoint observed"));
const cells = () => [...table.tBodies[0].rows].map((row) => row.cells[column].textContent.trim());
table.tHead.rows[0].cells[column].click();
result.up = cells();
table.tHead.rows[0].cells[column].click();
result.down = cells();
document.querySelector("figure svg").dispatchEvent(new MouseEvent("click"));
result.open = document.querySelector("dialog[open] svg") !== null;
document.querySelector("dialog").click();
result.sizes = ["2^20 cells", "1.5 MiB", "900 KiB", "3.00 µs", "12 ms", "4 M items", "7 matrices", "—"].map(size);
document.title = JSON.stringify(result);
"""


@cache
def page() -> str:
    """Return the HTML of a small report."""
    return render_html(make_report(only=("game_of_life",)))


def shown(html: str, folder: Path, width: int = 390) -> str:
    """Return the page's title after its scripts ran."""
    path = folder / "page.html"
    path.write_text(html)
    assert BROWSER
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size={width},800",
        f"--user-data-dir={folder}/p",
    ]
    command = [BROWSER, *options, "--virtual-time-budget=2000", "--dump-dom", path.as_uri()]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=True)
    title = re.search(r"<title>(.*?)</title>", ran.stdout, re.DOTALL)
    assert title
    return title[1]


@needs_a_browser
def test_the_page_fits_a_phone_and_taps_sort_and_enlarge(tmp_path: Path) -> None:
    """Only tables and figures are wider than the screen, each in its own scrolling box."""
    allowed = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page())
    result = json.loads(shown(allowed.replace("</body>", f"<script>{PROBE}</script></body>"), tmp_path))

    assert result["width"]
    assert result["open"]
    assert [text.partition(" MiB")[0] for text in result["up"]] == ["38.5", "49.1"]
    assert result["down"] == result["up"][::-1]
    assert result["sizes"] == [2**20, 1.5 * 2**20, 900 * 2**10, pytest.approx(3e-6), 0.012, 4e6, 7, None]


@needs_a_browser
def test_no_other_script_runs(tmp_path: Path) -> None:
    """The policy allows only the one script, by its hash."""
    hostile = page().replace("</body>", "<script>document.title = 'taken over'</script></body>")

    assert shown(hostile, tmp_path) == "NVIDIA H200 SXM: predicted and observed"


def test_the_policy_allows_nothing_from_elsewhere() -> None:
    """Styles, fonts, figures and the one script are in the page."""
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page())

    assert policy
    assert policy[1].startswith("default-src 'none'; ")
    assert page().count("<script>") == 1
    assert not re.search(r"https?://(?!www\.w3\.org/)", page().partition("</style>")[2])
