// Latency of dependent loads (pointer chase).
#include "common/cycle.h"

// One work-item follows a random cycle through all lines and stores its position: state[0] is the index of the element
// to read next, state[1] the number of steps so far (modulo the number of lines).
kernel void chase(global const uint *restrict next, global uint *restrict state, uint steps, uint lines)
{
    uint at = state[0];
    for (uint i = 0; i < steps; ++i)
        at = next[at];
    state[0] = at;
    state[1] = (state[1] + steps) % lines;
}

// Untimed warm-up traversal: reads every line in the order of the chase, starting at its position. Afterwards the
// caches contain the same lines as after one traversal by the chase, but the loads are independent and take less time.
// One work-group, like the chase, so that the caches of one compute unit are filled; several only for working sets far
// beyond all caches.
kernel void warm_up(global const uint *restrict next, global const uint *restrict order,
                    global const uint *restrict state, uint lines, global uint *restrict sink)
{
    const uint start = state[1];
    uint never = 0;
    for (uint i = (uint)get_global_id(0); i < lines; i += (uint)get_global_size(0))
        never |= next[order[(start + i) % lines]] == 0xffffffffu; // never true: indices are smaller
    if (never)
        sink[0] = 1;
}
