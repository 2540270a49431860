// Mean of the four neighbours on a board with a fixed border (Jacobi iteration).

kernel void jacobi(global float *restrict to, global const float *restrict from, const uint width, const uint height)
{
    const uint x = get_global_id(0), y = get_global_id(1), i = y * width + x;

    if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
        to[i] = 0.25f * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
}
