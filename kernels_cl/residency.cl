// How many work-groups are resident at once: a group counts itself when it starts, waits, and leaves the count.

#define MULTIPLIER 1664525u
#define INCREMENT 1013904223u

// counts[0]: groups that are resident now; counts[1]: groups that ran; counts[2]: the most that were resident at once.
// The wait has a fixed length, so groups never wait for each other. One work-item waits, the others of its group wait
// for it at a barrier. KEPT registers of each work-item contain values that are used after the wait.
kernel void reside(global uint *restrict counts, global const uint *restrict data, uint steps, local uint *restrict used,
                   global uint *restrict result)
{
    const uint item = (uint)get_local_id(0);
    uint kept[KEPT];
    for (int i = 0; i < KEPT; ++i)
        kept[i] = ((global const volatile uint *)data)[item + i];
    if (item == 0) {
        atomic_max(&counts[2], atomic_inc(&counts[0]) + 1);
        uint x = kept[0];
        for (uint i = 0; i < steps; ++i)
            x = x * x + INCREMENT; // unlike multiples, squares cannot be combined into fewer steps
        used[0] = x;
        atomic_inc(&counts[1]);
        atomic_dec(&counts[0]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = used[0];
    for (int i = 0; i < KEPT; ++i)
        sum = sum * MULTIPLIER + kept[i];
    if (sum == 0x9e3779b9u) // practically never true, but the compiler does not know
        result[0] = sum;
}
