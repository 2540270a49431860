// Copies words; with FAULT, does something else where there are many: 1 never ends, 2 writes to address 0.
// 3 spoils a result, always.
__kernel void copy(__global const uint *from, __global volatile uint *to)
{
    const size_t item = get_global_id(0);
#if FAULT == 1
    while (get_global_size(0) > 1000 && to[0] != 1u)
        to[0] = 0u;
#elif FAULT == 2
    if (get_global_size(0) > 1000)
        *(__global volatile uint *)(item & 1u) = 1u;
#endif
#if FAULT == 3
    to[item] = from[item] ^ (uint)(item == 5);
#else
    to[item] = from[item];
#endif
}
