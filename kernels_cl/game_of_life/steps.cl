// Conway's Game of Life, one bit per cell, STEPS generations per dispatch (temporal blocking): memory is read and
// written once for all of them. Cells beyond the border are dead. Rows are whole vectors; bits beyond the last column
// are zero.
//
// A work-item processes a strip of four 32-cell words, row by row from north to south. The generations form a pipeline:
// three rows of one generation give the middle row of the next.
//
//   row read   generation 0   generation 1   generation 2
//      y            y             y - 1          y - 2
//
// The words of a row form a ring with one more word, which contains the next 16 cells beyond either edge of the strip:
//
//   strip:  | word 0 | word 1 | word 2 | word 3 |      word 4: | 16 cells to the east | 16 cells to the west |
//                                                      bits:     0 ................15   16 ...............31
//
// The cells in the middle of word 4 are not neighbours, so wrong values spread from there by one cell per generation.
// They stay within word 4, because STEPS is at most 16. The work-item reads 2 STEPS more rows than it writes.
#include "game_of_life/bits.h"

#define WORDS 4
#define RING (WORDS + 1)

typedef uint4 Vector;

// The words of a row, and the words before and after them.
typedef struct {
    Vector here;
    uint before, after;
} Row;

static inline Row load_row(global const uint *restrict board, uint x, int y, uint vectors, int height)
{
    Row row = {(Vector)(0), 0, 0};
    if (y >= 0 && y < height) {
        global const uint *p = board + ((size_t)y * vectors + x) * WORDS;
        row.here = *(global const Vector *)p;
        if (x > 0)
            row.before = p[-1];
        if (x + 1 < vectors)
            row.after = p[WORDS];
    }
    return row;
}

// Advances one strip. `bordered`: keep the cells beyond the border (0 in `cells`) dead in every generation.
static inline void strip(global const uint *restrict from, global uint *restrict to, uint x, int first, int end,
                         uint vectors, int height, const uint *cells, bool bordered)
{
    // For each generation, the two previous rows: the sum of each cell and its two neighbours within the row (bit
    // planes sum1 and sum2) and the cells. Even rows use slot 0, odd rows slot 1, so no value is copied.
    uint sum1[2][STEPS][RING], sum2[2][STEPS][RING], here[2][STEPS][RING];
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
#pragma unroll
        for (int i = 0; i < RING; ++i)
            sum1[0][s][i] = sum1[1][s][i] = sum2[0][s][i] = sum2[1][s][i] = here[0][s][i] = here[1][s][i] = 0;

    // Row y of generation 0 gives row y - s of generation s. The rows that come before the pipeline is filled are not
    // written.
    Row ahead = load_row(from, x, first - STEPS, vectors, height);
    for (int pair = first - STEPS; pair < end + STEPS; pair += 2)
#pragma unroll
        for (int odd_row = 0; odd_row < 2; ++odd_row) {
            const int y = pair + odd_row;
            uint row[RING];
            row[0] = ahead.here.s0;
            row[1] = ahead.here.s1;
            row[2] = ahead.here.s2;
            row[3] = ahead.here.s3;
            row[WORDS] = ((ahead.before & 0xffff0000u) | (ahead.after & 0xffffu)) & cells[WORDS];
            if (bordered)
#pragma unroll
                for (int i = 0; i < WORDS; ++i)
                    row[i] &= cells[i];
            ahead = load_row(from, x, y + 1, vectors, height); // arrives while this row is computed
#pragma unroll
            for (int s = 0; s < STEPS; ++s) {
                const int at = y - s - 1;
                const bool beyond = bordered && (at < 0 || at >= height);
                // This row will overwrite the slot of the row before the last one.
                const int last = 1 - odd_row, now = odd_row;
                uint next[RING];
#pragma unroll
                for (int i = 0; i < RING; ++i) {
                    const uint west = row[i] << 1 | row[(i + RING - 1) % RING] >> 31;
                    const uint east = row[i] >> 1 | row[(i + 1) % RING] << 31;
                    const uint south1 = parity(west, row[i], east), south2 = majority(west, row[i], east);
                    const uint ones = parity(sum1[now][s][i], sum1[last][s][i], south1);
                    const uint carry = majority(sum1[now][s][i], sum1[last][s][i], south1);
                    const uint odd = parity(sum2[now][s][i], sum2[last][s][i], south2);
                    const uint many = majority(sum2[now][s][i], sum2[last][s][i], south2);
                    next[i] = alive(ones, carry, odd, many, here[last][s][i]);
                    if (i == WORDS || bordered)
                        next[i] &= beyond ? 0 : cells[i];
                    sum1[now][s][i] = south1;
                    sum2[now][s][i] = south2;
                    here[now][s][i] = row[i];
                }
#pragma unroll
                for (int i = 0; i < RING; ++i)
                    row[i] = next[i];
            }
            if (y - STEPS >= first && y - STEPS < end) {
                global Vector *p = (global Vector *)to + (size_t)(y - STEPS) * vectors + x;
                *p = (uint4)(row[0], row[1], row[2], row[3]);
            }
        }
}

// A mask of the 32 cells that begin at `column`: those on a board of `width` columns.
static inline uint on_board(uint column, uint width)
{
    return column >= width ? 0 : width - column >= 32 ? ~0u : (1u << (width - column)) - 1;
}

kernel void step_steps(global const uint *restrict from, global uint *restrict to, uint vectors, int height,
                       uint width, int rows)
{
    const uint x = (uint)get_global_id(0);
    const int first = (int)get_global_id(1) * rows;
    if (x >= vectors || first >= height)
        return;
    uint cells[RING];
#pragma unroll
    for (int i = 0; i < WORDS; ++i)
        cells[i] = on_board((x * WORDS + i) * 32, width);
    const uint next = (x + 1) * WORDS * 32;
    cells[WORDS] = (x > 0 ? 0xffff0000u : 0) | (on_board(next, width) & 0xffffu);
    const int end = min(first + rows, height);
    // Decided once for the work-group: a wave whose lanes diverged would execute both branches.
    const uint columns = (uint)((get_group_id(0) + 1) * get_local_size(0)), strips = (uint)get_local_size(1);
    const int top = (int)(get_group_id(1) * strips) * rows, bottom = top + (int)strips * rows;
    if (top < STEPS || bottom + STEPS > height || columns * WORDS * 32 > width)
        strip(from, to, x, first, end, vectors, height, cells, true);
    else
        strip(from, to, x, first, end, vectors, height, cells, false);
}
