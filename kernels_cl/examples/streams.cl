// The five kernels of the STREAM benchmark; `b` and `c` are read, `a` is written.

kernel void copy(global double *restrict a, global const double *restrict b)
{
    const size_t i = get_global_id(0);

    a[i] = b[i];
}

kernel void scale(global double *restrict a, global const double *restrict b, const double s)
{
    const size_t i = get_global_id(0);

    a[i] = s * b[i];
}

kernel void add(global double *restrict a, global const double *restrict b, global const double *restrict c)
{
    const size_t i = get_global_id(0);

    a[i] = b[i] + c[i];
}

kernel void triad(
    global double *restrict a, global const double *restrict b, global const double *restrict c, const double s)
{
    const size_t i = get_global_id(0);

    a[i] = b[i] + s * c[i];
}

// Each work-group adds its elements in local memory and stores one sum.
kernel void dot_product(
    global double *restrict sums, global const double *restrict b, global const double *restrict c,
    local double *restrict products)
{
    const size_t i = get_global_id(0), me = get_local_id(0);

    products[me] = b[i] * c[i];
    for (size_t active = get_local_size(0) / 2; active > 0; active /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < active)
            products[me] += products[me + active];
    }
    if (me == 0)
        sums[get_group_id(0)] = products[0];
}
