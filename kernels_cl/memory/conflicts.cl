// Latency of dependent loads of lines whose addresses differ by a power of two.

// Untimed: links the first words of the lines, 'words' apart, to a random cycle. state[0]: index of the next element.
kernel void link(global uint *restrict next, global uint *restrict state, global const uint *restrict order, uint lines,
                 uint words)
{
    const uint i = (uint)get_global_id(0);
    next[order[i] * words] = order[(i + 1) % lines] * words;
    if (i == 0)
        state[0] = order[0] * words;
}

// One work-item follows the cycle.
kernel void visit(global const uint *restrict next, global uint *restrict state, uint steps)
{
    uint at = state[0];
    for (uint i = 0; i < steps; ++i)
        at = next[at];
    state[0] = at;
}
