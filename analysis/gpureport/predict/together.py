"""What holds for many points at once: the same structure, with a column of numbers where they differ."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from math import nan
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from gpureport.grouping import grouped
from gpureport.predict.uncertainty.propagation import Divided, Each, Uncertain, agreed, plain, where
from gpureport.records.prediction import Occupancy

T = TypeVar("T")
R = TypeVar("R")


def for_all(points: Sequence[T], run: Callable[[Sequence[T]], Iterable[R]]) -> list[R]:
    """Return the results that *run* gives for *points*, together or, where they disagree, in parts."""
    try:
        return list(run(points))
    except Divided as divided:
        parts = grouped(zip(divided.args[0], range(len(points)), strict=True)).values()
    found = {
        place: result
        for part in parts
        for place, result in zip(part, for_all([points[place] for place in part], run), strict=True)
    }
    return [found[place] for place in range(len(points))]


def together(values: Sequence[Any]) -> Any:  # noqa: ANN401 - of any type
    """Return one value for all points, with arrays where numbers differ; :class:`.Divided` if anything else does."""
    first = values[0]
    kind: Any = type(first)
    if is_dataclass(first):
        names = [field.name for field in fields(first)]
        columns = zip(*map(attrgetter(*names), values), strict=True)
        return kind(*map(together, columns))
    if isinstance(first, Mapping):
        agreed(list(map(tuple, values)))
        return {name: together([value[name] for value in values]) for name in first}
    if isinstance(first, tuple):
        agreed(list(map(len, values)))
        return tuple(map(together, zip(*values, strict=True)))
    if values.count(first) == len(values):
        return first
    if isinstance(first, Occupancy):
        objects = np.empty(len(values), object)
        objects[:] = values
        return objects.view(Each)
    if all(type(value) in (int, float) for value in values):
        return Uncertain(np.array(values, float))
    raise Divided(values)


def apart(value: Any, count: int) -> list[Any]:  # noqa: ANN401 - of any type
    """Return the *value* of each of *count* points."""
    values = plain(value)
    return values.tolist() if isinstance(values, np.ndarray) else [values] * count


def named(name: str, number: float) -> dict[str, float]:
    """Return *number* by *name*; if the points have several names, NaN for points with another one."""
    if not isinstance(name, Each):
        return {name: number}
    return {each: where(name == each, number, nan) for each in dict.fromkeys(name.tolist())}
