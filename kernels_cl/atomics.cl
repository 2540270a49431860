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
