"""The YAML description of a kernel: records of what its source does not determine."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from gpureport.docstrings import Documented
from gpureport.records.quantities import Name
from gpureport.spec.values import Strict
from gpureport.text import quoted

_POWER = re.compile(r"\s*\d+\s*\^\s*\d+\s*")
_RANGE = re.compile(r"\s*(\d{1,13})(?:\s*\^\s*(\d{1,2}))?\s*\.\.\s*(\d{1,13})(?:\s*\^\s*(\d{1,2}))?\s*")
_SHAPES: tuple[tuple[int, ...], ...] = ((), (256,), (32, 8), (32, 4, 2))
"""Usual work-groups, by the dimensions of the kernel."""
MULTIPLES = (1024, 64, 32)
"""Multiples of unguarded sizes, by the dimensions of the kernel: work-groups then need no rounding."""
MOST_SIZE = 2**40
"""Largest value of a size."""
RESERVED = ("local_x", "local_y", "local_z")
"""Names of the work-group's dimensions in expressions."""


def _as_text(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be a number or an expression")
    text = str(value)
    return text.replace("^", "**") if _POWER.fullmatch(text) else text


def _one_line(value: object) -> object:
    text = " ".join(value.split()) if isinstance(value, str) else value
    if text == "":
        raise ValueError("is empty")
    return text


@dataclass(frozen=True)
class Swept:
    """Values of a swept size: those that are *listed*, ascending; or some of a range, or what the device suggests."""

    listed: tuple[int, ...] = ()
    low: int = 1
    high: int = MOST_SIZE
    automatic: bool = False


def _size(value: object) -> object:
    """Return a swept size, a number or an expression; refuse anything else."""
    if isinstance(value, list | tuple):
        if not (value and all(map(_is_positive, value))):
            raise ValueError("must be a list of whole numbers of at least 1")
        return Swept(listed=tuple(sorted({*value})))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("must be auto, a range such as 2^10..2^20, a list of sizes, a number or an expression")
    if value == "auto":
        return Swept(automatic=True)
    if isinstance(value, str) and ".." in value:
        return _range(value)
    return value


def _range(text: str) -> Swept:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{quoted(text)} is not a range; write it like 2^10..2^20 or 1000..50000")
    low, high = (int(match[i]) ** int(match[i + 1] or 1) for i in (1, 3))
    if low < 1 or high > MOST_SIZE:
        raise ValueError(f"{quoted(text)} is not within the smallest and the largest size (1..2^40)")
    if low >= high:
        raise ValueError(f"{quoted(text)} does not end above its start; exchange them, or write a list such as [{low}]")
    return Swept(low=low, high=high)


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_SIZE


def _work_groups(value: object) -> object:
    """Refuse what is neither ``auto``, a number, one shape, nor a list of either."""
    listed = value if isinstance(value, list | tuple) else [value]
    shapes = [each if isinstance(each, list | tuple) else [each] for each in listed]
    if value != "auto" and not (shapes and all(shape and all(map(_is_positive, shape)) for shape in shapes)):
        raise ValueError("must be auto, one work-group such as 256 or [16, 16], or a list such as [[16, 16], [32, 8]]")
    return value


def _identifier(text: str) -> str:
    if not text.isidentifier() or text in RESERVED:
        raise ValueError(f"{quoted(text)} is not a valid name of OpenCL C, or is reserved; choose another name")
    return text


def _readable(text: str) -> str:
    if iskeyword(text):
        raise ValueError(f"{quoted(text)} is a word of Python, which expressions cannot contain; write {text}_")
    return _identifier(text)


Title = Annotated[Name, BeforeValidator(_one_line, json_schema_input_type=Name)]
"""Text of one line."""
Formula = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | int | float)]
"""An expression of sizes, or a number."""
Identifier = Annotated[str, AfterValidator(_identifier)]
Readable = Annotated[str, AfterValidator(_readable)]
"""A name that expressions contain."""


def _swept_once(sizes: dict[str, Any]) -> dict[str, Any]:
    swept = [name for name, value in sizes.items() if isinstance(value, Swept)]
    if len(swept) > 1:
        raise ValueError(f"{' and '.join(swept)} are both swept; give one of them as a number or an expression")
    return sizes


class ArgumentFields(Strict):
    """What the source does not determine of one argument: a buffer, a scalar (``value``) or ``local`` memory."""

    name: Identifier
    buffer: Identifier | None = None
    """In a ``sequence``: name of the buffer, if another kernel calls it otherwise; default: ``name``."""
    elements: Formula | None = None
    """Number of elements of a buffer; default: those that the kernel accesses."""
    value: Formula | None = None
    """Value of a scalar; default: the size of its name, or 1."""
    local: Formula | None = None
    """Number of elements in local memory of each work-group; default: those that the kernel accesses."""
    values: Formula = "random"
    """Initial contents of a buffer: random, zeros, iota, or an expression; ``random(low, high)`` draws numbers."""


class WorkFields(Strict):
    """What a dispatch achieves; the report shows it per second."""

    amount: Formula
    unit: Title = "elements"


Positive = Annotated[int, Field(ge=1, le=MOST_SIZE)]
_Groups = Literal["auto"] | Positive | tuple[Positive, ...] | tuple[tuple[Positive, ...], ...]
WorkGroups = Annotated[_Groups, BeforeValidator(_work_groups, json_schema_input_type=_Groups)]
Size = Annotated[Swept | Formula, BeforeValidator(_size, json_schema_input_type=Formula | tuple[Positive, ...])]


class StepFields(Strict):
    """One kernel: the only one, or a further one of a sequence."""

    kernel: Identifier = ""
    """Function in ``source``; default: the only kernel."""
    arguments: tuple[ArgumentFields, ...] = ()
    """Those that need more than their names. In a ``sequence``, buffers of the same name are the same."""
    global_size: tuple[Formula, ...] = Field(default=(), max_length=3)
    """Work-items in each dimension; default: the sizes with which the source compares its indices."""
    guarded: bool = False
    """Whether the kernel ignores work-items beyond ``global_size``, which is then rounded up to whole work-groups;
    default: whether it compares all indices with sizes."""


class KernelFields(StepFields):
    """A kernel, and what its prediction, verification and measurement need and its source does not determine."""

    name: Annotated[str, BeforeValidator(_one_line)] = ""
    """Title in reports; default: the kernel."""
    description: str = ""
    """What the kernel does, in sentences."""
    source: str
    """OpenCL C file, relative to the description."""
    work_groups: WorkGroups = "auto"
    """``auto``: searched. One shape (``256`` or ``[16, 16]``), or several."""
    build_options: str = ""
    defines: dict[Identifier, Formula] = Field(default_factory=dict)
    """Macros of the build, by name: expressions of sizes and of ``local_x`` …"""
    sizes: Annotated[dict[Readable, Size], AfterValidator(_swept_once)] = Field(default_factory=dict)
    """``auto`` or a range ``2^10..2^20`` or a list: swept, at most one; a number or an expression: fixed."""
    multiple_of: Positive | None = None
    """The swept size is a multiple of this."""
    work: WorkFields = WorkFields(amount="", unit="work-items")
    """Default: the work-items."""
    expect: dict[Identifier, str] | None = None
    """Expected contents of buffers after one dispatch, as NumPy expressions of their initial contents."""
    let: dict[Readable, str] = Field(default_factory=dict)
    """Names for parts of these expressions, in this order."""
    expect_from: str | None = None
    """``module:function`` or ``file.py:function``, which returns them; it receives all arguments and sizes by name."""
    tolerance: Annotated[float, Field(ge=0, le=1)] | None = None
    """Largest relative difference; default: 1e-5 for float, 1e-12 for double, 0 for integers."""
    swap: tuple[Identifier, Identifier] | None = None
    """Two buffers that every second dispatch exchanges (ping-pong)."""
    sequence: tuple[StepFields, ...] = ()
    """Kernels that run after the first one, with the same work-group; ``work`` and ``expect`` are those of all."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.expect is not None and self.expect_from is not None:
            raise ValueError("give expect or expect_from, not both")
        if self.swap and self.swap[0] == self.swap[1]:
            raise ValueError("swap needs two different buffers")
        if self.sequence and self.swap:
            raise ValueError("give swap or sequence, not both")
        return self

    @property
    def swept(self) -> str:
        """Name of the swept size; empty without one."""
        return next((name for name, value in self.sizes.items() if isinstance(value, Swept)), "")

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The described work-groups; none if they are searched."""
        written = self.work_groups
        if isinstance(written, str):
            return ()
        listed = (written,) if isinstance(written, int) else written
        shapes = tuple(each for each in listed if isinstance(each, tuple))
        numbers = tuple(each for each in listed if isinstance(each, int))
        return shapes or (tuple((each,) for each in numbers) if len(self.global_size) == 1 else (numbers,))

    @property
    def shape(self) -> tuple[int, ...]:
        """The first of the described work-groups, or the usual one."""
        return next(iter(self.shapes), _SHAPES[len(self.global_size)])

    @property
    def multiple(self) -> int:
        """What values of a range are multiples of."""
        usual = 1 if self.guarded else MULTIPLES[len(self.global_size) - 1]
        return self.multiple_of or usual

    def point(self, value: int, shape: Sequence[int] = ()) -> dict[str, int]:
        """Return the parameters of a point: the swept size if there is one, fixed ones, and the work-group."""
        sizes = {self.swept: value} if self.swept else {}
        sizes |= {name: int(text) for name, text in self.sizes.items() if isinstance(text, str) and text.isdigit()}
        return {**sizes, **dict(zip(RESERVED, shape or self.shape, strict=False))}

    @property
    def swept_values(self) -> Swept:
        """Values of the swept size; a single one, which nothing uses, if there is none."""
        return next((value for value in self.sizes.values() if isinstance(value, Swept)), Swept(listed=(0,)))


def kernel_schema() -> dict[str, Any]:
    """Return the JSON Schema of descriptions, draft 2020-12, for editors."""
    return {**KernelFields.model_json_schema(schema_generator=Documented), "title": "gpureport kernel"}


def steps_of(fields: KernelFields) -> tuple[KernelFields, ...]:
    """Return a description of each kernel of the sequence, the first one included."""
    own = {"sequence": ()}
    later = ({name: getattr(step, name) for name in StepFields.model_fields} for step in fields.sequence)
    return tuple(fields.model_copy(update={**own, **changes}) for changes in ({}, *later))
