// Access patterns: the cost of accesses by neighbouring work-items to words that are not adjacent or not aligned. Each
// work-item accesses PER_ITEM words; successive words are one work-group size apart. `groups` work-groups process the
// `count` words once (the last group may be partial); further work-groups start again at the first word. In the kernels
// that read, the first `written` work-items store a result: all of them when results are checked, none when timed.
#include "common/keep.h"

#define READ_ALL(sum, WORD)                                               \
    const uint size = (uint)get_local_size(0);                            \
    const uint begin = (uint)get_group_id(0) % groups * size * PER_ITEM;  \
    const uint first = begin + (uint)get_local_id(0);                     \
    if (begin + size * PER_ITEM <= count) {                               \
        _Pragma("unroll") for (uint v = 0; v < PER_ITEM; ++v)             \
            sum ^= WORD(first + v * size);                                \
    } else {                                                              \
        for (uint v = 0; v < PER_ITEM; ++v)                               \
            if (first + v * size < count)                                 \
                sum ^= WORD(first + v * size);                            \
    }

// Reads every STRIDE-th 4-byte word.
kernel void strided(global const uint *restrict data, uint count, uint groups, uint written,
                    global uint *restrict folded)
{
#define STRIDED_WORD(i) data[(size_t)(i) * STRIDE]
    uint sum = 0;
    READ_ALL(sum, STRIDED_WORD)
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

// Contiguous words of WIDTH bytes, starting OFFSET bytes into an aligned buffer. 16-byte words on 16-byte boundaries
// are loaded as vectors, others by vload4, for which OpenCL requires four-byte alignment only.
#if WIDTH == 16 && OFFSET % 16 == 0
#define ALIGNED_WORD(i) ((global const uint4 *)(data + OFFSET / 4))[i]
#elif WIDTH == 16
#define ALIGNED_WORD(i) vload4(i, data + OFFSET / 4)
#else
#define ALIGNED_WORD(i) (data + OFFSET / 4)[i]
#endif

kernel void misaligned(global const uint *restrict data, uint count, uint groups, uint written,
                       global uint *restrict folded)
{
#if WIDTH == 16
    uint4 words = (uint4)(0);
    READ_ALL(words, ALIGNED_WORD)
    const uint sum = words.x ^ words.y ^ words.z ^ words.w;
#else
    uint sum = 0;
    READ_ALL(sum, ALIGNED_WORD)
#endif
    const size_t i = get_global_id(0);
    KEEP(folded, i, written, sum);
}
