// Conway's Game of Life, one bit a cell, STEPS generations a dispatch (temporal blocking): memory is read and written
// once for all of them. Cells beyond the border are dead. Rows are whole vectors; bits beyond the last column are zero.
//
// A work-item goes down a strip of four words of 32 cells. Generations follow each other in a pipeline: as soon as a
// generation has three rows, the next one has its middle row. The cells beyond the strip's edges that matter, 16 to the
// west and 16 to the east, share one word more: its upper half continues the strip to the west, its lower half to the
// east, so that the words form a ring. Nonsense spreads from the middle of that word by one cell a generation and never
// gets out of it, since STEPS is at most 16. 2 STEPS more rows are read than written.
#include "common/logic.h"

#define WORDS 4
#define RING (WORDS + 1)

typedef uint4 Vector;

static inline uint parity(uint a, uint b, uint c)
{
    uint result;
    LOGIC(result, a ^ b ^ c, 0x96, a, b, c);
    return result;
}

static inline uint majority(uint a, uint b, uint c)
{
    uint result;
    LOGIC(result, (a & b) | (c & (a | b)), 0xe8, a, b, c);
    return result;
}

// Which cells live, of whose nine (the middle one, `here`, included) ones + 2 * (carry + odd + 2 * many) are alive:
// three, or four of which the middle one is one. Three operations of three inputs; found by search. Where `ones` is not
// set, `fits` also holds for no cell at all, but then `here` is not set either.
static inline uint alive(uint ones, uint carry, uint odd, uint many, uint here)
{
    uint single, fits, result;
    LOGIC(single, (carry ^ odd ^ many) & ~(carry & odd & many), 0x16, carry, odd, many);
    LOGIC(fits, (ones & single & ~many) | (~ones & ~(single ^ many)), 0x49, ones, single, many);
    LOGIC(result, fits & (ones | here), 0xe0, fits, ones, here);
    return result;
}

// The words of a row with the word before and the word after.
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

// One strip. `bordered`: cells beyond the border, where `cells` is 0, must be kept dead in every generation between.
static inline void strip(global const uint *restrict from, global uint *restrict to, uint x, int first, int end,
                         uint vectors, int height, const uint *cells, bool bordered)
{
    // Of the two rows before, for each generation: sums of each cell and its two neighbours within the row, in two bit
    // planes, and the cells. Rows of even number use slot 0, odd ones slot 1: nothing has to move.
    uint sum1[2][STEPS][RING], sum2[2][STEPS][RING], here[2][STEPS][RING];
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
#pragma unroll
        for (int i = 0; i < RING; ++i)
            sum1[0][s][i] = sum1[1][s][i] = sum2[0][s][i] = sum2[1][s][i] = here[0][s][i] = here[1][s][i] = 0;

    // Row y of generation 0 gives row y - s of generation s; what the pipeline gives before it is full is not used.
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
            ahead = load_row(from, x, y + 1, vectors, height); // it comes while this row is worked on
#pragma unroll
            for (int s = 0; s < STEPS; ++s) {
                const int at = y - s - 1;
                const bool beyond = bordered && (at < 0 || at >= height);
                // The row before the last is in the slot that this row will take.
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

// Of 32 cells from a column on, those that are on a board of a width.
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
    // The same answer for all of a work-group: where lanes of a wave went different ways, it would go both.
    const uint columns = (uint)((get_group_id(0) + 1) * get_local_size(0)), strips = (uint)get_local_size(1);
    const int top = (int)(get_group_id(1) * strips) * rows, bottom = top + (int)strips * rows;
    if (top < STEPS || bottom + STEPS > height || columns * WORDS * 32 > width)
        strip(from, to, x, first, end, vectors, height, cells, true);
    else
        strip(from, to, x, first, end, vectors, height, cells, false);
}
