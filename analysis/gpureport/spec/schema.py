"""JSON Schemas of the YAML files, for editors."""

from typing import Any

from gpureport.docstrings import Documented
from gpureport.spec.files import ArchitectureFile, DeviceFile

Schema = dict[str, Any]
_ALWAYS = ("name", "vendor", "kind")


def device_schema() -> Schema:
    """Return the schema of a device file."""
    return _titled(DeviceFile.model_json_schema(schema_generator=Documented), "gpureport device")


def architecture_schema() -> Schema:
    """Return the schema of an architecture file; one that extends another need not have all of its fields."""
    schema = _titled(ArchitectureFile.model_json_schema(schema_generator=Documented), "gpureport architecture")
    parts = {name: _required(schema, part) for name, part in schema["properties"].items()}
    whole = {
        "required": schema.pop("required"),
        "properties": {name: {"required": of} for name, of in parts.items() if of},
    }
    return schema | {"if": {"required": ["extends"]}, "then": {"required": list(_ALWAYS)}, "else": whole}


def _required(schema: Schema, part: Schema) -> list[str]:
    """Remove from a *part* of all fields which of its fields are required, and return them."""
    definition = schema["$defs"].get(part.get("$ref", "").removeprefix("#/$defs/"), {})
    required: list[str] = definition.pop("required", [])
    return required


def _titled(schema: Schema, title: str) -> Schema:
    """Add the title, and name the definitions by their short titles."""
    names = {key: each.get("title") or each["anyOf"][1]["title"] for key, each in schema["$defs"].items()}
    renamed = _renamed({**schema, "title": title}, {f"#/$defs/{k}": f"#/$defs/{v}" for k, v in names.items()})
    definitions = {names[key]: definition for key, definition in renamed["$defs"].items()}
    return {**renamed, "$defs": dict(sorted(definitions.items()))}


def _renamed(part: Any, references: dict[str, str]) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(part, dict):
        return {key: _renamed(value, references) for key, value in part.items()}
    if isinstance(part, list):
        return [_renamed(item, references) for item in part]
    return references.get(part, part) if isinstance(part, str) else part
