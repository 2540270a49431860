// A bitwise operation of three inputs. NVIDIA's compiler does not always find that its one instruction does it; `table`
// is what that instruction is told: the result where a is 0xf0, b 0xcc and c 0xaa.
#ifdef __NV_CL_C_VERSION
#define LOGIC(result, expression, table, a, b, c) \
    __asm__("lop3.b32 %0, %1, %2, %3, " #table ";" : "=r"(result) : "r"(a), "r"(b), "r"(c))
#else
#define LOGIC(result, expression, table, a, b, c) result = expression
#endif

// A rotation by 1 to 31 bits. NVIDIA's compiler makes two shifts of one whose count it does not know; others know the
// pattern, and some take the built-in rotate() for a function that keeps them from using vectors.
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
