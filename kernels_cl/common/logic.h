// A bitwise operation of three inputs. NVIDIA's compiler does not always find that its one instruction does it; `table`
// is what that instruction is told: the result where a is 0xf0, b 0xcc and c 0xaa.
#ifdef __NV_CL_C_VERSION
#define LOGIC(result, expression, table, a, b, c) \
    __asm__("lop3.b32 %0, %1, %2, %3, " #table ";" : "=r"(result) : "r"(a), "r"(b), "r"(c))
#else
#define LOGIC(result, expression, table, a, b, c) result = expression
#endif
