// y = y + a x

kernel void saxpy(global float *restrict y, global const float *restrict x, const float a, const uint n)
{
    const uint i = get_global_id(0);

    if (i < n)
        y[i] += a * x[i];
}
