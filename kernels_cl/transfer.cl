// Transfers between host and device need no kernel. This one shows in verification that the device has the data.

__kernel void increment(__global uint *words) {
    words[get_global_id(0)] += 1u;
}
