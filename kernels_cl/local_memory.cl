// Local-memory primitive: bandwidth by width of an access and by stride from work-item to work-item.
//
// Each work-item follows CHAINS chains through a table in local memory. An element is WIDTH bytes; its words, folded,
// number the next element of the chain: no access can be left out, none made before the one before
// it, and no word of an element is spared. All chains move on by the same distance, so that work-items stay as far
// apart as they began, and with them the banks.
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

// Words of the table: whole rows of 32 banks, and room for 64 work-items 33 words apart.
#define TABLE (64 * 33)
#define ELEMENTS (TABLE * 4 / WIDTH)

// Work-item i begins `stride` elements after work-item i - 1, and each of its chains 40 elements after the one before.
// The first `written` work-items store where their chains end: all of them when results are checked, none when timed.
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
