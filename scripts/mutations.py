"""Mutations of Python code: one operator, comparison, constant or sign changed; see ``mutate.py``."""

import ast
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import accumulate

Node = ast.expr | ast.stmt

_CHANGES = """
    Add Sub, Sub Add, Mult Div, Div Mult, FloorDiv Mult, Mod FloorDiv, Pow Mult, BitAnd BitOr, BitOr BitAnd, And Or,
    Or And, Eq NotEq, NotEq Eq, Is IsNot, IsNot Is, In NotIn, NotIn In, Lt LtE, LtE Gt, Gt GtE, GtE Lt
"""
_CHANGED = {getattr(ast, old): getattr(ast, new) for old, new in map(str.split, _CHANGES.split(","))}
"""Operators and comparisons, and their replacements."""


@dataclass(frozen=True)
class Mutation:
    """A change of the expression or assignment in bytes *start* to *stop* - 1 of a file; *code* is its first line."""

    area: str
    file: str
    line: int
    start: int
    stop: int
    code: str
    before: str
    after: str

    @property
    def change(self) -> str:
        """The expression before and after."""
        return f"{self.before} -> {self.after}"

    def __str__(self) -> str:
        """Return file, line and change."""
        return f"{self.file}:{self.line}: {self.change}"


def mutants(node: Node) -> Iterator[Node]:
    """Yield all variants of *node* with one operator, comparison, constant or sign changed."""
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in _CHANGED:
        yield _with(node, "op", _CHANGED[type(node.op)]())
    elif isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            yield _with(node, "ops", [*node.ops[:index], _CHANGED[type(op)](), *node.ops[index + 1 :]])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        value = node.value
        yield _with(node, "value", not value if isinstance(value, bool) else 2 * value or type(value)(1))


def _with(node: Node, field: str, value: object) -> Node:
    changed = copy(node)
    setattr(changed, field, value)
    return changed


def _nodes(tree: ast.AST) -> Iterator[Node]:
    """Yield the expressions and statements that run.

    Not annotations, not the ``strict`` of a zip, which is only a safeguard, and not parts of f-strings, whose positions
    Python 3.11 does not provide.
    """
    if isinstance(tree, ast.keyword) and tree.arg == "strict":
        return
    if isinstance(tree, Node):
        yield tree
    for field, value in ast.iter_fields(tree):
        if field not in ("annotation", "returns", "decorator_list") and not isinstance(tree, ast.JoinedStr):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _nodes(child)


def mutations(area: str, file: str, source: str) -> Iterator[Mutation]:
    """Yield all mutations of a file."""
    lines = source.encode().splitlines(keepends=True)
    starts = list(accumulate(map(len, lines), initial=0))
    for node in _nodes(ast.parse(source)):
        for changed in mutants(node):
            start = starts[node.lineno - 1] + node.col_offset
            stop = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            before, after = ast.unparse(node), ast.unparse(changed)
            code = lines[node.lineno - 1].decode().strip()
            yield Mutation(area, file, node.lineno, start, stop, code, before, after)


def mutated(source: str, mutation: Mutation) -> str:
    """Return the file with the change; an expression gets brackets, as it may be part of another."""
    text = source.encode()
    statement = isinstance(ast.parse(mutation.after).body[0], ast.AugAssign)
    after = mutation.after if statement else f"({mutation.after})"
    return (text[: mutation.start] + after.encode() + text[mutation.stop :]).decode()
