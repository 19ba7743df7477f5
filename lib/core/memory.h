/* Checked allocation, and arenas that release many arrays at once. */
#ifndef SU_CORE_MEMORY_H
#define SU_CORE_MEMORY_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* count * size bytes set to zero, 64-byte aligned (vector units); NULL on overflow or lack of memory. count 0 gives a
 * valid pointer. Release with free(). */
void *su_calloc(int64_t count, size_t size);

/* The same, as a status with a message that names what was wanted. *out is untouched on failure. */
su_status su_allocate(void *out, int64_t count, size_t size, const char *what, su_error *err);

/* The same without zeros: for arrays of many megabytes that are written before they are read, whose pages then cost
 * nothing until they are used. */
su_status su_allocate_room(void *out, int64_t count, size_t size, const char *what, su_error *err);

/* SU_ALLOC(&pointer, count, "what", err): typed by the pointer. */
#define SU_ALLOC(out, count, what, err) su_allocate((void *)(out), (int64_t)(count), sizeof **(out), what, err)
#define SU_ROOM(out, count, what, err) su_allocate_room((void *)(out), (int64_t)(count), sizeof **(out), what, err)

/* An array that is wanted: the pointer that gets it, by its own type, and how many. */
typedef struct su_wanted {
    void *out;
    int64_t count;
    size_t size;
} su_wanted;
#define SU_WANT(pointer, count)                                                                                        \
    {                                                                                                                  \
        &(pointer), (int64_t)(count), sizeof *(pointer)                                                                \
    }
/* A list of them, for the calls below. */
#define SU_WANTED(...)                                                                                                 \
    (const su_wanted[])                                                                                                \
    {                                                                                                                  \
        __VA_ARGS__, { NULL, 0, 0 }                                                                                    \
    }

/* SU_ALLOC of several, in their order; those had before one that fails are the caller's, as after SU_ALLOC:
 * SU_ALLOC_ALL("modes", err, SU_WANT(values, r), SU_WANT(modes, 3 * r * n)). */
su_status su_allocate_all(const su_wanted *wanted, const char *what, su_error *err);
#define SU_ALLOC_ALL(what, err, ...) su_allocate_all(SU_WANTED(__VA_ARGS__), what, err)

/* Room for one more than `count` elements in the array (of realloc) that `array` points to the pointer of: where *room
 * is full it more than doubles. */
su_status su_grow(void *array, int64_t count, int64_t *room, size_t size, const char *what, su_error *err);

/* An arena owns every block taken from it; zero-initialize it. Blocks are 64-byte aligned and zeroed. */
typedef struct su_arena {
    struct su_arena_block *blocks;
    bool failed; /* something asked of it could not be had: for callers that ask for much and look once */
} su_arena;

void *su_arena_alloc(su_arena *arena, int64_t count, size_t size);
/* The same of several: SU_TAKE_ALL(&arena, "modes", err, SU_WANT(values, r), ...). */
su_status su_arena_take_all(su_arena *arena, const su_wanted *wanted, const char *what, su_error *err);
#define SU_TAKE_ALL(arena, what, err, ...) su_arena_take_all(arena, SU_WANTED(__VA_ARGS__), what, err)
/* Hands a block to the arena: freed by `release(pointer, length)` with the arena (used for memory maps). */
su_status su_arena_adopt(su_arena *arena, void *pointer, size_t length, void (*release)(void *, size_t), su_error *err);
void su_arena_free(su_arena *arena);

/* Peak resident memory of this process and its waited-for children, bytes. */
int64_t su_peak_memory(void);

#endif
