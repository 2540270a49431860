"""The JSON Schema of kernel descriptions, for editors."""

from typing import Any

from gpureport.docstrings import Documented
from gpureport.kernel_files.description import KernelFields


def kernel_schema() -> dict[str, Any]:
    """Return the schema, JSON Schema draft 2020-12."""
    return {**KernelFields.model_json_schema(schema_generator=Documented), "title": "gpureport kernel"}
