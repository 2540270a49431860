"""Update the tables of ``docs/`` with the current results of ``gpureport validate``.

``templates/accuracy.yaml`` has the errors that page one of a prediction quotes.

Run as ``.venv/bin/python scripts/accuracy.py``, or with ``--scoreboard`` for the tables of ``docs/scoreboard.md`` only.
"""

import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from gpureport.cli.app import ValidateOptions
from gpureport.cli.validating import (
    COLUMN_NAMES,
    LABELS,
    STATISTICS,
    TARGET_COLUMNS,
    Summary,
    compared,
    contest_table,
    error_cells,
    statistic_cells,
    target_row,
)
from gpureport.errors import GpuReportError
from gpureport.records.curves import BASES
from gpureport.spec.database import Database, load_database
from gpureport.text import counted
from gpureport.validate.sealing import read_sealed, sealed_files
from gpureport.validate.targets import OWN, TARGETS, contests, judge, summarise, where_calibrated

ROOT = Path(__file__).parents[1]
REPORTS = ROOT / "reports"
PUBLISHED = REPORTS / "published"
SCOREBOARD = PUBLISHED / "scoreboard"
_LONG_S = 100e-6
"""Least time of rows in which the host's part, which rivals do not predict, matters little."""
SCORES = (
    "rivals",
    "rivals of long rows",
    "rivals by generation",
    "losses",
    "coverage",
    "generations",
    "unpredicted",
    "sealed",
)
PLACES = {"accuracy": "docs/accuracy.md", "times": "docs/errors.md", **dict.fromkeys(SCORES, "docs/scoreboard.md")}
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


def scores(scored: pd.DataFrame, database: Database) -> dict[str, str]:
    """Return the tables of the scoreboard."""
    names = {each: database.architecture(each).name.partition(" (")[0] for each in scored["architecture"].unique()}
    scored = scored.assign(generation=scored["architecture"].map(names))
    known = scored[scored["error"].notna()]
    contested = known[known["rivals"].str.len() > 1]
    long = contested[contested["observed"] >= _LONG_S]
    by = ["data_set", "device_class", "generation", "independence"]
    return {
        "rivals": rivals(known, "kernel_class"),
        "rivals of long rows": rivals(long, "kernel_class"),
        "rivals by generation": rivals(contested, "generation"),
        "losses": "\n".join((*losses(known, "all"), *losses(long, "of 100 µs and more"))) or "None.",
        "coverage": markdown(*coverage(known)),
        "generations": statistics(known.sort_values(by, kind="stable"), by),
        "unpredicted": "\n".join(unpredicted(scored)) or "None.",
        "sealed": "\n".join(sealed(known)) or "None yet.",
    }


def rivals(known: pd.DataFrame, by: str) -> str:
    """Return a table of the errors of all predictors by a column, with the best in bold."""
    columns, rows = contest_table(known, by, "*")
    return markdown(columns, ([re.sub(r"(\d+)\*", r"**\1**", cell) for cell in row] for row in rows))


def unpredicted(scored: pd.DataFrame) -> Iterator[str]:
    """Yield a line for each data set with the numbers of rows of operators that the model lacks."""
    for name, own in scored[scored["predicted"].isna()].groupby("data_set"):
        operators = own["workload"].str.split("/").str[1].value_counts().items()
        yield f"- {name}: " + ", ".join(f"{operator} ({counted(n, 'row')})" for operator, n in operators)


def sealed(known: pd.DataFrame, folder: Path = REPORTS) -> Iterator[str]:
    """Yield a line for each file of sealed predictions, with its hash, and a table of errors of rows with a time."""
    for path in sealed_files(folder):
        name, contents = read_sealed(path)
        parts = name.split(", ")[0], contents.sealed_at[:10], f"gpureport {contents.version}"
        rows = f"{counted(len(contents.rows), 'row')}, {known['sealed'].eq(name).sum()} of them with a time"
        yield f"- {', '.join(parts)}: {rows}. SHA-256 `{contents.sha256}`"
    if len(scored := known[known["sealed"] != ""]):
        yield "\n" + statistics(scored, ["sealed", "data_set"])


def losses(known: pd.DataFrame, rows: str) -> Iterator[str]:
    """Yield a line for each class of kernels and measure in which a rival is better than gpureport, in these *rows*."""
    for kernels, errors in contests(known, "kernel_class"):
        percent = (100 * errors).map("{:.1f} %".format).rename(index=LABELS)
        for measure, title in {"mape": "MAPE", "p90": "90th percentile"}.items():
            better = errors[errors[measure] < errors.loc[OWN, measure]].sort_values(measure).rename(index=LABELS).index
            if len(better):
                both = ", ".join(f"{name} {percent.loc[name, measure]}" for name in (*better, OWN))
                yield f"- {kernels}, {rows} ({errors['n'].iloc[0]:.0f} rows), {title}: {both}"


SHOWN = ("devices", *STATISTICS[:-1])
"""Statistics of the scoreboard, whose rows all have both values."""
GOAL = (0.9, 0.99)
"""Of the share of times of a vendor within their 95 % intervals; the upper one needs a hundred times."""


def coverage(known: pd.DataFrame) -> tuple[Sequence[str], Iterable[Sequence[str]]]:
    """Return columns and rows of statistics by vendor, of all rows and by what constants were fitted to."""
    parts = pd.concat([known.assign(independence="all"), known])
    found = summarise(parts, ["device_class", "independence"]).sort_index()
    shares = found["inside"].round(2)
    reached = shares.ge(GOAL[0]) & (shares.le(GOAL[1]) | found["n"].lt(1 / (1 - GOAL[1])))
    goals = reached.map({True: "pass", False: "MISS"}).where(found.index.get_level_values(1) == "all", "")
    cells = zip(found.itertuples(), goals, strict=True)
    return ("device class", "constants", *SHOWN, "goal"), ((*each.Index, *shown(each), goal) for each, goal in cells)


def statistics(known: pd.DataFrame, by: list[str]) -> str:
    """Return a table of statistics by columns."""
    rows = ((*each.Index, *shown(each)) for each in summarise(known, by).itertuples())
    return markdown((*(COLUMN_NAMES.get(name, name) for name in by), *SHOWN), rows)


def shown(summary: Summary) -> tuple[str, ...]:
    """Return the cells of the columns ``SHOWN``."""
    return str(summary.devices), *statistic_cells(summary)[:-1]


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


def main(*, only_scores: bool) -> None:
    """Validate all stored results, or only the scoreboard, and update the tables."""
    found, _ = compared(
        ValidateOptions(paths=[SCOREBOARD], sealed=sealed_files(PUBLISHED)) if only_scores else ValidateOptions()
    )
    database, scored = load_database(), found["data_set"] != ""
    texts = {place: (ROOT / place).read_text(encoding="utf-8") for place in PLACES.values()}
    tables = scores(found[scored], database)
    if not only_scores:
        judged = judge(found, TARGETS).groupby(TARGET, sort=False)
        tables["accuracy"] = markdown(TARGET_COLUMNS, (target_row(each) for _, each in judged))
        tables["times"] = markdown(TIMES, times_by_result(found[~scored]))
        lines = "".join(by_class(found[~scored], database))
        texts["templates/accuracy.yaml"] = f"# written by scripts/accuracy.py\n{lines}"
    for name, table in tables.items():
        texts[PLACES[name]] = with_table(texts[PLACES[name]], name, table)
    for place, text in texts.items():  # if a place lacks a table, no document has changed
        (ROOT / place).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--scoreboard", action="store_true", help="only the tables of docs/scoreboard.md")
    try:
        main(only_scores=parser.parse_args().scoreboard)
    except GpuReportError as error:
        sys.exit(f"accuracy: {error}")
