"""Docstrings of model fields, for JSON Schemas and comments.

Pydantic could read them with the classes, but that takes a third of the start-up time, and few commands need them.
"""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from textwrap import dedent
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode


@cache
def field_docs(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the docstrings of the fields of *model* and its bases, with single backticks.

    A model with fields of another one names it in ``documented_by``, with its own names of these fields.
    """
    docs: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each is not BaseModel:
            if documented_by := each.__dict__.get("documented_by"):
                other, names = documented_by
                docs |= {names[field]: text for field, text in field_docs(other).items() if field in names}
            docs |= _own_docs(each.__pydantic_generic_metadata__["origin"] or each)
    return docs | {name: field.description for name, field in model.model_fields.items() if field.description}


def _own_docs(model: type[BaseModel]) -> dict[str, str]:
    try:
        (definition,) = ast.parse(dedent(inspect.getsource(model))).body
    except OSError:  # made from the fields of another one
        return {}
    if not isinstance(definition, ast.ClassDef):
        return {}
    return {
        field.target.id: inspect.cleandoc(text.value.value).replace("``", "`")
        for field, text in zip(definition.body, definition.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


class Documented(GenerateJsonSchema):
    """JSON Schemas (draft 2020-12) with the docstrings of fields as descriptions of properties."""

    def generate(self, schema: Any, mode: JsonSchemaMode = "validation") -> dict[str, Any]:  # noqa: ANN401
        """Return the schema with its dialect."""
        return {"$schema": self.schema_dialect, **super().generate(schema, mode)}

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002
        """Leave out titles that repeat the names of fields."""
        return False

    def model_schema(self, schema: Any) -> dict[str, Any]:  # noqa: ANN401 - pydantic's own type is private
        """Return the schema of a model, with descriptions."""
        made = super().model_schema(schema)
        if "description" in made:
            made["description"] = made["description"].replace("``", "`")
        for name, text in field_docs(schema["cls"]).items():
            if name in made.get("properties", {}):
                made["properties"][name].setdefault("description", text)
        return made
