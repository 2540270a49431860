// Sum of a vector of integers: each work-item adds several elements, and each work-group stores one sum.

kernel void reduce(global uint *restrict sums, global const uint *restrict x, local uint *restrict parts, const uint n)
{
    const uint me = get_local_id(0);
    uint sum = 0;

    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        sum += x[i];
    parts[me] = sum;
    for (uint active = get_local_size(0) / 2; active > 0; active /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < active)
            parts[me] += parts[me + active];
    }
    if (me == 0)
        sums[get_group_id(0)] = parts[0];
}
