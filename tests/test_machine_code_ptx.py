"""PTX as NVIDIA's compiler writes it: counts of instructions, widths of accesses, kernels."""

import pytest

from gpureport import machine_code
from gpureport.machine_code import ptx
from gpureport.records.measurement import MachineCode

HEADER = ".version 8.3\n.target sm_90, texmode_independent\n.address_size 64\n"

STEP = """
	// .globl	step
.entry step(
	.param .u64 .ptr .global .align 32 step_param_0,
	.param .u64 .ptr .global .align 32 step_param_1,
	.param .u32 step_param_2
)
.maxntid 256, 1, 1
{
	.reg .pred 	%p<4>;
	.reg .f32 	%f<9>;
	.reg .b32 	%r<6>;
	.reg .b64 	%rd<8>;
	.shared .align 4 .b8 tile[1024];

	ld.param.u64 	%rd1, [step_param_0];
	ld.param.u64 	%rd2, [step_param_1];
	ld.param.u32 	%r1, [step_param_2];
	mov.b32 	%r2, %envreg3;
	mov.u32 	%r3, %tid.x;
	setp.ge.u32 	%p1, %r3, %r1;
	@%p1 bra 	$L__BB0_2;

	mul.wide.u32 	%rd3, %r3, 32;
	add.s64 	%rd4, %rd1, %rd3;
	ld.global.nc.v4.f32 	{%f1, %f2, %f3, %f4}, [%rd4]; /* ld.global.u8 in a comment */
	ld.global.L1::no_allocate.u8 	%r4, [%rd4+16];
	@!%p2 ld.volatile.global.v2.u64 	{%rd5, %rd6}, [%rd4+32];
	fma.rn.f32 	%f5, %f1, 0f3B800000, %f2;
	mul.f64 	%fd1, %fd2, %fd3;
	add.rn.f16x2 	%h1, %h2, %h3;
	div.rn.f32 	%f6, %f5, %f4;
	mad.lo.s32 	%r5, %r4, %r3, %r2;
	lop3.b32 	%r5, %r5, %r4, %r3, 0x96;
	shf.l.wrap.b32 	%r5, %r5, %r5, 7;
	st.shared.u32 	[tile], %r5;
	bar.sync 	0;
	ld.shared.v4.u32 	{%r1, %r2, %r3, %r4}, [tile+16];
	shfl.sync.bfly.b32 	%r5|%p3, %r4, 16, 31, -1;
	vote.sync.ballot.b32 	%r5, %p3, -1;
	atom.global.add.u32 	%r5, [%rd4], 1;
	st.global.v4.f32 	[%rd2], {%f1, %f2, %f3, %f4};
	st.global.u8 	[%rd2+16], %r5;

$L__BB0_2:
	ret;
}
"""

LOOP = """
.visible .entry loop(.param .u64 loop_param_0)
{
	.local .align 16 .b8 	__local_depot1[64];
	.reg .pred 	%p<2>;
	mov.u64 	%SPL, __local_depot1;
	st.local.v4.u32 	[%rd1], {%r1, %r1, %r1, %r1};
$L__BB1_1:
	.pragma "nounroll";
	ld.local.u32 	%r2, [%rd3];
	add.s32 	%r3, %r3, -1;
	setp.ne.s32 	%p1, %r3, 0;
	@%p1 bra 	$L__BB1_1;
	bra.uni 	$L__BB1_3;
$L__BB1_3:
	ret;
}
"""

CALLS = """
.func  (.param .b32 func_retval0) helper(.param .b32 helper_param_0)
{
	ld.global.u32 	%r1, [%rd1];
	ret;
}
.entry calls(.param .u64 calls_param_0)
{
	{ // callseq 0, 0
	.reg .b32 temp_param_reg;
	.param .b32 param0;
	st.param.b32 	[param0+0], %r1;
	.param .b32 retval0;
	call.uni (retval0),
	helper,
	(
	param0
	);
	ld.param.b32 	%r2, [retval0+0];
	} // callseq 0
	st.global.u32 	[%rd1], %r2;
	ret;
}
"""

MODULE = HEADER + STEP + LOOP + CALLS


def read(module: str, kernel: str) -> MachineCode:
    code = ptx.read(module, kernel)
    assert code
    return code


def test_memory_is_counted_by_space_and_width() -> None:
    code = read(MODULE, "step")
    assert code.form == "PTX"
    assert code.global_loads == {1: 1, 16: 2}
    assert code.global_stores == {1: 1, 16: 1}
    assert code.counts == {"global load": 3, "global store": 2}
    assert read(MODULE, "loop").global_loads == {}


def test_called_functions_are_not_counted() -> None:
    code = read(MODULE, "calls")
    assert (code.global_loads, code.global_stores) == ({}, {4: 1})


@pytest.mark.parametrize(
    ("instruction", "width"),
    [
        ("ld.global.u8 %r1, [%rd1]", 1),
        ("ld.global.nc.v4.u8 {%r1, %r2, %r3, %r4}, [%rd1]", 4),
        ("ld.global.b16 %rs1, [%rd1]", 2),
        ("ld.relaxed.gpu.global.s32 %r1, [%rd1]", 4),
        ("ld.global.cs.L2::128B.v2.f64 {%fd1, %fd2}, [%rd1]", 16),
        ("ld.global.nc.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1]", 32),
        ("ld.global.f16x2 %r1, [%rd1]", 4),
        ("ld.global.b128 %rq1, [%rd1]", 16),
        ("ld.u64 %rd1, [%rd1]", 8),
    ],
)
def test_widths(instruction: str, width: int) -> None:
    assert read(f".entry k()\n{{\n\t{instruction};\n\tret;\n}}", "k").global_loads == {width: 1}


def test_inline_assembly_in_one_line_is_read() -> None:
    body = "{ .reg .pred p; @p ld.global.u32 %r2, [%rd1]; st.u16 [%rd1], %rs1; }\n\tret;"
    code = read(f".entry k()\n{{\n\t// begin inline asm\n\t{body}\n}}", "k")
    assert (code.global_loads, code.global_stores) == ({4: 1}, {2: 1})


def test_a_missing_kernel_has_no_code() -> None:
    assert ptx.read(MODULE, "helper") is None
    assert ptx.read(MODULE, "ste") is None
    assert machine_code.code(MODULE.encode(), "step") == ptx.read(MODULE, "step")
    assert machine_code.code(b"", "step") is None
    assert machine_code.code(b"\x7fELF but no more", "step") is None
    assert machine_code.usage(MODULE.encode(), "step") is None
