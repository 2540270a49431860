// Transposition of 32 x 32 bit matrices: one work-item a row (a uint), five rounds that exchange blocks of
// 16, 8, 4, 2 and 1 rows and columns. Each transposition works on the result of the one before, so that no compiler
// can leave one out.
//
// A round with distance d: the row keeps half of its bits (`keep`) and takes the other half from the row d away,
// rotated by d to the left (lower row of the pair) or to the right (upper row).

constant uint MASKS[5] = {0x0000ffffu, 0x00ff00ffu, 0x0f0f0f0fu, 0x33333333u, 0x55555555u};

inline uint exchange(uint own, uint other, uint row, uint distance, uint mask)
{
    const bool upper = row & distance;
    const uint keep = upper ? ~mask : mask;
    const uint turned = rotate(other, upper ? 32u - distance : distance);
    return bitselect(turned, own, keep);
}

#ifdef LOCAL_MEMORY
// Through local memory. Two tiles in turn: one barrier a round is enough.
kernel void transpose(global const uint *restrict from, global uint *restrict to, uint rows, local uint *tiles)
{
    const size_t i = get_global_id(0);
    const uint lane = (uint)get_local_id(0);
    const uint row = lane % 32;
    const uint size = (uint)get_local_size(0);
    uint value = i < rows ? from[i] : 0;
    uint offset = 0;
    for (uint r = 0; r < REPEATS; ++r) {
#pragma unroll
        for (uint round = 0; round < 5; ++round) {
            const uint distance = 16u >> round;
            tiles[offset + lane] = value;
            barrier(CLK_LOCAL_MEM_FENCE);
            value = exchange(value, tiles[offset + (lane ^ distance)], row, distance, MASKS[round]);
            offset = size - offset;
        }
    }
    if (i < rows)
        to[i] = value;
}
#endif

#ifdef SHUFFLE
#if SHUFFLE == 1 // cl_khr_subgroup_shuffle
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#define SHUFFLE_XOR(value, distance) sub_group_shuffle_xor(value, distance)
#define SUB_GROUP_32
#elif SHUFFLE == 2 // cl_intel_subgroups
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#define SHUFFLE_XOR(value, distance) intel_sub_group_shuffle_xor(value, distance)
#define SUB_GROUP_32 __attribute__((intel_reqd_sub_group_size(32)))
#elif SHUFFLE == 3 // NVIDIA: no sub-group extension, but inline PTX
#define SUB_GROUP_32
inline uint shuffle_xor(uint value, uint distance)
{
    uint other;
    __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(other) : "r"(value), "r"(distance));
    return other;
}
#define SHUFFLE_XOR(value, distance) shuffle_xor(value, distance)
#endif

// Through sub-group shuffles; sub-groups have 32 lanes or a multiple of that.
SUB_GROUP_32 kernel void transpose(global const uint *restrict from, global uint *restrict to, uint rows)
{
    const size_t i = get_global_id(0);
    const uint row = (uint)get_local_id(0) % 32;
    uint value = i < rows ? from[i] : 0;
    for (uint r = 0; r < REPEATS; ++r) {
#pragma unroll
        for (uint round = 0; round < 5; ++round) {
            const uint distance = 16u >> round;
            value = exchange(value, SHUFFLE_XOR(value, distance), row, distance, MASKS[round]);
        }
    }
    if (i < rows)
        to[i] = value;
}
#endif
