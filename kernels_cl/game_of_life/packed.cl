// Conway's Game of Life, one bit a cell, one generation a dispatch. Cells beyond the border are dead.
// BITS: cells of a word, 8, 32 or 64; bit 0 is the westernmost.

#if BITS == 8
typedef uchar word;
#elif BITS == 32
typedef uint word;
#else
typedef ulong word;
#endif

inline word parity(word a, word b, word c)
{
    return a ^ b ^ c;
}

inline word majority(word a, word b, word c)
{
    return bitselect(a, c, (word)(a ^ b));
}

// The cells of a word of one row and their neighbours to the west and to the east; 0 beyond the border. `tail` clears
// the bits of the last word that are no cells.
inline void load_row(global const word *restrict board, uint x, uint y, uint words, uint height, word tail, word *west,
                     word *here, word *east)
{
    if (y >= height) { // also for row -1, which is a huge number
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

// One work-item a word: neighbours are counted for all its cells at once by adders on bit planes.
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

    // Ones and twos of each row, then of the rows together: neighbours = ones + 2 * (number of twos).
    const word north1 = parity(nw, n, ne), north2 = majority(nw, n, ne);
    const word south1 = parity(sw, s, se), south2 = majority(sw, s, se);
    const word middle1 = w ^ e, middle2 = w & e;
    const word ones = parity(north1, middle1, south1), twos = majority(north1, middle1, south1);
    const word exactly_one_two = (north2 ^ south2 ^ middle2 ^ twos) & ~((north2 & south2) | (middle2 & twos));
    to[(size_t)y * words + x] = exactly_one_two & (ones | here) & tail;
}
