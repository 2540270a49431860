// Atomic adds to global memory. Every work-item adds PASSES numbers, which differ between work-items and passes.
// Sums wrap around, so that they do not depend on the order.

inline uint addend(uint item, uint pass)
{
    return item * 2654435761u + pass;
}

// Neighbouring work-items add to neighbouring addresses, modulo `mask` + 1. The compiler cannot know which work-items
// add to the same address.
kernel void add_spread(global uint *restrict counters, uint mask, uint passes)
{
    const uint item = (uint)get_global_id(0);
    const uint items = (uint)get_global_size(0);
    for (uint pass = 0; pass < passes; ++pass)
        atomic_add(&counters[(pass * items + item) & mask], addend(item, pass));
}

// All work-items of a work-group add to the same address, one per work-group. The compiler can see this and may first
// add the values of a wave.
kernel void add_by_group(global uint *restrict counters, uint passes)
{
    const uint item = (uint)get_global_id(0);
    global uint *own = counters + get_group_id(0) * WORDS_APART;
    for (uint pass = 0; pass < passes; ++pass)
        atomic_add(own, addend(item, pass));
}

// In each pass, a work-group reduces its numbers in local memory (a tree); one work-item adds the sum to the single
// global counter.
kernel void add_reduced(global uint *restrict counter, local uint *sums, uint passes)
{
    const uint item = (uint)get_global_id(0);
    const uint lane = (uint)get_local_id(0);
    for (uint pass = 0; pass < passes; ++pass) {
        sums[lane] = addend(item, pass);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint left = (uint)get_local_size(0); left > 1;) {
            const uint half_of_it = (left + 1) / 2;
            if (lane + half_of_it < left)
                sums[lane] += sums[lane + half_of_it];
            left = half_of_it;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        // The work-item that reads sums[0] here also writes it in the next pass, so no barrier is needed.
        if (lane == 0)
            atomic_add(counter, sums[0]);
    }
}
