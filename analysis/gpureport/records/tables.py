"""Lists of records by columns: a column has a value for each row, or a single one, which is no list, for all rows.

Columns that have the default in all rows are left out. Fields that are mappings have a column for each name. The types
of columns follow from those of the records' fields.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, get_args, get_origin

import pydantic
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema, to_jsonable_python

from gpureport.records.quantities import Many, Table

Columns = dict[str, Any]
R_co = TypeVar("R_co", bound=pydantic.BaseModel, covariant=True)
MOST_ROWS = 200_000
"""Of a table, and of all curves together; a few bytes of a file would otherwise become a kilobyte of memory."""
EACH, ALL = "each", "all"
"""Tags of a column in the places of errors: it has a value for each row, or one for all."""


def _values(value: Any, each: Any) -> Any:  # noqa: ANN401 - types
    either = pydantic.Discriminator(lambda column: EACH if isinstance(column, list | tuple) else ALL)
    return Annotated[Annotated[Many[each], pydantic.Tag(EACH)] | Annotated[value, pydantic.Tag(ALL)], either]


def _column(field: FieldInfo) -> Any:  # noqa: ANN401 - a type
    value = _unrounded(Annotated[field.annotation, *field.metadata, None])
    if get_origin(field.annotation) is dict:
        name, each = get_args(field.annotation)
        return Table[name, _values(_unrounded(each) | None, _unrounded(each) | None)]  # type: ignore[misc,valid-type]
    return Many[value] if get_origin(field.annotation) is tuple else _values(value, value)  # type: ignore[valid-type]


def _unrounded(kind: Any) -> Any:  # noqa: ANN401 - types
    """Return the *kind* of a number without its rounding, which takes long; numbers in files are rounded."""
    if get_origin(kind) is tuple:
        return tuple[_unrounded(get_args(kind)[0]), ...]  # type: ignore[misc]
    if get_origin(kind) is not Annotated:
        return kind
    inner, *rules = get_args(kind)
    kept = (rule for rule in rules if inner is not float or not isinstance(rule, pydantic.AfterValidator))
    return Annotated[_unrounded(inner), *kept]


@cache
def columns_type(row: type[pydantic.BaseModel], without: str | None = None) -> type[pydantic.BaseModel]:
    """Return the type of the columns of rows; *without* one that another table has, all others are optional, too."""
    fields: Columns = {
        name: (_column(field), ...) if field.is_required() and without is None else (_column(field) | None, None)
        for name, field in row.model_fields.items()
        if name != without
    }
    return type_like(row, f"{row.__name__}Columns", fields)


def type_like(record: type[pydantic.BaseModel], name: str, fields: Columns) -> type[pydantic.BaseModel]:
    """Return a type with other *fields* that have the docstrings of those of *record*."""
    made = pydantic.create_model(name, __config__=record.model_config, __doc__=record.__doc__, **fields)
    made.documented_by = record  # type: ignore[attr-defined]
    return made


def columns_of(
    rows: Sequence[Mapping[str, Any]], kind: type[pydantic.BaseModel], without: str | None = None
) -> Columns:
    """Return the columns, *without* one, of *rows*, which are records of a *kind* in JSON's types, without defaults."""
    found: Columns = {}
    for name, field in kind.model_fields.items():
        if name == without or not (field.is_required() or any(name in row for row in rows)):
            continue
        default = None if field.is_required() else to_jsonable_python(field.get_default(call_default_factory=True))
        values = [row.get(name, default) for row in rows]
        if get_origin(field.annotation) is dict:
            names = dict.fromkeys(key for value in values for key in value)
            found[name] = {key: _same([value.get(key) for value in values]) for key in names}
        else:
            found[name] = _same(values) if found else values
    return found


def _same(values: list[Any]) -> Any:  # noqa: ANN401
    first = values[0] if len(values) > 1 else []
    return values if isinstance(first, list) or any(value != first for value in values) else first


def present(columns: pydantic.BaseModel | None) -> Columns:
    """Return the columns, or other fields, that are given, ``None`` included."""
    return {name: value for name, value in columns if name in columns.model_fields_set} if columns else {}


def length_of(columns: Columns) -> int:
    """Return the number of rows: of the values of the first column that has one for each.

    Raises:
        ValueError: no column has, another one has another number of values, or there are too many.
    """
    flat = (each for column in columns.values() for each in (column.values() if isinstance(column, dict) else [column]))
    if (count := next((len(column) for column in flat if isinstance(column, tuple)), None)) is None:
        raise ValueError("must have a list of values in one of its columns")
    if count > MOST_ROWS:
        raise ValueError(f"must have at most {MOST_ROWS} rows")
    refuse_others(columns, count)
    return count


def refuse_others(columns: Columns, count: int) -> None:
    """Raise ValueError if a column has another number of values than *count*."""
    for name, column in columns.items():
        if isinstance(column, dict):
            refuse_others(column, count)
        elif isinstance(column, tuple) and len(column) != count:
            raise ValueError(f"must have {count} values of {name}, one for each row; it has {len(column)}")


def rows_of(columns: Columns, count: int) -> Iterator[Iterator[tuple[str, Any]]]:
    """Yield the names and values of each of *count* rows; fields that are mappings have no names without a value."""
    values = (
        ({name: value for name, value in row if value is not None} for row in rows_of(column, count))
        if isinstance(column, dict)
        else (column if isinstance(column, tuple) else repeat(column, count))
        for column in columns.values()
    )
    yield from (zip(columns, row, strict=False) for row in zip(*values, range(count), strict=True))


class Rows(tuple[R_co, ...], Generic[R_co]):
    """Immutable records; a mapping of columns in files."""

    by_columns: ClassVar[bool] = True
    """Whether JSON has columns, not records."""

    @classmethod
    def of_columns(cls, kind: type[R_co], columns: Columns, count: int) -> Self:
        """Return *count* records of a *kind* whose fields are valid *columns*.

        As ``kind.model_construct``, in a third of its time: reports have tens of thousands of records.
        """
        fields, given, put = kind.model_fields.items(), {*columns}, object.__setattr__
        defaults = {name: field.get_default(call_default_factory=True, validated_data={}) for name, field in fields}
        made = tuple(kind.__new__(kind) for _ in range(count))
        for record, row in zip(made, rows_of(columns, count), strict=True):
            values = defaults.copy()
            values.update(row)
            put(record, "__dict__", values)
            put(record, "__pydantic_fields_set__", given)
            put(record, "__pydantic_extra__", None)
            put(record, "__pydantic_private__", None)
        return cls(made)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: pydantic.GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        """Validate records, or their columns."""
        (kind,) = get_args(source) or (pydantic.BaseModel,)  # without one: of a default, for JSON Schemas
        rows = handler.generate_schema(Many[kind])  # type: ignore[valid-type]

        def read(value: Any, validate: Callable[[Any], tuple[R_co, ...]]) -> Rows[R_co]:  # noqa: ANN401
            if not isinstance(value, dict):
                return cls(validate(value))
            columns = present(columns_type(kind).model_validate(value))
            return cls.of_columns(kind, columns, length_of(columns))

        def write(records: Any, rows: Callable[[Any], Any], info: pydantic.SerializationInfo) -> Any:  # noqa: ANN401
            written = rows(records)
            return columns_of(written, kind) if info.mode == "json" and cls.by_columns else written

        written = core_schema.wrap_serializer_function_ser_schema(write, info_arg=True, schema=rows)
        return core_schema.no_info_wrap_validator_function(read, rows, serialization=written, metadata={"kind": kind})

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: pydantic.GetJsonSchemaHandler) -> JsonSchemaValue:  # noqa: ANN401
        return handler(columns_type(schema["metadata"]["kind"]).__pydantic_core_schema__)
