// Untimed, once: links elements to a cycle in the order of their indices. next[i] becomes the index of the next element.
kernel void link(global uint *restrict next, global const uint *restrict order, uint elements)
{
    for (uint i = (uint)get_global_id(0); i < elements; i += (uint)get_global_size(0))
        next[order[i]] = order[(i + 1) % elements];
}
