// Latency of dependent loads from different pages: address translation.

// A page contains one element: the address of the next element, and its own number in the chain.
// Four buffers of PART bytes form the range of addresses, because a single buffer may not be large enough. Elements
// start at different lines of their pages, so that they do not all map to the same cache sets.
global ulong *element(global uchar *a, global uchar *b, global uchar *c, global uchar *d, uint page)
{
    const ulong at = (ulong)page * PAGE + (page * 2654435761u >> 8) % (uint)(PAGE / LINE) * (ulong)LINE;
    global uchar *const part = at / PART == 0 ? a : at / PART == 1 ? b : at / PART == 2 ? c : d;
    return (global ulong *)(part + at % PART);
}

// Untimed: links all pages to a random cycle. state[0] is the address of the element to read next.
kernel void link(global uchar *a, global uchar *b, global uchar *c, global uchar *d, global const uint *restrict order,
                 global ulong *restrict state, uint pages)
{
    const uint i = (uint)get_global_id(0);
    global ulong *const here = element(a, b, c, d, order[i]);
    here[0] = (ulong)element(a, b, c, d, order[(i + 1) % pages]);
    here[1] = order[i];
    if (i == 0)
        state[0] = (ulong)here;
}

// Volatile loads: GPUs read them from the cache that all compute units share, whose addresses are translated.
// The buffers are arguments because the runtime must know what the kernel reads.
kernel void visit(global uchar *a, global uchar *b, global uchar *c, global uchar *d, global ulong *restrict state,
                  global uint *restrict reached, uint steps)
{
    global volatile ulong *at = (global volatile ulong *)state[0];
    for (uint i = 0; i < steps; ++i)
        at = (global volatile ulong *)at[0];
    state[0] = (ulong)at;
    reached[0] = (uint)at[1];
}
