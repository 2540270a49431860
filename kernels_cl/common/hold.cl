// Keeps a device busy without accessing its caches, while more dispatches are queued behind it.
// Compilers find no closed form for a xorshift chain.
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
