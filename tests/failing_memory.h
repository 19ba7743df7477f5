/* Allocations that fail one by one: a call of the library is run again and again, and in run N its N-th allocation
 * fails. Counted are the allocations of the library itself, of CHOLMOD, SPQR and jansson. Programs that use this are
 * linked with --wrap for the names in the Makefile's WRAPPED. */
#ifndef TESTS_FAILING_MEMORY_H
#define TESTS_FAILING_MEMORY_H

#include "core/error.h"
#include "own_folder.h"

#include <stddef.h>
#include <stdint.h>

/* One or several calls of the library that release all they take. threads: to be used, 1 or 2. Results go to
 * failing_memory_result, in the same order each time. On failure err has a message. */
typedef su_status failing_call(void *context, int threads, su_error *err);

void failing_memory_result(const void *bytes, size_t size);
#define FAILING_MEMORY_RESULT(array, count) failing_memory_result(array, (size_t)(count) * sizeof *(array))

/* Calls write files into own_folder, which is empty before each run. The bytes of a file there are a result. */
void failing_memory_file(const char *name);

/* Runs the call with every allocation failing once: the first `dense` one by one, then ever fewer. Fails the test
 * where a run comes back without an error and with another result than the undisturbed one, with another error than
 * SU_AGAIN and words about memory, with something not released, a file not closed, or a file left in the folder. */
void failing_memory_check(const char *name, failing_call *call, void *context);

/* Set-up and tear-down of a group: the hooks, the folder. */
int failing_memory_begin(void **state);
int failing_memory_end(void **state);

#endif
