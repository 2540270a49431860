// The arithmetic that several kernels share: adders on bit planes, and the rule for four cells in the bytes of a word.
#include "common/logic.h"

// Bit i of each word belongs to cell i. Three bits of a cell add up to parity + 2 * majority (a full adder):
//
//   bits set in a, b, c | parity | majority
//            0          |   0    |    0
//            1          |   1    |    0
//            2          |   0    |    1
//            3          |   1    |    1
//
// PLANES: the type of the words; uint unless the kernel defines another unsigned scalar or vector type.
// The majority is the same with a ^ b in place of a | b. Compilers for CPUs then compute a ^ b once for both functions;
// compilers for GPUs recognise a | b as a pattern of one or two instructions.
#if defined(__NV_CL_C_VERSION) || defined(__AMDGCN__)
#define MAJORITY(a, b, c) (((a) & (b)) | ((c) & ((a) | (b))))
#else
#define MAJORITY(a, b, c) (((a) & (b)) | ((c) & ((a) ^ (b))))
#endif

// For kernels whose work-items compute with vectors. Intel's runtime for CPUs also makes vectors of work-items, which
// made strips 100 to 240 times slower with work-groups of 64 or more columns. Other compilers do not know the attribute.
#ifdef __INTEL_LLVM_COMPILER
#define ONE_WORK_ITEM __attribute__((intel_vec_len_hint(1)))
#else
#define ONE_WORK_ITEM
#endif

#ifdef PLANES
static inline PLANES parity(PLANES a, PLANES b, PLANES c)
{
    return a ^ b ^ c;
}

static inline PLANES majority(PLANES a, PLANES b, PLANES c)
{
    return MAJORITY(a, b, c);
}
#else
static inline uint parity(uint a, uint b, uint c)
{
    uint result;
    LOGIC(result, a ^ b ^ c, 0x96, a, b, c);
    return result;
}

static inline uint majority(uint a, uint b, uint c)
{
    uint result;
    LOGIC(result, MAJORITY(a, b, c), 0xe8, a, b, c);
    return result;
}

// The next generation. Of each cell and its eight neighbours, total = ones + 2 * (carry + odd + 2 * many) are alive.
// The cell is alive if the total is 3, or if it is 4 and the cell itself (`here`) is alive. `single`: exactly one of
// carry, odd and many is set. The three operations with three inputs each were found by search.
//
//   many  carry + odd | single | total, fits if ones = 0 | total, fits if ones = 1
//    0         0      |   0    |          0  yes         |          1  no
//    0         1      |   1    |          2  no          |          3  yes
//    0         2      |   0    |          4  yes         |          5  no
//    1         0      |   1    |          4  yes         |          5  no
//    1         1      |   0    |          6  no          |          7  no
//    1         2      |   0    |          8  no          |          9  no
//
// With ones = 0 the result is `here`: 0 for a total of 0, which includes the cell.
static inline uint alive(uint ones, uint carry, uint odd, uint many, uint here)
{
    uint single, fits, result;
    LOGIC(single, (carry ^ odd ^ many) & ~(carry & odd & many), 0x16, carry, odd, many);
    LOGIC(fits, (ones & single & ~many) | (~ones & ~(single ^ many)), 0x49, ones, single, many);
    LOGIC(result, fits & (ones | here), 0xe0, fits, ones, here);
    return result;
}
#endif

// The next generation of four cells in the four bytes of a word (uint or a vector of it), each 0 or 1. A cell is alive
// if `neighbours | cell` is 3. The xor is then 0, otherwise 1 to 15; only 128 - 0 has bit 7 set. No byte borrows.
#define ALIVE_BYTES(neighbours, cell) ((0x80808080u - (((neighbours) | (cell)) ^ 0x03030303u)) >> 7 & 0x01010101u)
