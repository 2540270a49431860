// Four rows per lane, eight lanes per tile: a lane transfers 16 contiguous bytes, a sub-group whole lines. Distances
// 16, 8 and 4 are shuffles between lanes; 2 and 1 stay in the lane's registers.
#include "bit_transpose/rounds.h"
#include "common/sub_group.h"

kernel void transpose(global const uint4 *restrict from, global uint4 *restrict to, uint tiles)
{
    const uint item = wave_item();
    const uint first = item % 8 * 4;
    const size_t i = get_group_id(0) * get_local_size(0) + item;
    const bool inside = i / 8 < tiles;
    const uint4 given = inside ? from[i] : 0;
    uint rows[4] = {given.x, given.y, given.z, given.w};
    for (uint r = 0; r < REPEATS; ++r) {
#pragma unroll
        for (uint round = FIRST_ROUND; round < 5; ++round) {
            const uint distance = DISTANCE(round);
            uint others[4];
#pragma unroll
            for (uint k = 0; k < 4; ++k)
                others[k] = distance >= 4 ? wave_shuffle_xor(rows[k], distance / 4) : rows[k ^ distance % 4];
#pragma unroll
            for (uint k = 0; k < 4; ++k)
                // The argument of UPPER is either the same for all four rows or a compile-time constant.
                rows[k] = EXCHANGE_ROW(rows[k], others[k], UPPER(distance < 4 ? k : first, distance), distance,
                                       MASKS[round]);
        }
    }
    if (inside)
        to[i] = (uint4)(rows[0], rows[1], rows[2], rows[3]);
}
