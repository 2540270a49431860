// One interface to the sub-group exchanges of all vendors. gpureport.workloads.sub_group selects the back end:
//   SUB_GROUP_KHR     cl_khr_subgroup_shuffle, cl_khr_subgroup_ballot
//   SUB_GROUP_INTEL   cl_intel_subgroups (no ballot)
//   SUB_GROUP_NVIDIA  inline PTX; the driver has no extension
//   SUB_GROUP_AMD     compiler builtins; the driver has no extension
//   SUB_GROUP_SIZED   in addition to one of these: a kernel may require a sub-group size
//
// WAVE(n)                          before `kernel`: requires a sub-group size of n, where this is possible
// uint wave_size()                the sub-group size
// uint wave_item()                 index of the work-item in its work-group, ordered by sub-group, then lane
// uint wave_shuffle_xor(value, d)  the value of lane (this lane ^ d); d < 32, a compile-time constant
// uint wave_ballot(predicate)      bit i: predicate != 0 in lane i (of the aligned 32 lanes that contain this one)

#ifdef SUB_GROUP_SIZED
#define WAVE(lanes) __attribute__((intel_reqd_sub_group_size(lanes)))
#else
#define WAVE(lanes)
#endif

#if defined(SUB_GROUP_KHR) || defined(SUB_GROUP_INTEL)
#ifdef SUB_GROUP_INTEL
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#endif

static inline uint wave_size(void)
{
    return get_max_sub_group_size();
}

static inline uint wave_item(void)
{
    return get_sub_group_id() * get_max_sub_group_size() + get_sub_group_local_id();
}

#ifdef SUB_GROUP_INTEL
static inline uint wave_shuffle_xor(uint value, uint distance)
{
    return intel_sub_group_shuffle_xor(value, distance);
}
#endif

#if defined(SUB_GROUP_KHR) && defined(cl_khr_subgroup_shuffle)
static inline uint wave_shuffle_xor(uint value, uint distance)
{
    return sub_group_shuffle_xor(value, distance);
}
#endif

#if defined(SUB_GROUP_KHR) && defined(cl_khr_subgroup_ballot)
static inline uint wave_ballot(int predicate)
{
    // Comparisons instead of an index: a vector that is indexed by a variable is stored in memory.
    const uint4 votes = sub_group_ballot(predicate);
    const uint word = get_sub_group_local_id() / 32;
    return word < 2 ? (word == 0 ? votes.x : votes.y) : (word == 2 ? votes.z : votes.w);
}
#endif

#elif defined(SUB_GROUP_NVIDIA)

static inline uint wave_size(void)
{
    return 32;
}

static inline uint wave_item(void)
{
    return (uint)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0));
}

static inline uint wave_shuffle_xor(uint value, uint distance)
{
    uint other;
    __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(other) : "r"(value), "r"(distance));
    return other;
}

static inline uint wave_ballot(int predicate)
{
    uint votes;
    __asm__ volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                     : "=r"(votes)
                     : "r"(predicate));
    return votes;
}

#elif defined(SUB_GROUP_AMD)

static inline uint wave_size(void)
{
    return __builtin_amdgcn_wavefrontsize();
}

static inline uint wave_item(void)
{
    return (uint)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0));
}

// The pattern is an immediate operand, so the switch has one instruction per distance; unrolled loops keep only one of
// them. Bits 14 to 10 of the pattern are the xor mask, bits 4 to 0 the and mask. Exchanges stay within 32 lanes.
#define SWIZZLE_XOR(value, distance) __builtin_amdgcn_ds_swizzle(value, (distance) << 10 | 0x1f)
static inline uint wave_shuffle_xor(uint value, uint distance)
{
    switch (distance) {
    case 1: return SWIZZLE_XOR(value, 1);
    case 2: return SWIZZLE_XOR(value, 2);
    case 4: return SWIZZLE_XOR(value, 4);
    case 8: return SWIZZLE_XOR(value, 8);
    case 16: return SWIZZLE_XOR(value, 16);
    default: return value;
    }
}

static inline uint wave_ballot(int predicate)
{
    const ulong votes = __builtin_amdgcn_uicmp((uint)predicate, 0u, 33); // 33: LLVM's "not equal"
    return (uint)(wave_item() & 32 & (wave_size() - 1) ? votes >> 32 : votes);
}

#endif
