// Strips for CPUs: a work-item advances ROWS rows of SPAN vectors from west to east, the order of memory. It loads each
// vector three times: itself, and one place to the west and to the east. Unaligned loads from the cache cost less than
// moving words within a vector. Only operators are used: PoCL does not inline built-in functions such as vload and min,
// but calls them for single words or passes vectors through memory.

#define CELLS (WORDS * 32 / BITS)
#define PAGE_WORDS 1024

// OpenCL's prefetch() has no effect in PoCL. Other compilers do not have this built-in, and do not need it.
#if defined(__x86_64__) || defined(__aarch64__)
#define PREFETCH(address, written) __builtin_prefetch(address, written)
#else
#define PREFETCH(address, written)
#endif

typedef uint8 Vector;
#define PLANES Vector
#include "game_of_life/bits.h"

typedef struct __attribute__((packed)) {
    Vector words;
} Unaligned;

static inline Vector load(global const void *p)
{
    return ((global const Unaligned *)p)->words;
}

#if BITS == 8
// Four cells per word. A sum of nine cells fits in a byte.
typedef struct {
    Vector here, three; // each cell; the sum of it and its two neighbours within the row
} Sums;

static inline Sums sums_of(Vector west, Vector here, Vector east)
{
    const Sums sums = {here, west + here + east};
    return sums;
}

static inline Sums sums_inside(global const uint *p)
{
    global const uchar *cell = (global const uchar *)p;
    return sums_of(load(cell - 1), *(global const Vector *)p, load(cell + 1));
}

// The next generation of a row. `here`: its cells; a, b, c: the sums of the row and its neighbours, in any order.
static inline Vector advanced(Sums a, Sums b, Sums c, Vector here)
{
    const Vector neighbours = a.three + b.three + c.three - here;
    return ALIVE_BYTES(neighbours, here);
}
#else
// 32 cells per word. A sum takes two bit planes.
typedef struct {
    Vector ones, twos;
} Planes;

typedef struct {
    Vector here;
    Planes three; // the sum of each cell and its two neighbours within the row
} Sums;

static inline Planes added(Vector a, Vector b, Vector c)
{
    const Planes planes = {parity(a, b, c), majority(a, b, c)};
    return planes;
}

static inline Sums sums_of(Vector west, Vector here, Vector east)
{
    const Sums sums = {here, added(west, east, here)};
    return sums;
}

static inline Sums sums_inside(global const uint *p)
{
    const Vector here = *(global const Vector *)p;
    return sums_of(here << 1 | load(p - 1) >> 31, here, here >> 1 | load(p + 1) << 31);
}

// The next generation of a row. `here`: its cells; a, b, c: the sums of the row and its neighbours, in any order.
static inline Vector advanced(Sums a, Sums b, Sums c, Vector here)
{
    const Planes low = added(a.three.ones, b.three.ones, c.three.ones);
    const Planes high = added(a.three.twos, b.three.twos, c.three.twos);
    const Vector ones = low.ones, carry = low.twos, odd = high.ones, many = high.twos;
    // Of each cell and its eight neighbours, total = ones + 2 * (carry + odd + 2 * many) are alive. The cell is
    // alive if the total is 3, or if it is 4 and the cell itself is alive. The factors:
    //
    //   ~(ones ^ carry ^ odd)     leaves totals of 0, 3, 4, 7 and 8
    //   ~(many & (ones | odd))    excludes 7 and 8
    //   ones | here               excludes dead cells with an even total: 4, and 0, which living cells do not have
    return (ones | here) & ~(ones ^ carry ^ odd) & ~(many & (ones | odd));
}
#endif

// A mask of the bits of the vector that begins at `column`: those that are cells of the board.
static inline Vector on_board(uint column, uint width)
{
    const Vector columns = column + (Vector)(0, 1, 2, 3, 4, 5, 6, 7) * (32 / BITS);
    const Vector bits = columns < width ? (width - columns) * BITS : 0;
    return bits >= 32 ? (Vector)(~0u) : ((Vector)(1u) << bits) - 1;
}

// For a vector at the border, masks of the bits that are cells: its own, and those of the words to its west and east.
typedef struct {
    Vector here;
    uint west, east;
} Cells;

static inline Sums sums_at_border(global const uint *p, Cells cells)
{
    const Vector here = *(global const Vector *)p & cells.here;
    const uint before = cells.west ? p[-1] : 0, after = cells.east ? p[WORDS] & cells.east : 0;
    const Vector up = (Vector)(before, here.s0, here.s1, here.s2, here.s3, here.s4, here.s5, here.s6);
    const Vector down = (Vector)(here.s1, here.s2, here.s3, here.s4, here.s5, here.s6, here.s7, after);
    return sums_of(here << BITS | up >> (32 - BITS), here, here >> BITS | down << (32 - BITS));
}

// Advances a vector of ROWS rows; `first` is the northernmost row. `inside`: all of these cells and those around
// them are on the board. Always inlined, so that each value of `inside` has its own code.
static inline __attribute__((always_inline)) void advance(global const uint *from, global uint *to, size_t pitch,
                                                          uint first, uint height, Cells cells, bool inside)
{
    const Sums none = sums_of(0, 0, 0);
    Sums north = inside ? sums_inside(from - pitch) : first > 0 ? sums_at_border(from - pitch, cells) : none;
    Sums middle = inside ? sums_inside(from) : sums_at_border(from, cells);
#pragma unroll
    for (uint i = 0; i < ROWS; ++i) {
        global const uint *below = from + (i + 1) * pitch;
        const Sums south = inside                   ? sums_inside(below)
                           : first + i + 1 < height ? sums_at_border(below, cells)
                                                    : none;
        // Two successive rows share the sum of two rows; adding these two first lets the compiler compute it once.
        const Vector now =
            i % 2 == 0 ? advanced(middle, south, north, middle.here) : advanced(north, middle, south, middle.here);
        if (inside || first + i < height)
            *(global Vector *)(to + i * pitch) = inside ? now : now & cells.here;
        north = middle;
        middle = south;
    }
}

ONE_WORK_ITEM
kernel void step_strips_cpu(global const uint *restrict from, global uint *restrict to, uint vectors, uint height,
                        uint width)
{
    const uint first = (uint)get_global_id(1) * ROWS;
    if (first >= height)
        return;
    const uint west = (uint)get_global_id(0) * SPAN;
    const uint end = west + SPAN < vectors ? west + SPAN : vectors;
    const size_t pitch = (size_t)vectors * WORDS;
    const bool rows_inside = first > 0 && first + ROWS < height;
    for (uint x = west; x < end; ++x) {
        global const uint *p = from + first * pitch + x * WORDS;
        global uint *q = to + first * pitch + x * WORDS;
        Cells cells = {(Vector)(~0u), ~0u, ~0u};
        if (rows_inside && x > 0 && (x + 1) * CELLS < width) {
            // Rows this short end before the hardware prefetcher has started.
            if (pitch < PAGE_WORDS)
#pragma unroll
                for (uint i = 0; i < ROWS; ++i) {
                    PREFETCH(p + (ROWS + 1 + i) * pitch, 0);
                    PREFETCH(q + (ROWS + i) * pitch, 1);
                }
            advance(p, q, pitch, first, height, cells, true);
        } else {
            cells.here = on_board(x * CELLS, width);
            cells.west = x > 0 ? ~0u : 0;
            cells.east = on_board((x + 1) * CELLS, width).s0;
            advance(p, q, pitch, first, height, cells, false);
        }
    }
}
