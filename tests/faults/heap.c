/* Preloaded into a program under test: counts the bytes that it has allocated and not freed, and writes the most there
 * ever were, in bytes, into the file that SUPPLE_HEAP names when the program ends. A count, not a sample of what the
 * system says: the same for the same run, whatever else the machine does. Blocks count as large as malloc_usable_size
 * says. What libraries map themselves (OpenBLAS's buffers, of a constant size) and mapped files are not counted.
 *
 * A program that starts itself again goes on under the same process number and counts anew; other processes that it
 * starts, by fork alone or with another program, write nothing. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HEAP_FILE "SUPPLE_HEAP"
#define HEAP_PROCESS "SUPPLE_HEAP_PROCESS" /* who was asked; set here, so that started programs know */

/* What glibc's own names stand for: no look-up, which would allocate itself. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *pointer);

static atomic_long live, most; /* bytes */

static void *taken(void *block)
{
    if (!block) return NULL;
    long size = (long)malloc_usable_size(block);
    long now = atomic_fetch_add(&live, size) + size, before = atomic_load(&most);
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) {
    }
    return block;
}

static void given_back(size_t size) { atomic_fetch_sub(&live, (long)size); }

void *malloc(size_t size) { return taken(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return taken(__libc_calloc(count, size)); }
void *memalign(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *block = alignment % sizeof(void *) == 0 ? taken(__libc_memalign(alignment, size)) : NULL;
    if (!block) return alignment % sizeof(void *) == 0 ? ENOMEM : EINVAL;
    *out = block;
    return 0;
}

void *realloc(void *pointer, size_t size)
{
    size_t old = pointer ? malloc_usable_size(pointer) : 0;
    void *block = __libc_realloc(pointer, size);
    if (block || (pointer && size == 0)) given_back(old);
    return taken(block);
}

void free(void *pointer)
{
    if (pointer) given_back(malloc_usable_size(pointer));
    __libc_free(pointer);
}

static long asked; /* process number */

__attribute__((constructor)) static void begin(void)
{
    char number[32];
    const char *known = getenv(HEAP_PROCESS);
    asked = known ? strtol(known, NULL, 10) : (long)getpid();
    snprintf(number, sizeof number, "%ld", asked);
    setenv(HEAP_PROCESS, number, 1);
}

__attribute__((destructor)) static void end(void)
{
    const char *name = getenv(HEAP_FILE);
    if (!name || getpid() != asked) return;
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", atomic_load(&most));
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, (size_t)length) != length) _exit(1); /* no count is an error, not a zero */
    close(fd);
}
