#include "core/json_text.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static atomic_bool missed; /* an allocation of jansson's failed; its allocator is the process's, so is this */

static void *take(size_t size)
{
    void *block = malloc(size);
    if (!block) atomic_store(&missed, true);
    return block;
}

void su_json_watch_memory(void) { json_set_alloc_funcs(take, free); }

bool su_json_missed_memory(void) { return atomic_load(&missed); }

char *su_json_dump(const json_t *json, size_t flags)
{
    size_t length = json_dumpb(json, NULL, 0, flags);
    char *text = length ? malloc(length + 1) : NULL;
    if (!text) return NULL;
    if (json_dumpb(json, text, length, flags) != length) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    return text;
}
