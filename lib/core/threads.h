/* How many threads to use. Library functions take the number as an argument and keep no state. */
#ifndef SU_CORE_THREADS_H
#define SU_CORE_THREADS_H

#ifdef _OPENMP
#include <omp.h>
#endif

/* requested > 0 wins; else OMP_NUM_THREADS, SLURM_CPUS_PER_TASK, CUE_THREADS; else what affinity and the cgroup's CPU
 * quota allow. At least 1, at most 256. */
int su_thread_count(int requested);

/* Which one of a parallel region this is; 0 where there is none, or no OpenMP at all. */
static inline int su_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

/* Seconds on a monotonic clock. */
double su_seconds(void);

#endif
