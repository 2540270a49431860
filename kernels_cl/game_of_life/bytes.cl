// Conway's Game of Life, one byte per cell (0 or 1), one generation per dispatch. Cells beyond the border are dead.
// A cell is alive if `neighbours | cell` is 3: three neighbours, or two if it is alive now. No branch depends on data.
#include "game_of_life/bits.h"

// One cell per work-item.
kernel void step_bytes(global const uchar *restrict from, global uchar *restrict to, uint width, uint height)
{
    const uint x = (uint)get_global_id(0);
    const uint y = (uint)get_global_id(1);
    if (x >= width || y >= height)
        return;
    const bool west = x > 0, east = x + 1 < width;
    global const uchar *row = from + (size_t)y * width + x;
    uint neighbours = 0;
    if (west)
        neighbours += row[-1];
    if (east)
        neighbours += row[1];
    if (y > 0) {
        global const uchar *north = row - width;
        neighbours += north[0];
        if (west)
            neighbours += north[-1];
        if (east)
            neighbours += north[1];
    }
    if (y + 1 < height) {
        global const uchar *south = row + width;
        neighbours += south[0];
        if (west)
            neighbours += south[-1];
        if (east)
            neighbours += south[1];
    }
    to[(size_t)y * width + x] = (neighbours | row[0]) == 3;
}

// Four cells of a row per work-item. Each of the 18 cells in and around them is loaded once and added to its column.
kernel void step_bytes4(global const uchar *restrict from, global uchar *restrict to, uint width, uint height)
{
    const uint x = 4 * (uint)get_global_id(0);
    const uint y = (uint)get_global_id(1);
    if (x >= width || y >= height)
        return;
    uint column[6] = {0, 0, 0, 0, 0, 0}; // sums of three rows in columns x - 1 to x + 4
    uint cell[6] = {0, 0, 0, 0, 0, 0};
    for (int dy = -1; dy <= 1; ++dy) {
        if (y + dy >= height) // includes row -1, which wraps to 2^32 - 1
            continue;
        global const uchar *row = from + (size_t)(y + dy) * width;
        for (uint i = 0; i < 6; ++i) {
            const uint at = x + i - 1;
            const uint loaded = at < width ? row[at] : 0;
            column[i] += loaded;
            if (dy == 0)
                cell[i] = loaded;
        }
    }
    global uchar *out = to + (size_t)y * width;
    for (uint i = 1; i < 5; ++i) {
        const uint neighbours = column[i - 1] + column[i] + column[i + 1] - cell[i];
        if (x + i - 1 < width)
            out[x + i - 1] = (neighbours | cell[i]) == 3;
    }
}

// Loads a word of four cells (`here`) and, shifted to the same bytes, the western and the eastern neighbour of each.
inline void load_row(global const uint *restrict board, uint x, uint y, uint words, uint height, uint tail, uint *west,
                     uint *here, uint *east)
{
    if (y >= height) { // includes row -1, which wraps to 2^32 - 1
        *west = *here = *east = 0;
        return;
    }
    global const uint *p = board + (size_t)y * words + x;
    const uint before = x > 0 ? p[-1] : 0;
    const uint after = x + 1 < words ? p[1] : 0;
    *here = p[0] & tail;
    *west = *here << 8 | before >> 24;
    *east = *here >> 8 | after << 24;
}

// One word of four cells per work-item. The four sums of eight neighbours fit in the four bytes of a word. Rows are
// whole words; `last_word` clears the bytes of a row's last word that are not cells.
kernel void step_bytes_wide(global const uint *restrict from, global uint *restrict to, uint words, uint height,
                            uint last_word)
{
    const uint x = (uint)get_global_id(0);
    const uint y = (uint)get_global_id(1);
    if (x >= words || y >= height)
        return;
    const uint tail = x + 1 == words ? last_word : ~0u;
    uint nw, n, ne, w, here, e, sw, s, se;
    load_row(from, x, y - 1, words, height, tail, &nw, &n, &ne);
    load_row(from, x, y, words, height, tail, &w, &here, &e);
    load_row(from, x, y + 1, words, height, tail, &sw, &s, &se);
    const uint neighbours = nw + n + ne + w + e + sw + s + se;
    to[(size_t)y * words + x] = ALIVE_BYTES(neighbours, here) & tail;
}
