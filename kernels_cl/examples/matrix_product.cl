// c = a b for square matrices of floats; each work-group computes a tile of TILE x TILE elements.

kernel void multiply(global float *restrict c, global const float *restrict a, global const float *restrict b, const uint n)
{
    local float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const uint x = get_global_id(0), y = get_global_id(1), column = get_local_id(0), row = get_local_id(1);
    float sum = 0;

    for (uint k = 0; k < n; k += TILE) {
        tile_a[row][column] = a[y * n + k + column];
        tile_b[row][column] = b[(k + row) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < TILE; ++i)
            sum += tile_a[row][i] * tile_b[i][column];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}
