// Conway's Game of Life, four bytes per cell, one generation per dispatch. The board is a torus: opposite edges touch.
// A cell is alive if `neighbours | cell` is 3: three neighbours, or two if it is alive now. No branch depends on data.

// The indices before and after i, of n on a ring.
inline uint before(uint i, uint n)
{
    return i > 0 ? i - 1 : n - 1;
}

inline uint after(uint i, uint n)
{
    return i + 1 < n ? i + 1 : 0;
}

// One cell per work-item, 0 or 1.
kernel void step_words(global const uint *restrict from, global uint *restrict to, uint width, uint height)
{
    const uint x = (uint)get_global_id(0);
    const uint y = (uint)get_global_id(1);
    if (x >= width || y >= height)
        return;
    const uint west = before(x, width), east = after(x, width);
    global const uint *north = from + (size_t)before(y, height) * width;
    global const uint *here = from + (size_t)y * width;
    global const uint *south = from + (size_t)after(y, height) * width;
    const uint neighbours = north[west] + north[x] + north[east] + here[west] + here[east] + south[west] + south[x] +
                            south[east];
    to[(size_t)y * width + x] = (neighbours | here[x]) == 3;
}

// The same with a one-dimensional dispatch and the divisions of the published kernel; for fewer than 2^32 cells.
kernel void step_words_linear(global const uint *restrict from, global uint *restrict to, uint width, uint height)
{
    const uint i = (uint)get_global_id(0);
    if (i >= width * height)
        return;
    const uint x = i % width, y = i / width;
    const uint west = (x + width - 1) % width, east = (x + 1) % width;
    const uint north = (y + height - 1) % height * width, here = y * width, south = (y + 1) % height * width;
    const uint neighbours = from[north + west] + from[north + x] + from[north + east] + from[here + west] +
                            from[here + east] + from[south + west] + from[south + x] + from[south + east];
    to[i] = (neighbours | from[i]) == 3;
}

// One cell per work-item. Its state is (alive now) + 2 * (alive in the previous generation). A cell whose state does
// not change had the same value two generations ago, which `to` still contains. It is not written.
kernel void step_words_changed(global const uint *restrict from, global uint *restrict to, uint width, uint height)
{
    const uint x = (uint)get_global_id(0);
    const uint y = (uint)get_global_id(1);
    if (x >= width || y >= height)
        return;
    const uint west = before(x, width), east = after(x, width);
    global const uint *north = from + (size_t)before(y, height) * width;
    global const uint *here = from + (size_t)y * width;
    global const uint *south = from + (size_t)after(y, height) * width;
    const uint neighbours = (north[west] & 1) + (north[x] & 1) + (north[east] & 1) + (here[west] & 1) +
                            (here[east] & 1) + (south[west] & 1) + (south[x] & 1) + (south[east] & 1);
    const uint state = here[x], alive = state & 1;
    const uint next = ((neighbours | alive) == 3) | alive << 1;
    if (next != state)
        to[(size_t)y * width + x] = next;
}

// Initialises a board, untimed: a square pattern, repeated with a period in x and y; dead cells between.
kernel void start_words(global uint *restrict board, global const uint *restrict pattern, uint side,
                        uint period_x, uint period_y, uint width, uint height)
{
    const uint x = (uint)get_global_id(0);
    const uint y = (uint)get_global_id(1);
    if (x >= width || y >= height)
        return;
    const uint i = x % period_x, j = y % period_y;
    board[(size_t)y * width + x] = i < side && j < side ? pattern[j * side + i] : 0;
}
