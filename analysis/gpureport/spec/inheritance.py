"""Architectures that extend another one: their files list only what differs."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gpureport.data import data_dir
from gpureport.errors import InputError
from gpureport.inputs import read_yaml
from gpureport.spec.files import ArchitectureFile

_OWN = ("extends", "identified_by", "matches", "source")
"""Fields that are not inherited; the source of each inherited value stays."""


def inherited(path: Path, data: Mapping[str, object]) -> Mapping[str, object]:
    """Return the contents of the file at *path* on top of those of the architecture that it extends, if any.

    Raises:
        InputError: that architecture does not exist, has errors, or itself extends another one.
    """
    name = data.get("extends")
    if not isinstance(name, str):
        return data
    folders = (path.parent, data_dir("devices") / "architectures")
    file = next((file for folder in folders if (file := folder / f"{Path(name).name}.yaml").is_file()), None)
    if file is None:
        raise InputError(f"there is no architecture {name!r}")
    base = read_yaml(file).data
    if not isinstance(base, Mapping) or "extends" in base:
        raise InputError(f"{name} extends another architecture; extend one that does not")
    try:
        contents = ArchitectureFile.model_validate(base)
    except ValidationError:
        raise InputError(f"{file} has errors; correct them first") from None
    return merged({key: value for key, value in with_sources(base, contents).items() if key not in _OWN}, data)


def with_sources(data: Mapping[str, object], contents: ArchitectureFile) -> dict[str, Any]:
    """Return *data*, the valid *contents* of a file, with the default source written at each value that has none."""
    copied = dict(deepcopy(data))
    for path, leaf in contents.leaves().items():
        if contents.source is None or leaf.source or leaf.kind in ("assumed", "queried"):
            continue
        *steps, last = path.split(".")
        part: Any = copied
        for step in steps:
            part = part.get(step) if isinstance(part, dict) else None
        if isinstance(part, dict) and last in part:
            value = part[last] if isinstance(part[last], dict) and "value" in part[last] else {"value": part[last]}
            part[last] = value | {"source": contents.source}
    return copied


def merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return mappings merged key by key; values of *own* replace those of *base*."""
    both = {key for key in own if _is_part(base.get(key)) and _is_part(own[key])}
    return {**base, **{key: merged(base[key], value) if key in both else value for key, value in own.items()}}


def _is_part(value: object) -> bool:
    """Whether *value* is a part of a file, not a single value."""
    return isinstance(value, Mapping) and "value" not in value
