// Dependent loads of one work-item that show the lines, sectors and write policy of caches.

// Pairs of loads: each element of a random cycle, then the word that is DISTANCE words farther, which contains zero.
kernel void pairs(global const uint *restrict next, global uint *restrict state, uint steps)
{
    uint at = state[0];
    for (uint i = 0; i < steps; ++i) {
        at = next[at];
        at += next[at + DISTANCE];
    }
    state[0] = at;
}

// Fills the caches with other lines.
kernel void evict(global uint4 *restrict others)
{
    others[get_global_id(0)] = (uint4)((uint)get_global_id(0));
}

// Accesses every line of a small buffer, then follows the cycle through these lines once. FIRST_LOADS: dependent loads
// of all lines come first; STORES: independent stores to another word of each line.
kernel void again(global uint *next, global uint *restrict state, uint lines, uint words, uint start)
{
    uint at = start;
#if FIRST_LOADS
    for (uint i = 0; i < lines; ++i)
        at = next[at];
#endif
#if STORES
    for (uint i = 0; i < lines; ++i)
        next[i * words + 1] = at;
#endif
    for (uint i = 0; i < lines; ++i)
        at = next[at];
    state[0] = at;
}
