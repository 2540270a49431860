// Local-memory microbenchmark: bandwidth by access width and by stride between work-items.
//
// Each work-item follows CHAINS chains through a table in local memory. An element has WIDTH bytes; the xor of its
// words is the index of the next element of the chain. The compiler can neither omit nor reorder accesses, nor skip a
// word. All chains advance by the same distance, so the stride between work-items, and with it the bank conflicts, is
// constant.
#include "common/keep.h"

#if WIDTH == 16
typedef uint4 Element;
#define FOLDED(e) ((e).x ^ (e).y ^ (e).z ^ (e).w)
#elif WIDTH == 8
typedef uint2 Element;
#define FOLDED(e) ((e).x ^ (e).y)
#else
typedef uint Element;
#define FOLDED(e) (e)
#endif

// Words of the table: a multiple of 32 banks, and enough for 64 work-items with a stride of 33 words.
#define TABLE (64 * 33)
#define ELEMENTS (TABLE * 4 / WIDTH)

// Work-item i starts `stride` elements after work-item i - 1, and each of its chains 40 elements after the previous
// one. The first `written` work-items store the ends of their chains: all of them when results are checked, none when
// timed.
kernel void bandwidth(global const Element *restrict contents, uint stride, uint rounds, uint written,
                      global uint *restrict folded)
{
    local Element table[ELEMENTS];
    for (uint e = (uint)get_local_id(0); e < ELEMENTS; e += (uint)get_local_size(0))
        table[e] = contents[e];
    barrier(CLK_LOCAL_MEM_FENCE);

    uint at[CHAINS];
#pragma unroll
    for (uint c = 0; c < CHAINS; ++c)
        at[c] = ((uint)get_local_id(0) * stride + 40 * c) % ELEMENTS;

    for (uint round = 0; round < rounds; ++round)
#pragma unroll
        for (uint step = 0; step < STEPS; ++step)
#pragma unroll
            for (uint c = 0; c < CHAINS; ++c) {
                const Element e = table[at[c]];
                at[c] = FOLDED(e);
            }

    uint sum = 0;
#pragma unroll
    for (uint c = 0; c < CHAINS; ++c)
        sum = 3u * sum ^ at[c];
    const size_t i = get_global_id(0);
    KEEP(folded, i, written, sum);
}
