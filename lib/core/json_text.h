/* JSON and its text where memory may be missing; names from strangers' files, while JSON holds UTF-8 only. */
#ifndef SU_CORE_JSON_TEXT_H
#define SU_CORE_JSON_TEXT_H

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* text, or `otherwise` where that is NULL or not UTF-8. New reference; NULL: no memory. */
static inline json_t *su_json_text(const char *text, const char *otherwise)
{
    errno = 0; /* json_string does not say why it fails */
    json_t *string = text ? json_string(text) : NULL;
    return string || errno == ENOMEM ? string : json_string(otherwise);
}

/* Takes over jansson's allocations, to know when one failed: an object that has no memory for a key is left without it,
 * and whoever builds a document of a hundred keys does not ask each time. For programs, before their first JSON. */
void su_json_watch_memory(void);
/* Where it is watched: whether an allocation failed. Then no output is committed (core/file.h); and what jansson's
 * parser says of a text may be wrong. */
bool su_json_missed_memory(void);

/* The text, freed by the caller; NULL: no memory. json_dumps leaves out keys that its growing buffer has no room for,
 * and says nothing. */
char *su_json_dump(const json_t *json, size_t flags);

/* Numbers and texts of a meta object, with a default where absent or of another type. */
double su_meta_number(const json_t *meta, const char *key, double fallback);
const char *su_meta_text(const json_t *meta, const char *key, const char *fallback);

#endif
