/* Preloaded into a program under test: counts its allocations from the start of main, and lets one fail. What the
 * loader and constructors take before is not the program's. Says to inject (inject.c) where main begins and ends. */
#include "faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EARLY_BYTES = 1 << 16, ALIGNMENT = 16 };

static fault_page *page; /* NULL before main and where the environment names none */
static int (*main_program)(int, char **, char **);

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void (*next_free)(void *);

/* dlsym allocates: it gets of these bytes, which nobody frees. */
static _Alignas(ALIGNMENT) char early[EARLY_BYTES];
static size_t early_used;

static void *take_early(size_t size)
{
    size_t rounded = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (rounded < size || EARLY_BYTES - early_used < rounded) return NULL;
    void *block = early + early_used;
    early_used += rounded;
    return block;
}

static bool is_early(const void *pointer)
{
    return (const char *)pointer >= early && (const char *)pointer < early + EARLY_BYTES;
}

static void find_next(void)
{
    static bool finding;
    if (finding || next_free) return;
    finding = true;
    *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    *(void **)&next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    *(void **)&next_free = dlsym(RTLD_NEXT, "free");
    finding = false;
}

static bool fails(void)
{
    find_next();
    if (!page || atomic_fetch_add(&page->count, 1) + 1 != atomic_load(&page->fails)) return false;
    strncpy(page->name, program_invocation_short_name, sizeof page->name - 1);
    atomic_store(&page->failed, 1);
    if (getenv("SUPPLE_FAULT_TRAP")) __builtin_trap(); /* for a debugger: who asked? */
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size) { return fails() ? NULL : next_malloc ? next_malloc(size) : take_early(size); }

void *calloc(size_t count, size_t size)
{
    if (fails()) return NULL;
    return next_calloc ? next_calloc(count, size) : take_early(count * size); /* dlsym's are small */
}

void *realloc(void *pointer, size_t size)
{
    if (fails()) return NULL;
    if (!is_early(pointer) && next_realloc) return next_realloc(pointer, size);
    void *block = malloc(size);
    size_t most = pointer ? (size_t)(early + EARLY_BYTES - (char *)pointer) : 0;
    if (block && pointer) memcpy(block, pointer, size < most ? size : most);
    return block;
}

void *aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : next_aligned_alloc(alignment, size); }

int posix_memalign(void **out, size_t alignment, size_t size)
{
    return fails() ? ENOMEM : next_posix_memalign(out, alignment, size);
}

void free(void *pointer)
{
    find_next();
    if (pointer && !is_early(pointer) && next_free) next_free(pointer);
}

static int counted_main(int argc, char **argv, char **environment)
{
    const char *name = getenv(FAULT_PAGE);
    int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    void *mapped = fd >= 0 ? mmap(NULL, sizeof(fault_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0) close(fd);
    syscall(SYS_fsync, FAULT_MAIN_BEGINS);
    if (mapped != MAP_FAILED) page = mapped;
    int status = main_program(argc, argv, environment);
    page = NULL; /* what exit does is no longer the program's */
    syscall(SYS_fsync, FAULT_MAIN_ENDED);
    return status;
}

int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end);
int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
    int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
    main_program = program;
    return start(counted_main, argc, argv, init, fini, loader_fini, stack_end);
}
