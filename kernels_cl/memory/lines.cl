// Dependent loads of one work-item that show the lines and sectors of caches.
#include "common/cycle.h"

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
