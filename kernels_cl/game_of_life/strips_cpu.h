// Strips for processors: a work-item advances ROWS rows of SPAN vectors, from west to east as memory is laid out.
// Its core reaches any byte of a cache alike: the cells to the west and to the east of a vector are loaded as vectors
// of their own, one place apart, which costs less than moving words within a vector. All is written with operators:
// PoCL calls built-in functions such as vload and min, word by word or through memory, instead of inlining them.

#define CELLS (WORDS * 32 / BITS)
#define PAGE_WORDS 1024

// OpenCL's own prefetch does nothing in PoCL; other compilers know no other, and need none.
#if defined(__x86_64__) || defined(__aarch64__)
#define PREFETCH(address, written) __builtin_prefetch(address, written)
#else
#define PREFETCH(address, written)
#endif

typedef uint8 Vector;

typedef struct __attribute__((packed)) {
    Vector words;
} Unaligned;

static inline Vector load(global const void *p)
{
    return ((global const Unaligned *)p)->words;
}

#if BITS == 8
// Four cells a word; sums of nine cells fit a byte.
typedef struct {
    Vector here, three; // each cell, and the sum of it and its neighbours within the row
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

// The cells of three rows, in any order, `here` those in the middle.
static inline Vector advanced(Sums a, Sums b, Sums c, Vector here)
{
    const Vector neighbours = a.three + b.three + c.three - here;
    // A byte that differs from 3 differs by 1 to 15: taken from 128 it leaves the highest bit unset.
    return (0x80808080u - ((neighbours | here) ^ 0x03030303u)) >> 7 & 0x01010101u;
}
#else
// 32 cells a word; a sum is two bit planes.
typedef struct {
    Vector ones, twos;
} Planes;

typedef struct {
    Vector here;
    Planes three; // the sum of each cell and its neighbours within the row
} Sums;

static inline Planes added(Vector a, Vector b, Vector c)
{
    const Vector differ = a ^ b;
    const Planes planes = {differ ^ c, (a & b) | (differ & c)};
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

// The cells of three rows, in any order, `here` those in the middle.
static inline Vector advanced(Sums a, Sums b, Sums c, Vector here)
{
    const Planes low = added(a.three.ones, b.three.ones, c.three.ones);
    const Planes high = added(a.three.twos, b.three.twos, c.three.twos);
    const Vector ones = low.ones, carry = low.twos, odd = high.ones, many = high.twos;
    // Of nine cells, ones + 2 * (carry + odd + 2 * many) are alive: three, or four of which the middle one is one. The
    // last factor takes out seven and eight; none of which the middle one is one there is not.
    return (ones | here) & ~(ones ^ carry ^ odd) & ~(many & (ones | odd));
}
#endif

// Which bits of the vector that begins with a column are cells of a board.
static inline Vector on_board(uint column, uint width)
{
    const Vector columns = column + (Vector)(0, 1, 2, 3, 4, 5, 6, 7) * (32 / BITS);
    const Vector bits = columns < width ? (width - columns) * BITS : 0;
    return bits >= 32 ? (Vector)(~0u) : ((Vector)(1u) << bits) - 1;
}

// A vector at the border: which bits are cells, of its own, and of the words to its west and to its east.
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

// Advances a vector of ROWS rows, `first` the number of the uppermost. `inside`: these and all around are cells.
// Two copies of it must be compiled.
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
        // Two rows share the sum of the two in the middle: it is worked out once if added first.
        const Vector now =
            i % 2 == 0 ? advanced(middle, south, north, middle.here) : advanced(north, middle, south, middle.here);
        if (inside || first + i < height)
            *(global Vector *)(to + i * pitch) = inside ? now : now & cells.here;
        north = middle;
        middle = south;
    }
}

kernel void step_strips(global const uint *restrict from, global uint *restrict to, uint vectors, uint height,
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
            // A processor that looks ahead by itself has hardly begun when so short a row ends.
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
