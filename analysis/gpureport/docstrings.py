"""Docstrings below the fields of models, for JSON Schemas and comments.

Pydantic can read them while it makes the classes; that takes a third of a command's start, and few commands need them.
"""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from textwrap import dedent
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema


@cache
def field_docs(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the docstring of each field of *model* that has one, those of its bases included."""
    docs: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each is not BaseModel:
            docs |= _own_docs(each.__pydantic_generic_metadata__["origin"] or each)
    return docs


def _own_docs(model: type[BaseModel]) -> dict[str, str]:
    (definition,) = ast.parse(dedent(inspect.getsource(model))).body
    if not isinstance(definition, ast.ClassDef):
        return {}
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in zip(definition.body, definition.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


class Documented(GenerateJsonSchema):
    """JSON Schemas whose properties have their fields' docstrings as descriptions."""

    def model_schema(self, schema: Any) -> dict[str, Any]:  # noqa: ANN401 - pydantic's own type is private
        """Add the descriptions to a model's schema."""
        made = super().model_schema(schema)
        for name, text in field_docs(schema["cls"]).items():
            if name in made.get("properties", {}):
                made["properties"][name].setdefault("description", text)
        return made
