"""JSON Schema of kernel descriptions, for editors: ``python -m gpureport.kernel_files.schema`` rewrites it."""

import json
from typing import Any

from gpureport.data import data_dir
from gpureport.docstrings import Documented
from gpureport.files import write_file
from gpureport.kernel_files.description import KernelFields

FILE_NAME = "kernel.schema.json"
"""In ``kernels_cl``."""


def kernel_schema() -> dict[str, Any]:
    """Return the schema, JSON Schema draft 2020-12."""
    return {**KernelFields.model_json_schema(schema_generator=Documented), "title": "gpureport kernel"}


def schema_text() -> str:
    """Return the contents of the committed schema file."""
    return json.dumps(kernel_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write_file(data_dir("kernels_cl") / FILE_NAME, schema_text())
