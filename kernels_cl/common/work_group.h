// Kernels are compiled for work-groups of any size up to 256 unless told otherwise; some drivers (NVIDIA's) refuse
// larger ones otherwise.
#ifdef WORK_GROUP_X
#define WORK_GROUP __attribute__((reqd_work_group_size(WORK_GROUP_X, WORK_GROUP_Y, 1)))
#else
#define WORK_GROUP
#endif
