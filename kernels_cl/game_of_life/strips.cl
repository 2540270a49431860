// Conway's Game of Life limited by memory bandwidth, one generation per dispatch. A work-item advances a strip of ROWS
// rows. It adds each cell of a row to its western and eastern neighbours once, for all three rows that need the sum.
// Cells beyond the border are dead. Rows are whole vectors.
//
// BITS: bits per cell, 8 (a byte that is 0 or 1) or 1; the westernmost cell is in the lowest bits.
// WORDS: 32-bit words per vector: 4 for GPUs (step_strips), 8 for CPUs (step_strips_cpu).
// SPAN: vectors per work-item, for CPUs.

#if WORDS == 8
#include "game_of_life/strips_cpu.h"
#else
// A work-item of a GPU advances one vector of each row. It issues the loads of all rows before it uses the first.
// Neighbouring work-items exchange their outer words through local memory. Loading those words instead would access as
// many cache lines as the rows themselves, which costs a tenth of the speed.
typedef uint4 Vector;
#define PLANES Vector
#include "game_of_life/bits.h"

// The words of a row, and the words before and after them.
typedef struct {
    Vector here;
    uint before, after;
} Row;

// The western and the eastern neighbour of each cell.
static inline Vector west(Row row)
{
    return row.here << BITS | (Vector)(row.before, row.here.s012) >> (32 - BITS);
}

static inline Vector east(Row row)
{
    return row.here >> BITS | (Vector)(row.here.s123, row.after) << (32 - BITS);
}

#if BITS == 8
// Four cells per word. A sum of nine cells fits in a byte.
typedef struct {
    Vector here, around; // each cell; the sum of its two neighbours within the row
} Sums;

static inline Sums sums_of(Row row)
{
    const Sums sums = {row.here, west(row) + east(row)};
    return sums;
}

static inline Vector advanced(Sums north, Sums middle, Sums south)
{
    const Vector neighbours = (north.here + north.around) + (south.here + south.around) + middle.around;
    return ALIVE_BYTES(neighbours, middle.here);
}
#else
// 32 cells per word. A sum takes two bit planes.
typedef struct {
    Vector here, ones, twos; // each cell; the sum of it and its two neighbours within the row
} Sums;

static inline Sums sums_of(Row row)
{
    const Vector w = west(row), e = east(row);
    const Sums sums = {row.here, parity(w, row.here, e), majority(w, row.here, e)};
    return sums;
}

// Of each cell and its eight neighbours, total = ones + 2 * (carry + odd + 2 * many) are alive. The cell is alive if
// the total is 3, or if it is 4 and the cell itself is alive.
static inline Vector advanced(Sums north, Sums middle, Sums south)
{
    const Vector ones = parity(north.ones, middle.ones, south.ones);
    const Vector carry = majority(north.ones, middle.ones, south.ones);
    const Vector odd = parity(north.twos, middle.twos, south.twos);
    const Vector many = majority(north.twos, middle.twos, south.twos);
    const Vector one_two = (odd ^ carry) & ~many;          // a total of 2 or 3
    const Vector two_twos = ~(odd ^ carry) & (many ^ odd); // a total of 4 or 5
    return (ones & one_two) | (~ones & two_twos & middle.here);
}
#endif

// A mask of the bits of the vector at x that are cells of the board.
static inline Vector on_board(uint x, uint width)
{
    const Vector columns = (x * WORDS + (Vector)(0, 1, 2, 3)) * (32 / BITS);
    const Vector bits = (width - min((Vector)(width), columns)) * BITS;
    return bits >= 32 ? (Vector)(~0u) : ((Vector)(1u) << bits) - 1;
}

kernel void step_strips(global const Vector *restrict from, global Vector *restrict to, uint vectors, uint height,
                        uint width, local uint *restrict first_words, local uint *restrict last_words)
{
    const uint x = (uint)get_global_id(0);
    const uint first = (uint)get_global_id(1) * ROWS;
    const bool westmost = get_local_id(0) == 0;
    const bool eastmost = get_local_id(0) + 1 == get_local_size(0);
    Row rows[ROWS + 2];
#pragma unroll
    for (uint i = 0; i < ROWS + 2; ++i) {
        const uint y = first + i - 1; // row -1 wraps to 2^32 - 1
        rows[i].here = (Vector)(0);
        rows[i].before = rows[i].after = 0;
        if (x < vectors && y < height) {
            global const Vector *p = from + (size_t)y * vectors + x;
            rows[i].here = *p;
            if (westmost && x > 0)
                rows[i].before = ((global const uint *)p)[-1];
            if (eastmost && x + 1 < vectors)
                rows[i].after = ((global const uint *)p)[WORDS];
        }
    }
    // Clear the bits beyond the last column, which are not cells.
    Vector cells = (Vector)(~0u);
    if ((x + 2) * (WORDS * 32 / BITS) > width) {
        const uint next = on_board(x + 1, width).s0;
        cells = on_board(x, width);
#pragma unroll
        for (uint i = 0; i < ROWS + 2; ++i) {
            rows[i].here &= cells;
            rows[i].after &= next;
        }
    }
    const uint item = (uint)(get_local_id(1) * get_local_size(0) + get_local_id(0));
    const uint items = (uint)(get_local_size(0) * get_local_size(1));
#pragma unroll
    for (uint i = 0; i < ROWS + 2; ++i) {
        first_words[i * items + item] = rows[i].here.s0;
        last_words[i * items + item] = rows[i].here.s3;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint i = 0; i < ROWS + 2; ++i) {
        if (!westmost)
            rows[i].before = last_words[i * items + item - 1];
        if (!eastmost)
            rows[i].after = first_words[i * items + item + 1];
    }
    if (x >= vectors)
        return;

    Sums north = sums_of(rows[0]), middle = sums_of(rows[1]);
#pragma unroll
    for (uint i = 0; i < ROWS; ++i) {
        const Sums south = sums_of(rows[i + 2]);
        if (first + i < height)
            to[(size_t)(first + i) * vectors + x] = advanced(north, middle, south) & cells;
        north = middle;
        middle = south;
    }
}
#endif
