"""Conversion of quantities between text with units and SI base units.

``parse`` reads ``6 MiB``, ``800 GB/s`` or ``33 cycles`` and refuses ambiguous text; the ``format_*`` functions write
such text. Only parsing needs pint, which is imported on first use.
"""

import difflib
import math
import re
from functools import cache, partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from gpureport.errors import InputError
from gpureport.text import quoted, shortened

if TYPE_CHECKING:
    from pint import UnitRegistry

Dimension = Literal["bytes", "bytes/s", "hertz", "seconds", "cycles", "bytes/cycle", "flop/s", "watts", "count"]


class _Kind(NamedTuple):
    """What messages say about a dimension, and its units."""

    name: str
    example: str
    units: tuple[str, ...]


_BYTES = ("B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB")
_KINDS: dict[Dimension, _Kind] = {
    "bytes": _Kind("a size in bytes", "6 MiB", ("KB", *_BYTES)),
    "bytes/s": _Kind("a bandwidth", "800 GB/s", tuple(f"{unit}/s" for unit in _BYTES)),
    "hertz": _Kind("a frequency", "1.98 GHz", ("Hz", "kHz", "MHz", "GHz")),
    "seconds": _Kind("a time", "2.5 us", ("s", "ms", "us", "ns", "ps")),
    "cycles": _Kind("a number of clock cycles", "33 cycles", ("cycle",)),
    "bytes/cycle": _Kind("bytes per clock cycle", "64 B/cycle", ("B/cycle",)),
    "flop/s": _Kind("a rate of floating-point operations", "37.4 TFLOP/s", ("GFLOP/s", "TFLOP/s")),
    "watts": _Kind("a power", "700 W", ("mW", "W", "kW")),
    "count": _Kind("a plain number", "132", ("",)),
}
EXAMPLES = {dimension: kind.example for dimension, kind in _KINDS.items()}
"""Example of each dimension, for messages and schemas."""

_QUANTITY = re.compile(r"\s*(?P<number>[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(?P<unit>[^\d,.].*?|)\s*")
_SPELLINGS = {
    "cycles": "cycle",
    "clk": "cycle",
    "clks": "cycle",
    "sec": "s",
    "µs": "us",
    "μs": "us",
    "bytes": "B",
    "byte": "B",
    "bits": "bit",
}
_DEFINITIONS = (
    *("byte = [information] = B", "second = [time] = s", "hertz = 1 / second = Hz"),
    *("cycle = [clock_cycle]", "FLOP = [operation]", "watt = [power] = W"),
    *("tera- = 1e12 = T-", "giga- = 1e9 = G-", "mega- = 1e6 = M-", "kilo- = 1e3 = k- = K-"),
    *("milli- = 1e-3 = m-", "micro- = 1e-6 = u-", "nano- = 1e-9 = n-", "pico- = 1e-12 = p-"),
    *("tebi- = 2**40 = Ti-", "gibi- = 2**30 = Gi-", "mebi- = 2**20 = Mi-", "kibi- = 2**10 = Ki-"),
)
_RULES: dict[tuple[Dimension, Dimension | None], str] = {
    ("cycles", "seconds"): "write cycles: nanoseconds x the clock in GHz",
    ("bytes/cycle", "bytes/s"): "write B/cycle: the GB/s of one compute unit / the clock in GHz",
}
"""Conversions from the second dimension to the first, for messages."""


def parse(value: object, dimension: Dimension, *, zero: bool = False) -> float:
    """Read a quantity.

    Args:
        value: text with a unit; for ``count`` also a number.
        dimension: the required one.
        zero: whether the value may be zero.

    Returns:
        The value in SI base units (bytes, bytes/s, Hz, s, cycles, bytes/cycle, W, 1), finite and positive (or zero).

    Raises:
        InputError: it is not a number, not positive, or has no unit of *dimension*; the message gives the correction.
    """
    number, unit = _split(value, dimension)
    if unit not in _KINDS[dimension].units:
        raise InputError(_wrong_unit(shortened(str(value).strip()), number, unit, dimension))
    result = float(f"{number * _factor(unit):.15g}")
    if result == 0 and zero:
        return result
    if not math.isfinite(result) or result <= 0:
        wrong = "too large" if result > 0 else "not above zero"
        raise InputError(f"{quoted(str(value).strip())} is {wrong}; {_expected(dimension)}")
    return result


@cache
def _factor(unit: str) -> float:
    """Return one *unit* in base units; cached, since entries have many values but few units."""
    return float(_registry().Quantity(1.0, unit).to_root_units().magnitude)


def _split(value: object, dimension: Dimension) -> tuple[float, str]:
    """Return number and unit in canonical spelling."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{_shown(value)} is not {_KINDS[dimension].name}; {_expected(dimension)}")
    match = _QUANTITY.fullmatch(str(value))
    if match is None:
        pointed = re.sub(r"(?<=\d),(?=\d{1,2}\b)", ".", str(value), count=1)
        if _QUANTITY.fullmatch(pointed):
            raise InputError(f"{_shown(value)} has a decimal comma; write {pointed}")
        kind = "a number" if dimension == "count" else "a number with a unit"
        raise InputError(f"{_shown(value)} is not {kind}; {_expected(dimension)}")
    unit = "/".join(_SPELLINGS.get(part.strip(), part.strip()) for part in match["unit"].split("/"))
    unit = re.sub(r"ps$", "/s", unit) if re.fullmatch(r"[kKMGT]i?Bps", unit) else unit
    unit = re.sub(r"FLOPS$", "FLOP/s", unit)
    return float(match["number"].replace("_", "")), unit


def _shown(value: object) -> str:
    """Return the written value for messages, shortened."""
    text = {None: "nothing", True: "true", False: "false"}.get(value) if value in (None, True, False) else None
    return text or shortened(repr(value))


def _expected(dimension: Dimension) -> str:
    if dimension == "count":
        return "write a number above zero, without a unit"
    return f"write {_KINDS[dimension].name} like {_KINDS[dimension].example}"


def _wrong_unit(text: str, number: float, unit: str, dimension: Dimension) -> str:
    """Return the message about a wrong unit, with the correction."""
    right = next((u for u in sorted(_KINDS[dimension].units) if u and u.lower() == unit.lower()), None)
    if not unit:
        return f"{text!r} lacks a unit; {_expected(dimension)}"
    if re.fullmatch(r"[kKMGT]?i?b(it)?(/s|ps)?", unit) and dimension in ("bytes", "bytes/s"):
        amount = unit.replace("bit", "b").replace("b", "B").replace("ps", "/s")
        return f"{text!r} is in bits; write {amount} for bytes ({number / 8:g} {amount} = {text})"
    if right is not None:
        return f"{text!r}: units are case-sensitive; write {number:g} {right}"
    other = _dimension(unit)
    found = f"is {_KINDS[other].name}, not {_KINDS[dimension].name}" if other else f"has the unknown unit {unit!r}"
    return f"{text!r} {found}; {_suggested(number, unit, dimension) or _expected(dimension)}"


def _suggested(number: float, unit: str, dimension: Dimension) -> str | None:
    """Return the likely correction of a wrong unit, if any."""
    if dimension == "count":
        return f"write {number / 100:g}" if unit == "%" else f"write {number:g}"
    for candidate in (f"{unit}/s", unit.removesuffix("/s")):
        if candidate in _KINDS[dimension].units:
            return f"write {number:g} {candidate}"
    rule = _RULES.get((dimension, _dimension(unit)))
    near = difflib.get_close_matches(unit, sorted(_KINDS[dimension].units), n=1, cutoff=0.6)
    alike = bool(near) and near[0][0].casefold() == unit[:1].casefold()  # another prefix is another value
    return rule or (f"write {number:g} {near[0]}" if alike else None)


def _dimension(unit: str) -> Dimension | None:
    return next((dimension for dimension, kind in _KINDS.items() if unit in kind.units), None)


@cache
def _registry() -> "UnitRegistry[float]":
    """Return the unit registry with these few units only: pint's full list takes half a second to load."""
    from pint import UnitRegistry

    registry: UnitRegistry[float] = UnitRegistry(None, cache_folder=None)
    for definition in _DEFINITIONS:
        registry.define(definition)
    return registry


_DECIMAL = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_BINARY = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_ENERGIES = ((1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"), (1e-9, "nJ"), (1e-12, "pJ"))
_SINGULAR = {"matrices": "matrix", "launches": "launch"}
_UNKNOWN = "—"


def format_value(value: float | None, unit: str) -> str:
    """Write a value of one of the records' units (``B``, ``B/s``, ``s``, ``work-items``, ``cells/s``, …).

    Three significant digits, integers in full; ``—`` for ``None``, NaN and infinity.
    """
    if value is None or not math.isfinite(value):
        return _UNKNOWN
    scale, label = scale_of(value, unit)
    number = _number(value / scale)
    if unit == "B" or ("/" not in unit and unit not in ("s", "Hz")):
        number = _trimmed(number)
    return f"{number} {label}".rstrip()


def format_interval(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    """Write a value with its 95 % interval, with two to four digits: ``43.2 MiB (42.8 to 43.9)``.

    If the interval spans more than a factor of ten, each number has its own unit: ``2.1 k (430 to 35 k)``. Without an
    interval, as :func:`format_value`.
    """
    if value is None or low is None or high is None or not all(map(math.isfinite, (value, low, high))) or low >= high:
        return format_value(value, unit)
    if high > 10 * low:
        return f"{_two_digits(value, unit)} ({' to '.join(_two_digits(end, unit, bare=True) for end in (low, high))})"
    scale, label = scale_of(value, unit)
    supported = max(_decimals((high - low) / scale, 2), _decimals(low / scale, 2))
    decimals = max(0, min(supported, _decimals(value / scale, 4)))
    middle, lower, upper = (f"{x / scale:.{decimals}f}" for x in (value, low, high))
    return f"{middle} {label}".rstrip() + f" ({lower} to {upper})"


def format_estimate(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    """Write a value with its 95 % interval, each with three digits or more: ``138 GB/s (73.2 to 259)``.

    Narrow intervals have as many digits as :func:`format_interval` gives them. Without an interval, as
    :func:`format_value`.
    """
    if not value or low is None or high is None or not 0 < low < high < math.inf:
        return format_value(value, unit)
    scale, label = scale_of(value, unit)
    least = min(_decimals((high - low) / scale, 2), _decimals(value / scale, 4))
    middle, lower, upper = (f"{x / scale:.{max(0, least, _decimals(x / scale, 3))}f}" for x in (value, low, high))
    return f"{middle} {label}".rstrip() + f" ({lower} to {upper})"


def format_half_width(low: float | None, high: float | None) -> str:
    """Write the relative half-width of an interval, to follow its value: `` ± 0.4 %``; empty without an interval."""
    if not low or not high or not all(map(math.isfinite, (low, high))) or low >= high:
        return ""
    factor = math.sqrt(high / low)
    if factor >= 1.2:
        return f" (factor {factor:.3g})"
    percent = max(0.1, 100 * (factor - 1))
    return f" ± {percent:.1g} %" if percent < 9.5 else f" ± {percent:.0f} %"


def format_measured(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    """Write a value with the half-width of its interval, or with both ends if one side is much wider.

    That is a side above 1 % and above 1.3 times the half-width, on a logarithmic scale, or a value 10 % off the middle.
    """
    whole = format_interval(value, low, high, unit)
    if value and low and high:
        side, half = max(high / value, value / low), math.sqrt(high / low)
        if side > max(1.01, half**1.3) or side > 1.1 * half:
            return whole
    return whole.partition(" (")[0] + format_half_width(low, high)


def _decimals(value: float, digits: int) -> int:
    """Return the decimals for *digits* significant digits of *value*, which is not 0."""
    return digits - 1 - math.floor(math.log10(abs(value)))


def _two_digits(value: float, unit: str, *, bare: bool = False) -> str:
    """Write a value with two significant digits; *bare*: without the word ``work-items``."""
    scale, label = scale_of(value, unit)
    decimals = max(0, _decimals(value / scale, 2)) if value else 0
    label = label.removesuffix("work-items") if bare else label
    return f"{value / scale:.{decimals}f} {label}".rstrip()


def format_predicted(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    """Write a predicted value with its 95 % interval, which is symmetric in log: ``43 MiB ± 15 %``.

    The value has two or three digits. An interval of half the value or more is a factor: ``3.0 µs (factor 1.7)``.
    """
    if value is None or high is None or low is None or not low < value < high:
        return format_value(value, unit)
    scale, label = scale_of(value, unit)
    supported = max(_decimals((high - low) / scale, 2), _decimals(value / scale, 2))
    text = f"{value / scale:.{max(0, min(supported, _decimals(value / scale, 3)))}f} {label}".rstrip()
    factor = math.sqrt(high / low)
    return f"{text} ±\xa0{100 * (factor - 1):.0f}\xa0%" if factor < 1.5 else f"{text} (factor\xa0{factor:.2g})"


def format_share(share: float) -> str:
    """Write a share in percent, to two digits: ``7.7 %``."""
    return f"{100 * share:.2g} %"


format_bytes = partial(format_value, unit="B")
"""Write a capacity in B, KiB, MiB, GiB or TiB (powers of 1024)."""


def rounded_bytes(value: float, digits: int) -> str:
    """Write about how many MiB a size is, with so many significant *digits*."""
    return format_bytes(float(f"{value / 2.0**20:.{digits}g}") * 2.0**20)


format_bandwidth = partial(format_value, unit="B/s")
"""Write a bandwidth in GB/s (10^9 bytes/s), whatever its size."""
format_time = partial(format_value, unit="s")
"""Write seconds as ns, µs, ms or s."""
format_frequency = partial(format_value, unit="Hz")
"""Write hertz as kHz, MHz or GHz."""


def format_count(value: float | None) -> str:
    """Write a count: exact powers of two from 2^10 on as such, others with k, M, G or T."""
    if value is not None and value >= 1024 and math.log2(value).is_integer():
        return f"2^{int(math.log2(value))}"
    return format_value(value, "")


def format_percent(share: float, digits: int = 0) -> str:
    """Write a share of one: ``85 %``."""
    return f"{100 * share:.{digits}f} %"


def format_change(share: float, digits: int = 0) -> str:
    """Write a relative change with its sign, plus or a typographic minus; ``0 %`` if it is rounded to zero."""
    text = f"{100 * share:+.{digits}f} %".replace("-", "\N{MINUS SIGN}")
    return text if round(100 * share, digits) else "0 %"


def format_ratio(value: float | None) -> str:
    """Write a ratio with three significant digits."""
    return _UNKNOWN if value is None or not math.isfinite(value) else _number(value)


def scale_of(value: float, unit: str) -> tuple[float, str]:
    """Return the divisor of *value* of a record's unit, and the unit to write after the quotient: ``1e9, GB/s``."""
    base, _, per = unit.partition("/")
    if unit == "B":
        return _largest(value, _BINARY)
    if unit == "B/s":
        return 1e9, "GB/s"
    if base == "s":
        scale, label = _largest(value, _TIMES)
        return scale, f"{label}/{per}" if per else label
    if unit in ("cycles", "%", "W"):
        return 1.0, unit
    if base == "J":
        scale, label = _largest(value, _ENERGIES)
        return scale, f"{label}/{_SINGULAR.get(per, per.removesuffix('s'))}" if per else label
    scale, prefix = _largest(value, _DECIMAL)
    if unit == "Hz":
        return scale, f"{prefix}Hz"
    if per:
        return scale, f"{prefix}{_SINGULAR.get(base, base.removesuffix('s'))}/{per}"
    return scale, f"{prefix} {unit}".strip()


def _largest(value: float, scales: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    """Return the largest scale that the rounded *value* reaches, or the smallest scale."""
    return next((s for s in scales if float(f"{abs(value) / s[0]:.3g}") >= 1), scales[-1])


def _number(value: float) -> str:
    """Write with three significant digits; integers in full, tiny values with an exponent."""
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(float(f"{value:.2e}"))))
    return f"{value:.2e}" if exponent < -3 else f"{value:.{max(0, 2 - exponent)}f}"


def _trimmed(number: str) -> str:
    """Remove trailing zeros."""
    return number.rstrip("0").rstrip(".") if "." in number and "e" not in number else number
