// Transfers between host and device need no kernel. This one shows in verification that the device has the data.

kernel void increment(global uint *restrict words)
{
    words[get_global_id(0)] += 1;
}
