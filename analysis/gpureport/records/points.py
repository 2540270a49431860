"""Points of a curve: a sequence of records, made from columns when they are first used."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar, get_args, overload

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from gpureport.records.keys import Point, PointKey
from gpureport.records.quantities import Many, refuse_repeated

P_co = TypeVar("P_co", bound=Point, covariant=True)
Q = TypeVar("Q", bound=Point)


class Points(Sequence[P_co], Generic[P_co]):
    """Immutable points, each of which occurs once.

    Args:
        rows: the points, or a function that makes *count* points when they are first used.
    """

    def __init__(self, rows: Iterable[P_co] | Callable[[], Iterable[P_co]] = (), count: int | None = None) -> None:
        self._source = rows if callable(rows) else tuple(rows)
        self._count = count

    @cached_property
    def rows(self) -> tuple[P_co, ...]:
        """All points."""
        rows = tuple(self._source() if callable(self._source) else self._source)
        self._source = ()
        return rows

    @cached_property
    def _by_label(self) -> dict[str, P_co]:
        return {row.point.label: row for row in self.rows}

    def at(self, point: PointKey) -> P_co | None:
        """Return the one with the same label as *point*, if there is any."""
        return self._by_label.get(point.label)

    def pairs(self, others: "Points[Q]") -> Iterator[tuple[P_co, Q]]:
        """Yield each one that is also among *others*, with the other."""
        return ((row, other) for row in self.rows if (other := others.at(row.point)) is not None)

    def __len__(self) -> int:
        return len(self.rows) if self._count is None else self._count

    def __iter__(self) -> Iterator[P_co]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> P_co: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[P_co, ...]: ...
    def __getitem__(self, index: int | slice) -> P_co | tuple[P_co, ...]:
        return self.rows[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Points) and self.rows == other.rows

    def __hash__(self) -> int:
        return hash(self.rows)

    def __repr__(self) -> str:
        return repr(self.rows)

    def __reduce__(self) -> tuple[type["Points[P_co]"], tuple[tuple[P_co, ...]]]:
        return Points, (self.rows,)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        """Validate rows; a list in files and schemas."""
        rows = handler.generate_schema(Many[get_args(source)[0]])  # type: ignore[misc]

        def checked(value: Any, validate: Callable[[Any], tuple[P_co, ...]]) -> Points[P_co]:  # noqa: ANN401
            found = validate(value.rows if isinstance(value, Points) else value)
            refuse_repeated("point", [row.point.identity for row in found], lambda place: found[place].point.label)
            return cls(found)

        shown = core_schema.wrap_serializer_function_ser_schema(lambda points, write: write(points.rows), schema=rows)
        return core_schema.no_info_wrap_validator_function(checked, rows, serialization=shown)
