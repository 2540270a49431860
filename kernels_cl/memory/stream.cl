// Streams: write, copy, triad. A work-item processes PER_ITEM vectors of WORDS 4-byte words. Its vectors are one
// work-group size apart, so that neighbouring work-items access neighbouring vectors. All loads precede the first
// store.

#if WORDS == 4
typedef uint4 words;
typedef float4 reals;
#define FACTORS (uint4)(1, 3, 5, 7)
#else
typedef uint2 words;
typedef float2 reals;
#define FACTORS (uint2)(1, 3)
#endif

inline size_t first_vector(void)
{
    return (size_t)get_group_id(0) * get_local_size(0) * PER_ITEM + get_local_id(0);
}

// The data of `write`: every word differs, so that no hardware can compress it as a repetition.
inline words pattern(uint i, uint seed)
{
    return seed * FACTORS + i;
}

kernel void write(global words *restrict to, uint vectors, uint seed)
{
    const size_t first = first_vector(), step = get_local_size(0);
#pragma unroll
    for (uint v = 0; v < PER_ITEM; ++v) {
        const size_t i = first + v * step;
        if (i < vectors)
            to[i] = pattern((uint)i, seed);
    }
}

kernel void copy(global const words *restrict from, global words *restrict to, uint vectors)
{
    const size_t first = first_vector(), step = get_local_size(0);
    words loaded[PER_ITEM];
#pragma unroll
    for (uint v = 0; v < PER_ITEM; ++v) {
        const size_t i = first + v * step;
        if (i < vectors)
            loaded[v] = from[i];
    }
#pragma unroll
    for (uint v = 0; v < PER_ITEM; ++v) {
        const size_t i = first + v * step;
        if (i < vectors)
            to[i] = loaded[v];
    }
}

// a = b + s c
kernel void triad(global reals *restrict a, global const reals *restrict b, global const reals *restrict c,
                  uint vectors, float s)
{
    const size_t first = first_vector(), step = get_local_size(0);
    reals left[PER_ITEM], right[PER_ITEM];
#pragma unroll
    for (uint v = 0; v < PER_ITEM; ++v) {
        const size_t i = first + v * step;
        if (i < vectors) {
            left[v] = b[i];
            right[v] = c[i];
        }
    }
#pragma unroll
    for (uint v = 0; v < PER_ITEM; ++v) {
        const size_t i = first + v * step;
        if (i < vectors)
            a[i] = left[v] + s * right[v];
    }
}
