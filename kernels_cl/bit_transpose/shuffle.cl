// Rows are exchanged by sub-group shuffles; rows of the same lane (in narrow sub-groups) in its registers.
#include "bit_transpose/rounds.h"
#include "common/sub_group.h"

INLINE void transpose_lanes(private uint *rows, const uint count, uint lane)
{
    const uint lanes = 32 / count;
#pragma unroll
    for (uint round = FIRST_ROUND; round < 5; ++round) {
        const uint distance = DISTANCE(round);
        uint others[4];
#pragma unroll
        for (uint k = 0; k < count; ++k)
            others[k] = distance < lanes ? wave_shuffle_xor(rows[k], distance % lanes) : rows[k ^ (distance / lanes)];
#pragma unroll
        for (uint k = 0; k < count; ++k)
            rows[k] = EXCHANGE_ROW(rows[k], others[k], UPPER(k * lanes + lane, distance), distance, MASKS[round]);
    }
}

#include "bit_transpose/lanes.h"

WAVE(LANES) kernel void transpose(global const uint *restrict from, global uint *restrict to, uint tiles)
{
    TRANSPOSE_TILES(from, to, tiles);
}
