// Distances 16 and 8 through local memory; 4, 2 and 1 by shuffles, for which 8 lanes suffice. One row per work-item.
#include "bit_transpose/rounds.h"
#include "common/sub_group.h"

kernel void transpose(global const uint *restrict from, global uint *restrict to, uint tiles, local uint *words)
{
    const uint item = wave_item();
    const uint row = item % 32;
    const size_t i = get_group_id(0) * get_local_size(0) + item;
    const bool inside = i / 32 < tiles;
    uint value = inside ? from[i] : 0;
    REPEATED
    for (uint r = 0; r < REPEATS; ++r) {
        ROUNDS
        for (uint round = 0; round < 5; ++round) {
            const uint distance = DISTANCE(round);
            uint other;
            if (distance >= 8) {
                // The two rounds use different halves of local memory, so one barrier per round suffices.
                local uint *mine = words + round * get_local_size(0);
                mine[item] = value;
                barrier(CLK_LOCAL_MEM_FENCE);
                other = mine[item ^ distance];
            } else {
                other = wave_shuffle_xor(value, distance);
            }
            value = EXCHANGE_ROW(value, other, UPPER(row, distance), distance, MASKS[round]);
        }
    }
    if (inside)
        to[i] = value;
}
