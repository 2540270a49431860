// Access patterns: the cost of accesses by neighbouring work-items to words that are not adjacent. Each work-item
// accesses PER_ITEM words; successive words are one work-group size apart. `groups` work-groups process the `count`
// words once (the last group may be partial); further work-groups start again at the first word. In the kernel that
// reads, the first `written` work-items store a result: all of them when results are checked, none when timed.
#include "common/keep.h"

// Reads every STRIDE-th 4-byte word.
kernel void strided(global const uint *restrict data, uint count, uint groups, uint written,
                    global uint *restrict folded)
{
    const uint size = (uint)get_local_size(0);
    const uint begin = (uint)get_group_id(0) % groups * size * PER_ITEM;
    const uint first = begin + (uint)get_local_id(0);
    uint sum = 0;
    if (begin + size * PER_ITEM <= count) {
#pragma unroll
        for (uint v = 0; v < PER_ITEM; ++v)
            sum ^= data[(size_t)(first + v * size) * STRIDE];
    } else {
        for (uint v = 0; v < PER_ITEM; ++v)
            if (first + v * size < count)
                sum ^= data[(size_t)(first + v * size) * STRIDE];
    }
    const size_t i = get_global_id(0);
    KEEP(folded, i, written, sum);
}

// Writes every STRIDE-th 4-byte word, in several passes.
kernel void scatter(global uint *restrict data, uint count, uint groups, uint seed)
{
    const uint size = (uint)get_local_size(0);
    const uint first = (uint)get_group_id(0) % groups * size * PER_ITEM + (uint)get_local_id(0);
#pragma unroll
    for (uint v = 0; v < PER_ITEM; ++v) {
        const uint i = first + v * size;
        if (i < count)
            data[(size_t)i * STRIDE] = seed * i;
    }
}
