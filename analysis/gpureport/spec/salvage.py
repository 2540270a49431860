"""The valid part of a file with errors, so that one mistake does not hide others."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gpureport.inputs import Steps
from gpureport.spec.mistakes import MOST, mistakes

F = TypeVar("F", bound=BaseModel)


def salvage(model: type[F], data: Mapping[str, Any], written: Iterable[Steps]) -> F | None:
    """Return a file's contents without its invalid fields; *written* are the paths of all values.

    Returns:
        ``None`` if a required field is invalid or missing, or there are too many mistakes.
    """
    left, known = copy.deepcopy(dict(data)), set(written)
    while True:
        try:
            return model.model_validate(left)
        except ValidationError as error:
            wrong = [path for path, _ in mistakes(model, error, known)]
            if error.error_count() > MOST or not sum(_removed(left, path) for path in wrong):
                return None


def _removed(data: dict[str, Any], path: Steps) -> bool:
    """Delete the deepest existing part of *path* (lists as a whole), or add a missing name; return whether it did."""
    container: Any = data
    last: tuple[dict[Any, Any], Any] | None = None
    for step in path:
        if not isinstance(container, dict) or step not in container:
            break
        last, container = (container, step), container[step]
    if last:
        del last[0][last[1]]
        return True
    missing = path in (("name",), ("vendor",))
    if missing:
        data[str(path[0])] = "?"
    return missing
