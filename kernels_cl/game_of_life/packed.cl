// Conway's Game of Life, one bit per cell, one generation per dispatch. Cells beyond the border are dead.
// BITS: cells per word, 8 or 64; bit 0 is the westernmost.

#if BITS == 8
typedef uchar word;
#else
typedef ulong word;
#endif
#define PLANES word
#include "game_of_life/bits.h"

// Loads a word of one row (`here`) and, shifted to the same bits, the western and the eastern neighbour of each cell; 0
// beyond the border. `tail` clears the bits of the last word that are not cells.
inline void load_row(global const word *restrict board, uint x, uint y, uint words, uint height, word tail, word *west,
                     word *here, word *east)
{
    if (y >= height) { // includes row -1, which wraps to 2^32 - 1
        *west = *here = *east = 0;
        return;
    }
    global const word *p = board + (size_t)y * words + x;
    const word before = x > 0 ? p[-1] : (word)0;
    const word after = x + 1 < words ? p[1] : (word)0;
    *here = p[0] & tail;
    *west = *here << 1 | before >> (BITS - 1);
    *east = *here >> 1 | after << (BITS - 1);
}

// One word per work-item. Adders on bit planes count the neighbours of all its cells at once.
kernel void step_packed(global const word *restrict from, global word *restrict to, uint words, uint height,
                        word last_word)
{
    const uint x = (uint)get_global_id(0);
    const uint y = (uint)get_global_id(1);
    if (x >= words || y >= height)
        return;
    const word tail = x + 1 == words ? last_word : (word)~(word)0;
    word nw, n, ne, w, here, e, sw, s, se;
    load_row(from, x, y - 1, words, height, tail, &nw, &n, &ne);
    load_row(from, x, y, words, height, tail, &w, &here, &e);
    load_row(from, x, y + 1, words, height, tail, &sw, &s, &se);

    // Add the neighbours of each row, then of the three rows:
    // neighbours = ones + 2 * (north2 + south2 + middle2 + twos).
    // A cell is alive with three neighbours, or with two if it is alive now: exactly one 2, and ones or the cell.
    const word north1 = parity(nw, n, ne), north2 = majority(nw, n, ne);
    const word south1 = parity(sw, s, se), south2 = majority(sw, s, se);
    const word middle1 = w ^ e, middle2 = w & e;
    const word ones = parity(north1, middle1, south1), twos = majority(north1, middle1, south1);
    const word exactly_one_two = (north2 ^ south2 ^ middle2 ^ twos) & ~((north2 & south2) | (middle2 & twos));
    to[(size_t)y * words + x] = exactly_one_two & (ones | here) & tail;
}
