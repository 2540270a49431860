// The types and macros of OpenCL C that clang's -fdeclare-opencl-builtins expects in a file of this name.
// Values: OpenCL C Specification 2.0; limits of IEEE 754.

#pragma once

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;

#define __vectors_of(type) \
    typedef type type##2 __attribute__((ext_vector_type(2))); \
    typedef type type##3 __attribute__((ext_vector_type(3))); \
    typedef type type##4 __attribute__((ext_vector_type(4))); \
    typedef type type##8 __attribute__((ext_vector_type(8))); \
    typedef type type##16 __attribute__((ext_vector_type(16)));
__vectors_of(char)
__vectors_of(uchar)
__vectors_of(short)
__vectors_of(ushort)
__vectors_of(int)
__vectors_of(uint)
__vectors_of(long)
__vectors_of(ulong)
__vectors_of(half)
__vectors_of(float)
__vectors_of(double)
#undef __vectors_of

typedef uint cl_mem_fence_flags;
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define CLK_IMAGE_MEM_FENCE 4

typedef enum memory_scope {
    memory_scope_work_item = __OPENCL_MEMORY_SCOPE_WORK_ITEM,
    memory_scope_work_group = __OPENCL_MEMORY_SCOPE_WORK_GROUP,
    memory_scope_device = __OPENCL_MEMORY_SCOPE_DEVICE,
    memory_scope_all_svm_devices = __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES,
    memory_scope_all_devices = __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES,
    memory_scope_sub_group = __OPENCL_MEMORY_SCOPE_SUB_GROUP
} memory_scope;

typedef enum memory_order {
    memory_order_relaxed = __ATOMIC_RELAXED,
    memory_order_acquire = __ATOMIC_ACQUIRE,
    memory_order_release = __ATOMIC_RELEASE,
    memory_order_acq_rel = __ATOMIC_ACQ_REL,
    memory_order_seq_cst = __ATOMIC_SEQ_CST
} memory_order;
#define ATOMIC_VAR_INIT(value) (value)
#define ATOMIC_FLAG_INIT 0

#define __opencl_subgroup_builtins 1
#define __opencl_c_generic_address_space 1
#define __opencl_c_work_group_collective_functions 1
#define __opencl_c_atomic_order_acq_rel 1
#define __opencl_c_atomic_order_seq_cst 1
#define __opencl_c_atomic_scope_device 1
#define __opencl_c_atomic_scope_all_devices 1
#define __opencl_c_ext_fp32_global_atomic_add 1
#define __opencl_c_ext_fp32_local_atomic_add 1
#define __opencl_c_ext_fp32_global_atomic_min_max 1
#define __opencl_c_ext_fp32_local_atomic_min_max 1
#define __opencl_c_ext_fp64_global_atomic_add 1
#define __opencl_c_ext_fp64_local_atomic_add 1
#define cl_ext_float_atomics 1
#define cl_khr_extended_bit_ops 1
#define cl_khr_subgroup_ballot 1
#define cl_khr_subgroup_clustered_reduce 1
#define cl_khr_subgroup_non_uniform_arithmetic 1
#define cl_khr_subgroup_non_uniform_vote 1
#define cl_khr_subgroup_shuffle 1
#define cl_khr_subgroup_shuffle_relative 1

// These do not change within a kernel; clang's own declarations do not say so.
__attribute__((const)) uint get_sub_group_size(void);
__attribute__((const)) uint get_max_sub_group_size(void);
__attribute__((const)) uint get_num_sub_groups(void);
__attribute__((const)) uint get_sub_group_id(void);
__attribute__((const)) uint get_sub_group_local_id(void);

int printf(__constant const char *format, ...) __attribute__((format(printf, 1, 2)));

#define CLK_ADDRESS_NONE 0
#define CLK_ADDRESS_CLAMP_TO_EDGE 2
#define CLK_ADDRESS_CLAMP 4
#define CLK_ADDRESS_REPEAT 6
#define CLK_ADDRESS_MIRRORED_REPEAT 8
#define CLK_NORMALIZED_COORDS_FALSE 0
#define CLK_NORMALIZED_COORDS_TRUE 1
#define CLK_FILTER_NEAREST 16
#define CLK_FILTER_LINEAR 32

#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-SCHAR_MAX - 1)
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-SHRT_MAX - 1)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffU
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX 0xffffffffffffffffUL

#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define HUGE_VALF (__builtin_huge_valf())
#define HUGE_VAL (__builtin_huge_val())
#define MAXFLOAT FLT_MAX
#define FP_ILOGB0 INT_MIN
#define FP_ILOGBNAN INT_MAX
#define FLT_DIG __FLT_DIG__
#define FLT_MANT_DIG __FLT_MANT_DIG__
#define FLT_MAX_10_EXP __FLT_MAX_10_EXP__
#define FLT_MAX_EXP __FLT_MAX_EXP__
#define FLT_MIN_10_EXP __FLT_MIN_10_EXP__
#define FLT_MIN_EXP __FLT_MIN_EXP__
#define FLT_RADIX 2
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define DBL_DIG __DBL_DIG__
#define DBL_MANT_DIG __DBL_MANT_DIG__
#define DBL_MAX_10_EXP __DBL_MAX_10_EXP__
#define DBL_MAX_EXP __DBL_MAX_EXP__
#define DBL_MIN_10_EXP __DBL_MIN_10_EXP__
#define DBL_MIN_EXP __DBL_MIN_EXP__
#define DBL_RADIX 2
#define DBL_MAX __DBL_MAX__
#define DBL_MIN __DBL_MIN__
#define DBL_EPSILON __DBL_EPSILON__
#define HALF_DIG __FLT16_DIG__
#define HALF_MANT_DIG __FLT16_MANT_DIG__
#define HALF_MAX_10_EXP __FLT16_MAX_10_EXP__
#define HALF_MAX_EXP __FLT16_MAX_EXP__
#define HALF_MIN_10_EXP __FLT16_MIN_10_EXP__
#define HALF_MIN_EXP __FLT16_MIN_EXP__
#define HALF_RADIX 2
#define HALF_MAX __FLT16_MAX__
#define HALF_MIN __FLT16_MIN__
#define HALF_EPSILON __FLT16_EPSILON__
#define M_E 2.718281828459045
#define M_E_F 2.718281828459045f
#define M_LOG2E 1.4426950408889634
#define M_LOG2E_F 1.4426950408889634f
#define M_LOG10E 0.4342944819032518
#define M_LOG10E_F 0.4342944819032518f
#define M_LN2 0.6931471805599453
#define M_LN2_F 0.6931471805599453f
#define M_LN10 2.302585092994046
#define M_LN10_F 2.302585092994046f
#define M_PI 3.141592653589793
#define M_PI_F 3.141592653589793f
#define M_PI_2 1.5707963267948966
#define M_PI_2_F 1.5707963267948966f
#define M_PI_4 0.7853981633974483
#define M_PI_4_F 0.7853981633974483f
#define M_1_PI 0.3183098861837907
#define M_1_PI_F 0.3183098861837907f
#define M_2_PI 0.6366197723675814
#define M_2_PI_F 0.6366197723675814f
#define M_2_SQRTPI 1.1283791670955126
#define M_2_SQRTPI_F 1.1283791670955126f
#define M_SQRT2 1.4142135623730951
#define M_SQRT2_F 1.4142135623730951f
#define M_SQRT1_2 0.7071067811865476
#define M_SQRT1_2_F 0.7071067811865476f

#define as_char(value) __builtin_astype((value), char)
#define as_char2(value) __builtin_astype((value), char2)
#define as_char3(value) __builtin_astype((value), char3)
#define as_char4(value) __builtin_astype((value), char4)
#define as_char8(value) __builtin_astype((value), char8)
#define as_char16(value) __builtin_astype((value), char16)
#define as_uchar(value) __builtin_astype((value), uchar)
#define as_uchar2(value) __builtin_astype((value), uchar2)
#define as_uchar3(value) __builtin_astype((value), uchar3)
#define as_uchar4(value) __builtin_astype((value), uchar4)
#define as_uchar8(value) __builtin_astype((value), uchar8)
#define as_uchar16(value) __builtin_astype((value), uchar16)
#define as_short(value) __builtin_astype((value), short)
#define as_short2(value) __builtin_astype((value), short2)
#define as_short3(value) __builtin_astype((value), short3)
#define as_short4(value) __builtin_astype((value), short4)
#define as_short8(value) __builtin_astype((value), short8)
#define as_short16(value) __builtin_astype((value), short16)
#define as_ushort(value) __builtin_astype((value), ushort)
#define as_ushort2(value) __builtin_astype((value), ushort2)
#define as_ushort3(value) __builtin_astype((value), ushort3)
#define as_ushort4(value) __builtin_astype((value), ushort4)
#define as_ushort8(value) __builtin_astype((value), ushort8)
#define as_ushort16(value) __builtin_astype((value), ushort16)
#define as_int(value) __builtin_astype((value), int)
#define as_int2(value) __builtin_astype((value), int2)
#define as_int3(value) __builtin_astype((value), int3)
#define as_int4(value) __builtin_astype((value), int4)
#define as_int8(value) __builtin_astype((value), int8)
#define as_int16(value) __builtin_astype((value), int16)
#define as_uint(value) __builtin_astype((value), uint)
#define as_uint2(value) __builtin_astype((value), uint2)
#define as_uint3(value) __builtin_astype((value), uint3)
#define as_uint4(value) __builtin_astype((value), uint4)
#define as_uint8(value) __builtin_astype((value), uint8)
#define as_uint16(value) __builtin_astype((value), uint16)
#define as_long(value) __builtin_astype((value), long)
#define as_long2(value) __builtin_astype((value), long2)
#define as_long3(value) __builtin_astype((value), long3)
#define as_long4(value) __builtin_astype((value), long4)
#define as_long8(value) __builtin_astype((value), long8)
#define as_long16(value) __builtin_astype((value), long16)
#define as_ulong(value) __builtin_astype((value), ulong)
#define as_ulong2(value) __builtin_astype((value), ulong2)
#define as_ulong3(value) __builtin_astype((value), ulong3)
#define as_ulong4(value) __builtin_astype((value), ulong4)
#define as_ulong8(value) __builtin_astype((value), ulong8)
#define as_ulong16(value) __builtin_astype((value), ulong16)
#define as_float(value) __builtin_astype((value), float)
#define as_float2(value) __builtin_astype((value), float2)
#define as_float3(value) __builtin_astype((value), float3)
#define as_float4(value) __builtin_astype((value), float4)
#define as_float8(value) __builtin_astype((value), float8)
#define as_float16(value) __builtin_astype((value), float16)
#define as_double(value) __builtin_astype((value), double)
#define as_double2(value) __builtin_astype((value), double2)
#define as_double3(value) __builtin_astype((value), double3)
#define as_double4(value) __builtin_astype((value), double4)
#define as_double8(value) __builtin_astype((value), double8)
#define as_double16(value) __builtin_astype((value), double16)
#define as_half(value) __builtin_astype((value), half)
#define as_half2(value) __builtin_astype((value), half2)
#define as_half3(value) __builtin_astype((value), half3)
#define as_half4(value) __builtin_astype((value), half4)
#define as_half8(value) __builtin_astype((value), half8)
#define as_half16(value) __builtin_astype((value), half16)
