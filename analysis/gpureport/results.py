"""Open what was measured on a device, by us or by others, as a report."""

from pathlib import Path

from gpureport import published
from gpureport.errors import InputError
from gpureport.report.document import Report, load_report
from gpureport.spec.database import Database

RECORD_SUFFIX = ".yaml"


def is_record(path: Path) -> bool:
    """Return whether *path* is taken for a published record, not for a report."""
    return path.suffix == RECORD_SUFFIX and not path.is_dir()


def open_report(path: Path, database: Database) -> Report:
    """Read a ``report.json``, the folder of one, or a published record, which is then predicted and explained.

    Args:
        path: of the file or folder.
        database: of today; a record names a device of it.

    Raises:
        InputError: it is missing or wrong, or names a device that the database has not.
    """
    if not is_record(path):
        return load_report(path)
    from gpureport.published.report import published_report

    record = open_record(path, database)
    return published_report(record, database.device(record.device))


def open_record(path: Path, database: Database) -> published.Published:
    """Read a published record of a device of *database*.

    Raises:
        InputError: it is missing or wrong, or names a device that the database has not.
    """
    record = published.load(path)
    if record.device not in database.entries:
        raise InputError(f"{path}: device: the database has no {record.device!r}; 'gpureport devices --known' lists it")
    return record
