// Conway's Game of Life, one generation a dispatch, ping-pong boards. Cells beyond the border are dead.

// One byte a cell, one work-item a cell.
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
    to[(size_t)y * width + x] = neighbours == 3 || (neighbours == 2 && row[0]);
}

inline ulong parity(ulong a, ulong b, ulong c)
{
    return a ^ b ^ c;
}

inline ulong majority(ulong a, ulong b, ulong c)
{
    return bitselect(a, c, a ^ b);
}

// Three neighbouring words of one row; 0 beyond the border. `tail` clears the bits of the last word that are no cells.
inline void load_row(global const ulong *restrict board, uint x, int y, uint words, uint height, ulong tail, ulong *west,
                     ulong *here, ulong *east)
{
    if (y < 0 || y >= (int)height) {
        *west = *here = *east = 0;
        return;
    }
    global const ulong *p = board + (size_t)y * words + x;
    const ulong before = x > 0 ? p[-1] : 0;
    const ulong after = x + 1 < words ? p[1] : 0;
    *here = p[0] & tail;
    *west = (*here << 1) | (before >> 63);
    *east = (*here >> 1) | (after << 63);
}

// One bit a cell, 64 cells a word (bit 0 is the westernmost), one work-item a word: neighbours are counted for 64
// cells at once by adders on bit planes.
kernel void step_packed64(global const ulong *restrict from, global ulong *restrict to, uint words, uint height,
                          ulong last_word)
{
    const uint x = (uint)get_global_id(0);
    const uint y = (uint)get_global_id(1);
    if (x >= words || y >= height)
        return;
    const ulong tail = x + 1 == words ? last_word : ~0UL;
    ulong nw, n, ne, w, here, e, sw, s, se;
    load_row(from, x, (int)y - 1, words, height, tail, &nw, &n, &ne);
    load_row(from, x, (int)y, words, height, tail, &w, &here, &e);
    load_row(from, x, (int)y + 1, words, height, tail, &sw, &s, &se);

    // Ones and twos of each row, then of the rows together: neighbours = ones + 2 * (number of twos).
    const ulong north1 = parity(nw, n, ne), north2 = majority(nw, n, ne);
    const ulong south1 = parity(sw, s, se), south2 = majority(sw, s, se);
    const ulong middle1 = w ^ e, middle2 = w & e;
    const ulong ones = parity(north1, middle1, south1), twos = majority(north1, middle1, south1);
    const ulong exactly_one_two =
        (north2 ^ south2 ^ middle2 ^ twos) & ~((north2 & south2) | (middle2 & twos));
    to[(size_t)y * words + x] = exactly_one_two & (ones | here) & tail;
}
