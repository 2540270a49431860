"""``gpureport schema``."""

import json
from typing import Literal

from gpureport.cli.console import out

SchemaName = Literal["device", "architecture", "kernel", "report"]


def print_schema(name: SchemaName) -> int:
    """Print the JSON Schema of a kind of file."""
    from gpureport.kernel_files.schema import kernel_schema
    from gpureport.records.schema import report_schema
    from gpureport.spec.files import architecture_schema, device_schema

    made = {"device": device_schema, "architecture": architecture_schema, "kernel": kernel_schema}
    schema = made.get(name, report_schema)()
    out().out(json.dumps(schema, indent=2, ensure_ascii=False), highlight=False)
    return 0
