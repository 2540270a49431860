"""Old names of fields: files that have them are refused with the new name."""

import re
from pathlib import Path
from typing import Any

import pytest

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.records.renamed import RENAMED
from gpureport.records.schema import report_schema
from gpureport.results.published.reading import load
from gpureport.results.published.record import RecordFields
from gpureport.spec.check import check_file
from gpureport.spec.schema import architecture_schema, device_schema

PUBLISHED = Path(__file__).parent.parent / "reports" / "published"
FILES = [*sorted((data_dir("devices") / "architectures").glob("*.yaml")), *sorted(PUBLISHED.glob("*.yaml"))]


def fields(schema: Any) -> set[str]:
    """Return the names of all properties in a schema."""
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    own = set(schema.get("properties", {})) if isinstance(schema, dict) else set()
    return own.union(*map(fields, parts))


SCHEMAS = (device_schema(), architecture_schema(), RecordFields.model_json_schema())
YAML_FIELDS = fields(list(SCHEMAS))
OLD_KEYS = sorted(old for old, new in RENAMED.items() if new in YAML_FIELDS)


def test_new_names_are_fields_and_old_ones_are_not() -> None:
    """Of device files, architecture files, published records or reports."""
    known = YAML_FIELDS | fields(report_schema())

    assert set(RENAMED.values()) <= known
    assert not RENAMED.keys() & known


@pytest.mark.parametrize("old", OLD_KEYS)
def test_a_renamed_yaml_key_is_refused_with_its_new_name(old: str, tmp_path: Path) -> None:
    """One sentence with file, line and new name; the missing new field causes no second error."""
    key = re.compile(rf"(?<![\w-]){RENAMED[old]}(?=:)")
    shipped = next(path for path in FILES if key.search(path.read_text()))
    text = shipped.read_text()
    line = text[: key.search(text).start()].count("\n") + 1  # type: ignore[union-attr]
    path = tmp_path / shipped.name
    path.write_text(key.sub(old, text, count=1))

    if shipped.parent == PUBLISHED:
        with pytest.raises(InputError) as caught:
            load(path)
        (sentence,) = [str(caught.value)]
    else:
        (sentence,) = [str(problem) for problem in check_file(path) if problem.severity == "error"]
    assert sentence.startswith(f"{path}:{line}: ")
    assert sentence.endswith(f"{old}: has been renamed; write {RENAMED[old]!r}")
