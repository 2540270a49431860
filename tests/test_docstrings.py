"""Docstrings of fields: those of bases too, and in JSON Schemas."""

from pydantic import BaseModel

from gpureport.docstrings import Documented, field_docs
from gpureport.spec.values import Leaf


class _Base(BaseModel):
    """A base."""

    size: int
    """How large."""
    plain: str = ""


class _Model(_Base):
    """What is made of it."""

    count: int = 0
    """How many,
    in all.
    """


def test_fields_have_their_docstrings_also_in_schemas() -> None:
    """Those of a base first; a class's own docstring belongs to no field; generic models have those of their origin."""
    properties = _Model.model_json_schema(schema_generator=Documented)["properties"]

    assert field_docs(_Model) == {"size": "How large.", "count": "How many,\nin all."}
    assert properties["size"]["description"] == "How large."
    assert "description" not in properties["plain"]
    assert field_docs(Leaf[int])["source"] == "A key of the file's `sources`."
