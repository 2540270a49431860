// A whole tile in the registers of one work-item, as two vectors of 16 rows, without exchanges between work-items.
// Compilers for CPUs use vector instructions for these vectors; compilers for GPUs split them.
#include "bit_transpose/rounds.h"

#define ALL (~0u)
constant uint16 EIGHT = (uint16)(0, 0, 0, 0, 0, 0, 0, 0, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL);
constant uint16 FOUR = (uint16)(0, 0, 0, 0, ALL, ALL, ALL, ALL, 0, 0, 0, 0, ALL, ALL, ALL, ALL);
constant uint16 TWO = (uint16)(0, 0, ALL, ALL, 0, 0, ALL, ALL, 0, 0, ALL, ALL, 0, 0, ALL, ALL);
constant uint16 ONE = (uint16)(0, ALL, 0, ALL, 0, ALL, 0, ALL, 0, ALL, 0, ALL, 0, ALL, 0, ALL);

// The rounds that stay within 16 rows.
static inline uint16 transpose_half(uint16 v)
{
    v = EXCHANGE(v, v.s89abcdef01234567, EIGHT, 8, (uint16)MASKS[1]);
    v = EXCHANGE(v, v.s45670123cdef89ab, FOUR, 4, (uint16)MASKS[2]);
    v = EXCHANGE(v, v.s23016745ab89efcd, TWO, 2, (uint16)MASKS[3]);
    return EXCHANGE(v, v.s1032547698badcfe, ONE, 1, (uint16)MASKS[4]);
}

kernel void transpose(global const uint16 *restrict from, global uint16 *restrict to, uint tiles)
{
    const size_t tile = get_global_id(0);
    if (tile >= tiles)
        return;
    uint16 lower = from[2 * tile];
    uint16 upper = from[2 * tile + 1];
    // Not unrolled: the loop fits in the innermost instruction cache, two copies do not.
#pragma unroll 1
    for (uint r = 0; r < REPEATS; ++r) {
        const uint16 before = lower;
        lower = EXCHANGE(lower, upper, (uint16)0, 16, (uint16)MASKS[0]);
        upper = EXCHANGE(upper, before, (uint16)ALL, 16, (uint16)MASKS[0]);
        lower = transpose_half(lower);
        upper = transpose_half(upper);
    }
    to[2 * tile] = lower;
    to[2 * tile + 1] = upper;
}
