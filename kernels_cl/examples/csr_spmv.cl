// Sparse matrix times vector; compressed rows, one per work-item.

kernel void multiply(
    global float *restrict y, global const uint *restrict starts, global const uint *restrict columns,
    global const float *restrict values, global const float *restrict x, const uint rows)
{
    const uint row = get_global_id(0);
    float sum = 0;

    if (row >= rows)
        return;
    for (uint i = starts[row]; i < starts[row + 1]; ++i)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}
