// Memory primitives: what the caches and the memory give to kernels that do nothing else.

// Read bandwidth. A work-group reads CHUNKS consecutive chunks of the data, wrapping at the end; successive groups
// follow each other through the data, so that a pass ends before the next begins, whichever compute units run them.
// A chunk is VECTORS vectors for each work-item. COALESCED: neighbouring work-items read neighbouring vectors (GPUs);
// otherwise each work-item reads its own stretch (CPUs, where one work-item is one loop of a core).
// The first `written` work-items store what they read, folded: all of them when results are checked, none when timed.
kernel void read_chunks(global const uint4 *restrict data, uint chunks, uint written, global uint *restrict folded)
{
    const uint local_size = get_local_size(0);
    const uint chunk_vectors = VECTORS * local_size;
    uint chunk = (uint)(((ulong)get_group_id(0) * CHUNKS) % chunks);
    uint4 sum = (uint4)(0);
#pragma unroll
    for (uint c = 0; c < CHUNKS; ++c) {
#ifdef COALESCED
        global const uint4 *p = data + (size_t)chunk * chunk_vectors + get_local_id(0);
#pragma unroll
        for (uint v = 0; v < VECTORS; ++v)
            sum ^= p[v * local_size];
#else
        global const uint4 *p = data + (size_t)chunk * chunk_vectors + get_local_id(0) * VECTORS;
        for (uint v = 0; v < VECTORS; ++v)
            sum ^= p[v];
#endif
        chunk = chunk + 1 == chunks ? 0 : chunk + 1;
    }
    const size_t i = get_global_id(0);
    if (i < written)
        folded[i] = sum.x ^ sum.y ^ sum.z ^ sum.w;
}

// Latency of dependent loads. One work-item follows a random cycle through all lines and remembers where it stopped:
// state[0] is the element it will read next, state[1] how many steps it has made (modulo the number of lines).
kernel void chase(global const uint *restrict next, global uint *restrict state, uint steps, uint lines)
{
    uint at = state[0];
    for (uint i = 0; i < steps; ++i)
        at = next[at];
    state[0] = at;
    state[1] = (state[1] + steps) % lines;
}

// Untimed: touches every line in the order in which the chase would, beginning where it stands, so that caches hold
// what they would hold after a whole lap, without waiting for one.
kernel void lap(global const uint *restrict next, global const uint *restrict order, global const uint *restrict state,
                uint lines, global uint *restrict sink)
{
    const uint i = (uint)get_global_id(0);
    if (i >= lines)
        return;
    const uint position = (uint)(((ulong)state[1] + i) % lines);
    if (next[order[position]] == 0xffffffffu) // never: element numbers are smaller
        sink[0] = i;
}

// Stream copy: one vector a work-item.
kernel void copy(global const uint4 *restrict from, global uint4 *restrict to, uint vectors)
{
    const size_t i = get_global_id(0);
    if (i < vectors)
        to[i] = from[i];
}
