// A tile in the lanes of one sub-group, `count` rows per lane: 1 for 32 lanes or more (64 lanes process two tiles), 2
// for 16 lanes, 4 for 8. The k-th row of a lane is row k * (32 / count) + lane of the tile.
//
// Include this after `transpose_lanes(rows, count, lane)`, which transposes once.
// The dispatch has one work-item per row; where lanes have several rows, the surplus sub-groups return at once.

INLINE void transpose_tiles(global const uint *restrict from, global uint *restrict to, uint tiles, const uint count)
{
    const uint lanes = 32 / count;
    const uint item = wave_item();
    const uint lane = item % lanes;
    const uint of_group = (uint)get_local_size(0) / 32;
    if (item / lanes >= of_group)
        return;
    const size_t tile = get_group_id(0) * of_group + item / lanes;
    const size_t start = tile * 32 + lane;
    uint rows[4];
#pragma unroll
    for (uint k = 0; k < count; ++k)
        rows[k] = tile < tiles ? from[start + k * lanes] : 0;
    for (uint r = 0; r < REPEATS; ++r)
        transpose_lanes(rows, count, lane);
#pragma unroll
    for (uint k = 0; k < count; ++k)
        if (tile < tiles)
            to[start + k * lanes] = rows[k];
}

#ifndef LANES
#define LANES 32
#endif

// Where a kernel cannot require a sub-group size, the size is uniform, and most compilers know it.
#ifdef SUB_GROUP_SIZED
#define WIDTH LANES
#else
#define WIDTH wave_size()
#endif

#define TRANSPOSE_TILES(from, to, tiles)         \
    do {                                         \
        if (WIDTH >= 32)                         \
            transpose_tiles(from, to, tiles, 1); \
        else if (WIDTH == 16)                    \
            transpose_tiles(from, to, tiles, 2); \
        else if (WIDTH == 8)                     \
            transpose_tiles(from, to, tiles, 4); \
    } while (0)
