"""Arguments of the kernels in an OpenCL C file.

Only the declaration of a kernel is read, so bodies may use any macros and built-in functions.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from gpureport.kernel_files.description import SCALARS

Kind = Literal["buffer", "scalar", "local", "other"]

_SKIPPED = re.compile(  # comments, directives, text
    r"""/\*.*?(?:\*/|\Z) | //[^\n]* | ^[ \t]*\#(?:[^\n\\]|\\.)* | "(?:[^"\\\n]|\\.)*"? | '(?:[^'\\\n]|\\.)*'?""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_KERNEL = re.compile(r"\b(?:__)?kernel\b")
_REQUIRED = re.compile(r"\breqd_work_group_size\s*\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)")
GLOBAL_ID = r"\bget_global_id\s*\(\s*([012])\s*\)"
_WORDS = r"(\w+(?:[ ]\w+){0,3}?)"
_ALIAS = re.compile(
    rf"^[ \t]*\#[ \t]*define[ \t]+(\w+)[ \t]+{_WORDS}[ \t]*$ | \btypedef\s+{_WORDS}\s+(\w+)\s*;",
    re.MULTILINE | re.VERBOSE,
)
_MOST_ALIASES = 8
"""Macros and types that name each other in turn."""
_ATTRIBUTE = re.compile(r"\b__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
_NAME = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_DECLARED = re.compile(r"([\w\s*]*[\s*])(\w+)\s*(\[[^\[\]]*\])?")
_SPACES: dict[str, Kind] = {"global": "buffer", "constant": "buffer", "local": "local", "private": "scalar"}
_QUALIFIERS = frozenset((*_SPACES, "const", "volatile", "restrict", "read_only", "write_only", "read_write"))
_LONG_NAMES = {
    "unsigned char": "uchar",
    "unsigned short": "ushort",
    "unsigned": "uint",
    "unsigned int": "uint",
    "unsigned long": "ulong",
    "signed int": "int",
    "long int": "long",
}
_TYPES = [f"{name}{lanes}" for name in SCALARS for lanes in ("", 2, 3, 4, 8, 16)]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel."""

    name: str
    type: str  # of its elements as in descriptions; for types of the file itself their name
    kind: Kind  # what the description of an argument must contain; ``other`` for images and samplers


@dataclass(frozen=True)
class Signature:
    """The declaration of a kernel, and what its code up to the next one contains."""

    name: str
    line: int  # of the file, counted from 1
    parameters: tuple[Parameter, ...] | None  # None: they cannot be read, for example because of macros
    body: str  # up to the next kernel, without comments
    work_group: tuple[int, ...] = ()  # the dimensions of ``reqd_work_group_size``, if they are numbers

    @property
    def dimensions(self) -> int:
        """Largest dimension of ``get_global_id``, plus one."""
        return 1 + max(map(int, re.findall(GLOBAL_ID, self.body)), default=0)

    @property
    def loops(self) -> bool:
        """Whether it contains a loop."""
        return re.search(r"\b(?:for|while)\b", self.body) is not None

    @property
    def conditions(self) -> bool:
        """Whether it contains more than one simple condition: work-items may take different paths."""
        return len(re.findall(r"\bif\b|\?|\belse\b|&&|\|\|", self.body)) > 1


def signatures(text: str) -> tuple[Signature, ...]:
    """Return the kernels of an OpenCL C file, in its order; none if it contains no kernel."""
    attributed = _SKIPPED.sub(_blank, text)
    code = _ATTRIBUTE.sub(_blank, attributed)
    starts = [match.end() for match in _KERNEL.finditer(code)]
    parts = pairwise([*starts, len(code)])
    return tuple(found for start, end in parts if (found := _signature(code, start, end, attributed)) is not None)


def number_type(name: str, text: str) -> str:
    """Return the type of numbers that a macro or a ``typedef`` of an OpenCL C file *names*; another name unchanged."""
    aliases = {match[1] or match[4]: match[2] or match[3] for match in _ALIAS.finditer(text)}
    found = name
    for _ in range(_MOST_ALIASES):
        found = aliases.get(found, found)
        found = _LONG_NAMES.get(found, found)
    return found if found in _TYPES else name


def article(name: str) -> str:
    """Return the name of a type with its article."""
    return f"an {name}" if name.startswith("image") else f"a {name or 'pointer to pointers or functions'}"


def _blank(match: re.Match[str]) -> str:
    """Replace text by spaces and its line breaks, so that everything else keeps its place."""
    return re.sub(r"[^\n]", " ", match[0])


def _signature(code: str, start: int, end: int, attributed: str) -> Signature | None:
    """Return the kernel whose declaration starts there; *attributed* is the same code with its attributes."""
    match = _NAME.search(code, start, end)
    if match is None:
        return None
    before = max(code.rfind(character, 0, start) for character in "};") + 1
    required = _REQUIRED.search(attributed, before, match.start())
    parts, after = _parts(code, match.end())
    return Signature(
        name=match[1],
        line=code.count("\n", 0, match.start()) + 1,
        parameters=_parameters(parts),
        body=code[after:end],
        work_group=tuple(map(int, required.groups())) if required else (),
    )


def _parts(code: str, start: int) -> tuple[list[str], int]:
    depth, parts, begin = 1, [], start
    for position in range(start, len(code)):
        character = code[position]
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 or (depth == 1 and character == ","):
            parts.append(code[begin:position])
            begin = position + 1
        if depth == 0:
            return [part for part in parts if part.strip() not in ("", "void")], position
    return parts, len(code)


def _parameters(parts: list[str]) -> tuple[Parameter, ...] | None:
    found = [each for part in parts if (each := _parameter(part))]
    return tuple(found) if len(found) == len(parts) else None


def _parameter(part: str) -> Parameter | None:
    declared = _DECLARED.fullmatch(part.strip())
    if declared is None:
        return None
    words = declared[1].replace("*", " ").split()
    qualifiers = [plain for word in words if (plain := word.strip("_")) in _QUALIFIERS]
    name = " ".join(word for word in words if word.strip("_") not in _QUALIFIERS)
    pointers = declared[1].count("*") + bool(declared[3])
    spaces: list[Kind] = [_SPACES[each] for each in qualifiers if each in _SPACES]
    kind: Kind = (spaces or ["other"])[0] if pointers else "scalar"
    if pointers > 1 or name.startswith("image") or name == "sampler_t":
        kind = "other"
    return Parameter(declared[2], _LONG_NAMES.get(name, name), kind) if name else None
