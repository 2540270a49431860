/* An OpenCL runtime with one CPU that has the fault which the variable FAULT names.
 *
 *   crash_when_listed   it is killed when its devices are listed
 *   hang_when_listed    its devices are never listed
 *   crash_when_built    it is killed when a kernel is built, after a last message
 *   hang_when_built     no build ends
 *   anything else       no kernel builds, with the message of a compiler that is older than the CPU
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { void **functions; } object; /* what the loader expects of a handle: its functions come first */

static void *functions[256];
static object platform = {functions}, device = {functions}, context = {functions}, queue = {functions},
              program = {functions}, buffer = {functions};

static int is(const char *fault)
{
    const char *asked = getenv("FAULT");
    return asked && !strcmp(asked, fault);
}

static void hang(void)
{
    for (;;)
        pause();
}

static int answer(const void *value, size_t size, size_t room, void *out, size_t *needed)
{
    if (needed)
        *needed = size;
    if (out && room < size)
        return -30; /* CL_INVALID_VALUE */
    if (out)
        memcpy(out, value, size);
    return 0;
}

static int text(const char *value, size_t room, void *out, size_t *needed)
{
    return answer(value, strlen(value) + 1, room, out, needed);
}

static int platforms(uint32_t room, object **out, uint32_t *count)
{
    if (count)
        *count = 1;
    if (out && room)
        out[0] = &platform;
    return 0;
}

static int platform_info(object *of, uint32_t query, size_t room, void *out, size_t *needed)
{
    (void)of;
    static const char *answers[] = {"FULL_PROFILE", "OpenCL 1.2 Faulty", "Faulty runtime", "Tests", "cl_khr_icd"};
    if (query == 0x0920) /* CL_PLATFORM_ICD_SUFFIX_KHR */
        return text("FAULTY", room, out, needed);
    return query < 0x0900 || query > 0x0904 ? -30 : text(answers[query - 0x0900], room, out, needed);
}

static int devices(object *of, uint64_t kind, uint32_t room, object **out, uint32_t *count)
{
    (void)of, (void)kind;
    if (is("crash_when_listed"))
        abort();
    if (is("hang_when_listed"))
        hang();
    if (count)
        *count = 1;
    if (out && room)
        out[0] = &device;
    return 0;
}

static int device_info(object *of, uint32_t query, size_t room, void *out, size_t *needed)
{
    (void)of;
    const uint64_t cpu = 2, memory = 1ull << 30;
    const uint32_t few = 8;
    const size_t group = 64, sizes[3] = {64, 64, 64};
    object *owner = &platform;
    switch (query) {
    case 0x1000: return answer(&cpu, sizeof cpu, room, out, needed);          /* TYPE */
    case 0x1002: return answer(&few, sizeof few, room, out, needed);          /* MAX_COMPUTE_UNITS */
    case 0x1004: return answer(&group, sizeof group, room, out, needed);      /* MAX_WORK_GROUP_SIZE */
    case 0x1005: return answer(sizes, sizeof sizes, room, out, needed);       /* MAX_WORK_ITEM_SIZES */
    case 0x1003: { const uint32_t three = 3; return answer(&three, sizeof three, room, out, needed); }
    case 0x1010:                                                              /* MAX_MEM_ALLOC_SIZE */
    case 0x101f:                                                              /* GLOBAL_MEM_SIZE */
    case 0x1023: return answer(&memory, sizeof memory, room, out, needed);    /* LOCAL_MEM_SIZE */
    case 0x102b: return text("Faulty CPU", room, out, needed);                /* NAME */
    case 0x102c: return text("Tests", room, out, needed);                     /* VENDOR */
    case 0x102d: return text("1.0", room, out, needed);                       /* DRIVER_VERSION */
    case 0x102e: return text("FULL_PROFILE", room, out, needed);
    case 0x102f: return text("OpenCL 1.2 Faulty", room, out, needed);         /* VERSION */
    case 0x1030: return text("", room, out, needed);                          /* EXTENSIONS */
    case 0x1031: return answer(&owner, sizeof owner, room, out, needed);      /* PLATFORM */
    }
    return -30;
}

static object *made(object *which, int *error)
{
    if (error)
        *error = 0;
    return which;
}

static object *create_context(const void *p, uint32_t n, const void *d, void *f, void *u, int *error)
{
    (void)p, (void)n, (void)d, (void)f, (void)u;
    return made(&context, error);
}

static object *create_queue(object *c, object *d, uint64_t properties, int *error)
{
    (void)c, (void)d, (void)properties;
    return made(&queue, error);
}

static object *create_buffer(object *c, uint64_t flags, size_t size, void *host, int *error)
{
    (void)c, (void)flags, (void)size, (void)host;
    return made(&buffer, error);
}

static object *create_program(object *c, uint32_t n, const char **sources, const size_t *sizes, int *error)
{
    (void)c, (void)n, (void)sources, (void)sizes;
    return made(&program, error);
}

static int keep(object *of)
{
    (void)of;
    return 0;
}

static int context_info(object *of, uint32_t query, size_t room, void *out, size_t *needed)
{
    (void)of;
    object *only = &device;
    const uint32_t one = 1;
    return query == 0x1081 ? answer(&only, sizeof only, room, out, needed)    /* CL_CONTEXT_DEVICES */
         : query == 0x1080 || query == 0x1083 ? answer(&one, sizeof one, room, out, needed) : -30;
}

static int program_info(object *of, uint32_t query, size_t room, void *out, size_t *needed)
{
    (void)of;
    object *owner = &context, *only = &device;
    const uint32_t one = 1;
    switch (query) {
    case 0x1160:
    case 0x1162: return answer(&one, sizeof one, room, out, needed);          /* NUM_DEVICES */
    case 0x1161: return answer(&owner, sizeof owner, room, out, needed);      /* CONTEXT */
    case 0x1163: return answer(&only, sizeof only, room, out, needed);        /* DEVICES */
    }
    return -30;
}

static int build(object *p, uint32_t n, const void *d, const char *options, void *f, void *u)
{
    (void)p, (void)n, (void)d, (void)options, (void)f, (void)u;
    if (is("crash_when_built")) {
        fputs("FAULTY ERROR: no code for this CPU\n", stderr);
        abort();
    }
    if (is("hang_when_built"))
        hang();
    return -11; /* CL_BUILD_PROGRAM_FAILURE */
}

static int build_info(object *p, object *d, uint32_t query, size_t room, void *out, size_t *needed)
{
    (void)p, (void)d;
    const int32_t failed = -2; /* CL_BUILD_ERROR */
    return query == 0x1181 ? answer(&failed, sizeof failed, room, out, needed)
         : text(query == 0x1183 ? "error: unknown target CPU 'generic'" : "", room, out, needed);
}

int clIcdGetPlatformIDsKHR(uint32_t room, object **out, uint32_t *count)
{
    void *known[] = {platforms, platform_info, devices, device_info, create_context, NULL, keep, keep, context_info,
                     create_queue, keep, keep, NULL, NULL, create_buffer, NULL, NULL, keep, keep};
    memcpy(functions, known, sizeof known); /* in the order of the loader's table: clGetPlatformIDs comes first */
    functions[26] = create_program;
    functions[28] = functions[29] = keep;
    functions[30] = build;
    functions[32] = program_info;
    functions[33] = build_info;
    return platforms(room, out, count);
}

int clGetPlatformInfo(object *of, uint32_t query, size_t room, void *out, size_t *needed)
{
    return platform_info(of, query, room, out, needed);
}

void *clGetExtensionFunctionAddress(const char *name)
{
    return !strcmp(name, "clIcdGetPlatformIDsKHR") ? (void *)clIcdGetPlatformIDsKHR
         : !strcmp(name, "clGetPlatformInfo") ? (void *)clGetPlatformInfo : NULL;
}
