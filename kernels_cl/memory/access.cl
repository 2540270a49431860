// Access patterns: what reading costs when neighbouring work-items do not read neighbouring, aligned words.
// In both kernels the first `written` work-items store what they read: all of them when results are checked, none when
// timed. A work-item reads PER_ITEM words, the whole group's apart.

inline size_t first_word(void)
{
    return (size_t)get_group_id(0) * get_local_size(0) * PER_ITEM + get_local_id(0);
}

// One 4-byte word of every `stride`.
kernel void strided(global const uint *restrict data, uint count, uint stride, uint written,
                    global uint *restrict folded)
{
    uint sum = 0;
#pragma unroll
    for (uint v = 0; v < PER_ITEM; ++v) {
        const size_t word = first_word() + v * get_local_size(0);
        if (word < count)
            sum ^= data[word * stride];
    }
    const size_t i = get_global_id(0);
    if (i < written)
        folded[i] = sum;
}

// Contiguous words of WIDTH bytes, the first of them `offset` bytes into a buffer that is aligned itself.
// Words of 16 bytes that lie on 16-byte boundaries are loaded as one (WHOLE), others as vload4 may load them: OpenCL
// promises it four-byte alignment only.
#if WIDTH == 16 && WHOLE
#define WORD(data, i) ((global const uint4 *)(data))[i]
#elif WIDTH == 16
#define WORD(data, i) vload4(i, (global const uint *)(data))
#else
#define WORD(data, i) (uint4)(((global const uint *)(data))[i], 0, 0, 0)
#endif

kernel void misaligned(global const uchar *restrict data, uint count, uint offset, uint written,
                       global uint *restrict folded)
{
    uint4 sum = (uint4)(0);
#pragma unroll
    for (uint v = 0; v < PER_ITEM; ++v) {
        const size_t word = first_word() + v * get_local_size(0);
        if (word < count)
            sum ^= WORD(data + offset, word);
    }
    const size_t i = get_global_id(0);
    if (i < written)
        folded[i] = sum.x ^ sum.y ^ sum.z ^ sum.w;
}
