// Four rows a lane, eight lanes a tile: a lane moves 16 contiguous bytes, a sub-group whole lines. Distances 16, 8 and 4
// are shuffles between lanes, 2 and 1 stay in the lane's registers.
#include "bit_transpose/rounds.h"
#include "common/sub_group.h"

inline uint4 partners(uint4 rows, uint distance)
{
    if (distance == 1)
        return rows.yxwz;
    if (distance == 2)
        return rows.zwxy;
    return (uint4)(wave_shuffle_xor(rows.x, distance / 4), wave_shuffle_xor(rows.y, distance / 4),
                   wave_shuffle_xor(rows.z, distance / 4), wave_shuffle_xor(rows.w, distance / 4));
}

kernel void transpose(global const uint4 *restrict from, global uint4 *restrict to, uint tiles)
{
    const uint item = wave_item();
    const size_t i = get_group_id(0) * get_local_size(0) + item;
    const bool inside = i / 8 < tiles;
    uint4 rows = inside ? from[i] : 0;
    for (uint r = 0; r < REPEATS; ++r) {
#pragma unroll
        for (uint round = FIRST_ROUND; round < 5; ++round) {
            const uint distance = DISTANCE(round);
            const uint first = item % 8 * 4;
            const uint4 upper = (uint4)(UPPER(first, distance), UPPER(first + 1, distance), UPPER(first + 2, distance),
                                        UPPER(first + 3, distance));
            rows = EXCHANGE(rows, partners(rows, distance), upper, distance, (uint4)MASKS[round]);
        }
    }
    if (inside)
        to[i] = rows;
}
