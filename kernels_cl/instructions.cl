// Instruction microbenchmarks: rate and latency of one operation, selected by a build option CASE_….
//
// A work-item computes CHAINS independent chains of STATES words. A step of a chain is one operation on its newest
// word; compilers cannot combine several steps. Many chains measure the rate, a single chain the latency. On CPUs a
// work-item processes vectors of LANES words, so that the result does not depend on automatic vectorisation. Operators
// are used because compilers may split built-in functions of vectors.

#if LANES == 1
typedef uint Word;
#define REAL(word) as_float(word)
#define BITS(real) as_uint(real)
#else
#define JOIN(a, b) a##b
#define WIDE(type, lanes) JOIN(type, lanes)
typedef WIDE(uint, LANES) Word;
#define REAL(word) WIDE(as_float, LANES)(word)
#define BITS(real) WIDE(as_uint, LANES)(real)
// Like an assignment: to an integer, numbers round towards zero. Some runtimes lack convert_... of long vectors.
#define CONVERTED(vector, type) __builtin_convertvector(vector, WIDE(type, LANES))
#endif

#if defined(CASE_SHUFFLE) || defined(CASE_BALLOT)
#include "common/sub_group.h"
#endif

#if defined(CASE_FP32) // multiply-add of two registers; the operands keep it bounded
#define STATES 1
#if LANES == 1
#define STEP(x) x[0] = BITS(fma(REAL(x[0]), REAL(x[0]), REAL(k[0])))
#else
#define STEP(x) x[0] = BITS(REAL(x[0]) * REAL(x[0]) + REAL(k[0]))
#endif

#elif defined(CASE_FP32_THREE) // multiply-add of three registers, which differ between chains
#define STATES 3
#if LANES == 1
#define STEP(x) x[0] = BITS(fma(REAL(x[1]), REAL(x[2]), REAL(x[0])))
#else
#define STEP(x) x[0] = BITS(REAL(x[1]) * REAL(x[2]) + REAL(x[0]))
#endif

#elif defined(CASE_ADD) // Fibonacci
#define STATES 2
#define STEP(x) { const Word next = x[0] + x[1]; x[0] = x[1]; x[1] = next; }

#elif defined(CASE_INT32_MUL)
#define STATES 1
#define STEP(x) x[0] = x[0] * x[0] + k[0]

#elif defined(CASE_TERNARY)
#define STATES 2
#define SELECTED(a, b, c) (((b) & (c)) | ((a) & ~(c)))
#if LANES == 1 // the first word selects between two operands, in the next step between two other ones
#define STEP(x) x[0] = SELECTED(k[2 * (step % 2)], k[2 * (step % 2) + 1], x[0])
#else // for vectors, compilers of CPUs would combine such steps: the older word selects between an operand and the newer word
#define STEP(x) { const Word next = SELECTED(k[step % 4], x[1], x[0]); x[0] = x[1]; x[1] = next; }
#endif

#elif defined(CASE_SHIFT) // a funnel shift: rotates the older word to the right by the newer one
#define STATES 2
#if LANES > 1
#define TURNED(value, by) ((value) >> ((by) & 31u) | (value) << (0u - (by) & 31u))
#elif defined(__NV_CL_C_VERSION)
inline uint turned(uint value, uint by)
{
    uint result;
    __asm__("shf.r.wrap.b32 %0, %1, %1, %2;" : "=r"(result) : "r"(value), "r"(by));
    return result;
}
#define TURNED(value, by) turned(value, by)
#else
#define TURNED(value, by) rotate(value, 0u - (by))
#endif
#define STEP(x) { const Word next = TURNED(x[0], x[1]); x[0] = x[1]; x[1] = next; }

#elif defined(CASE_SHUFFLE)
#define STATES 1
#ifdef SUB_GROUP_KHR // compilers for CPUs would combine steps if they knew the distance, which is 4
#define STEP(x) x[0] = wave_shuffle_xor(x[0], 4u | written >> 31)
#else
#define STEP(x) x[0] = wave_shuffle_xor(x[0], 4)
#endif

#elif defined(CASE_BALLOT) // operands use the lowest eight bits only: results do not depend on other lanes
#define STATES 1
#define STEP(x) x[0] = wave_ballot((int)(x[0] & k[0]))
#define RESULT(x) ((x) & 0xffu)

#elif defined(CASE_LOCAL) // a pointer chase: each word is the index of the next one, in the same bank
#define STATES 1
#define STEP(x) x[0] = table[x[0]]

#elif defined(CASE_BARRIER)
#define STATES 1
#define STEP(x) barrier(CLK_LOCAL_MEM_FENCE)

#elif defined(CASE_FP64) // numbers are small integers, so that all results are exact
#if __OPENCL_C_VERSION__ < 120
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define STATES 1
#if LANES == 1
typedef double State;
#define FROM_WORD(word) convert_double(as_int(word))
#define RESULT(x) as_uint(convert_int(x))
#define STEP(x) x[0] = fma(x[0], x[0], k[0])
#else
typedef WIDE(double, LANES) State;
#define FROM_WORD(word) CONVERTED(WIDE(as_int, LANES)(word), double)
#define RESULT(x) WIDE(as_uint, LANES)(CONVERTED(x, int))
#define STEP(x) x[0] = x[0] * x[0] + k[0]
#endif

#elif defined(CASE_FP16) // one number in the lower half of a word
#define STATES 1
typedef ushort State;
#define FROM_WORD(word) (ushort)(word)
#ifdef __NV_CL_C_VERSION
#define STEP(x) __asm__("fma.rn.f16 %0, %0, %0, %1;" : "+h"(x[0]) : "h"(k[0]))
#else
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define STEP(x) x[0] = as_ushort(fma(as_half(x[0]), as_half(x[0]), as_half(k[0])))
#endif

#elif defined(CASE_FP16X2) // two numbers in a word
#define STATES 1
#ifdef __NV_CL_C_VERSION
#define STEP(x) __asm__("fma.rn.f16x2 %0, %0, %0, %1;" : "+r"(x[0]) : "r"(k[0]))
#else
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define STEP(x) x[0] = as_uint(fma(as_half2(x[0]), as_half2(x[0]), as_half2(k[0])))
#endif

#elif defined(CASE_BF16X2)
#define STATES 1
#define STEP(x) __asm__("fma.rn.bf16x2 %0, %0, %0, %1;" : "+r"(x[0]) : "r"(k[0]))

#elif defined(CASE_DOT_INT8) // the dot product of the word's bytes with those of an operand, added to another operand
#define STATES 1
#ifdef __NV_CL_C_VERSION
#define STEP(x) __asm__("dp4a.s32.s32 %0, %0, %1, %2;" : "+r"(x[0]) : "r"(k[0]), "r"(k[1]))
#elif defined(__GFX11__) || defined(__GFX12__)
#define STEP(x) x[0] = (uint)__builtin_amdgcn_sudot4(true, (int)x[0], true, (int)k[0], (int)k[1], false)
#elif defined(__AMDGCN__)
#define STEP(x) x[0] = (uint)__builtin_amdgcn_sdot4((int)x[0], (int)k[0], (int)k[1], false)
#else
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#define STEP(x) x[0] = (uint)dot(as_char4(x[0]), as_char4(k[0])) + k[1]
#endif

#elif defined(CASE_INT64) // Fibonacci
#define STATES 2
#if LANES == 1
typedef ulong State;
#define FROM_WORD(word) ((ulong)(word) * 0x100000001ul)
#define RESULT(x) (uint)((x) ^ (x) >> 32)
#else
typedef WIDE(ulong, LANES) State;
#define FROM_WORD(word) (CONVERTED(word, ulong) * 0x100000001ul)
#define RESULT(x) CONVERTED((x) ^ (x) >> 32, uint)
#endif
#define STEP(x) { const State next = x[0] + x[1]; x[0] = x[1]; x[1] = next; }

#elif defined(CASE_TRANSCENDENTAL) // the reciprocal of a power of two, which is exact; then other bits in the exponent
#define STATES 1
#ifdef __NV_CL_C_VERSION
inline uint reciprocal(uint word)
{
    float result;
    __asm__("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(as_float(word)));
    return as_uint(result);
}
#else
#define reciprocal(word) as_uint(native_recip(as_float(word)))
#endif
#define STEP(x) x[0] = (reciprocal(x[0]) & 0xfc7fffffu) | k[0]

#elif defined(CASE_CONVERSION) // to an integer, of which an XOR with an operand makes a number again
#define STATES 1
#if LANES == 1
#define STEP(x) x[0] = as_uint(convert_int_rtz(REAL(x[0]))) ^ k[0]
#else
#define STEP(x) x[0] = WIDE(as_uint, LANES)(CONVERTED(REAL(x[0]), int)) ^ k[0]
#endif
#endif

#ifndef FROM_WORD
typedef Word State;
#define FROM_WORD(word) (word)
#endif
#ifndef RESULT
#define RESULT(x) (x)
#endif

#define TABLE 1024

// `initial` and `operands` contain TABLE words, shared by all work-items; each work-item starts at a different index.
// The first `written` work-items store the folded words of all chains: all work-items when results are checked, none
// when timed.
kernel void instructions(global const Word *restrict initial, global const Word *restrict operands, uint rounds,
                         uint written, global Word *restrict folded)
{
    const uint i = (uint)get_global_id(0);
#ifdef CASE_LOCAL
    local uint table[TABLE];
    for (uint word = (uint)get_local_id(0); word < TABLE; word += (uint)get_local_size(0))
        table[word] = operands[word];
    barrier(CLK_LOCAL_MEM_FENCE);
#else
    State k[4];
#pragma unroll
    for (uint o = 0; o < 4; ++o)
        k[o] = FROM_WORD(operands[(i + 64 * o) % (TABLE / LANES)]);
#endif
    State x[CHAINS][STATES];
#pragma unroll
    for (uint c = 0; c < CHAINS; ++c)
#pragma unroll
        for (uint s = 0; s < STATES; ++s)
            x[c][s] = FROM_WORD(initial[(i + 64 * (c * STATES + s)) % (TABLE / LANES)]);

    for (uint round = 0; round < rounds; ++round)
#pragma unroll
        for (uint step = 0; step < STEPS; ++step)
#pragma unroll
            for (uint c = 0; c < CHAINS; ++c)
                STEP(x[c]);

    Word sum = (Word)(0);
#pragma unroll
    for (uint c = 0; c < CHAINS; ++c)
#pragma unroll
        for (uint s = 0; s < STATES; ++s)
            sum = 3u * sum ^ RESULT(x[c][s]);
    if (i < written)
        folded[i] = sum;
}
