"""Tables of published measurements, read and checked: every error names file, line and column."""

from collections.abc import Collection
from io import BytesIO
from pathlib import Path
from typing import cast

import pandas as pd

from gpureport.inputs import FileError, json_bytes
from gpureport.text import quoted, suggestion

_LEAST, _MOST, _MOST_COUNT = 1e-30, 1e30, 1e12  # number of a cell


def read_table(
    path: Path,
    texts: Collection[str],
    numbers: Collection[str],
    zero: Collection[str] = (),
    optional: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return a table; *texts* and positive *numbers* are required columns, and numbers in those of *zero* may be 0.

    With *optional* texts, which may be missing, all other columns contain 0, numbers from 1 on, or nothing (NaN); those
    whose names end in ``_s`` contain any times.
    """
    if not (content := json_bytes(path).rstrip(b"\r\n")):
        raise FileError(str(path), "is empty")
    try:
        frame = pd.read_csv(BytesIO(content), dtype=str, keep_default_na=False, skip_blank_lines=False).fillna("")
        header = pd.read_csv(BytesIO(content), dtype=str, header=None, nrows=1, skip_blank_lines=False).iloc[0]
    except UnicodeDecodeError:
        raise FileError(str(path), "is not UTF-8 text; give a table saved as CSV in UTF-8") from None
    except ValueError as error:
        raise FileError(str(path), f"is not CSV ({error})") from None
    if len(repeated := header[header.duplicated()]):
        raise FileError(str(path), f"{repeated.iloc[0]}: occurs twice", 1)
    if missing := [column for column in (*texts, *numbers, *zero) if column not in frame]:
        raise FileError(str(path), f"{missing[0]}: is missing", 1)
    if frame.empty:
        raise FileError(str(path), "has no rows")
    if not isinstance(frame.index, pd.RangeIndex):  # pandas takes the first of too many cells as names of rows
        raise FileError(str(path), "has more cells in a row than columns", 2)
    others = (
        [] if optional is None else [str(each) for each in frame if each not in (*texts, *numbers, *zero, *optional)]
    )
    for column in texts:
        check(path, frame[column], frame[column].ne(""), " is empty")
    for column in (*numbers, *zero, *others):
        values = pd.to_numeric(frame[column], errors="coerce").astype(float)
        lacking = frame[column].eq("") & (column in others)
        counts = column in others and not column.endswith("_s")
        valid = (
            values.between(*((1, _MOST_COUNT) if counts else (_LEAST, _MOST)))
            | (values.eq(0) & (column not in numbers))
            | lacking
        )
        wrong = (
            f" is no number from 1 to {_MOST_COUNT:g}" if counts else f" is no number above zero, of at most {_MOST:g}"
        )
        check(path, frame[column], valid, wrong)
        frame[column] = values
    return frame


def check(
    path: Path, cells: "pd.Series[str]", valid: "pd.Series[bool]", problem: str, known: Collection[str] = ()
) -> None:
    """Raise a FileError with the *problem* of the first cell that is not *valid*, and the most similar *known* text."""
    for row, text in cells[~valid].items():
        found = f"{cells.name}: {quoted(text)}"
        raise FileError(str(path), f"{found}{problem}{suggestion(text, known)}", cast("int", row) + 2)


def check_known(path: Path, cells: "pd.Series[str]", known: Collection[str]) -> None:
    """Raise a FileError if *cells* of a table contain a name that is not *known*."""
    check(path, cells, cells.isin(list(known)), " is unknown", known)
