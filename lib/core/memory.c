#include "core/memory.h"

#include <stdlib.h>
#include <string.h>
#ifndef __wasm__
#include <sys/mman.h>
#include <sys/resource.h>
#endif

enum { ALIGNMENT = 64 };
/* Blocks of LARGE bytes and more take pages of this size where the system has them: a hundredth of the page faults. */
enum { PAGE = 2 << 20, LARGE = 2 * PAGE };

static void *aligned(int64_t count, size_t size, size_t *bytes)
{
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, bytes)) return NULL;
    size_t alignment = *bytes >= LARGE ? PAGE : ALIGNMENT;
    if (*bytes > PTRDIFF_MAX - alignment) return NULL;
    size_t room = *bytes ? (*bytes + alignment - 1) / alignment * alignment : alignment;
    void *pointer = aligned_alloc(alignment, room);
#ifdef MADV_HUGEPAGE
    if (pointer && alignment == PAGE) madvise(pointer, room, MADV_HUGEPAGE); /* advice: without it all is as before */
#endif
    return pointer;
}

void *su_calloc(int64_t count, size_t size)
{
    size_t bytes;
    void *pointer = aligned(count, size, &bytes);
    if (pointer) memset(pointer, 0, bytes);
    return pointer;
}

static su_status hand_over(void *out, void *pointer, int64_t count, size_t size, const char *what, su_error *err)
{
    if (!pointer)
        return su_fail(err, SU_AGAIN, "out of memory for %s (%.3g MB)", what, (double)count * (double)size / 1e6);
    memcpy(out, &pointer, sizeof pointer);
    return SU_OK;
}

su_status su_allocate(void *out, int64_t count, size_t size, const char *what, su_error *err)
{
    return hand_over(out, su_calloc(count, size), count, size, what, err);
}

su_status su_grow(void *array, int64_t count, int64_t *room, size_t size, const char *what, su_error *err)
{
    enum { FEWEST = 1024 };
    void *pointer;
    int64_t more = 2 * *room + FEWEST;
    if (count < *room) return SU_OK;
    memcpy(&pointer, array, sizeof pointer);
    SU_TRY(hand_over(array, realloc(pointer, (size_t)more * size), more, size, what, err));
    *room = more;
    return SU_OK;
}

su_status su_allocate_all(const su_wanted *wanted, const char *what, su_error *err)
{
    for (; wanted->out; wanted++) SU_TRY(su_allocate(wanted->out, wanted->count, wanted->size, what, err));
    return SU_OK;
}

su_status su_allocate_room(void *out, int64_t count, size_t size, const char *what, su_error *err)
{
    size_t bytes;
    return hand_over(out, aligned(count, size, &bytes), count, size, what, err);
}

struct su_arena_block {
    struct su_arena_block *next;
    void *pointer;
    size_t length;
    void (*release)(void *pointer, size_t length);
};

static void release_heap(void *pointer, size_t length)
{
    (void)length;
    free(pointer);
}

su_status su_arena_adopt(su_arena *arena, void *pointer, size_t length, void (*release)(void *, size_t), su_error *err)
{
    struct su_arena_block *block = malloc(sizeof *block);
    if (!block) return su_fail(err, SU_AGAIN, "out of memory");
    *block = (struct su_arena_block){arena->blocks, pointer, length, release};
    arena->blocks = block;
    return SU_OK;
}

void *su_arena_alloc(su_arena *arena, int64_t count, size_t size)
{
    void *pointer = su_calloc(count, size);
    if (pointer && su_arena_adopt(arena, pointer, 0, release_heap, NULL) != SU_OK) {
        free(pointer);
        pointer = NULL;
    }
    if (!pointer) arena->failed = true;
    return pointer;
}

su_status su_arena_take_all(su_arena *arena, const su_wanted *wanted, const char *what, su_error *err)
{
    for (; wanted->out; wanted++)
        SU_TRY(hand_over(wanted->out, su_arena_alloc(arena, wanted->count, wanted->size), wanted->count, wanted->size,
                         what, err));
    return SU_OK;
}

void su_arena_free(su_arena *arena)
{
    while (arena->blocks) {
        struct su_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        block->release(block->pointer, block->length);
        free(block);
    }
    arena->failed = false;
}

int64_t su_peak_memory(void)
{
    int64_t peak = 0;
#ifndef __wasm__ /* which counts nothing of the kind */
    struct rusage self, children;
    if (getrusage(RUSAGE_SELF, &self) == 0) peak = self.ru_maxrss;
    if (getrusage(RUSAGE_CHILDREN, &children) == 0 && children.ru_maxrss > peak) peak = children.ru_maxrss;
#endif
    return peak * 1024; /* Linux counts kilobytes */
}
