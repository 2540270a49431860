"""CPU code: instructions as capstone prints them, loops, whole functions from ELF files."""

import pytest

from gpureport import machine_code
from gpureport.machine_code import cpu
from gpureport.machine_code.cpu import Decoder, decode_aarch64, decode_x86
from gpureport.machine_code.instructions import Instruction, innermost
from gpureport.records.measurement import MachineCode
from tests.elf_files import AARCH64, STUBS_ADDRESS, TEXT_ADDRESS, X86_64, elf

Expected = tuple[str, tuple[int, ...], tuple[int, ...], int]
"""Class, widths of loads and of stores, number of vector accesses."""

X86: dict[tuple[str, str], Expected] = {
    ("mov", "rax, qword ptr [rdi + 8]"): ("other", (8,), (), 0),
    ("mov", "dword ptr [rdi + rcx*4], eax"): ("other", (), (4,), 0),
    ("add", "dword ptr [rdi], eax"): ("scalar", (4,), (4,), 0),
    ("add", "eax, dword ptr [rdi]"): ("scalar", (4,), (), 0),
    ("lock xadd", "dword ptr [rdi], eax"): ("other", (4,), (4,), 0),
    ("cmp", "dword ptr [rdi], 5"): ("other", (4,), (), 0),
    ("mov", "qword ptr [rsp + 8], rax"): ("other", (), (), 0),
    ("push", "rbp"): ("other", (), (), 0),
    ("lea", "rax, [rdi + rcx*4]"): ("other", (), (), 0),
    ("vmovss", "xmm1, dword ptr [rip + 0x1ff0]"): ("other", (), (), 0),
    ("vmovups", "ymm0, ymmword ptr [rdi]"): ("other", (32,), (), 1),
    ("vmovdqu64", "zmmword ptr [rdi], zmm1"): ("other", (), (64,), 1),
    ("vpaddd", "ymm0, ymm1, ymmword ptr [rdi]"): ("vector arithmetic", (32,), (), 1),
    ("vbroadcastss", "ymm0, dword ptr [rdi]"): ("other", (4,), (), 1),
    ("vaddps", "zmm0, zmm1, dword ptr [rdi]{1to16}"): ("vector arithmetic", (4,), (), 1),
    ("vpmovzxbd", "ymm0, qword ptr [rdi]"): ("other", (8,), (), 1),
    ("vpgatherdd", "ymm0, dword ptr [rdi + ymm1*4], ymm2"): ("other", (4,), (), 1),
    ("vextracti128", "xmmword ptr [rdi], ymm0, 1"): ("other", (), (16,), 1),
    ("vmulss", "xmm0, xmm1, dword ptr [rdi]"): ("scalar", (4,), (), 0),
    ("vucomiss", "xmm0, xmm1"): ("scalar", (), (), 0),
    ("vfmadd231ps", "ymm0, ymm1, ymm2"): ("vector arithmetic", (), (), 0),
    ("vpxor", "xmm0, xmm0, xmm0"): ("vector arithmetic", (), (), 0),
    ("shl", "rax, 3"): ("scalar", (), (), 0),
    ("cmovb", "rax, rcx"): ("other", (), (), 0),
}

ARM: dict[tuple[str, str], Expected] = {
    ("ldr", "w0, [x1]"): ("other", (4,), (), 0),
    ("ldrsh", "x0, [x1]"): ("other", (2,), (), 0),
    ("strh", "wzr, [x1]"): ("other", (), (2,), 0),
    ("ldr", "q0, [x1], #0x10"): ("other", (16,), (), 1),
    ("ldp", "q0, q1, [x1]"): ("other", (16, 16), (), 2),
    ("stp", "x0, x1, [x2]"): ("other", (), (8, 8), 0),
    ("str", "x0, [sp, #8]"): ("other", (), (), 0),
    ("ld1", "{v0.16b, v1.16b}, [x0]"): ("other", (16, 16), (), 2),
    ("st1", "{v0.s}[1], [x0]"): ("other", (), (4,), 0),
    ("ldadd", "w0, w1, [x2]"): ("other", (), (), 0),
    ("fadd", "v0.4s, v1.4s, v2.4s"): ("vector arithmetic", (), (), 0),
    ("zip1", "v0.4s, v1.4s, v2.4s"): ("other", (), (), 0),
    ("fmul", "s0, s1, s2"): ("scalar", (), (), 0),
    ("scvtf", "s0, w1"): ("other", (), (), 0),
    ("add", "x0, x1, #4"): ("scalar", (), (), 0),
    ("cmp", "x0, x1"): ("other", (), (), 0),
}


@pytest.mark.parametrize(
    ("decode", "printed", "expected"),
    [(decode, *each) for decode, cases in ((decode_x86, X86), (decode_aarch64, ARM)) for each in cases.items()],
)
def test_classes_and_accesses(decode: Decoder, printed: tuple[str, str], expected: Expected) -> None:
    made = decode(0, *printed)
    assert made
    assert (made.kind, made.loads, made.stores, made.vector_accesses) == expected


@pytest.mark.parametrize(
    ("decode", "mnemonic", "operands", "kind", "target", "falls"),
    [
        (decode_x86, "jne", "0x1040", "branch", 0x1040, True),
        (decode_x86, "jmp", "0x1040", "branch", 0x1040, False),
        (decode_x86, "jmp", "rax", "branch", None, False),
        (decode_x86, "call", "rax", "call", None, True),
        (decode_x86, "ret", "", "exit", None, False),
        (decode_aarch64, "b.ne", "#0x1040", "branch", 0x1040, True),
        (decode_aarch64, "cbz", "x0, #0x1040", "branch", 0x1040, True),
        (decode_aarch64, "tbnz", "w0, #3, #0x1040", "branch", 0x1040, True),
        (decode_aarch64, "b", "#0x1040", "branch", 0x1040, False),
        (decode_aarch64, "blr", "x8", "call", None, True),
        (decode_aarch64, "ret", "", "exit", None, False),
    ],
)
def test_control(decode: Decoder, mnemonic: str, operands: str, kind: str, target: int | None, *, falls: bool) -> None:
    assert decode(0x1000, mnemonic, operands) == Instruction(0x1000, kind, target=target, falls=falls)


def test_calls_have_the_address_of_the_callee_and_padding_is_no_instruction() -> None:
    assert decode_x86(0, "call", "0x1040") == Instruction(0, "call", callee=0x1040)
    assert decode_aarch64(0, "bl", "#0x1040") == Instruction(0, "call", callee=0x1040)
    assert decode_x86(0, "nop", "word ptr [rax + rax]") is decode_aarch64(0, "nop", "") is None


def graph(*targets: int | None, ends: tuple[int, ...] = ()) -> list[Instruction]:
    """One instruction for each target; instructions in *ends* do not fall through."""
    return [Instruction(i, "int", target=target, falls=i not in ends) for i, target in enumerate(targets)]


def inner(*targets: int | None, ends: tuple[int, ...] = ()) -> list[list[int]]:
    found = innermost(graph(*targets, ends=ends))
    return sorted([instruction.address for instruction in loop] for loop in found)


def test_innermost_loops_are_found() -> None:
    assert inner() == inner(None, 3, None, None) == []
    assert inner(None, None, 1, None) == [[1, 2]]
    assert inner(None, 1, None) == [[1]]
    assert inner(None, 0, None, None, 2) == [[0, 1], [2, 3, 4]]
    assert inner(None, None, 1, None, 0) == [[1, 2]]
    assert inner(None, None, 1, None, None, 4, 0) == [[1, 2], [4, 5]]
    # A block laid out behind the loop belongs to it.
    # 0: enter; 1: test, to 4 or on; 2: back to 1 or out; 3: end; 4: the block; 5: back into 2.
    assert inner(None, 4, 1, None, None, 2, ends=(3, 5)) == [[1, 2, 4, 5]]


def code(*instructions: tuple[str, tuple[int, ...], int | None]) -> list[Instruction]:
    return [Instruction(i, kind, loads=loads, target=target) for i, (kind, loads, target) in enumerate(instructions)]


def test_accesses_of_the_innermost_loops_decide_what_is_vectorised() -> None:
    scalar_around = [("move", (8,), None), ("move", (8,), None), ("move", (8,), None)]
    vectors = cpu.count("x", code(*scalar_around, ("move", (32,), None), ("branch", (), 3)))
    assert (vectors.vectorised, vectors.vector_loops, vectors.scalar_loops) == (True, 1, 0)
    mixed = cpu.count("x", code(("move", (32, 32), None), ("branch", (), 0), ("move", (4,), None), ("branch", (), 2)))
    assert (mixed.vectorised, mixed.vector_loops, mixed.scalar_loops) == (True, 1, 1)
    scalars = cpu.count("x", code(("vector arithmetic", (), None), ("move", (4,), None), ("branch", (), 0)))
    assert (scalars.vectorised, scalars.vector_loops, scalars.scalar_loops) == (False, 0, 1)


def test_arithmetic_decides_where_nothing_is_accessed() -> None:
    fma = [("vector arithmetic", (), None)] * 3
    assert cpu.count("x", code(*fma, ("scalar", (), None), ("branch", (), 0))).vectorised is True
    assert cpu.count("x", code(("scalar", (), None), ("branch", (), 0))).vectorised is False
    assert cpu.count("x", code(("move", (), None), ("branch", (), 0))).vectorised is None


# vmovups ymm0, [rdi]; vmovups [rsi], ymm0; add rdi, 32; add rsi, 32; dec rdx; jne back to the first; ret
X86_COPY = bytes.fromhex("c5fc1007 c5fc1106 4883c720 4883c620 48ffca 75eb c3")
# ldr q0, [x0]; fadd v0.4s, v0.4s, v0.4s; str q0, [x1]; subs x2, x2, #4; b.ne back to the first; ret
ARM_DOUBLE = b"".join(
    word.to_bytes(4, "little") for word in (0x3DC00000, 0x4E20D400, 0x3D800020, 0xF1001042, 0x54FFFF81, 0xD65F03C0)
)


def read(library: bytes, kernel: str = "copy") -> MachineCode:
    made = machine_code.code(library, kernel)
    assert made
    return made


def test_the_function_of_the_work_group_is_read() -> None:
    made = read(elf(X86_64, {"_pocl_kernel_copy": b"\xc3", "_pocl_kernel_copy_workgroup": X86_COPY}))
    assert made.form == "x86-64"
    assert made.counts == {"branch": 1, "exit": 1, "other": 2, "scalar": 3}
    assert (made.global_loads, made.global_stores) == ({32: 1}, {32: 1})
    assert (made.vectorised, made.vector_loops, made.scalar_loops) == (True, 1, 0)


def test_called_functions_are_read_also_through_stubs() -> None:
    to_second_stub = (STUBS_ADDRESS + 32 - (TEXT_ADDRESS + 5)).to_bytes(4, "little", signed=True)
    for callee in (bytes.fromhex("01000000"), to_second_stub):  # the function 6 bytes on, or its stub
        made = read(elf(X86_64, {"_pocl_kernel_copy_workgroup": b"\xe8" + callee + b"\xc3", "copy": X86_COPY}))
        assert made.counts == {"branch": 1, "call": 1, "exit": 2, "other": 2, "scalar": 3}
        assert (made.vectorised, made.calls) == (True, ())
    made = read(elf(X86_64, {"_pocl_kernel_copy_workgroup": bytes.fromhex("e800100000 ffd0 c3")}))
    assert made.calls == ("a function",)


def test_aarch64_functions_are_read() -> None:
    made = read(elf(AARCH64, {"double": ARM_DOUBLE}), "double")
    assert made.form == "AArch64"
    assert made.counts == {"branch": 1, "exit": 1, "other": 2, "scalar": 1, "vector arithmetic": 1}
    assert (made.global_loads, made.global_stores, made.vectorised) == ({16: 1}, {16: 1}, True)


def test_unknown_instruction_sets_and_missing_kernels_are_not_read() -> None:
    assert machine_code.code(elf(243, {"copy": X86_COPY}), "copy") is None
    assert machine_code.code(elf(X86_64, {"copy": X86_COPY}), "step") is None
