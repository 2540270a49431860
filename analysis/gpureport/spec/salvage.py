"""What of a broken file is right: the rest is left out, so that one mistake does not hide the others."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gpureport.inputs import Steps
from gpureport.spec.mistakes import MOST, mistakes

F = TypeVar("F", bound=BaseModel)
_STAND_INS = {"name": "?", "vendor": "?"}
"""What no other value depends on, for files that lack it."""


def salvage(model: type[F], data: Mapping[str, Any], written: Iterable[Steps]) -> F | None:
    """Return a file's contents without the fields that are wrong.

    Args:
        model: of the file.
        data: as read.
        written: the paths of everything that the file holds.

    Returns:
        ``None`` where something is wrong or lacking that the file cannot be understood without, or too much is.
    """
    left, known = copy.deepcopy(dict(data)), set(written)
    while True:
        try:
            return model.model_validate(left)
        except ValidationError as error:
            wrong = [path for path, _ in mistakes(model, error, known)]
            if error.error_count() > MOST or not sum(_mended(left, path) for path in wrong):
                return None


def _mended(data: dict[str, Any], path: Steps) -> bool:
    """Delete the deepest part of *path* that is there, a list as a whole, or stand in for it; say if that was done."""
    holder: Any = data
    last: tuple[dict[Any, Any], Any] | None = None
    for step in path:
        if not isinstance(holder, dict) or step not in holder:
            break
        last, holder = (holder, step), holder[step]
    if last:
        del last[0][last[1]]
        return True
    data.update({name: text for name, text in _STAND_INS.items() if path == (name,)})
    return path in {(name,) for name in _STAND_INS}
