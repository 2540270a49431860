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
#include "game_of_life/bits.h"

#define WORDS 4
#define HALO ((STEPS + WORDS - 1) / WORDS)
#define OWN (32 - 2 * HALO)

typedef struct {
    uint w[WORDS];
} Words;

// The words of a row, and those of the strips to the west and east.
typedef struct {
    Words here, west, east;
} Row;

static inline Words load_words(global const uint4 *p)
{
    const uint4 v = *p;
    const Words words = {{v.s0, v.s1, v.s2, v.s3}};
    return words;
}

// `bordered`: a strip beside this one may lie beyond the border. Rows beyond it may be read in any strip, up to two
// after the last one that is needed.
static inline Row load_row(global const uint4 *restrict board, uint x, int y, uint strips, int height, bool bordered)
{
    Row row = {{{0}}, {{0}}, {{0}}};
    if (y >= 0 && y < height) {
        global const uint4 *p = board + (size_t)y * strips + x;
        row.here = load_words(p);
        if (!bordered || x > 0)
            row.west = load_words(p - 1);
        if (!bordered || x + 1 < strips)
            row.east = load_words(p + 1);
    }
    return row;
}

// Two neighbouring cells share two of their three columns. `shared1` to `shared3`: what both cells need of the shared
// columns, which contain the cell `here`. `sum1`, `sum2`: the sum of the third column. The operations were found by
// search; the rule is that of alive() in bits.h.
static inline uint alive_in_pair(uint shared1, uint shared2, uint shared3, uint sum1, uint sum2, uint here)
{
    uint a, b, c, result;
    LOGIC(a, here | (shared1 ^ sum2), 0xde, shared1, here, sum2);
    LOGIC(b, (a & shared3) | (~sum1 & (a | shared3)), 0xd4, a, shared3, sum1);
    LOGIC(c, (b ^ sum2) & (b | ~shared2), 0x52, b, shared2, sum2);
    LOGIC(result, (c ^ shared1) & (c | ~shared2), 0x52, c, shared2, shared1);
    return result;
}

// The next generation of the row `middle`.
static inline Words generation(Words north, Words middle, Words south)
{
    // The sum of each cell and those to the north and south, in two bits.
    Words sum1, sum2, next;
#pragma unroll
    for (int i = 0; i < WORDS; ++i) {
        sum1.w[i] = parity(north.w[i], middle.w[i], south.w[i]);
        sum2.w[i] = majority(north.w[i], middle.w[i], south.w[i]);
    }
#pragma unroll
    for (int i = 0; i < WORDS; i += 2) {
        const uint a1 = sum1.w[i], a2 = sum2.w[i], b1 = sum1.w[i + 1], b2 = sum2.w[i + 1];
        const uint west1 = i == 0 ? sum1.w[WORDS - 1] << 1 : sum1.w[i - 1];
        const uint west2 = i == 0 ? sum2.w[WORDS - 1] << 1 : sum2.w[i - 1];
        const uint east1 = i + 2 == WORDS ? sum1.w[0] >> 1 : sum1.w[i + 2];
        const uint east2 = i + 2 == WORDS ? sum2.w[0] >> 1 : sum2.w[i + 2];
        const uint odd = parity(b2, b1, a2), shared3 = a1 ^ b1;
        uint shared1, shared2;
        LOGIC(shared1, odd ^ (a1 & ~b1), 0xd2, odd, b1, a1);
        LOGIC(shared2, (b2 & a2) | (~shared1 & (b2 | a2)), 0x8e, shared1, b2, a2);
        next.w[i] = alive_in_pair(shared1, shared2, shared3, west1, west2, middle.w[i]);
        next.w[i + 1] = alive_in_pair(shared1, shared2, shared3, east1, east2, middle.w[i + 1]);
    }
    return next;
}

// A strip of the board. `cells`: the bits on the board. `bordered`: cells beyond the border must be kept dead in every
// generation. `ahead`: the row that was loaded last.
typedef struct {
    global const uint4 *restrict from;
    global uint4 *restrict to;
    uint x, strips;
    int first, end, height;
    Words cells;
    Row ahead;
} Strip;

// Row y of generation 0 gives row y - s of generation s. `older` and `last` are rows y - s - 2 and y - s - 1 of each
// generation s; row y - s is put into `newest`.
static inline void advance(Strip *strip, const Words *older, const Words *last, Words *newest, int y, bool bordered)
{
    Words row;
#pragma unroll
    for (int i = 0; i < WORDS; ++i) {
        row.w[i] = strip->ahead.here.w[i] | strip->ahead.west.w[i] >> OWN | strip->ahead.east.w[i] << OWN;
        if (bordered)
            row.w[i] &= strip->cells.w[i];
    }
    // Arrives while this row is computed.
    strip->ahead = load_row(strip->from, strip->x, y + 1, strip->strips, strip->height, bordered);
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
        const int at = y - s - 1;
        const uint on_board = at < 0 || at >= strip->height ? 0 : ~0u;
        Words next = generation(older[s], last[s], row);
        if (bordered)
#pragma unroll
            for (int i = 0; i < WORDS; ++i)
                next.w[i] = next.w[i] & strip->cells.w[i] & on_board;
        newest[s] = row;
        row = next;
    }
    // The rows that come before the pipeline is filled are not written.
    if (y - STEPS >= strip->first && y - STEPS < strip->end) {
        const uint own = ~0u >> 2 * HALO << HALO;
        strip->to[(size_t)(y - STEPS) * strip->strips + strip->x] =
            (uint4)(row.w[0], row.w[1], row.w[2], row.w[3]) & own;
    }
}

// Two rows of each generation are kept, and a third is computed. The three arrays take turns, so that no value is
// copied: what is newest in one row is last in the next and older in the one after that.
static inline void advance_all(Strip *strip, bool bordered)
{
    Words even[STEPS], odd[STEPS], third[STEPS];
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
#pragma unroll
        for (int i = 0; i < WORDS; ++i)
            even[s].w[i] = odd[s].w[i] = third[s].w[i] = 0;
    strip->ahead = load_row(strip->from, strip->x, strip->first - STEPS, strip->strips, strip->height, bordered);
#pragma unroll 1
    for (int y = strip->first - STEPS; y < strip->end + STEPS; y += 3) {
        advance(strip, even, odd, third, y, bordered);
        advance(strip, odd, third, even, y + 1, bordered);
        advance(strip, third, even, odd, y + 2, bordered);
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
    Strip strip = {.from = from, .to = to, .x = x, .strips = strips, .first = first, .height = height};
    strip.end = min(first + rows, height);
    // Bit i of word j is column west + 4 i + j.
    const int west = (int)(x * OWN * WORDS) - HALO * WORDS;
#pragma unroll
    for (int j = 0; j < WORDS; ++j) {
        const int bits = clamp(((int)width - west - j + WORDS - 1) / WORDS, 0, 32);
        strip.cells.w[j] = (bits == 32 ? ~0u : (1u << bits) - 1) & (x == 0 ? ~0u << HALO : ~0u);
    }
    // Decided once for the work-group: a wave whose lanes diverged would execute both branches. The board may end
    // within the halo of the last strip but one.
    const uint items = (uint)get_local_size(0), item0 = (uint)get_group_id(0) * items, x0 = item0 % strips;
    const int top = (int)(item0 / strips) * rows;
    if (x0 == 0 || x0 + items + 1 >= strips || top < STEPS || top + rows + STEPS > height)
        advance_all(&strip, true);
    else
        advance_all(&strip, false);
}
