"""Update the tables of ``docs/accuracy.md`` and ``docs/errors.md`` with the current results of ``gpureport validate``.

``templates/accuracy.yaml`` has the errors that page one of a prediction quotes.

Run as ``.venv/bin/python scripts/accuracy.py``.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from gpureport.cli.app import ValidateOptions
from gpureport.cli.validating import TARGET_COLUMNS, Summary, compared, error_cells, target_row
from gpureport.errors import GpuReportError
from gpureport.records.curves import BASES
from gpureport.spec.database import Database, load_database
from gpureport.validate.targets import TARGETS, judge, summarise, where_calibrated

ROOT = Path(__file__).parents[1]
PLACES = {"accuracy": "docs/accuracy.md", "times": "docs/errors.md"}
"""The document of each table."""
MODEL = ["device_class", "architecture", "device"]
TARGET = ["data", "what", "statistic"]

_STATISTICS = "median / MAPE / 90 %"
TIMES = (
    *("data", "constants", "n", f"specification: {_STATISTICS}", "n"),
    *(f"specification of these: {_STATISTICS}", f"calibrated: {_STATISTICS}"),
)


def times_by_result(found: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """Yield the cells of the times of each result: all points, then those with a calibrated prediction."""
    times = found[found["what"] == "times"]
    every, measured = (_by_result(times[times["kind"] == kind]) for kind in BASES)
    listed = _by_result(where_calibrated(times))
    for name, own in every.items():
        same = listed.get(name)
        n = str(same.n) if same else ""
        yield name, own.constants, str(own.n), errors(own), n, errors(same), errors(measured.get(name))


def _by_result(times: pd.DataFrame) -> dict[str, Summary]:
    return {each.Index: each for each in summarise(times, "result").itertuples()}


def by_class(found: pd.DataFrame, database: Database) -> Iterator[str]:
    """Yield a line for each class of device: names, and errors of times, of devices that the model has not seen.

    Devices count equally, however many points they have.
    """
    unseen = found[(found["what"] == "times") & (found["kind"] == "specification") & (found["independence"] != "seen")]
    unseen = unseen[unseen["error"].notna()]
    names = {each: _model(*each, database) for each in set(zip(*(unseen[column] for column in MODEL), strict=True))}
    unseen = unseen.assign(model=[names[each] for each in zip(*(unseen[column] for column in MODEL), strict=True)])
    for name, own in unseen.groupby("device_class"):
        weights = 1 / own.groupby("model")["error"].transform("count")
        quantiles = np.quantile(own["error"], [0.5, 0.9], weights=weights, method="inverted_cdf")
        median, p90 = (round(float(each), 4) for each in quantiles)
        yield f"{name}: {{devices: [{', '.join(sorted(own['model'].unique()))}], median: {median}, p90: {p90}}}\n"


def _model(device_class: str, architecture: str, device: str, database: Database) -> str:
    """Return the name of a device without vendor and memory size; of a CPU, that of its type of core."""
    if device_class == "CPU":
        return database.architecture(architecture).name
    name = database.device(device).name.removeprefix(f"{device_class.removesuffix(' GPU')} ")
    return re.sub(r" \d+ ?GB$", "", name)


def errors(summary: Summary | None) -> str:
    """Return median, MAPE and 90th percentile; nothing without data."""
    return " / ".join(error_cells(summary)) if summary else ""


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
    found = found[found["data_set"] == ""]
    database = load_database()
    tables = {
        "accuracy": markdown(
            TARGET_COLUMNS, (target_row(each) for _, each in judge(found, TARGETS).groupby(TARGET, sort=False))
        ),
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
