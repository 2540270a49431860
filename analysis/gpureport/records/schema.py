"""The JSON Schema of ``report.json``; ``python -m gpureport.records.schema`` rewrites the committed copy."""

import json
from pathlib import Path
from typing import Any

from gpureport.docstrings import Documented
from gpureport.files import write_file
from gpureport.records.report import Report

SCHEMA_PATH = Path(__file__).with_name("report.schema.json")


def report_schema() -> dict[str, Any]:
    """Return the schema, JSON Schema draft 2020-12."""
    return Report.model_json_schema(schema_generator=Documented)


def schema_text() -> str:
    """Return the contents of the committed schema file."""
    return json.dumps(report_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write_file(SCHEMA_PATH, schema_text())
