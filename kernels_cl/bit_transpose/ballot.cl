// A ballot of bit c of all rows is row c of the transposed matrix: 32 ballots, of which each lane keeps its own.
#include "bit_transpose/rounds.h"
#include "common/sub_group.h"

INLINE void transpose_lanes(private uint *rows, const uint count, uint lane)
{
    const uint lanes = 32 / count;
    uint turned[4] = {0, 0, 0, 0};
#pragma unroll
    for (uint column = 0; column < 32; ++column) {
        uint votes = 0;
#pragma unroll
        for (uint k = 0; k < count; ++k)
            votes |= wave_ballot(rows[k] & 1u << column) << k * lanes;
        // `column / lanes` is known when compiled: no register is chosen by an index.
        turned[column / lanes] = lane == column % lanes ? votes : turned[column / lanes];
    }
#pragma unroll
    for (uint k = 0; k < count; ++k)
        rows[k] = turned[k];
}

#include "bit_transpose/lanes.h"

WAVE(LANES) kernel void transpose(global const uint *restrict from, global uint *restrict to, uint tiles)
{
    TRANSPOSE_TILES(from, to, tiles);
}
