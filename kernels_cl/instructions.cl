// Instruction primitives: rate and latency of one operation, chosen by a build option CASE_….
//
// A work-item carries CHAINS independent chains of STATES words. A step of a chain is one operation on its newest
// word, such that no compiler can fold several steps into one. Many chains show the rate, a single one the latency.
// LANES words are handled at once where a CPU's compiler would otherwise have to find them itself; they are handled by
// operators, since built-in functions of vectors may be taken apart again.

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
#endif

#if defined(CASE_SHUFFLE) || defined(CASE_BALLOT)
#include "common/sub_group.h"
#endif

#if defined(CASE_FP32) // multiply-add of two registers; operands are such that it stays bounded
#define STATES 1
#if LANES == 1
#define STEP(x) x[0] = BITS(fma(REAL(x[0]), REAL(x[0]), REAL(k[0])))
#else
#define STEP(x) x[0] = BITS(REAL(x[0]) * REAL(x[0]) + REAL(k[0]))
#endif

#elif defined(CASE_FP32_THREE) // multiply-add of three registers, different ones in each chain
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

#elif defined(CASE_TERNARY) // the word selects between two operands, in the next step between two others
#define STATES 1
#define SELECTED(a, b, c) (((b) & (c)) | ((a) & ~(c)))
#define STEP(x) x[0] = SELECTED(k[2 * (step % 2)], k[2 * (step % 2) + 1], x[0])

#elif defined(CASE_SHIFT) // a funnel shift: the older word turned to the right by the newer
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
#define STEP(x) x[0] = wave_shuffle_xor(x[0], 4)

#elif defined(CASE_BALLOT) // operands have bits among the lowest eight only: results do not depend on further lanes
#define STATES 1
#define STEP(x) x[0] = wave_ballot((int)(x[0] & k[0]))
#define RESULT(x) ((x) & 0xffu)

#elif defined(CASE_LOCAL) // a chase: each word numbers the next one, always in the lane's own bank
#define STATES 1
#define STEP(x) x[0] = table[x[0]]

#elif defined(CASE_BARRIER)
#define STATES 1
#define STEP(x) barrier(CLK_LOCAL_MEM_FENCE)
#endif

#ifndef RESULT
#define RESULT(x) (x)
#endif

#define TABLE 1024

// `initial` and `operands` are TABLE words, shared by all work-items, each of which begins at a place of its own.
// The first `written` work-items store the words of all chains, folded: all of them when results are checked, none
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
    Word k[4];
#pragma unroll
    for (uint o = 0; o < 4; ++o)
        k[o] = operands[(i + 64 * o) % (TABLE / LANES)];
#endif
    Word x[CHAINS][STATES];
#pragma unroll
    for (uint c = 0; c < CHAINS; ++c)
#pragma unroll
        for (uint s = 0; s < STATES; ++s)
            x[c][s] = initial[(i + 64 * (c * STATES + s)) % (TABLE / LANES)];

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
