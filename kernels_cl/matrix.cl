// Matrix units: D = A B + D for small matrices, in registers only. Build options select the instructions of a vendor
// (NVIDIA_MMA, AMD_MFMA, AMD_WMMA) and the number format (MATRIX_...).
//
// A wave computes CHAINS independent chains. Each step of a chain is one instruction on all lanes of the wave. A lane
// keeps its part of A and B, the same for all chains, and of D. gpureport.workloads.matrix.units describes which.

#define TABLE 1024

#ifdef MATRIX_INT8
typedef int Sum;
#define SUM(word) as_int(word)
#define SUM_REGISTER "+r"
#else
typedef float Sum;
#define SUM(word) convert_float(as_int(word))
#define SUM_REGISTER "+f"
#endif

#if defined(NVIDIA_MMA) // mma.sync of a warp: 16 x 8 sums
#define A_WORDS 4
#define B_WORDS 2
#define D_WORDS 4
#if defined(MATRIX_FP16)
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#elif defined(MATRIX_BF16)
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#elif defined(MATRIX_TF32)
#define MMA "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#elif defined(MATRIX_INT8)
#define MMA "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
#elif defined(MATRIX_FP8)
#define MMA "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
#endif
#define STEP(d) \
    __asm__ volatile(MMA " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                     : SUM_REGISTER(d[0]), SUM_REGISTER(d[1]), SUM_REGISTER(d[2]), SUM_REGISTER(d[3]) \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

#else // AMD: builtins take and return vectors
#define AS(type, words) __builtin_astype(words, type)
typedef Sum Sum4 __attribute__((ext_vector_type(4)));
typedef Sum Sum8 __attribute__((ext_vector_type(8)));
typedef uint Words2 __attribute__((ext_vector_type(2)));
typedef uint Words4 __attribute__((ext_vector_type(4)));
typedef uint Words8 __attribute__((ext_vector_type(8)));
typedef int Ints4 __attribute__((ext_vector_type(4)));
typedef short Shorts4 __attribute__((ext_vector_type(4)));
typedef short Shorts16 __attribute__((ext_vector_type(16)));
typedef float Floats2 __attribute__((ext_vector_type(2)));
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half Halves4 __attribute__((ext_vector_type(4)));
typedef half Halves16 __attribute__((ext_vector_type(16)));

#if defined(AMD_MFMA) // 16 x 16 sums in a wave of 64
#define A_WORDS 2
#define B_WORDS 2
#define D_WORDS 4
#define PAIR(w) ((Words2)((w)[0], (w)[1]))
#define OLD ((Sum4)(d[0], d[1], d[2], d[3]))
#if defined(MATRIX_FP16)
#define NEXT(d) __builtin_amdgcn_mfma_f32_16x16x16f16(AS(Halves4, PAIR(a)), AS(Halves4, PAIR(b)), OLD, 0, 0, 0)
#elif defined(MATRIX_BF16)
#define NEXT(d) __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(AS(Shorts4, PAIR(a)), AS(Shorts4, PAIR(b)), OLD, 0, 0, 0)
#elif defined(MATRIX_TF32)
#define NEXT(d) __builtin_amdgcn_mfma_f32_16x16x8_xf32(AS(Floats2, PAIR(a)), AS(Floats2, PAIR(b)), OLD, 0, 0, 0)
#elif defined(MATRIX_INT8)
#define NEXT(d) __builtin_amdgcn_mfma_i32_16x16x32_i8(AS(long, PAIR(a)), AS(long, PAIR(b)), OLD, 0, 0, 0)
#elif defined(MATRIX_FP8)
#define NEXT(d) __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(AS(long, PAIR(a)), AS(long, PAIR(b)), OLD, 0, 0, 0)
#endif

#elif defined(AMD_WMMA) // 16 x 16 sums in a wave of 32
#define D_WORDS 8
#define EIGHT(w) ((Words8)((w)[0], (w)[1], (w)[2], (w)[3], (w)[4], (w)[5], (w)[6], (w)[7]))
#define FOUR(w) ((Ints4)((w)[0], (w)[1], (w)[2], (w)[3]))
#define OLD ((Sum8)(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]))
#if defined(MATRIX_FP16)
#define A_WORDS 8
#define NEXT(d) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(AS(Halves16, EIGHT(a)), AS(Halves16, EIGHT(b)), OLD)
#elif defined(MATRIX_BF16)
#define A_WORDS 8
#define NEXT(d) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(AS(Shorts16, EIGHT(a)), AS(Shorts16, EIGHT(b)), OLD)
#elif defined(MATRIX_INT8)
#define A_WORDS 4
#define NEXT(d) __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, FOUR(a), true, FOUR(b), OLD, false)
#endif
#define B_WORDS A_WORDS
#endif

#define STEP(d) step(a, b, d)
static inline void step(const uint *a, const uint *b, Sum *d)
{
#if D_WORDS == 8
    const Sum8 next = NEXT(d);
#else
    const Sum4 next = NEXT(d);
#endif
#pragma unroll
    for (uint r = 0; r < D_WORDS; ++r)
        d[r] = next[r];
}
#endif

// `initial` and `operands` contain TABLE words, shared by all work-items; each work-item starts at a different index.
// Of a wave of LANES lanes, the first SHARED_LANES have their own words of A and B; the others repeat them. The first
// `written` work-items store the folded sums of all chains: all work-items when results are checked, none when timed.
kernel void matrix(global const uint *restrict initial, global const uint *restrict operands, uint rounds, uint written,
                   global uint *restrict folded)
{
    const uint i = (uint)get_global_id(0);
    const uint own = i - i % LANES + i % SHARED_LANES;
    uint a[A_WORDS], b[B_WORDS];
#pragma unroll
    for (uint r = 0; r < A_WORDS; ++r)
        a[r] = operands[(own + 64 * r) % TABLE];
#pragma unroll
    for (uint r = 0; r < B_WORDS; ++r)
        b[r] = operands[(own + 64 * (A_WORDS + r)) % TABLE];
    Sum d[CHAINS][D_WORDS];
#pragma unroll
    for (uint c = 0; c < CHAINS; ++c)
#pragma unroll
        for (uint r = 0; r < D_WORDS; ++r)
            d[c][r] = SUM(initial[(i + 64 * (c * D_WORDS + r)) % TABLE]);

    for (uint round = 0; round < rounds; ++round)
#pragma unroll
        for (uint s = 0; s < STEPS; ++s)
#pragma unroll
            for (uint c = 0; c < CHAINS; ++c)
                STEP(d[c]);

    uint sum = 0;
#pragma unroll
    for (uint c = 0; c < CHAINS; ++c)
#pragma unroll
        for (uint r = 0; r < D_WORDS; ++r)
            sum = 3u * sum ^ as_uint(d[c][r]);
    if (i < written)
        folded[i] = sum;
}
