// Sum of the six neighbours minus six times the centre in a cube (Laplace operator); the surface stays unchanged.

kernel void laplace(global float *restrict to, global const float *restrict from, const uint n)
{
    const uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2), i = (z * n + y) * n + x;

    if (x > 0 && y > 0 && z > 0 && x < n - 1 && y < n - 1 && z < n - 1)
        to[i] = from[i - 1] + from[i + 1] + from[i - n] + from[i + n] + from[i - n * n] + from[i + n * n] - 6 * from[i];
}
