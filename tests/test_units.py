"""Quantities in and out of text."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpureport import units
from gpureport.errors import InputError

RATES = "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s or TiB/s"
SIZES = RATES.replace("/s", "")
HERTZ = "write it like 1.98 GHz, in Hz, kHz, MHz or GHz"
COUNT = "a number above zero; write it like 132 or 0.92, without a unit"


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("6 MiB", "bytes", 6 * 2**20),
        ("800 GB/s", "bytes/s", 8e11),
        ("1.98 GHz", "hertz", 1.98e9),
        ("2.5 us", "seconds", 2.5e-6),
        ("2.5 µs", "seconds", 2.5e-6),
        ("33 cycles", "cycles", 33),
        (132, "count", 132),
    ],
)
def test_people_s_units_become_si(text: object, dimension: units.Dimension, value: float) -> None:
    assert units.parse(text, dimension) == value


@pytest.mark.parametrize(
    ("text", "dimension", "sentence"),
    [
        ("800 GBs", "bytes/s", f"'800 GBs' is not a bandwidth; write it like 800 GB/s, in {RATES}"),
        ("-6 MiB", "bytes", f"'-6 MiB' is not a size in bytes; write it like 6 MiB, in {SIZES}"),
        ("1e400 GHz", "hertz", "'1e400 GHz' is out of range; write a value like 1.98 GHz"),
        ("2,5 GHz", "hertz", f"'2,5 GHz' is not a frequency; {HERTZ}"),
        (None, "hertz", f"null is not a frequency; {HERTZ}"),
        ("92 %", "count", f"'92 %' is not {COUNT}"),
        (math.nan, "count", f"NaN is not {COUNT}"),
    ],
)
def test_traps_are_refused_with_what_would_be_right(text: object, dimension: units.Dimension, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        units.parse(text, dimension)

    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (6 * 2**20, "B", "6 MiB"),
        (1023.9 * 2**10, "B", "1 MiB"),
        (4.395e12, "B/s", "4395 GB/s"),
        (5e8, "B/s", "0.500 GB/s"),
        (2.5e-6, "s", "2.50 µs"),
        (999.7e-9, "s", "1.00 µs"),
        (141e-9, "s/load", "141 ns/load"),
        (1310720, "work-items", "1.31 M work-items"),
        (1.2e9, "cells/s", "1.20 Gcell/s"),
        (None, "B", "—"),
        (math.nan, "s", "—"),
    ],
)
def test_values_are_written_as_people_read_them(value: float | None, unit: str, text: str) -> None:
    assert units.format_value(value, unit) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "unit", "text"),
    [
        (43.2, 42.81, 43.93, "cells", "43.2 cells ±\xa01\xa0%"),
        (44.68e9, 44.679e9, 44.681e9, "B/s", "44.7 GB/s ±\xa00.1\xa0%"),
        (2e9, 2e9 / 1.19, 2e9 * 1.19, "B/s", "2.00 GB/s ±\xa019\xa0%"),
        (43.21e9, 43.21e9 / 1.3, 43.21e9 * 1.3, "B/s", "43 GB/s (33 to 56)"),
        (2e9, 2e9 / 1.7, 2e9 * 1.7, "B/s", "2.0 GB/s (1.2 to 3.4)"),
        (44e9, 30.1e9, 45e9, "B/s", "44.0 GB/s (30.1 to 45.0)"),
        (44e9, 8e9, 200e9, "B/s", "44 GB/s (8.0 to 200)"),
        (58e3, 4.2e3, 67.1e6, "work-items", "58 k work-items (4.2 k to 67 M)"),
        (2.1e3, 0, 35e3, "", "2.1 k (0 to 35 k)"),
        (3.2e-6, 4e-7, 9e-6, "s", "3.2 µs (400 ns to 9.0 µs)"),
        (6 * 2**20, None, None, "B", "6 MiB"),
        (None, None, None, "B/s", "—"),
    ],
)
def test_an_interval_is_a_half_width_or_its_ends_and_decides_the_digits(
    value: float | None, low: float | None, high: float | None, unit: str, text: str
) -> None:
    assert units.format_interval(value, low, high, unit) == text


@given(st.integers(1, 1023), st.sampled_from(["B", "KiB", "MiB", "GiB"]))
def test_capacities_survive_the_round_trip(number: int, unit: str) -> None:
    value = units.parse(f"{number} {unit}", "bytes")

    assert units.parse(units.format_bytes(value), "bytes") == value


@given(st.floats(1e-9, 9e2))
def test_times_survive_the_round_trip(seconds: float) -> None:
    assert units.parse(units.format_time(seconds), "seconds") == pytest.approx(seconds, rel=6e-3)


@given(st.text(max_size=20), st.sampled_from(list(units.DIMENSIONS)))
def test_any_text_is_read_or_refused_in_one_line(text: str, dimension: units.Dimension) -> None:
    try:
        value = units.parse(text, dimension)
    except InputError:
        return

    assert 0 <= value < math.inf


@pytest.mark.parametrize(
    ("share", "spec", "text"),
    [(-0.0214, "+.1f", "\N{MINUS SIGN}2.1 %"), (15, "+.3g", "+1500 %"), (-0.0004, "+.1f", "0 %"), (0.0, "+.0f", "0 %")],
)
def test_changes_have_their_sign(share: float, spec: str, text: str) -> None:
    assert units.format_percent(share, spec) == text
