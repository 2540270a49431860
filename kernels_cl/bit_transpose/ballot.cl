// A ballot of bit c of all rows is row c of the transposed matrix. Of the 32 ballots, each lane keeps the one of its
// row.
#include "bit_transpose/rounds.h"
#include "common/sub_group.h"

INLINE void transpose_lanes(private uint *rows, const uint count, uint lane)
{
    const uint lanes = 32 / count;
    uint kept[4] = {0, 0, 0, 0};
#pragma unroll
    for (uint column = 0; column < 32; ++column) {
        uint votes = 0;
#pragma unroll
        for (uint k = 0; k < count; ++k)
            votes |= wave_ballot(rows[k] & 1u << column) << k * lanes;
        // `column / lanes` is a compile-time constant, so the array stays in registers.
        kept[column / lanes] = lane == column % lanes ? votes : kept[column / lanes];
    }
#pragma unroll
    for (uint k = 0; k < count; ++k)
        rows[k] = kept[k];
}

#include "bit_transpose/lanes.h"

WAVE(LANES) kernel void transpose(global const uint *restrict from, global uint *restrict to, uint tiles)
{
    TRANSPOSE_TILES(from, to, tiles);
}
