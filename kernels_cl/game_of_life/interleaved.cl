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
// spread from the outermost bits by one cell per generation, so that they stay within these bits. In memory, words
// contain OWN cells in the lowest bits; the other bits are zero. The work-item reads 2 STEPS more rows than it writes.
#include "game_of_life/bits.h"

#define WORDS 4
#define HALO ((STEPS + WORDS - 1) / WORDS)
#define OWN (32 - 2 * HALO)

typedef uint4 Vector;

// The words of a row, and those of the strips to the west and east.
typedef struct {
    Vector here, west, east;
} Row;

// `bordered`: a strip beside this one may lie beyond the border. Without the check of `y`, the compiler for compute
// capability 9.0 would load two rows ahead, for which there are too few registers.
static inline Row load_row(global const Vector *restrict board, uint x, int y, uint strips, int height, bool bordered)
{
    Row row = {(Vector)(0), (Vector)(0), (Vector)(0)};
    if (y >= 0 && y < height) {
        global const Vector *p = board + (size_t)y * strips + x;
        row.here = p[0];
        if (!bordered || x > 0)
            row.west = p[-1];
        if (!bordered || x + 1 < strips)
            row.east = p[1];
    }
    return row;
}

// Advances one strip. `bordered`: keep the cells beyond the border (0 in `cells`) dead in every generation.
static inline void strip(global const Vector *restrict from, global Vector *restrict to, uint x, int first, int end,
                         uint strips, int height, const uint *cells, bool bordered)
{
    // For each generation, the two previous rows: the sum of each cell and its two neighbours within the row (bit
    // planes sum1 and sum2) and the cells. Even rows use slot 0, odd rows slot 1, so no value is copied.
    uint sum1[2][STEPS][WORDS], sum2[2][STEPS][WORDS], here[2][STEPS][WORDS];
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
#pragma unroll
        for (int i = 0; i < WORDS; ++i)
            sum1[0][s][i] = sum1[1][s][i] = sum2[0][s][i] = sum2[1][s][i] = here[0][s][i] = here[1][s][i] = 0;

    // Row y of generation 0 gives row y - s of generation s. The rows that come before the pipeline is filled are not
    // written.
    Row ahead = load_row(from, x, first - STEPS, strips, height, bordered);
    for (int pair = first - STEPS; pair < end + STEPS; pair += 2)
#pragma unroll
        for (int odd_row = 0; odd_row < 2; ++odd_row) {
            const int y = pair + odd_row;
            const Vector whole = ahead.here << HALO | ahead.west >> (OWN - HALO) | ahead.east << (OWN + HALO);
            uint row[WORDS] = {whole.s0, whole.s1, whole.s2, whole.s3};
            if (bordered)
#pragma unroll
                for (int i = 0; i < WORDS; ++i)
                    row[i] &= cells[i];
            ahead = load_row(from, x, y + 1, strips, height, bordered); // arrives while this row is computed
#pragma unroll
            for (int s = 0; s < STEPS; ++s) {
                const int at = y - s - 1;
                const bool beyond = bordered && (at < 0 || at >= height);
                // This row will overwrite the slot of the row before the last one.
                const int last = 1 - odd_row, now = odd_row;
                uint next[WORDS];
#pragma unroll
                for (int i = 0; i < WORDS; ++i) {
                    const uint west = i == 0 ? row[WORDS - 1] << 1 : row[i - 1];
                    const uint east = i == WORDS - 1 ? row[0] >> 1 : row[i + 1];
                    const uint south1 = parity(west, row[i], east), south2 = majority(west, row[i], east);
                    const uint ones = parity(sum1[now][s][i], sum1[last][s][i], south1);
                    const uint carry = majority(sum1[now][s][i], sum1[last][s][i], south1);
                    const uint odd = parity(sum2[now][s][i], sum2[last][s][i], south2);
                    const uint many = majority(sum2[now][s][i], sum2[last][s][i], south2);
                    next[i] = alive(ones, carry, odd, many, here[last][s][i]);
                    if (bordered)
                        next[i] &= beyond ? 0 : cells[i];
                    sum1[now][s][i] = south1;
                    sum2[now][s][i] = south2;
                    here[now][s][i] = row[i];
                }
#pragma unroll
                for (int i = 0; i < WORDS; ++i)
                    row[i] = next[i];
            }
            if (y - STEPS >= first && y - STEPS < end)
                to[(size_t)(y - STEPS) * strips + x] =
                    (Vector)(row[0], row[1], row[2], row[3]) << HALO >> (2 * HALO);
        }
}

// Work-items are one-dimensional: the strips of `rows` rows from west to east, then those of the next rows. Only the
// last work-group has idle work-items.
kernel void step_interleaved(global const Vector *restrict from, global Vector *restrict to, uint strips, int height,
                             uint width, int rows)
{
    const uint item = (uint)get_global_id(0), x = item % strips;
    const int first = (int)(item / strips) * rows;
    if (first >= height)
        return;
    // The bits of cells on the board: bit i of word j is column west + 4 i + j.
    const int west = (int)(x * OWN * WORDS) - HALO * WORDS;
    uint cells[WORDS];
#pragma unroll
    for (int j = 0; j < WORDS; ++j) {
        const int bits = clamp(((int)width - west - j + WORDS - 1) / WORDS, 0, 32);
        cells[j] = (bits == 32 ? ~0u : (1u << bits) - 1) & (x == 0 ? ~0u << HALO : ~0u);
    }
    const int end = min(first + rows, height);
    // Decided once for the work-group: a wave whose lanes diverged would execute both branches. The board may end
    // within the halo of the last strip but one.
    const uint items = (uint)get_local_size(0), item0 = (uint)get_group_id(0) * items, x0 = item0 % strips;
    const int top = (int)(item0 / strips) * rows;
    if (x0 == 0 || x0 + items + 1 >= strips || top < STEPS || top + rows + STEPS > height)
        strip(from, to, x, first, end, strips, height, cells, true);
    else
        strip(from, to, x, first, end, strips, height, cells, false);
}
