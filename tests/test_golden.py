"""The golden text of each kind of document; ``pytest tests/test_golden.py --renew`` writes them anew.

A line that several documents share is in the text of the first of them only.
"""

import io
import shlex
import shutil
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest

from gpureport.cli import main
from gpureport.cli.measuring import _summarise
from gpureport.compare import Run, compare, excerpt
from gpureport.data import data_dir
from gpureport.fleet.analysis import analyse
from gpureport.fleet.document import write_documents
from gpureport.kernel_files import KernelFileWorkload, load_kernels
from gpureport.records.curves import Points
from gpureport.records.finding import Verdict
from gpureport.records.measurement import Conditions, MeasuredPoint, Verification
from gpureport.records.report import Report, save_report
from gpureport.report.curves import curves
from gpureport.report.run.page_one import headline
from gpureport.report.run.published import statements_table
from gpureport.results.opening import predicted
from gpureport.spec.models import EntryMatch
from gpureport.workloads import select
from tests.builders import altered
from tests.documents import difference, masked, pattern, reduced, renew, unshared
from tests.fake_run import saved_reports
from tests.kept import CPU, GPU, PUBLISHED, database, filled, kept, kept_html, record, render_html
from tests.make_fleet import a_run, eight_nodes
from tests.make_report import busy, make_machine, make_report, slower

pytestmark = pytest.mark.xdist_group("documents")
"""They share the rendered reports."""

FEW = ("memory/copy", "memory/latency", "launch/queued", "particles/structs16")
EXAMPLES = data_dir("kernels_cl") / "examples"
CREATED = "2026-11-21T09:30:00+00:00"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw in this process, make no PDF, and print for 80 columns."""
    monkeypatch.setattr("gpureport.report.processes.usable_cores", lambda: [0])
    monkeypatch.setattr("gpureport.report.render.pdf_problem", lambda: "not wanted")
    monkeypatch.setattr("gpureport.report.pdf.pdf_problem", lambda: "not wanted")
    monkeypatch.setenv("COLUMNS", "80")


@cache
def _gpu() -> tuple[list[str], list[str]]:
    """The lines of the page of a GPU, and its glossary, which every document has."""
    lines = reduced(kept_html(GPU))
    start = next(number for number, line in enumerate(lines) if line.startswith("## ") and "Glossary" in line)
    return lines[:start], lines[start:]


def unknown() -> list[str]:
    """A device that the database lacks, in a disturbed run that did not end, with skipped points and wrong results."""
    report = make_report(only=("memory", "particles", "transpose"))
    how = "No entry matches the device (PCI id 10de:2330)."
    match = EntryMatch(entry=None, how=how, draft=True, notes=("It has 12 of 132 units.",))
    first, *others = report.measurements
    check = Verification(passed=False, cases=("97 x 61",), message="97 x 61: 5 of 5917 cells differ.")
    wrong = altered(first, points=Points(), verification=check, skipped="The results are wrong.")
    late = [MeasuredPoint(point=p.point, skipped=f"It would take {n}.5 ms.") for n, p in enumerate(others[0].points)]
    cut = altered(others[0], points=Points((*others[0].points[:9], *late[9:])))
    own = {first.key.workload: Verdict.ERROR}
    known = {
        "match": match,
        "status": "partial",
        "findings": tuple(altered(f, verdict=own.get(f.key.workload, f.verdict)) for f in report.findings),
        "measurements": tuple(altered(m, began_s=2.0 * n) for n, m in enumerate((wrong, cut, *others[1:]))),
        "conditions": (Conditions(workload="memory/read", readings=tuple(map(busy, range(60)))),),
    }
    return reduced(render_html(report.model_copy(update=known)))


def published() -> list[str]:
    """A published record, and the statements of two others."""
    lines = reduced(render_html(record("rtx_2060_bit_transpose")), dated=True)
    for name in ("rx_7900_xt_particles", "a40_game_of_life"):
        report = record(name)
        assert report.publication
        rows = statements_table(report, report.publication).rows
        lines += [f"=== {name}", *headline(report, (), curves(report)), *(" | ".join(row) for row in rows)]
    return lines


def one_prediction() -> list[str]:
    """A GPU of another vendor."""
    report = predicted(database().device("amd/rx_7900_xt"), select(FEW), quick=True)[0]
    return reduced(render_html(altered(report, created_at=CREATED)))


def two_predictions() -> list[str]:
    """Of two vendors, as the command writes it."""
    with TemporaryDirectory() as folder:
        _printed(f"predict h200 rx7900xt --quick -w {','.join(FEW)} --pdf -o {folder}")
        page = (Path(folder) / "report.html").read_text(encoding="utf-8")
    return reduced(page.replace(datetime.now(UTC).date().isoformat(), CREATED[:10]))


def own_kernels() -> list[str]:
    """A kernel of the user, without a description, measured on a device that does not exist and computes nothing."""
    with (
        TemporaryDirectory() as folder,
        patch.object(KernelFileWorkload, "expected", return_value={}),
        patch("gpureport.measure.kernels._overrun", return_value=None),
    ):
        description = "source: saxpy.cl\nsizes: {n: auto}\nglobal_size: [n]\n"
        (Path(folder) / "saxpy.yaml").write_text(description, encoding="utf-8")
        shutil.copy(EXAMPLES / "saxpy.cl", folder)
        kernels = load_kernels([Path(folder) / "saxpy.yaml"])
        made = saved_reports(*kernels)[-1]
    known = {"machine": make_machine(), "created_at": CREATED, "conditions": ()}
    return reduced(render_html(made.model_copy(update=known)), dated=True)


@cache
def _two_runs() -> tuple[Report, Report]:
    """Two reports on the same device, the second a tenth slower in one family, and quick."""
    report = make_report()
    quick = altered(report.settings, quick=True)
    return report, altered(slower(report, 1 / 0.9, "game_of_life"), settings=quick)


def _compared(**machines: Report) -> list[str]:
    runs: dict[str, tuple[Run, ...]] = {name: (excerpt(report),) for name, report in machines.items()}
    found = altered(compare(runs), created_at=CREATED)
    return reduced(filled("comparison.html.j2", {"comparison": found}), dated=True)


def two_machines() -> list[str]:
    """Two runs on the same device."""
    before, after = _two_runs()
    return _compared(before=before, after=after)


def many_machines() -> list[str]:
    """A measured GPU and CPU, published GPUs, and a predicted one."""
    published = ("a40_memory", "mi210_memory", "l40_memory")
    report = predicted(database().device("intel/hd_520"), select(FEW), quick=True)[0]
    return _compared(h200=kept(GPU), epyc=kept(CPU), hd_520=report, **{name: record(name) for name in published})


def fleet() -> list[str]:
    """The page and what the commands print."""
    with TemporaryDirectory() as folder, chdir(folder):
        write_documents(analyse(eight_nodes(a_run(Path("run")), Path("store"))), Path("site"), with_pdf=False)
        page = Path("site", "fleet.html").read_text()
        printed = _printed("fleet report --store store", "fleet list --store store")
    return [*reduced(page.replace("<wbr>", "")), *printed]


def terminal() -> list[str]:
    """A few commands."""
    with TemporaryDirectory() as folder, chdir(folder):
        for name, report in zip(("before", "after"), _two_runs(), strict=True):
            save_report(report, Path(name) / "report.json")
        for file in (EXAMPLES / "saxpy.cl", EXAMPLES / "saxpy.yaml", PUBLISHED / "rtx_2060_bit_transpose.yaml"):
            shutil.copy(file, ".")
        printed = _printed(
            "devices --containing 'RTX 40'",
            f"predict h200 --quick -w {','.join(FEW)}",
            f"predict h200 rx7900xt --quick -w {','.join(FEW)}",
            "predict h200 --kernel saxpy.yaml --quick",
            "compare before after",
            "validate before rtx_2060_bit_transpose.yaml --times",
            "glossary occupency",
            "devices check nvidia/a40",
            "render before",
            "render nothing",
        )
    quick = ["=== Workloads of a quick run", *(each.name for each in select((), quick=True)), ""]
    return [*printed, *quick, *_captured("=== Summary of a run", lambda: _summarise(kept(CPU)))]


def _printed(*commands: str) -> list[str]:
    """Return what each command prints."""
    return [
        line
        for command in commands
        for line in _captured(f"$ gpureport {command}", partial(main, shlex.split(command)))
    ]


def _captured(title: str, action: Callable[[], object]) -> list[str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        action()
    errors = [f"(stderr) {line}" for line in err.getvalue().splitlines()]
    return [title, *masked((*out.getvalue().splitlines(), *errors), dated=True), ""]


DOCUMENTS: dict[str, Callable[[], list[str]]] = {
    "glossary": lambda: _gpu()[1],
    "run_gpu": lambda: _gpu()[0],
    "run_cpu": lambda: reduced(kept_html(CPU)),
    "run_unknown_device": unknown,
    "own_kernels": own_kernels,
    "published": published,
    "prediction_one": one_prediction,
    "prediction_two": two_predictions,
    "comparison_two": two_machines,
    "comparison_many": many_machines,
    "fleet": fleet,
    "terminal": terminal,
}
_lines = cache(lambda name: DOCUMENTS[name]())


def _golden(name: str) -> list[str]:
    """Return the lines of a document, without those of documents before it; of some only what has another pattern."""
    if name == "terminal":
        return _lines(name)
    key = pattern if name in ("run_unknown_device", "own_kernels") else str
    known: dict[str, str] = {}
    for other in takewhile(lambda each: each != name, DOCUMENTS):
        known = dict.fromkeys(map(key, _lines(other)), other) | known
    return unshared(_lines(name), known, key)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_document_is_as_before(name: str, pytestconfig: pytest.Config) -> None:
    """A change is one diff; if it is intended, renew the texts and review them."""
    if pytestconfig.getoption("renew"):
        renew(name, _golden(name))
    if found := difference(name, _golden(name)):
        pytest.fail(f"Is this intended? If so: python -m pytest tests/test_golden.py --renew\n{found}", pytrace=False)


def test_golden_texts_belong_to_documents() -> None:
    """None is left over."""
    from tests.documents import FOLDER

    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == sorted(DOCUMENTS)
