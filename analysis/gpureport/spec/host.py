"""The host processor as the operating system reports it, and any machine's processors as ``lscpu`` lists them."""

import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ValidationError

from gpureport.errors import InputError
from gpureport.inputs import shipped_table
from gpureport.records.curves import Record
from gpureport.records.quantities import Bytes, Count, Hertz, Name, Whole
from gpureport.system import usable_cores
from gpureport.text import quoted, requirement
from gpureport.units import DIMENSIONS

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_CPUINFO = Path("/proc/cpuinfo")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
_KERNEL = Path("/proc/sys/kernel/arch")
"""The kernel's own instruction set, since Linux 6.1; ``uname`` may state that of an emulated program."""
_NAMED_BY = ("model name", "Model", "Hardware")
"""Keys of the name in ``cpuinfo``: of the processor, or on Arm of the board or chip."""
_KEYS_OF_OTHERS = {"aarch64": "vendor_id", "x86_64": "CPU implementer"}
"""Keys in ``cpuinfo`` of processors with another instruction set."""
_PROGRAM = "0x00", "0x051"
"""Implementer and part of QEMU's own model, which it lists since version 8.2. Virtual machines of macOS list real cores
with the same implementer, but without a part."""
_KEPT_FLAGS = frozenset({"avx512f"})
"""Flags that distinguish types of core."""
_CLOCK = re.compile(r"@\s*(\d\d?(?:\.\d{1,3})?)\s*GHz")
"""The clock in a processor's name, if it is plausible."""
_MOST_PROCESSORS = 10**6
_LISTED_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B|\b)?\s*(?:\((\d{1,9}) instances?\))?$")
_SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class ListedCache(Record):
    """A cache level as the operating system or ``lscpu`` lists it."""

    instance_bytes: Bytes
    instances: Count | None = None
    """``lscpu`` lists the size of one before version 2.34, the sum of an unknown number before 2.37, and then both."""
    shared_by: Count | None = None
    """Logical processors that share one instance, also those that this program cannot use; ``lscpu`` lists none."""


_ARM = shipped_table("arm_cores", dict[Literal["vendors", "parts"], dict[str, str]])


class Lscpu(str):
    """The name of a field in the output of ``lscpu``."""


class ProcessorFacts(Record):
    """A machine's processors, as the operating system identifies and lists them."""

    vendor: Annotated[Name, Lscpu("Vendor ID")] = ""
    """``GenuineIntel``, ``AuthenticAMD``, ``ARM``, …; empty: the type of core is not known."""
    name: Annotated[Name, Lscpu("Model name")] = ""
    instruction_set: Annotated[Name, Lscpu("Architecture")] = "x86_64"
    family: Annotated[Whole | None, Lscpu("CPU family")] = None
    model: Annotated[Whole | None, Lscpu("Model")] = None
    part: Name = ""
    """Arm only, such as ``0xd0c``: Linux lists it instead of a name."""
    processors: Annotated[Count, Lscpu("CPU(s)")]
    """Logical processors; of this machine, those available to this program."""
    threads_per_core: Annotated[Count, Lscpu("Thread(s) per core")] = 1
    sockets: Annotated[Count, Lscpu("Socket(s)")] = 1
    hypervisor: Annotated[Name, Lscpu("Hypervisor vendor")] = ""
    """Empty: none was detected."""
    flags: Annotated[frozenset[str], Lscpu("Flags")] = frozenset()
    clock_hz: Annotated[Hertz | None, Lscpu("CPU max MHz")] = None
    """Largest clock, if listed."""
    l1: Annotated[ListedCache | None, Lscpu("L1d cache")] = None
    l2: Annotated[ListedCache | None, Lscpu("L2 cache")] = None
    l3: Annotated[ListedCache | None, Lscpu("L3 cache")] = None

    @property
    def generic(self) -> Literal["aarch64", "x86_64"]:
        """The generic architecture and entry for this instruction set."""
        return "aarch64" if self.instruction_set.lower() in ("aarch64", "arm64") else "x86_64"


@dataclass(frozen=True)
class HostProcessor:
    """The processors of a machine, and its memory; unknown values are ``None``."""

    facts: ProcessorFacts
    memory_bytes: int | None = None
    huge_page_bytes: int | None = None
    """Size of the pages of large buffers if the system makes all of them huge; ``None``: it does not, or not known."""
    source: str = "operating system"
    """What lists these values."""
    emulated: bool = False
    """Whether a program such as QEMU executes the instructions of another instruction set."""

    @property
    def without(self) -> frozenset[str]:
        """The path of the L3 if caches are listed, but no L3: a level that the generic entries have."""
        facts = self.facts
        return frozenset(("caches.L3",) if (facts.l1 or facts.l2) and not facts.l3 else ())


def read_host(
    caches: Path = _CACHES, cpuinfo: Path = _CPUINFO, huge_pages: Path = HUGE_PAGES, kernel: Path = _KERNEL
) -> HostProcessor:
    """Query the operating system; the arguments are the paths on Linux."""
    import psutil

    fields = list[tuple[str, str]]()
    with suppress(OSError):
        fields = list(_fields(cpuinfo.read_text(encoding="utf-8", errors="replace")))
    processors, machine = len(usable_cores()), platform.machine()
    emulated = _is_emulated(machine, dict(fields), kernel)
    fields = [] if emulated else fields
    facts = ProcessorFacts(
        name=_name(fields) or platform.processor() or machine,
        instruction_set=machine,
        processors=processors,
        clock_hz=None if emulated else _clock_hz(),
        **_identity(fields),
        **_read_caches(caches, processors),
    )
    memory_bytes: int | None = None
    with suppress(OSError):  # Linux without /proc
        memory_bytes = psutil.virtual_memory().total
    return HostProcessor(facts, memory_bytes, _huge_page_bytes(huge_pages), emulated=emulated)


def _is_emulated(machine: str, fields: Mapping[str, str], kernel: Path) -> bool:
    """Whether a program executes the instructions of *machine*; 32-bit ones are a part of the kernel's own."""
    if machine not in _KEYS_OF_OTHERS:
        return False
    own = machine
    with suppress(OSError):
        own = kernel.read_text(encoding="ascii", errors="replace").strip()
    # The file of processors is the kernel's own, or one that the emulator writes.
    found = fields.get("CPU implementer"), fields.get("CPU part")
    return own != machine or _KEYS_OF_OTHERS[machine] in fields or found == _PROGRAM


def _huge_page_bytes(root: Path) -> int | None:
    """Return the size of huge pages if Linux uses them for all large buffers; ``None`` if programs must ask for them.

    OpenCL runtimes do not ask for them.
    """
    try:
        if "[always]" not in (root / "enabled").read_text(encoding="ascii"):
            return None
        return int((root / "hpage_pmd_size").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _name(fields: Sequence[tuple[str, str]]) -> str:
    """Return the name of the processor, board or chip in ``cpuinfo``, or those of Arm's cores; empty: none is known."""
    first = dict(reversed(fields))
    of_arm = _ARM["vendors"].get(first.get("CPU implementer", "")) == "ARM"
    cores = [_ARM["parts"].get(part, "") for part in _parts(fields) if of_arm]
    return next((first[key] for key in _NAMED_BY if key in first), " and ".join(cores) if all(cores) else "")


def _parts(fields: Sequence[tuple[str, str]]) -> list[str]:
    """Return the numbers of the types of core in ``cpuinfo`` of an AArch64 processor."""
    return list(dict.fromkeys(value.lower() for key, value in fields if key == "CPU part"))


def _identity(fields: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the facts in ``cpuinfo`` that identify the type of core; empty if there are none."""
    first = dict(reversed(fields))
    numbers = {key: int(value) for key, value in first.items() if value.isdecimal()}
    if parts := _parts(fields):
        number = first.get("CPU implementer", "unknown")
        # Several types of core have the values of any.
        return {"vendor": _ARM["vendors"].get(number, number), "part": parts[0] if len(parts) == 1 else ""}
    if "vendor_id" not in first or "cpu family" not in numbers:
        return {}
    flags = frozenset(first.get("flags", "").split())
    siblings, cores = numbers.get("siblings"), numbers.get("cpu cores")
    return {
        "vendor": first["vendor_id"],
        "family": numbers["cpu family"],
        "model": numbers.get("model"),
        "threads_per_core": max(1, siblings // cores if siblings and cores else 1),
        "sockets": max(1, len({value for key, value in fields if key == "physical id"})),
        "hypervisor": "unknown" if "hypervisor" in flags else "",
        "flags": flags & _KEPT_FLAGS,
    }


def _clock_hz() -> float | None:
    import psutil

    try:
        frequency = psutil.cpu_freq()
    except (OSError, NotImplementedError, RuntimeError):
        return None
    megahertz = max(frequency.max or 0.0, frequency.current or 0.0) if frequency else 0.0
    return megahertz * 1e6 or None


def _read_caches(root: Path, processors: int) -> dict[str, ListedCache]:
    """Read the data and unified caches of the first processor, ``l1`` to ``l3``; skip unreadable ones."""
    found = {}
    for folder in sorted(root.glob("index*")):
        with suppress(OSError, ValueError, KeyError):
            names = ("type", "level", "size", "shared_cpu_list")
            text = {name: (folder / name).read_text(encoding="ascii").strip() for name in names}
            sharing = (part.partition("-") for part in text["shared_cpu_list"].split(","))  # such as 0-3,8
            shared_by = sum(int(last or first) - int(first) + 1 for first, _, last in sharing)
            if text["type"] != "Instruction" and int(text["level"]) <= 3 and shared_by > 0:
                found[f"l{text['level']}"] = ListedCache(
                    instance_bytes=int(text["size"][:-1]) * _SIZES[text["size"][-1]],
                    instances=max(1, round(processors / shared_by)),
                    shared_by=shared_by,
                )
    return found


def parse_lscpu(text: str, file: object = "lscpu") -> ProcessorFacts:
    """Parse the output of ``lscpu``; an InputError, which names *file*, for other text."""
    fields = dict(_fields(text))
    # For a terminal, lscpu lists caches under a heading; of several types of core, it lists one after another.
    fields = {f"{level} cache": fields[level] for level in ("L1d", "L2", "L3") if level in fields} | fields
    names = dict.fromkeys(value for key, value in _fields(text) if key == "Model name")
    try:
        facts = processor_facts(fields | ({"Model name": " and ".join(names)} if names else {}))
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    if facts.processors > _MOST_PROCESSORS:
        raise InputError(f"{file}: CPU(s) must be at most {_MOST_PROCESSORS}, not {quoted(fields['CPU(s)'])}")
    cores = max(1, facts.processors // facts.threads_per_core)
    sums = dict[str, ListedCache]()
    for name, cache, usual in (("l1", facts.l1, cores), ("l2", facts.l2, cores), ("l3", facts.l3, facts.sockets)):
        if cache is None:
            continue
        key, least = _LISTED[name], max(facts.processors, usual)
        is_sum = fields[key].endswith("iB")
        whole = cache.instance_bytes * (1 if is_sum else cache.instances or usual)
        if not least <= whole <= DIMENSIONS["bytes"].most:
            limits = f"from {least} B, one for each processor or socket, to 1 EiB"
            raise InputError(f"{file}: {key} must be {limits}, not {quoted(fields[key])}")
        if is_sum:
            sums[name] = ListedCache(instance_bytes=whole / usual, instances=usual)
    return facts.model_copy(update=sums)


def _fields(text: str) -> Iterator[tuple[str, str]]:
    for key, _, value in (line.partition(":") for line in text.splitlines()):
        if value.strip():
            yield key.strip(), value.strip()


_LISTED = {
    name: each for name, field in ProcessorFacts.model_fields.items() for each in field.metadata if type(each) is Lscpu
}
"""Fields of ``lscpu``."""


def processor_facts(fields: Mapping[str, str]) -> ProcessorFacts:
    """Return the facts of the fields of ``lscpu``, by their English names.

    An InputError if the number of processors is missing, or a value is invalid.
    """
    if "CPU(s)" not in fields:
        raise InputError("has no field 'CPU(s)'; write it with `LC_ALL=C lscpu`")
    given = {name: fields.get(key, "").strip() for name, key in _LISTED.items()}
    listed = {name: value for name, text in given.items() if (value := _value(name, text)) is not None}
    listed.setdefault("vendor", "unknown")  # its type of core is the generic one
    if (clock := _CLOCK.search(given["name"])) and float(clock[1]):
        listed.setdefault("clock_hz", f"{clock[1]}e9")
    try:
        return ProcessorFacts.model_validate(listed)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise InputError(f"{_LISTED[name]} {requirement(first['msg'])}, not {quoted(given[name])}") from None


def _value(name: str, text: str) -> object:
    """Return the value of a field for its record; ``None`` if it is not known."""
    zero = name in ("threads_per_core", "sockets", "clock_hz") and re.fullmatch(r"0+([.,]0*)?", text)
    if zero or text.lower() in ("", "-", "unknown"):
        return None
    if name == "flags":
        return text.split()
    if name == "clock_hz":
        return f"{text.replace(',', '.')}e6"
    return _cache(_LISTED[name], text) if name in ("l1", "l2", "l3") else text


def _cache(key: str, text: str) -> dict[str, float | None] | None:
    if (match := _LISTED_SIZE.match(text)) is None:
        raise InputError(f"{key} is {quoted(text)}; expected a size such as '1.5 MiB (2 instances)'")
    size, instances = float(match[1]) * _SIZES[match[2]], int(match[3] or 0) or None
    return {"instance_bytes": size / (instances or 1), "instances": instances} if size else None
