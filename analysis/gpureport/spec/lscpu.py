"""What ``lscpu`` says about a machine: read from its JSON or its text."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from gpureport.errors import InputError
from gpureport.inputs import read_text
from gpureport.records.curves import Record
from gpureport.records.quantities import Bytes, Count, Hertz, Name, Whole
from gpureport.text import quoted

_SIZE = re.compile(r"([\d.]+)\s*([KMGT]?)(?:i?B|\b)?\s*(?:\((\d+) instances?\))?$")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_CACHES = {"l1": "L1d cache", "l2": "L2 cache", "l3": "L3 cache"}


class ListedCache(Record):
    """A cache level as ``lscpu`` lists it."""

    instance_bytes: Bytes
    instances: Count | None = None
    """Unknown before version 2.34 of ``lscpu``."""


class ProcessorFacts(Record):
    """A machine's processors, as the operating system identifies and lists them."""

    vendor: Name = ""
    """``GenuineIntel``, ``AuthenticAMD``, ``ARM``, …"""
    name: Name = ""
    instruction_set: Name = "x86_64"
    family: Whole | None = None
    model: Whole | None = None
    part: Name = ""
    """Arm only, such as ``0xd0c``: Linux lists it instead of a name."""
    processors: Count
    """Logical processors."""
    threads_per_core: Count = 1
    sockets: Count = 1
    numa_nodes: Count = 1
    hypervisor: Name = ""
    """Empty: none was detected."""
    flags: frozenset[str] = frozenset()
    clock_hz: Hertz | None = None
    """Largest clock, if listed."""
    l1: ListedCache | None = None
    l2: ListedCache | None = None
    l3: ListedCache | None = None


def read_lscpu(path: Path) -> ProcessorFacts:
    """Read the output of ``lscpu`` or ``lscpu -J``.

    Raises:
        InputError: the file cannot be read, or is no such output.
    """
    return parse_lscpu(read_text(path), str(path))


def parse_lscpu(text: str, file: str = "lscpu") -> ProcessorFacts:
    """Parse the output of ``lscpu`` or ``lscpu -J``; *file* names it in errors.

    Raises:
        InputError: it is no such output.
    """
    try:
        fields = dict(_json_fields(json.loads(text))) if text.lstrip().startswith("{") else dict(_text_fields(text))
    except (ValueError, RecursionError):
        raise InputError(f"{file}: is not valid JSON; write it with `lscpu -J`") from None
    try:
        return processor_facts(fields)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _json_fields(part: object) -> Iterator[tuple[str, str]]:
    """Yield the fields of ``lscpu -J``, also those within others."""
    if isinstance(part, Mapping):
        if isinstance(part.get("field"), str):
            yield part["field"].rstrip(":"), str(part.get("data") or "")
        for key in ("lscpu", "children"):
            yield from _json_fields(part.get(key))
    elif isinstance(part, list):
        for each in part:
            yield from _json_fields(each)


def _text_fields(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, separator, value = line.partition(":")
        if separator:
            yield key.strip(), value.strip()


def processor_facts(fields: Mapping[str, str]) -> ProcessorFacts:
    """Return the facts of the fields of ``lscpu``, by their English names.

    Raises:
        InputError: the number of processors is missing, or a number is invalid.
    """
    if "CPU(s)" not in fields:
        raise InputError("has no field 'CPU(s)'; write it with `LC_ALL=C lscpu -J`")
    clock = _number(fields, "CPU max MHz")
    values: dict[str, object] = {
        "vendor": fields.get("Vendor ID", ""),
        "name": fields.get("Model name", ""),
        "instruction_set": fields.get("Architecture", "x86_64"),
        "family": _whole(fields, "CPU family"),
        "model": _whole(fields, "Model"),
        "processors": _whole(fields, "CPU(s)"),
        "threads_per_core": _whole(fields, "Thread(s) per core") or 1,
        "sockets": _whole(fields, "Socket(s)") or 1,
        "numa_nodes": _whole(fields, "NUMA node(s)") or 1,
        "hypervisor": fields.get("Hypervisor vendor", ""),
        "flags": frozenset(fields.get("Flags", "").split()),
        "clock_hz": clock * 1e6 if clock else None,
    }
    values |= {level: _cache(fields, key) for level, key in _CACHES.items()}
    try:
        return ProcessorFacts.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise InputError(f"is not the output of lscpu: {problem}") from None


def _number(fields: Mapping[str, str], key: str) -> float | None:
    text = fields.get(key, "").replace(",", ".").strip()
    if not text or text == "-":
        return None
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{key} is {quoted(text)}, not a number") from None


def _whole(fields: Mapping[str, str], key: str) -> int | None:
    number = _number(fields, key)
    return None if number is None else round(number)


def _cache(fields: Mapping[str, str], key: str) -> ListedCache | None:
    """Return one instance of a cache; old versions list the size of one, newer ones the sum of all."""
    text = fields.get(key, "").strip()
    if not text or text.lower() == "unknown":
        return None
    match = _SIZE.match(text)
    if match is None:
        raise InputError(f"{key} is {quoted(text)}; expected a size such as '1.5 MiB (2 instances)'")
    size, instances = float(match[1]) * _UNITS[match[2]], int(match[3] or 0) or None
    return ListedCache(instance_bytes=size / (instances or 1), instances=instances) if size else None
