// A tile has 32 words, one per row; bit c of a word is column c. Rounds of distance 16, 8, 4, 2 and 1 transpose it as
// one 32 x 32 matrix; the last three rounds transpose each of its 16 matrices of 8 x 8 bits.
//
// A round of distance d exchanges two d x d blocks in each 2d x 2d block of the tile. Row r is paired with row r ^ d:
//
//               columns 0..d-1   columns d..2d-1              columns 0..d-1   columns d..2d-1
//   row r            A                B             ->             A                C
//   row r + d        C                D                            B                D
//
// Each row keeps half of its bits and takes the other half from its partner, shifted by d to the left (row r, "lower")
// or to the right (row r + d, "upper").
//
// FIRST_ROUND: 0 for 32 x 32, 2 for 8 x 8. REPEATS: transpositions per dispatch, each of the previous result, so that
// compilers cannot omit one. SHIFTS, ROLLED: forms of published kernels, below.
#include "common/logic.h"

constant uint MASKS[5] = {0x0000ffffu, 0x00ff00ffu, 0x0f0f0f0fu, 0x33333333u, 0x55555555u};

#define DISTANCE(round) (16u >> (round))

// All bits set for the upper row of a pair, none for the lower.
#define UPPER(row, distance) ((row) & (distance) ? ~0u : 0u)

// Operators instead of the built-in bitselect(): compilers recognise the pattern, but some do not vectorise the
// built-in.
#define SELECT(zeros, ones, mask) (((zeros) & ~(mask)) | ((ones) & (mask)))

static inline uint select_bits(uint zeros, uint ones, uint mask)
{
    uint result;
    LOGIC(result, SELECT(zeros, ones, mask), 0xca, mask, ones, zeros);
    return result;
}

// A row after a round. `other`: its partner; `upper`: UPPER of the row. Where `upper` depends on the lane, a rotation
// by a variable count is one instruction; shifts in either direction are two, and a third selects one of them.
// SHIFTS: with the shifts.
#ifdef SHIFTS
#define PARTNER(other, upper, distance) ((upper) ? (other) >> (distance) : (other) << (distance))
#else
#define PARTNER(other, upper, distance) rotate_left(other, (distance) + ((upper) & (32u - 2u * (distance))))
#endif
#define EXCHANGE_ROW(own, other, upper, distance, mask) \
    select_bits(PARTNER(other, upper, distance), own, (mask) ^ (upper))

// Sixteen rows at once. Shifts suffice: the row keeps its own bits where a rotation would insert the wrapped ones.
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

// Placed before the loop over rounds. ROLLED: compiled as a loop, as some compilers do with published kernels.
#ifdef ROLLED
#define ROUNDS _Pragma("unroll 1")
#else
#define ROUNDS _Pragma("unroll")
#endif

// Placed before the loop over repeats in kernels with barriers. After an odd number of rounds the halves of local
// memory are swapped; unrolling by two makes their addresses constant. Few repeats mean a CPU, whose compiler makes a
// loop over work-items from each part between barriers; unrolling would take it seconds.
#if REPEATS > 100
#define REPEATED _Pragma("unroll 2")
#else
#define REPEATED _Pragma("unroll 1")
#endif

// For functions that must be inlined so that their loops are unrolled and their arrays stay in registers.
#define INLINE static inline __attribute__((always_inline))
