"""Docstrings of model fields, for JSON Schemas and comments.

Pydantic could read them with the classes, but that takes a third of the start-up time, and few commands need them.
"""

import ast
import inspect
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode


@cache
def field_docs(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the docstrings of the fields of *model* and its bases, with single backticks.

    A model made from the fields of another one names it in ``documented_by``.
    """
    docs: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each is not BaseModel:
            docs |= field_docs(each.documented_by) if "documented_by" in vars(each) else {}  # type: ignore[attr-defined]
            docs |= _own_docs(each.__pydantic_generic_metadata__["origin"] or each)
    return docs | {name: field.description for name, field in model.model_fields.items() if field.description}


def _own_docs(model: type[BaseModel]) -> dict[str, str]:
    try:
        (definition,) = ast.parse(dedent(inspect.getsource(model))).body
    except OSError:  # made from the fields of another one
        return {}
    found: dict[str, str] = {}
    for statements in pairwise(getattr(definition, "body", ())):
        match statements:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text).replace("``", "`")
    return found


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
