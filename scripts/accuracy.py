"""Update the accuracy table of the README with the current results of ``gpureport validate``.

Run as ``.venv/bin/python scripts/accuracy.py``.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpureport.cli.validating import ValidationRequest, compared
from gpureport.cli.validation_tables import target_row
from gpureport.errors import GpuReportError
from gpureport.validate.targets import TARGETS, judge

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- accuracy: written by scripts/accuracy.py -->", "<!-- end of accuracy -->"

COLUMNS = ("data", "what", "n", "specification", "calibrated")


def row(cells: Sequence[str]) -> tuple[str, ...]:
    """Return the cells of a target, combined to fewer columns."""
    data, what, statistic, n, unmatched, *judged = cells
    reached = [f"{judged[i]} ({' '.join(judged[i + 1 : i + 3]).strip()})" if judged[i] else "" for i in (0, 3)]
    return data, f"{what}, {statistic}", f"{n}, unmatched {unmatched}" if unmatched else n, *reached


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
    rows = (row(target_row(results)) for results in judge(found, TARGETS))
    README.write_text(with_table(README.read_text(encoding="utf-8"), markdown(COLUMNS, rows)), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except GpuReportError as error:
        sys.exit(f"accuracy: {error}")
