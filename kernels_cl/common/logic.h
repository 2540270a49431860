// A bitwise operation with three inputs. NVIDIA GPUs have one instruction for it (LOP3), which the compiler does not
// always find. `table` is the operand of that instruction: the result for a = 0xf0, b = 0xcc and c = 0xaa. Kernels that
// define PLANES (see game_of_life/bits.h) use other types than uint, to which the instruction does not apply.
#if defined(__NV_CL_C_VERSION) && !defined(PLANES)
#define LOGIC(result, expression, table, a, b, c) \
    __asm__("lop3.b32 %0, %1, %2, %3, " #table ";" : "=r"(result) : "r"(a), "r"(b), "r"(c))
#else
#define LOGIC(result, expression, table, a, b, c) result = expression
#endif

// A rotation by 1 to 31 bits. NVIDIA's compiler emits two shifts if the count is not a constant. Other compilers
// recognise the pattern of shifts; some do not vectorise the built-in rotate().
static inline uint rotate_left(uint value, uint count)
{
#ifdef __NV_CL_C_VERSION
    uint result;
    __asm__("shf.l.wrap.b32 %0, %1, %1, %2;" : "=r"(result) : "r"(value), "r"(count));
    return result;
#else
    return value << count | value >> (32u - count);
#endif
}
