"""The kept reports and published records of the repository, each read and rendered once in a run of the tests."""

from functools import cache
from pathlib import Path

from gpureport.records.report import Report, load_report
from gpureport.report.render import REPORT, Content, _Pages, content
from gpureport.results.opening import open_report
from gpureport.spec.database import Database, load_database

REPORTS = Path(__file__).parents[1] / "reports"
PUBLISHED = REPORTS / "published"
GPU, CPU = "nvidia-h200", "pocl-epyc-2-cores-quick"
"""The reports that stand for all others where one of a kind is enough."""
NAMES = sorted(path.parent.name for path in REPORTS.glob("*/report.json.xz"))
"""All kept reports. ``gpureport`` writes reports of runs beside them, not compressed."""


@cache
def database() -> Database:
    """The shipped database."""
    return load_database()


@cache
def kept(name: str) -> Report:
    """The kept report of a folder."""
    return load_report(REPORTS / name)


@cache
def record(name: str) -> Report:
    """The report of a published record."""
    return open_report(PUBLISHED / f"{name}.yaml", database())


def filled(template: str, facts: Content) -> str:
    """Return the page of a template."""
    pages = _Pages(template)
    return pages.with_figures(pages.text(facts))


def render_html(report: Report) -> str:
    """The page of a report."""
    return filled(REPORT, {**content(report), "file_name": "report", "data_file": "report.json"})


@cache
def kept_html(name: str) -> str:
    """The page of a kept report."""
    return render_html(kept(name))
