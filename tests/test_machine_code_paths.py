"""Bytes that execution paths through a function move, on graphs small enough to count by hand."""
# ruff: noqa: D103 - the names of the tests say what they check

import pytest

from gpureport.machine_code import ptx
from gpureport.machine_code.paths import Moved, moved

GUARD = "@%p1 bra END;"
LOAD, WIDE, STORE = (
    "ld.global.u32 %r1, [%rd1];",
    "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];",
    "st.global.u32 [%rd2], %r1;",
)
BOTH_COPIES = f"@%p2 bra SLOW; {WIDE} bra.uni STORE; SLOW: {LOAD} {LOAD} STORE: {STORE}"


def bytes_of(body: str) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    code = ptx.read(f".entry k()\n{{\n{body} END: ret;\n}}", "k")
    assert code is not None
    return code.loaded_bytes, code.stored_bytes


@pytest.mark.parametrize(
    ("body", "loads", "stores"),
    [
        (f"{LOAD} {STORE}", (4, 4), (4, 4)),
        (f"{GUARD} {LOAD} {STORE}", (4, 4), (4, 4)),  # the path beyond the end of the data does not count
        (f"{LOAD} {GUARD} {STORE}", (4, 4), (0, 4)),
        (f"{LOAD} @!%p1 {STORE}", (4, 4), (0, 4)),
        (f"@%p2 ret; {LOAD} {STORE}", (4, 4), (4, 4)),
        (f"{GUARD} {BOTH_COPIES}", (8, 16), (4, 4)),
        (f"{BOTH_COPIES} {WIDE}", (24, 32), (4, 4)),
        (f"bra.uni OVER; {WIDE} OVER: {STORE}", (0, 0), (4, 4)),
        (f"{LOAD} AGAIN: add.u32 %r1, %r1, %r1; @%p1 bra AGAIN; {STORE}", (4, 4), (4, 4)),
        (f"AGAIN: {LOAD} @%p1 bra AGAIN; {STORE}", None, None),
        (f"AGAIN: @%p2 bra NOT; {LOAD} NOT: @%p1 bra AGAIN; {STORE}", None, None),
        (f"{LOAD} call.uni helper, (); {STORE}", None, None),
        (f"{LOAD} brx.idx %r1, TABLE; {STORE}", None, None),
        ("", (0, 0), (0, 0)),
    ],
)
def test_least_and_most(body: str, loads: tuple[int, int] | None, stores: tuple[int, int] | None) -> None:
    """One of two copies counts; predicated and skipped accesses may count; loops must not access memory."""
    assert bytes_of(body) == (loads, stores)


def test_many_branches_need_no_deep_recursion() -> None:
    body = " ".join(f"@%p{n} bra L{n}; {LOAD} L{n}: add.u32 %r1, %r1, %r1;" for n in range(3000))
    assert bytes_of(f"{STORE} {body}") == ((0, 12_000), (4, 4))
    assert moved([]) == Moved((0, 0), (0, 0), idle=True)
