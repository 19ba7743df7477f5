/* A few names for one sentence: what a file has and is not taken. */
#ifndef SU_CORE_NAME_LIST_H
#define SU_CORE_NAME_LIST_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct su_name_list {
    int64_t count;  /* different names, as far as text knows them */
    char text[256]; /* them, in quotes, by commas; ends in ... where there are more */
} su_name_list;

/* Adds a name that is not there yet. A long one is cut. */
static inline void su_name_list_add(su_name_list *list, const char *name)
{
    enum { LONGEST = 60, MORE = 6 };
    char quoted[LONGEST + 3];
    snprintf(quoted, sizeof quoted, "'%.*s'", LONGEST, name);
    size_t at = strlen(list->text);
    if (strstr(list->text, quoted) || (at > 4 && strcmp(list->text + at - 4, " ...") == 0)) return;
    list->count++;
    if (at + strlen(quoted) + MORE < sizeof list->text)
        snprintf(list->text + at, sizeof list->text - at, "%s%s", at ? ", " : "", quoted);
    else
        snprintf(list->text + at, sizeof list->text - at, " ...");
}

/* All of another one. */
static inline void su_name_list_add_all(su_name_list *list, const su_name_list *other)
{
    const char *at = other->text;
    char name[64];
    int length;
    while (sscanf(at, "'%63[^']'%n", name, &length) == 1) {
        su_name_list_add(list, name);
        at += length;
        if (strncmp(at, ", ", 2) == 0) at += 2;
    }
}

#endif
