// A test whether the device runs kernels: each work-group reverses its part of the data through local memory.
kernel void check(global const uint *restrict from, global uint *restrict to)
{
    local uint part[GROUP];
    const size_t i = get_global_id(0), l = get_local_id(0);
    part[l] = from[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[i] = part[GROUP - 1 - l] + 1;
}
