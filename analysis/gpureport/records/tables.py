"""Lists of records by columns: a column has a value for each row, or a single one, which is no list, for all rows.

Columns that have the default in all rows are left out. Fields that are mappings have a column for each name.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema, to_jsonable_python

from gpureport.records.curves import Record
from gpureport.records.quantities import Many

Columns = dict[str, Any]
R = TypeVar("R", bound=Record)


def columns_of(rows: Sequence[Mapping[str, Any]], kind: type[Record], without: Container[str] = ()) -> Columns:
    """Return the columns of *rows*, which are records of a *kind* in JSON's types, possibly without defaults."""
    found: Columns = {}
    for name, field in kind.model_fields.items():
        if name in without:
            continue
        default = None if field.is_required() else _default(kind, name)
        values = [row.get(name, default) for row in rows]
        if name in _mappings(kind):
            keys = dict.fromkeys(key for value in values for key in value)
            found[name] = {key: _same([value.get(key) for value in values]) for key in keys}
        elif field.is_required() or any(value != default for value in values):
            found[name] = _same(values) if found else values
    return found


@cache
def _mappings(kind: type[Record]) -> frozenset[str]:
    return frozenset(name for name, field in kind.model_fields.items() if get_origin(field.annotation) is dict)


@cache
def _default(kind: type[Record], name: str) -> Any:  # noqa: ANN401
    return to_jsonable_python(kind.model_fields[name].get_default(call_default_factory=True))


def _same(values: list[Any]) -> Any:  # noqa: ANN401
    first = values[0] if len(values) > 1 else []
    return values if isinstance(first, list) or any(value != first for value in values) else first


def length_of(columns: Columns, kind: type[Record]) -> int:
    """Return the number of rows: of the values of the first column that has one for each.

    Raises:
        ValueError: no column has.
    """
    for column in _flat(columns, kind):
        if isinstance(column, list | tuple):
            return len(column)
    raise ValueError("must have a list of values in one of its columns")


def _flat(columns: Columns, kind: type[Record]) -> Iterator[Any]:
    """Yield the columns, and those of its names for each table."""
    for name, value in columns.items():
        yield from value.values() if _is_table(value, name, kind) else (value,)


def rows_of(columns: Columns, count: int, kind: type[Record]) -> Callable[[], Iterator[Columns]]:
    """Return a function that yields *count* rows, as mappings, of records of a *kind*.

    Raises:
        ValueError: a column has another number of values.
    """
    spread = {
        name: {key: spread_out(key, column, count) for key, column in value.items()}
        if _is_table(value, name, kind)
        else spread_out(name, value, count)
        for name, value in columns.items()
    }
    return partial(_rows, spread, count)


def _is_table(value: object, name: str, kind: type[Record]) -> bool:
    return isinstance(value, dict) and name in _mappings(kind)


def _rows(columns: Columns, count: int) -> Iterator[Columns]:
    values = (_tables(column, count) if isinstance(column, dict) else column for column in columns.values())
    for row in zip(range(count), *values, strict=True):
        yield dict(zip(columns, row[1:], strict=True))


def _tables(columns: Columns, count: int) -> Iterable[Columns]:
    """Yield the table of each row, without the names that it lacks."""
    for values in zip(range(count), *columns.values(), strict=True):
        yield {name: value for name, value in zip(columns, values[1:], strict=True) if value is not None}


def spread_out(name: str, column: Any, count: int) -> Sequence[Any]:  # noqa: ANN401
    """Return the value of each row.

    Raises:
        ValueError: there are more or fewer.
    """
    if not isinstance(column, list | tuple):
        return (column,) * count
    if len(column) != count:
        raise ValueError(f"must have {count} values of {name}, one for each row; it has {len(column)}")
    return column


class _ByColumns:
    """Store a tuple of records by columns in JSON."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        rows, kind = handler(source), get_args(source)[0]
        written = core_schema.wrap_serializer_function_ser_schema(
            lambda records, write: columns_of(write(records), kind), schema=rows, when_used="json"
        )
        return core_schema.no_info_before_validator_function(partial(_read, kind), rows, serialization=written)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        row = handler.resolve_ref_schema(handler(schema)["items"])
        columns = {name: _column_schema(field) for name, field in row["properties"].items()}
        for name, field in row["properties"].items():
            if "additionalProperties" in field:
                names = _column_schema(field["additionalProperties"], {"type": "null"})
                columns[name] = {"type": "object", "additionalProperties": names}
        return {"type": "object", "properties": columns, "required": row.get("required", [])}


def _column_schema(*each: JsonSchemaValue) -> JsonSchemaValue:
    value = {"anyOf": list(each)}
    return {"anyOf": [{"type": "array", "items": value}, value]}


_MOST_VALUES = 1_000_000
"""Of a table; single values of a column count for each row, so that few bytes do not become many records."""


def _read(kind: type[Record], value: Any) -> Any:  # noqa: ANN401
    if not isinstance(value, dict):
        return value
    count = length_of(value, kind)
    if count * sum(map(_weight, _flat(value, kind))) > _MOST_VALUES:
        raise ValueError(f"must have at most {_MOST_VALUES} values")
    return list(rows_of(value, count, kind)())


def _weight(column: Any) -> int:  # noqa: ANN401
    """Return how many values each row has of a column."""
    return sum(map(_weight, column.values())) if isinstance(column, dict) else 1


Rows = Annotated[Many[R], _ByColumns()]
"""Records in memory; a mapping of columns in files."""
