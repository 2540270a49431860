// Read bandwidth of caches and memory, in kernels that do nothing else.
#include "common/keep.h"

// One load: 16 bytes per lane of a GPU, a whole cache line on a CPU.
#if WORDS == 16
typedef uint16 Vector;
#else
typedef uint4 Vector;
#endif

inline uint folded_vector(Vector v)
{
#if WORDS == 16
    const uint8 a = v.lo ^ v.hi;
    const uint4 b = a.lo ^ a.hi;
#else
    const uint4 b = v;
#endif
    return b.x ^ b.y ^ b.z ^ b.w;
}

// Read bandwidth of the levels that all compute units share. A work-group reads CHUNKS consecutive chunks of the data
// and wraps at its end. Successive work-groups read successive parts, so the passes over the data follow each other,
// whichever compute units run the groups. A chunk has VECTORS vectors per work-item; neighbouring work-items read
// neighbouring vectors. The first `written` work-items store a fold of their data: all of them when results are
// checked, none when timed.
kernel void read_shared(global const Vector *restrict data, uint chunks, uint written, global uint *restrict folded)
{
    const uint local_size = (uint)get_local_size(0);
    uint chunk = (uint)(((ulong)get_group_id(0) * CHUNKS) % chunks);
    Vector sum = (Vector)(0);
#pragma unroll
    for (uint c = 0; c < CHUNKS; ++c) {
        global const Vector *p = data + (size_t)chunk * VECTORS * local_size + get_local_id(0);
#pragma unroll 8
        for (uint v = 0; v < VECTORS; ++v)
            sum ^= p[v * local_size];
        chunk = chunk + 1 == chunks ? 0 : chunk + 1;
    }
    const size_t i = get_global_id(0);
    KEEP(folded, i, written, folded_vector(sum));
}

// Read bandwidth of the caches of compute units: each work-group reads its own region repeatedly.
// `zero` is 0, but the compiler does not know this, so it cannot replace the passes by one.
kernel void read_private(global const Vector *restrict data, uint vectors, uint passes, uint zero,
                         uint written, global uint *restrict folded)
{
    const uint local_size = (uint)get_local_size(0);
    global const Vector *region = data + (size_t)get_group_id(0) * vectors;
    Vector sum = (Vector)(0);
    for (uint pass = 0; pass < passes; ++pass) {
#pragma unroll 4
        for (uint v = (uint)get_local_id(0); v < vectors; v += local_size)
            sum += region[v];
        region += zero;
    }
    const size_t i = get_global_id(0);
    KEEP(folded, i, written, folded_vector(sum));
}
