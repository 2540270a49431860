// Rows are exchanged in local memory: one row per work-item, one barrier per round, two halves of local memory in turn.
#include "bit_transpose/rounds.h"

// TWO_D: a column of work-items processes whole tiles, one below the other. Columns are ROWS words apart in local
// memory, and so are consecutive work-items, which are neighbours in x. If ROWS is a multiple of the number of banks,
// all of them access the same bank.
#ifdef TWO_D
#define COLUMN (uint)get_local_id(0)
#define ROW (uint)get_local_id(1)
#define ROWS (uint)get_local_size(1)
#else
#define COLUMN 0u
#define ROW (uint)get_local_id(0)
#define ROWS (uint)get_local_size(0)
#endif

kernel void transpose(global const uint *restrict from, global uint *restrict to, uint tiles, local uint *words)
{
    const size_t group = get_group_id(0);
    const uint size = (uint)(get_local_size(0) * get_local_size(1));
    const size_t i = group * size + COLUMN * ROWS + ROW;
    const bool inside = i / 32 < tiles;
    const uint row = ROW;
    const uint column = COLUMN * ROWS;
    uint value = inside ? from[i] : 0;
    uint offset = 0;
    REPEATED
    for (uint r = 0; r < REPEATS; ++r) {
        ROUNDS
        for (uint round = FIRST_ROUND; round < 5; ++round) {
            const uint distance = DISTANCE(round);
            local uint *tile = words + offset + column;
            tile[row] = value;
            barrier(CLK_LOCAL_MEM_FENCE);
            value = EXCHANGE_ROW(value, tile[row ^ distance], UPPER(row, distance), distance, MASKS[round]);
            offset = size - offset;
        }
    }
    if (inside)
        to[i] = value;
}
