/* JSON and its text where memory may be missing; names from strangers' files, while JSON holds UTF-8 only. */
#ifndef SU_CORE_JSON_TEXT_H
#define SU_CORE_JSON_TEXT_H

#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>

/* text, or `otherwise` where that is NULL or not UTF-8. New reference; NULL: no memory. */
static inline json_t *su_json_text(const char *text, const char *otherwise)
{
    errno = 0; /* json_string does not say why it fails */
    json_t *string = text ? json_string(text) : NULL;
    return string || errno == ENOMEM ? string : json_string(otherwise);
}

/* The text, freed by the caller; NULL: no memory. json_dumps leaves out keys that its growing buffer has no
 * room for, and say nothing. */
static inline char *su_json_dump(const json_t *json, size_t flags)
{
    size_t length = json_dumpb(json, NULL, 0, flags);
    char *text = length ? (char *)malloc(length + 1) : NULL;
    if (!text) return NULL;
    if (json_dumpb(json, text, length, flags) != length) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    return text;
}

#endif
