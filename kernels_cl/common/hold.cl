// Keeps a device busy without touching its caches, so that the dispatches queued behind it can pile up.
// A xorshift chain: no compiler finds a closed form for it.
kernel void hold(global uint *state, uint iterations)
{
    uint x = state[0] | 1;
    for (uint i = 0; i < iterations; ++i) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    state[0] = x;
}
