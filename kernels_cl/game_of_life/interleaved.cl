// Conway's Game of Life, one bit per cell, STEPS generations per dispatch (temporal blocking): memory is read and
// written once for all of them. Cells beyond the border are dead.
//
// A strip is four 32-bit words wide. It is processed row by row from north to south. The generations form a pipeline:
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
// are zero; the OWN bits between them are the cells. A strip reads 2 STEPS more rows than it writes.
//
// A work-item processes LANES neighbouring strips: one on a GPU, those of a vector on a CPU. In memory, the same words
// of these strips are together.
//
// Macros stand in place of loops over words and generations: NVIDIA's OpenCL compiler unrolls loops too late and then
// keeps the arrays in memory (6 ms instead of 0.93 ms for a board of 65,536 x 65,536 cells on an H200).
#if LANES == 1
typedef uint Word;
typedef int Signed;
#define LANE 0
#define WAVE 32 // work-items that decide together whether they check for the border
#elif LANES == 8
typedef uint8 Word;
typedef int8 Signed;
#define PLANES Word
#define LANE (Signed)(0, 1, 2, 3, 4, 5, 6, 7)
#define WAVE 1
#else
#error "LANES must be 1 or 8"
#endif
#include "game_of_life/bits.h"

#define WORDS 4
#define HALO ((STEPS + WORDS - 1) / WORDS)
#define OWN (32 - 2 * HALO)

// X for each word of a strip, for the first of each pair of words, and for each generation.
#define EACH(X) X(0) X(1) X(2) X(3)
#define PAIRS(X) X(0) X(2)
#if STEPS == 2
#define STAGES(X) X(0) X(1)
#elif STEPS == 4
#define STAGES(X) X(0) X(1) X(2) X(3)
#elif STEPS == 8
#define STAGES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#else
#error "STEPS must be 2, 4 or 8"
#endif

typedef struct {
    Word w[WORDS];
} Words;

// The words of a row, and those of the strips to the west and east.
typedef struct {
    Words here, west, east;
} Row;

// Words in memory: `inside` is false for strips beyond the border.
#define ZERO(i) words.w[i] = 0;
#if LANES == 1
typedef uint4 Stored;

static inline Words load_words(global const Stored *p)
{
    Words r;
    const uint4 v = p[0];
    r.w[0] = v.s0, r.w[1] = v.s1, r.w[2] = v.s2, r.w[3] = v.s3;
    return r;
}

static inline void store_words(global Stored *p, Words row, uint own)
{
    p[0] = (uint4)(row.w[0], row.w[1], row.w[2], row.w[3]) & own;
}

static inline Words load_west(global const Stored *p, Words here, bool inside)
{
    Words words;
    EACH(ZERO)
    if (inside)
        words = load_words(p - 1);
    return words;
}

static inline Words load_east(global const Stored *p, Words here, bool inside)
{
    Words words;
    EACH(ZERO)
    if (inside)
        words = load_words(p + 1);
    return words;
}
#else
typedef Words Stored;

static inline Words load_words(global const Stored *p)
{
    return p[0];
}

static inline void store_words(global Stored *p, Words row, uint own)
{
#define OWNED(i) row.w[i] &= own;
    EACH(OWNED)
    p[0] = row;
}

static inline Words load_west(global const Stored *p, Words here, bool inside)
{
    Words words;
#define FROM_WEST(i) words.w[i] = (Word)(inside ? p[-1].w[i].s7 : 0, here.w[i].s0123, here.w[i].s45, here.w[i].s6);
    EACH(FROM_WEST)
    return words;
}

static inline Words load_east(global const Stored *p, Words here, bool inside)
{
    Words words;
#define FROM_EAST(i) words.w[i] = (Word)(here.w[i].s1, here.w[i].s23, here.w[i].s4567, inside ? p[1].w[i].s0 : 0);
    EACH(FROM_EAST)
    return words;
}
#endif

// `bordered`: a strip beside these may lie beyond the border. Rows beyond it may be read in any strip, up to three
// after the last one that is needed.
static inline Row load_row(global const Stored *restrict board, uint x, int y, uint columns, int height, bool bordered)
{
    Row row;
#define ZERO_ROW(i) row.here.w[i] = row.west.w[i] = row.east.w[i] = 0;
    EACH(ZERO_ROW)
    if (y >= 0 && y < height) {
        global const Stored *p = board + ((size_t)y * columns + x);
        row.here = load_words(p);
        row.west = load_west(p, row.here, !bordered || x > 0);
        row.east = load_east(p, row.here, !bordered || x + 1 < columns);
    }
    return row;
}

// Two neighbouring cells share two of their three columns. g1, g2, g3: what both cells need of the shared columns,
// which contain the cell `here`. `sum1`, `sum2`: the sum of the third column. The operations were found by search; the
// rule is that of alive() in bits.h.
static inline Word alive_pair(Word g1, Word g2, Word g3, Word sum1, Word sum2, Word here)
{
    Word g4, g5, g6, g7;
    LOGIC(g4, here | (g1 ^ sum2), 0xde, g1, here, sum2);
    LOGIC(g5, (g4 & g3) | (~sum1 & (g4 | g3)), 0xd4, g4, g3, sum1);
    LOGIC(g6, (g5 ^ sum2) & (g5 | ~g2), 0x52, g5, g2, sum2);
    LOGIC(g7, (g6 ^ g1) & (g6 | ~g2), 0x52, g6, g2, g1);
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
        const Word a1 = v1.w[i], a2 = v2.w[i], b1 = v1.w[i + 1], b2 = v2.w[i + 1];                                     \
        Word g0, g1, g2;                                                                                               \
        const Word g3 = a1 ^ b1;                                                                                       \
        LOGIC(g0, b2 ^ b1 ^ a2, 0x96, b2, b1, a2);                                                                     \
        LOGIC(g1, g0 ^ (~b1 & a1), 0xd2, g0, b1, a1);                                                                  \
        LOGIC(g2, (b2 & a2) | (~g1 & (b2 | a2)), 0x8e, g1, b2, a2);                                                    \
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
static inline void advance(global const Stored *restrict from, global Stored *restrict to, Row *ahead,
                           const Stages *older, const Stages *last, Stages *kept, uint x, int y, int first, int end,
                           uint columns, int height, const Words cells, bool bordered)
{
    Words row;
#define JOIN(i) row.w[i] = ahead->here.w[i] | ahead->west.w[i] >> OWN | ahead->east.w[i] << OWN;
    EACH(JOIN)
    if (bordered) {
#define CUT(i) row.w[i] &= cells.w[i];
        EACH(CUT)
    }
    // Arrives while this row is computed.
    *ahead = load_row(from, x, y + 1, columns, height, bordered);
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
    if (y - STEPS >= first && y - STEPS < end)
        store_words(to + ((size_t)(y - STEPS) * columns + x), row, (~0u >> 2 * HALO) << HALO);
}

// Two rows of each generation are kept, and a third is computed. The three sets of registers take turns, so that no
// value is copied: what is newest in one row is last in the next and older in the one after that.
static inline void strip(global const Stored *restrict from, global Stored *restrict to, uint x, int first, int end,
                         uint columns, int height, const Words cells, bool bordered)
{
    Stages even, odd, third;
#define CLEAR(n) third.s[n] = odd.s[n] = even.s[n] = words;
    Words words;
    EACH(ZERO)
    STAGES(CLEAR)
    Row ahead = load_row(from, x, first - STEPS, columns, height, bordered);
#pragma unroll 1
    for (int y = first - STEPS; y < end + STEPS; y += 3) {
        advance(from, to, &ahead, &even, &odd, &third, x, y, first, end, columns, height, cells, bordered);
        advance(from, to, &ahead, &odd, &third, &even, x, y + 1, first, end, columns, height, cells, bordered);
        advance(from, to, &ahead, &third, &even, &odd, x, y + 2, first, end, columns, height, cells, bordered);
    }
}

// Work-items are one-dimensional: the columns of `rows` rows from west to east, then those of the next rows. Only the
// last work-group has idle work-items.
ONE_WORK_ITEM
kernel void step_interleaved(global const Stored *restrict from, global Stored *restrict to, uint columns, int height,
                             uint width, int rows)
{
    const uint item = (uint)get_global_id(0), x = item % columns;
    const int first = (int)(item / columns) * rows;
    if (first >= height)
        return;
    // Bit i of word j is column west + 4 i + j.
    const Signed west = ((int)(x * LANES) + LANE) * (OWN * WORDS) - HALO * WORDS;
    Words cells;
#define CELLS(j)                                                                                                       \
    {                                                                                                                  \
        const Signed beyond = (int)width - west - j;                                                                   \
        const Signed bits = (beyond < 0 ? 0 : beyond + WORDS - 1) / WORDS;                                             \
        const Word inner = bits >= 32 ? ~0u : ((Word)(1) << bits) - 1;                                           \
        cells.w[j] = inner & (west < 0 ? ~0u << HALO : ~0u);                                                           \
    }
    EACH(CELLS)
    const int end = min(first + rows, height);
    // Decided once for a wave: one whose lanes diverged would execute both branches. The board may end within the halo
    // of the last strip but one. Up to three rows after a strip's last are computed.
    const uint item0 = item - item % WAVE, x0 = item0 % columns;
    const int top = (int)(item0 / columns) * rows;
    if (x0 == 0 || x0 + WAVE + 1 >= columns || top < STEPS || top + rows + STEPS + 4 > height)
        strip(from, to, x, first, end, columns, height, cells, true);
    else
        strip(from, to, x, first, end, columns, height, cells, false);
}
