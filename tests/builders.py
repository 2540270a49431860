"""Records that differ from others in a few fields."""

from typing import Any, TypeVar

from pydantic import BaseModel

Record = TypeVar("Record", bound=BaseModel)


def altered(record: Record, **fields: Any) -> Record:
    """Return a copy of *record* with other values in some of its *fields*, which are not validated."""
    return record.model_copy(update=fields)
