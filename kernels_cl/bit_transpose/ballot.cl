// A ballot of bit c of all rows is row c of the transposed matrix. Of the 32 ballots, each lane keeps the one of its
// row. For 8 x 8 matrices it keeps four, one for each of the four matrices side by side, and from each the byte of its
// eight rows.
#include "bit_transpose/rounds.h"
#include "common/sub_group.h"

// One word from the same byte of four words.
INLINE uint bytes_of(private const uint *words, uint at)
{
    return (words[0] >> at & 0xff) | (words[1] >> at & 0xff) << 8 | (words[2] >> at & 0xff) << 16 |
           (words[3] >> at & 0xff) << 24;
}

INLINE void transpose_lanes(private uint *rows, const uint count, uint lane)
{
    const uint lanes = 32 / count;
    const uint part = FIRST_ROUND == 0 ? lanes : 8;
    const uint own = lane % part;
    uint kept[4] = {0, 0, 0, 0};
#pragma unroll
    for (uint column = 0; column < 32; ++column) {
        uint votes = 0;
#pragma unroll
        for (uint k = 0; k < count; ++k)
            votes |= wave_ballot(rows[k] & 1u << column) << k * lanes;
        // `column / part` is a compile-time constant, so the array stays in registers.
        kept[column / part] = own == column % part ? votes : kept[column / part];
    }
#pragma unroll
    for (uint k = 0; k < count; ++k)
        rows[k] = FIRST_ROUND == 0 ? kept[k] : bytes_of(kept, (k * lanes + lane) / 8 * 8);
}

#include "bit_transpose/lanes.h"

WAVE(LANES) kernel void transpose(global const uint *restrict from, global uint *restrict to, uint tiles)
{
    TRANSPOSE_TILES(from, to, tiles);
}
