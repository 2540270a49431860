"""The JSON Schema of ``report.json``."""

from typing import Any

from gpureport.docstrings import Documented
from gpureport.records.columns import stored_type
from gpureport.records.report import Report


def report_schema() -> dict[str, Any]:
    """Return the schema, JSON Schema draft 2020-12."""
    return stored_type(Report).model_json_schema(schema_generator=Documented)
