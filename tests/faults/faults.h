/* What inject and the library that it preloads share: one page of memory, mapped from a file that the environment
 * names. */
#ifndef TESTS_FAULTS_H
#define TESTS_FAULTS_H

#include <stdatomic.h>

#define FAULT_PAGE "SUPPLE_FAULT_PAGE" /* the file */

typedef struct fault_page {
    atomic_long fails;  /* the allocation that fails, counted from 1 over all processes; 0: none does */
    atomic_long count;  /* allocations so far */
    atomic_long failed; /* 1: it has */
    char name[32];      /* in this program */
} fault_page;

/* Told to inject by fsync of such a descriptor, for its filter sees system calls and nothing else. */
enum { FAULT_MAIN_BEGINS = -4711, FAULT_MAIN_ENDED = -4712 };

#endif
