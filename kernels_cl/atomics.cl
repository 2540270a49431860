// Atomic adds to global memory. Every work-item adds PASSES numbers, which differ between work-items and passes.
// Sums wrap around, so that they do not depend on the order.

inline uint addend(uint item, uint pass)
{
    return item * 2654435761u + pass;
}

// Neighbouring work-items add to neighbouring addresses, and begin again at the first after `mask` + 1 of them: no
// compiler can know which work-items meet at one address.
kernel void add_spread(global uint *restrict counters, uint mask, uint passes)
{
    const uint item = (uint)get_global_id(0);
    const uint items = (uint)get_global_size(0);
    for (uint pass = 0; pass < passes; ++pass)
        atomic_add(&counters[(pass * items + item) & mask], addend(item, pass));
}

// All work-items of a group add to one address of their own, which compilers can see: they may add up a wave first.
kernel void add_by_group(global uint *restrict counters, uint passes)
{
    const uint item = (uint)get_global_id(0);
    global uint *own = counters + get_group_id(0) * WORDS_APART;
    for (uint pass = 0; pass < passes; ++pass)
        atomic_add(own, addend(item, pass));
}

// Each pass, a group adds up its numbers in local memory, halving by halving; one work-item adds the sum to the one
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
        // The next pass writes sums[0] by the same work-item that reads it here: no barrier is needed between.
        if (lane == 0)
            atomic_add(counter, sums[0]);
    }
}
