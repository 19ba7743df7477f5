/* Choices by name. One text, "auto|direct|sdf", in the order of an enumeration, is what an option offers, what files
 * say and what reads them. */
#ifndef SU_CORE_CHOICE_H
#define SU_CORE_CHOICE_H

#include <jansson.h>
#include <string.h>

/* Where `name` (NULL: nowhere) stands among the choices; `otherwise` where it does not. */
static inline int su_choice_find(const char *choices, const char *name, int otherwise)
{
    size_t length = name ? strlen(name) : 0;
    for (int index = 0; name && choices; index++) {
        size_t room = strcspn(choices, "|");
        if (room == length && memcmp(choices, name, room) == 0) return index;
        choices = choices[room] ? choices + room + 1 : NULL;
    }
    return otherwise;
}

/* The name of a choice, of *length letters. Borrowed. */
static inline const char *su_choice_name(const char *choices, int index, int *length)
{
    while (index-- > 0) choices = strchr(choices, '|') + 1;
    *length = (int)strcspn(choices, "|");
    return choices;
}

/* As JSON. New reference; NULL: no memory. */
static inline json_t *su_choice_json(const char *choices, int index)
{
    int length;
    const char *name = su_choice_name(choices, index, &length);
    return json_stringn(name, (size_t)length);
}

#endif
