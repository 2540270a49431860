// A tile is 32 words, one a row; bit c of a word is column c. Rounds of distance 16, 8, 4, 2 and 1 transpose it as one
// 32 x 32 matrix; the last three alone transpose each of the 16 matrices of 8 x 8 bits that lie in it side by side.
//
// A round of distance d: a row keeps half of its bits and takes the other half from the row d away, moved by d to
// the left (lower row of the pair) or to the right (upper row).
//
// FIRST_ROUND: 0 for 32 x 32, 2 for 8 x 8. REPEATS: transpositions of a dispatch, each of the result of the one
// before, so that no compiler can leave one out.
#include "common/logic.h"

constant uint MASKS[5] = {0x0000ffffu, 0x00ff00ffu, 0x0f0f0f0fu, 0x33333333u, 0x55555555u};

#define DISTANCE(round) (16u >> (round))

// All bits for the upper row of a pair, none for the lower.
#define UPPER(row, distance) ((row) & (distance) ? ~0u : 0u)

// Operators, not the built-in rotate() and bitselect(): compilers know these patterns, but some have those built-ins as
// functions that keep them from using vectors.
#define SELECT(zeros, ones, mask) (((zeros) & ~(mask)) | ((ones) & (mask)))

static inline uint select_bits(uint zeros, uint ones, uint mask)
{
    uint result;
    LOGIC(result, SELECT(zeros, ones, mask), 0xca, mask, ones, zeros);
    return result;
}

// A row after a round: `other` holds its partner, `upper` is UPPER of the row. Where only the lane knows whether it is an upper one, a rotation is one instruction, not two.
#define EXCHANGE_ROW(own, other, upper, distance, mask) \
    select_bits(rotate_left(other, (distance) + ((upper) & (32u - 2u * (distance)))), own, (mask) ^ (upper))

// Sixteen rows at once. Shifts are enough: bits that a rotation would bring round are those that the rows keep.
#ifdef __NV_CL_C_VERSION
#define SELECTED(k) result.k = select_bits(zeros.k, ones.k, mask.k);
static inline uint16 select_rows(uint16 zeros, uint16 ones, uint16 mask)
{
    uint16 result;
    SELECTED(s0) SELECTED(s1) SELECTED(s2) SELECTED(s3) SELECTED(s4) SELECTED(s5) SELECTED(s6) SELECTED(s7)
    SELECTED(s8) SELECTED(s9) SELECTED(sa) SELECTED(sb) SELECTED(sc) SELECTED(sd) SELECTED(se) SELECTED(sf)
    return result;
}
#else
#define select_rows(zeros, ones, mask) SELECT(zeros, ones, mask)
#endif
#define EXCHANGE(own, other, upper, distance, mask) \
    select_rows((other) << ((distance) & ~(upper)) >> ((distance) & (upper)), own, (mask) ^ (upper))

// Before the loop over repeats of kernels with barriers. Two at a time: an odd number of rounds leaves the halves of local
// memory the other way round, so that addresses would be computed anew. Few repeats are those of a CPU, whose compiler
// would make a loop over work-items of each part between two barriers: unrolled, that takes it seconds.
#if REPEATS > 100
#define REPEATED _Pragma("unroll 2")
#else
#define REPEATED _Pragma("unroll 1")
#endif

// For functions whose loops are unrolled, and whose arrays become registers, only where they are called.
#define INLINE static inline __attribute__((always_inline))
