// Sub-group exchanges under one name, whatever the device calls them. The host picks the back end
// (gpureport.workloads.sub_group):
//   SUB_GROUP_KHR     cl_khr_subgroup_shuffle, cl_khr_subgroup_ballot
//   SUB_GROUP_INTEL   cl_intel_subgroups (no ballot)
//   SUB_GROUP_NVIDIA  no extension there, but inline PTX
//   SUB_GROUP_AMD     no extension there, but compiler builtins
//   SUB_GROUP_SIZED   beside one of these: a kernel may ask for its sub-group's size
//
// WAVE(n)                          in front of `kernel`: asks for n lanes where a kernel may ask
// uint wave_width()                lanes of a sub-group
// uint wave_item()                 the work-item's place in its group, sub-group after sub-group, lane after lane
// uint wave_shuffle_xor(value, d)  the value of the lane whose number differs by the bits d; d < 32, known when compiled
// uint wave_ballot(predicate)      bit i: whether the predicate is not 0 in lane i (of the 32 lanes around this one)

#ifdef SUB_GROUP_SIZED
#define WAVE(lanes) __attribute__((intel_reqd_sub_group_size(lanes)))
#else
#define WAVE(lanes)
#endif

#if defined(SUB_GROUP_KHR) || defined(SUB_GROUP_INTEL)
#ifdef SUB_GROUP_INTEL
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#endif

static inline uint wave_width(void)
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
    // Chosen by comparisons: indexing the vector by the lane would put it into memory.
    const uint4 votes = sub_group_ballot(predicate);
    const uint word = get_sub_group_local_id() / 32;
    return word < 2 ? (word == 0 ? votes.x : votes.y) : (word == 2 ? votes.z : votes.w);
}
#endif

#elif defined(SUB_GROUP_NVIDIA)

static inline uint wave_width(void)
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

static inline uint wave_width(void)
{
    return __builtin_amdgcn_wavefrontsize();
}

static inline uint wave_item(void)
{
    return (uint)((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0));
}

// The pattern is part of the instruction: every distance is an instruction of its own, of which one is left once
// loops are unrolled. Bits 14 to 10 flip lane numbers, bits 4 to 0 keep the rest of them; it stays within 32 lanes.
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
    return (uint)(wave_item() & 32 & (wave_width() - 1) ? votes >> 32 : votes);
}

#endif
