// A whole tile in the registers of one work-item, as two vectors of 16 rows: needs nothing of its neighbours.
// Vectors, so that compilers for CPUs use vector instructions; those for GPUs take them apart.
#include "bit_transpose/rounds.h"

#define ALL (~0u)
constant uint16 EIGHT = (uint16)(0, 0, 0, 0, 0, 0, 0, 0, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL);
constant uint16 FOUR = (uint16)(0, 0, 0, 0, ALL, ALL, ALL, ALL, 0, 0, 0, 0, ALL, ALL, ALL, ALL);
constant uint16 TWO = (uint16)(0, 0, ALL, ALL, 0, 0, ALL, ALL, 0, 0, ALL, ALL, 0, 0, ALL, ALL);
constant uint16 ONE = (uint16)(0, ALL, 0, ALL, 0, ALL, 0, ALL, 0, ALL, 0, ALL, 0, ALL, 0, ALL);

// The rows in a given order, named one by one: a checker of uninitialised values stumbles over swizzles of 16.
#define ORDER(v, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
    (uint16)(v.s##a, v.s##b, v.s##c, v.s##d, v.s##e, v.s##f, v.s##g, v.s##h, \
             v.s##i, v.s##j, v.s##k, v.s##l, v.s##m, v.s##n, v.s##o, v.s##p)

// The rounds that stay within 16 rows.
static inline uint16 transpose_half(uint16 v)
{
#if FIRST_ROUND == 0
    v = EXCHANGE(v, ORDER(v, 8, 9, a, b, c, d, e, f, 0, 1, 2, 3, 4, 5, 6, 7), EIGHT, 8, (uint16)MASKS[1]);
#endif
    v = EXCHANGE(v, ORDER(v, 4, 5, 6, 7, 0, 1, 2, 3, c, d, e, f, 8, 9, a, b), FOUR, 4, (uint16)MASKS[2]);
    v = EXCHANGE(v, ORDER(v, 2, 3, 0, 1, 6, 7, 4, 5, a, b, 8, 9, e, f, c, d), TWO, 2, (uint16)MASKS[3]);
    return EXCHANGE(v, ORDER(v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, b, a, d, c, f, e), ONE, 1, (uint16)MASKS[4]);
}

kernel void transpose(global const uint16 *restrict from, global uint16 *restrict to, uint tiles)
{
    const size_t tile = get_global_id(0);
    if (tile >= tiles)
        return;
    uint16 lower = from[2 * tile];
    uint16 upper = from[2 * tile + 1];
    for (uint r = 0; r < REPEATS; ++r) {
#if FIRST_ROUND == 0
        const uint16 before = lower;
        lower = EXCHANGE(lower, upper, (uint16)0, 16, (uint16)MASKS[0]);
        upper = EXCHANGE(upper, before, (uint16)ALL, 16, (uint16)MASKS[0]);
#endif
        lower = transpose_half(lower);
        upper = transpose_half(upper);
    }
    to[2 * tile] = lower;
    to[2 * tile + 1] = upper;
}
