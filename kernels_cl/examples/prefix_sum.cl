// Inclusive prefix sum of the elements of each work-group.

kernel void scan(global uint *restrict sums, global const uint *restrict x, local uint *restrict parts)
{
    const uint i = get_global_id(0), me = get_local_id(0);
    uint sum = x[i];

    for (uint distance = 1; distance < get_local_size(0); distance *= 2) {
        parts[me] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me >= distance)
            sum += parts[me - distance];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sums[i] = sum;
}
