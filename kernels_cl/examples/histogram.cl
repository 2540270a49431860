// Counts of 256 values: atomic additions in local memory, then one per value in global memory.

kernel void histogram(global uint *restrict counts, global const uchar *restrict data, const uint n)
{
    local uint bins[256];

    for (uint i = get_local_id(0); i < 256; i += get_local_size(0))
        bins[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&bins[data[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_local_id(0); i < 256; i += get_local_size(0))
        atomic_add(&counts[i], bins[i]);
}
