"""Update the tables of ``docs/accuracy.md`` and ``docs/errors.md`` with the current results of ``gpureport validate``.

``templates/accuracy.yaml`` has the errors that page one of a prediction quotes.

Run as ``.venv/bin/python scripts/accuracy.py``.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from gpureport.cli.app import ValidateOptions
from gpureport.cli.validating import compared, constants, error_cells, result_cells, unmatched
from gpureport.errors import GpuReportError
from gpureport.grouping import grouped
from gpureport.records.curves import BASES
from gpureport.spec.database import Database, load_database
from gpureport.validate.residuals import PredictedCurve, Residual
from gpureport.validate.targets import TARGETS, Summary, TargetResult, judge, summarise, where_calibrated

ROOT = Path(__file__).parents[1]
PLACES = {"accuracy": "docs/accuracy.md", "times": "docs/errors.md"}
"""The document of each table."""

COLUMNS = ("data", "what", "constants", "n", "specification", "calibrated")
_STATISTICS = "median / mean / 90 %"
TIMES = (
    *("data", "constants", "n", f"specification: {_STATISTICS}", "n"),
    *(f"specification of these: {_STATISTICS}", f"calibrated: {_STATISTICS}"),
)


def row(results: Sequence[TargetResult], found: Iterable[Residual]) -> tuple[str, ...]:
    """Return the cells of a target, with a result for each kind of prediction that it limits."""
    target, summary = results[0].target, results[0].summary
    lacking = f", unmatched {unmatched(summary)}" if unmatched(summary) else ""
    cells = {result.kind: result_cells(result) for result in results}
    reached = {kind: f"{error} ({' '.join(judged).strip()})" for kind, (error, *judged) in cells.items()}
    what, origin = f"{target.what}, {target.statistic}", constants(filter(target.concerns, found))
    return target.data, what, origin, f"{summary.n}{lacking}", *(reached.get(kind, "") for kind in BASES)


def times_by_result(found: Iterable[Residual]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of the times of each result: all points, then those with a calibrated prediction."""
    for name, own in grouped((c.curve.result, c) for c in found if c.what == "times").items():
        every, measured = (summarise(c for c in own if c.curve.kind == kind) for kind in BASES)
        listed = summarise(where_calibrated(own))
        yield name, constants(own), str(every.n), errors(every), str(listed.n or ""), errors(listed), errors(measured)


def by_class(found: Iterable[Residual], database: Database) -> Iterator[str]:
    """Yield a line for each class of device: names, and errors of times, of devices that the model has not seen.

    Devices count equally, however many points they have.
    """
    times = [c for c in found if c.what == "times" and c.curve.kind == "specification" and c.error is not None]
    unseen = [c for c in times if c.curve.independence != "seen"]
    for name, own in sorted(grouped((c.curve.device_class, c) for c in unseen).items()):
        devices = grouped((_model(c.curve, database), c.error or 0.0) for c in own)
        every = [error for one in devices.values() for error in one]
        weights = [1 / len(one) for one in devices.values() for _ in one]
        quantiles = np.quantile(every, [0.5, 0.9], weights=weights, method="inverted_cdf")
        median, p90 = (round(float(each), 4) for each in quantiles)
        yield f"{name}: {{devices: [{', '.join(sorted(devices))}], median: {median}, p90: {p90}}}\n"


def _model(curve: PredictedCurve, database: Database) -> str:
    """Return the name of a device without vendor and memory size; of a CPU, that of its type of core."""
    if curve.device_class == "CPU":
        return database.architecture(curve.architecture).name
    name = database.device(curve.device).name.removeprefix(f"{curve.device_class.removesuffix(' GPU')} ")
    return re.sub(r" \d+ ?GB$", "", name)


def errors(summary: Summary) -> str:
    """Return median, mean and 90th percentile; nothing without data."""
    return " / ".join(error_cells(summary)) if summary.n else ""


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = (columns, ["---"] * len(columns), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def marks(name: str) -> tuple[str, str]:
    """Return the lines around a table."""
    return f"<!-- {name}: written by scripts/accuracy.py -->", f"<!-- end of {name} -->"


def with_table(text: str, name: str, table: str) -> str:
    """Replace the text between the marks of a table.

    Raises:
        GpuReportError: the marks are missing.
    """
    begin, end = marks(name)
    marked = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    if not marked.search(text):
        raise GpuReportError(f"{PLACES[name]}: lacks the lines {begin!r} and {end!r} around the table")
    return marked.sub(lambda _: f"{begin}\n\n{table}\n\n{end}", text)


def main() -> None:
    """Validate all stored results, and update the tables."""
    found, _ = compared(ValidateOptions())
    database = load_database()
    tables = {
        "accuracy": markdown(COLUMNS, (row(results, found) for results in judge(found, TARGETS))),
        "times": markdown(TIMES, times_by_result(found)),
    }
    texts = {place: (ROOT / place).read_text(encoding="utf-8") for place in PLACES.values()}
    for name, table in tables.items():
        texts[PLACES[name]] = with_table(texts[PLACES[name]], name, table)
    lines = "".join(by_class(found, database))
    (ROOT / "templates/accuracy.yaml").write_text(f"# written by scripts/accuracy.py\n{lines}", encoding="utf-8")
    for place, text in texts.items():  # if a place lacks a table, no document has changed
        (ROOT / place).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except GpuReportError as error:
        sys.exit(f"accuracy: {error}")
