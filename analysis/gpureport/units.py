"""Conversion of quantities between text with units and SI base units.

``parse`` reads ``6 MiB``, ``800 GB/s`` or ``33 cycles``; the ``format_*`` functions write such text.
"""

import json
import math
import re
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import NamedTuple

from gpureport.errors import InputError
from gpureport.text import listed, quoted, shortened

Dimension = str
"""A key of :data:`DIMENSIONS`."""


class _Dimension(NamedTuple):
    """What messages say about a dimension, its units and bounds, and how fields of records show it."""

    name: str
    example: str
    units: tuple[str, ...]
    least: float
    """The smallest written or measured quantity, in SI base units."""
    most: float
    unit: str = ""
    """The SI base unit."""
    ending: str = ""
    """Of the names of fields in this unit."""


_BYTES = ("B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB")
_RATES = tuple(f"{unit}/s" for unit in _BYTES)
_FLOPS = ("GFLOP/s", "TFLOP/s", "GFLOPS", "TFLOPS")
DIMENSIONS = {
    "bytes": _Dimension("a size in bytes", "6 MiB", _BYTES, 1, 2.0**60, "B", "_bytes"),
    "bytes/s": _Dimension("a bandwidth", "800 GB/s", _RATES, 1, 1e18, "B/s", "_bytes_per_s"),
    "hertz": _Dimension("a frequency", "1.98 GHz", ("Hz", "kHz", "MHz", "GHz"), 1, 1e15, "Hz", "_hz"),
    "seconds": _Dimension("a time", "2.5 us", ("s", "ms", "us", "ns", "ps"), 1e-15, 1e6, "s", "_s"),
    "cycles": _Dimension("a number of clock cycles", "33 cycles", ("cycles", "cycle"), 1e-6, 1e9, "cycles", "_cycles"),
    "bytes/cycle": _Dimension(
        "bytes per clock cycle", "64 B/cycle", ("B/cycle",), 1e-6, 1e9, "B/cycle", "_bytes_per_cycle"
    ),
    "flop/s": _Dimension(
        "a rate of floating-point operations", "37.4 TFLOP/s", _FLOPS, 1, 1e24, "FLOP/s", "_flop_per_s"
    ),
    "watts": _Dimension("a power", "700 W", ("mW", "W", "kW"), 1e-6, 1e6, "W", "_w"),
    "count": _Dimension("a number above zero", "132", ("",), 1e-6, 1e9),
}
"""All dimensions: a row for each. Documents show other units than these with decimal prefixes."""

_QUANTITY = re.compile(r"\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(?P<unit>[^\d,.].*?|)\s*")
_DECIMAL = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_BINARY = ((2.0**40, "Ti"), (2.0**30, "Gi"), (2.0**20, "Mi"), (2.0**10, "Ki"))
_SMALL = ((1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p"))
_FACTORS = {
    f"{prefix}{unit}": scale
    for scale, prefix in (*_DECIMAL, *_BINARY, *_SMALL)
    for unit in ("FLOPS", "cycle", *(kind.unit for kind in DIMENSIONS.values()))
}
"""One of each unit, in base units."""
_MICRO = str.maketrans("µμ", "uu")


def parse(value: object, dimension: Dimension) -> float:
    """Read a quantity.

    Args:
        value: text with a unit; for ``count`` also a number.
        dimension: the required one.

    Returns:
        The value in SI base units (bytes, bytes/s, Hz, s, cycles, bytes/cycle, W, 1), finite and not negative.

    Raises:
        InputError: it is not a finite number from 0 on with a unit of *dimension*.
    """
    kind, match = DIMENSIONS[dimension], _QUANTITY.fullmatch(str(value))
    if match and (unit := match["unit"].translate(_MICRO)) in kind.units:
        result = float(f"{float(match['number']) * _FACTORS[unit]:.15g}")
        if 0 <= result < math.inf:
            return result
        if result == math.inf:
            raise InputError(f"{quoted(str(value).strip())} is out of range; write a value like {kind.example}")
    shown = quoted(value.strip()) if isinstance(value, str) else shortened(json.dumps(value))
    units = [unit for unit in kind.units if f"{unit}s" not in kind.units]  # without a singular
    right = f", in {listed(units, 'or')}" if dimension != "count" else " or 0.92, without a unit"
    raise InputError(f"{shown} is not {kind.name}; write it like {kind.example}{right}")


UNKNOWN = "—"
"""Written for values that are not known."""
RATIO = "ratio"
"""The unit of ratios: no prefix, and three digits even where the last ones are zeros."""
COUNT = "count"
"""The unit of counts, which are powers of two where they can."""

_SCALES = {
    "B": (*((scale, f"{prefix}B") for scale, prefix in _BINARY), (1.0, "B")),
    "B/s": ((1e9, "GB/s"),),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "J": ((1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"), (1e-9, "nJ"), (1e-12, "pJ")),
    "Hz": tuple((scale, f"{prefix}Hz") for scale, prefix in _DECIMAL),
    RATIO: ((1.0, ""),),
    **{unit: ((1.0, unit),) for unit in ("cycles", "%", "W")},
}
_WITH_ZEROS = ("s", "Hz", RATIO)
DIGITS = 3
"""Significant digits of the numbers of documents."""
_LABEL_DIGITS = 3
"""Significant digits in labels of points and transitions. They never change: labels identify stored results."""
_MOST_DECIMALS = 5  # smaller values have an exponent
_SINGULAR = {"matrices": "matrix", "launches": "launch"}


def format_number(value: float, spec: str = f".{DIGITS}g") -> str:
    """Write a plain number with the digits of the format *spec*; all rounded numbers of documents are written here.

    Large numbers have no exponent.
    """
    text = f"{value:{spec}}"
    return f"{float(text):{'+' if spec.startswith('+') else ''}.0f}" if "e+" in text else text


def format_value(value: float | None, unit: str, digits: int = DIGITS) -> str:
    """Write a value of one of the records' units (``B``, ``B/s``, ``s``, ``work-items``, ``cells/s``, …).

    Rounded to *digits*, integers in full; ``—`` for ``None``, NaN and infinity.
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return " ".join(_number_and_unit(value, unit, digits)).rstrip()


format_bytes = partial(format_value, unit="B")
"""Write a capacity in B, KiB, MiB, GiB or TiB (powers of 1024)."""
format_bandwidth = partial(format_value, unit="B/s")
"""Write a bandwidth in GB/s (10^9 bytes/s), whatever its size."""
format_time = partial(format_value, unit="s")
"""Write seconds as ns, µs, ms or s."""
format_frequency = partial(format_value, unit="Hz")
"""Write hertz as kHz, MHz or GHz."""
format_ratio = partial(format_value, unit=RATIO)
"""Write a ratio."""
format_count = partial(format_value, unit=COUNT)
"""Write a count: exact powers of two from 2^10 on as such, others with k, M, G or T."""
label_bytes = partial(format_bytes, digits=_LABEL_DIGITS)
"""Write a size in bytes in a label."""
label_count = partial(format_count, digits=_LABEL_DIGITS)
"""Write a count in a label."""


def format_interval(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    """Write a value with its 95 % interval; without an interval, as :func:`format_value`."""
    return " ".join(filter(None, interval_parts(value, low, high, unit)))


def interval_parts(value: float | None, low: float | None, high: float | None, unit: str) -> tuple[str, str]:
    """Return the texts of a value and of its interval, which is empty if there is none around the value.

    Numbers have :data:`DIGITS`, or one less if the ends differ by half. The interval is the half-width, a tenth of a
    per cent or more, if it is at most 20 % and the sides are similar on a logarithmic scale (both below 1 %, or below
    1.3 times the half-width): ``43 MiB ± 15 %``. Others have their ends, because such a half-width is a factor:
    ``43 MiB (36 to 60)``, each in its own unit if they span more than a factor of ten: ``2.1 k (430 to 35 k)``.
    """
    if value is None or low is None or high is None or not -math.inf < low <= value <= high < math.inf or low == high:
        return format_value(value, unit), ""
    digits = DIGITS - 1 if high > 1.5 * low else DIGITS
    scale, label = scale_of(value, unit)
    number = f"{_rounded(value / scale, digits)} {label}".rstrip()
    if low > 0:
        factor, side = math.sqrt(high / low), max(high / value, value / low)
        if factor < 1.205 and side <= max(1.01, factor**1.3):
            percent = max(0.1, 100 * (factor - 1))
            return number, f"±\xa0{format_number(percent, '.1g' if percent < 9.5 else '.0f')}\xa0%"
    scales = [scale_of(end, unit) if high > 10 * low else (scale, label) for end in (low, high)]
    lower, upper = (_rounded(end / scale, digits) for end, (scale, _) in zip((low, high), scales, strict=True))
    if {of_end for _, of_end in scales} != {label}:
        lower, upper = (
            f"{end} {of_end.removesuffix(unit) if unit in _ITEMS else of_end}".rstrip()
            for end, (_, of_end) in zip((lower, upper), scales, strict=True)
        )
    return number, f"({lower} to {upper})"


def _rounded(value: float, digits: int) -> str:
    return format_number(value, f".{max(0, _decimals(value, digits))}f") if value else "0"


def format_range(values: Iterable[float], unit: str | None = None) -> str:
    """Write the least and the greatest of *values* in a unit, or in full: ``216 to 392 KiB``, ``3 to 9``.

    Just one text if both are equal; ``—`` for none.
    """
    known = sorted(values)
    if not known:
        return UNKNOWN
    least, most = (str(end) if unit is None else format_value(end, unit) for end in (known[0], known[-1]))
    if least == most:
        return most
    if unit:  # not "2 to 3 k"
        (number, label), (_, common) = (_number_and_unit(end, unit, DIGITS) for end in (known[0], known[-1]))
        least = number if label == common else least
    return f"{least} to {most}"


def format_percent(share: float, spec: str = ".0f") -> str:
    """Write a share of one, with the digits of the format *spec*: ``85 %``.

    With a sign in *spec*, write a relative change with plus or a typographic minus; ``0 %`` if it is rounded to zero.
    """
    text = format_number(100 * share, spec)
    if spec.startswith("+"):
        text = text.replace("-", "\N{MINUS SIGN}") if float(f"{100 * share:{spec}}") else "0"
    return f"{text} %"


def precise_percent(share: float, sign: str = "") -> str:
    """Write a share in percent, with a decimal below 10 %; with the *sign* ``+`` a relative change."""
    return format_percent(share, f"{sign}{'.1f' if abs(share) < 0.0995 else '.0f'}")


def off_by(error: float, spec: str = ".2g") -> str:
    """Write an error |ln ratio| as larger / smaller - 1, ``12 %``; from 1.5 on as the ratio, ``a factor of 2.3``."""
    factor = math.exp(error)
    return format_percent(factor - 1, spec) if factor < 1.5 else f"a factor of {format_number(factor, '.1f')}"


_ITEMS = ("work-items", "items")


def abbreviated(unit: str) -> str:
    """Shorten long words of a unit, for narrow columns: ``items`` for ``work-items``, ``instr`` for ``instruction``."""
    return "items" if unit in _ITEMS else unit.replace("instruction", "instr")


def scale_of(value: float, unit: str, digits: int = DIGITS) -> tuple[float, str]:
    """Return the divisor of *value* of a record's unit, and the unit to write after the quotient: ``1e9, GB/s``."""
    base, _, per = unit.partition("/")
    if unit in _SCALES or base in ("s", "J"):
        scale, label = _largest(value, _SCALES.get(unit, _SCALES[base]), digits)
        return scale, label if unit in _SCALES else f"{label}/{_singular(per)}"
    scale, prefix = _largest(value, _DECIMAL, digits)
    return scale, f"{prefix}{_singular(base)}/{per}" if per else f"{prefix} {unit}".strip()


def _singular(noun: str) -> str:
    return _SINGULAR.get(noun, noun.removesuffix("s"))


def as_written(value: float, unit: str) -> float:
    """Return a *value* of a record's unit rounded to the digits of labels."""
    scale, _ = scale_of(value, unit, _LABEL_DIGITS)
    return float(f"{round(value / scale, _shown_decimals(value / scale, _LABEL_DIGITS)) * scale:.15g}")


def _largest(value: float, scales: tuple[tuple[float, str], ...], digits: int) -> tuple[float, str]:
    return next((s for s in scales if float(f"{abs(value) / s[0]:.{digits - 1}e}") >= 1), scales[-1])


@lru_cache(4096)
def _number_and_unit(value: float, unit: str, digits: int) -> tuple[str, str]:
    """Write with significant *digits*; integers in full, tiny values with an exponent."""
    if unit == COUNT:
        if value >= 1024 and math.log2(value).is_integer():
            return f"2^{int(math.log2(value))}", ""
        unit = ""
    scale, label = scale_of(value, unit, digits)
    value /= scale
    if not value:
        return "0", label
    decimals = _shown_decimals(value, digits)
    if decimals > _MOST_DECIMALS:
        return format_number(value, f".{digits - 1}e"), label
    if "/" not in unit and unit not in _WITH_ZEROS:
        decimals = next((d for d in range(decimals) if round(value, d) == round(value, decimals)), decimals)
    return format_number(value, f".{decimals}f"), label


def _shown_decimals(value: float, digits: int) -> int:
    """Return the decimals of significant *digits* of the rounded *value*; none for integers and for 0."""
    return max(0, _decimals(float(f"{value:.{digits - 1}e}"), digits)) if value else 0


def _decimals(value: float, digits: int) -> int:
    """Return the decimals for *digits* significant digits of *value*, which is not 0."""
    return digits - 1 - math.floor(math.log10(abs(value)))
