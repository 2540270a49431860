"""Update the accuracy table of the README with the current results of ``gpureport validate``.

Run as ``.venv/bin/python scripts/accuracy.py``.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpureport.cli.validating import ValidationRequest, compared
from gpureport.cli.validation_tables import result_cells, unmatched
from gpureport.errors import GpuReportError
from gpureport.validate.targets import KINDS, TARGETS, TargetResult, judge

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- accuracy: written by scripts/accuracy.py -->", "<!-- end of accuracy -->"

COLUMNS = ("data", "what", "n", "specification", "calibrated")


def row(results: Sequence[TargetResult]) -> tuple[str, ...]:
    """Return the cells of a target, with a result for each kind of prediction that it limits."""
    target, summary = results[0].target, results[0].summary
    lacking = f", unmatched {unmatched(summary)}" if unmatched(summary) else ""
    reached = {result.kind: "{} ({})".format(*_joined(result)) for result in results}
    what = f"{target.what}, {target.statistic}"
    return target.data, what, f"{summary.n}{lacking}", *(reached.get(kind, "") for kind in KINDS)


def _joined(result: TargetResult) -> tuple[str, str]:
    """Return the error; limit and result."""
    error, *judged = result_cells(result)
    return error, " ".join(judged).strip()


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = (columns, ["---"] * len(columns), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def with_table(text: str, table: str) -> str:
    """Replace the text between the marks.

    Raises:
        GpuReportError: the marks are missing.
    """
    marked = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    if not marked.search(text):
        raise GpuReportError(f"{README.name}: lacks the lines {BEGIN!r} and {END!r} around the table")
    return marked.sub(lambda _: f"{BEGIN}\n\n{table}\n\n{END}", text)


def main() -> None:
    """Validate all stored results, and update the table."""
    found, _ = compared(ValidationRequest())
    rows = map(row, judge(found, TARGETS))
    README.write_text(with_table(README.read_text(encoding="utf-8"), markdown(COLUMNS, rows)), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except GpuReportError as error:
        sys.exit(f"accuracy: {error}")
