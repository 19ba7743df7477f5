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

double su_meta_number(const json_t *meta, const char *key, double fallback)
{
    const json_t *value = json_object_get(meta, key);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

const char *su_meta_text(const json_t *meta, const char *key, const char *fallback)
{
    const char *value = json_string_value(json_object_get(meta, key));
    return value ? value : fallback;
}
