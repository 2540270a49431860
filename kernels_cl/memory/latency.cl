// Latency primitive: one load must wait for another.

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
// what they would hold after a whole lap, without waiting for one. A single work-group, as the chase is: lines also
// come as near to its compute unit as the chase would bring them.
kernel void lap(global const uint *restrict next, global const uint *restrict order, global const uint *restrict state,
                uint lines, global uint *restrict sink)
{
    const uint start = state[1];
    uint never = 0;
    for (uint i = (uint)get_local_id(0); i < lines; i += (uint)get_local_size(0))
        never |= next[order[(start + i) % lines]] == 0xffffffffu; // element numbers are smaller
    if (never)
        sink[0] = 1;
}
