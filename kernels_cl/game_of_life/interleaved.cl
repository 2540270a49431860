// Conway's Game of Life, one bit per cell, STEPS generations per dispatch (temporal blocking): memory is read and
// written once for all of them. Cells beyond the border are dead.
//
// A work-item processes a strip of four 32-bit words, row by row from north to south. The generations form a pipeline:
// three rows of one generation give the middle row of the next.
//
//   row read   generation 0   generation 1   generation 2
//      y            y             y - 1          y - 2
//
// Neighbouring cells are in different words, so that only two of the eight neighbours to the west and east of a strip's
// words need a shift. Bit i of word j is cell 4 i + j of the strip:
//
//            bit 0   bit 1   bit 2
//   word 0     0       4       8
//   word 1     1       5       9        west of word j: word j - 1; of word 0: word 3, shifted by one bit
//   word 2     2       6      10        east of word j: word j + 1; of word 3: word 0, shifted by one bit
//   word 3     3       7      11
//
// In registers, the lowest and highest HALO bits of each word belong to the strips to the west and east. Wrong values
// spread from the outermost bits by one cell per generation, so that they stay within these bits. In memory these bits
// are zero; the OWN bits between them are the cells. The work-item reads 2 STEPS more rows than it writes.
//
// Macros stand in place of loops over words and generations: NVIDIA's OpenCL compiler unrolls loops too late and then
// keeps the arrays in memory (6 ms instead of 0.93 ms for a board of 65,536 x 65,536 cells on an H200).
#include "game_of_life/bits.h"

// What was timed on an H200. With CHECK 0, the board needs rows above and below; with AHEAD 0, a row is loaded when it
// is needed; with ALWAYS 1, every work-item checks for the border.
#define CHECK 1
#define AHEAD 1
#define ALWAYS 0

#define WORDS 4
#define HALO ((STEPS + WORDS - 1) / WORDS)
#define OWN (32 - 2 * HALO)

// X for each word of a strip, for the first of each pair of words, and for each generation.
#define EACH(X) X(0) X(1) X(2) X(3)
#define PAIRS(X) X(0) X(2)
#if STEPS == 8
#define STAGES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#else
#error "STEPS must be 8"
#endif

// A bitwise operation with three inputs, known by its table only (see common/logic.h).

static inline uint pick(uint table, uint bit, uint term)
{
    return table >> bit & 1 ? term : 0;
}
#ifdef __NV_CL_C_VERSION
#define LUT(r, table, a, b, c) LOGIC(r, 0, table, a, b, c)
#else
#define LUT(r, table, a, b, c)                                                                                         \
    r = pick(table, 0, ~(a) & ~(b) & ~(c)) | pick(table, 1, ~(a) & ~(b) & (c)) | pick(table, 2, ~(a) & (b) & ~(c)) |   \
        pick(table, 3, ~(a) & (b) & (c)) | pick(table, 4, (a) & ~(b) & ~(c)) | pick(table, 5, (a) & ~(b) & (c)) |      \
        pick(table, 6, (a) & (b) & ~(c)) | pick(table, 7, (a) & (b) & (c))
#endif

typedef struct {
    uint w[WORDS];
} Words;

// The words of a row, and those of the strips to the west and east.
typedef struct {
    Words here, west, east;
} Row;

static inline Words load_words(global const uint4 *p)
{
    Words r;
    const uint4 v = p[0];
    r.w[0] = v.s0, r.w[1] = v.s1, r.w[2] = v.s2, r.w[3] = v.s3;
    return r;
}

// `bordered`: a strip beside this one may lie beyond the border. Rows beyond it may be read in any strip, up to three
// after the last one that is needed.
static inline Row load_row(global const uint4 *restrict board, uint x, int y, uint strips, int height, bool bordered)
{
    Row row;
#define ZERO(i) row.here.w[i] = row.west.w[i] = row.east.w[i] = 0;
    EACH(ZERO)
    if ((!bordered && !CHECK) || (y >= 0 && y < height)) {
        global const uint4 *p = board + ((size_t)y * strips + x) * (WORDS / 4);
        row.here = load_words(p);
        if (!bordered || x > 0)
            row.west = load_words(p - WORDS / 4);
        if (!bordered || x + 1 < strips)
            row.east = load_words(p + WORDS / 4);
    }
    return row;
}

// Two neighbouring cells share two of their three columns. g1, g2, g3: what both cells need of the shared columns,
// which contain the cell `here`. `sum1`, `sum2`: the sum of the third column. The operations were found by search; the
// rule is that of alive() in bits.h.
static inline uint alive_pair(uint g1, uint g2, uint g3, uint sum1, uint sum2, uint here)
{
    uint g4, g5, g6, g7;
    LUT(g4, 0xde, g1, here, sum2);
    LUT(g5, 0xd4, g4, g3, sum1);
    LUT(g6, 0x52, g5, g2, sum2);
    LUT(g7, 0x52, g6, g2, g1);
    return g7;
}

// The word of each cell's neighbour to the west or east.
#define WEST(v, i) ((i) == 0 ? v.w[WORDS - 1] << 1 : v.w[((i) + WORDS - 1) % WORDS])
#define EAST(v, i) ((i) == WORDS - 1 ? v.w[0] >> 1 : v.w[((i) + 1) % WORDS])

// The next generation of `last`; `row` is the row to the south, `older` that to the north. v1, v2: the sum of each cell
// and those to the north and south, in two bits.
static inline Words generation(Words older, Words last, Words row, const Words cells, uint on_board, bool bordered)
{
    Words v1, v2, next;
#define SUM(i) v1.w[i] = parity(older.w[i], last.w[i], row.w[i]), v2.w[i] = majority(older.w[i], last.w[i], row.w[i]);
    EACH(SUM)
#define PAIR(i)                                                                                                        \
    {                                                                                                                  \
        const uint a1 = v1.w[i], a2 = v2.w[i], b1 = v1.w[i + 1], b2 = v2.w[i + 1];                                     \
        uint g0, g1, g2;                                                                                               \
        const uint g3 = a1 ^ b1;                                                                                       \
        LUT(g0, 0x96, b2, b1, a2);                                                                                     \
        LUT(g1, 0xd2, g0, b1, a1);                                                                                     \
        LUT(g2, 0x8e, g1, b2, a2);                                                                                     \
        next.w[i] = alive_pair(g1, g2, g3, WEST(v1, i), WEST(v2, i), last.w[i]);                                       \
        next.w[i + 1] = alive_pair(g1, g2, g3, EAST(v1, i + 1), EAST(v2, i + 1), last.w[i + 1]);                       \
    }
    PAIRS(PAIR)
    if (bordered) {
#define MASK(i) next.w[i] = next.w[i] & cells.w[i] & on_board;
        EACH(MASK)
    }
    return next;
}

// A row of each generation.
typedef struct {
    Words s[STEPS];
} Stages;

// Row y of generation 0 gives row y - s of generation s. `older` and `last` are rows y - s - 2 and y - s - 1 of each
// generation s; row y - s is put into `kept`. `ahead`: the row that was loaded last. `cells`: the bits on the board.
// `bordered`: cells beyond the border must be kept dead in every generation.
static inline void advance(global const uint4 *restrict from, global uint4 *restrict to, Row *ahead,
                           const Stages *older, const Stages *last, Stages *kept, uint x, int y, int first, int end,
                           uint strips, int height, const Words cells, bool bordered)
{
    Words row;
    if (!AHEAD)
        *ahead = load_row(from, x, y, strips, height, bordered);
#define JOIN(i) row.w[i] = ahead->here.w[i] | ahead->west.w[i] >> OWN | ahead->east.w[i] << OWN;
    EACH(JOIN)
    if (bordered) {
#define CUT(i) row.w[i] &= cells.w[i];
        EACH(CUT)
    }
    // Arrives while this row is computed.
    if (AHEAD)
        *ahead = load_row(from, x, y + 1, strips, height, bordered);
#define STAGE(n)                                                                                                       \
    {                                                                                                                  \
        const int at = y - n - 1;                                                                                      \
        const Words next =                                                                                             \
            generation(older->s[n], last->s[n], row, cells, at < 0 || at >= height ? 0 : ~0u, bordered);               \
        kept->s[n] = row;                                                                                              \
        row = next;                                                                                                    \
    }
    STAGES(STAGE)
    // The rows that come before the pipeline is filled are not written.
    if (y - STEPS >= first && y - STEPS < end) {
        global uint4 *p = to + ((size_t)(y - STEPS) * strips + x) * (WORDS / 4);
        const uint own = (~0u >> 2 * HALO) << HALO;
        p[0] = (uint4)(row.w[0], row.w[1], row.w[2], row.w[3]) & own;
    }
}

// Two rows of each generation are kept, and a third is computed. The three sets of registers take turns, so that no
// value is copied: what is newest in one row is last in the next and older in the one after that.
static inline void strip(global const uint4 *restrict from, global uint4 *restrict to, uint x, int first, int end,
                         uint strips, int height, const Words cells, bool bordered)
{
    Stages even, odd, third;
#define CLEAR(n)                                                                                                       \
    {                                                                                                                  \
        EACH(CLEAR_WORD)                                                                                               \
        third.s[n] = odd.s[n] = even.s[n] = zero;                                                                      \
    }
#define CLEAR_WORD(i) zero.w[i] = 0;
    Words zero;
    STAGES(CLEAR)
    Row ahead = load_row(from, x, first - STEPS, strips, height, bordered);
#pragma unroll 1
    for (int y = first - STEPS; y < end + STEPS; y += 3) {
        advance(from, to, &ahead, &even, &odd, &third, x, y, first, end, strips, height, cells, bordered);
        advance(from, to, &ahead, &odd, &third, &even, x, y + 1, first, end, strips, height, cells, bordered);
        advance(from, to, &ahead, &third, &even, &odd, x, y + 2, first, end, strips, height, cells, bordered);
    }
}

// Work-items are one-dimensional: the strips of `rows` rows from west to east, then those of the next rows. Only the
// last work-group has idle work-items.
kernel void step_interleaved(global const uint4 *restrict from, global uint4 *restrict to, uint strips, int height,
                             uint width, int rows)
{
    const uint item = (uint)get_global_id(0), x = item % strips;
    const int first = (int)(item / strips) * rows;
    if (first >= height)
        return;
    // Bit i of word j is column west + 4 i + j.
    const int west = (int)(x * OWN * WORDS) - HALO * WORDS;
    Words cells;
#define CELLS(j)                                                                                                       \
    {                                                                                                                  \
        const int bits = clamp(((int)width - west - j + WORDS - 1) / WORDS, 0, 32);                                    \
        cells.w[j] = (bits == 32 ? ~0u : (1u << bits) - 1) & (x == 0 ? ~0u << HALO : ~0u);                             \
    }
    EACH(CELLS)
    const int end = min(first + rows, height);
    // Decided once for 32 work-items, a wave of NVIDIA GPUs: a wave whose lanes diverged would execute both branches.
    // The board may end within the halo of the last strip but one. Up to three rows after a strip's last are computed.
    const uint item0 = item & ~31u, x0 = item0 % strips;
    const int top = (int)(item0 / strips) * rows;
    if (ALWAYS || x0 == 0 || x0 + 33 >= strips || top < STEPS || top + rows + STEPS + 4 > height)
        strip(from, to, x, first, end, strips, height, cells, true);
    else
        strip(from, to, x, first, end, strips, height, cells, false);
}
