/* jansson's functions as far as the run time calls them, on one flat object; and what it never comes to call. */
#include "meta.h"

#include "core/npz.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

typedef struct entry {
    json_t head;
    const char *key, *text;
    double number;
} entry;

static entry entries[MOST];
static int count;
static json_t object = {.type = JSON_OBJECT, .refcount = 1}, list = {.type = JSON_ARRAY, .refcount = 1 << 20},
              yes = {.type = JSON_TRUE, .refcount = 1 << 20};

void meta_tell(const char *key, const char *text, double number)
{
    if (count < MOST) entries[count++] = (entry){{text ? JSON_STRING : JSON_REAL, 1}, key, text, number};
}

json_t *meta_object(void) { return &object; }
double meta_number(const char *key) { return json_number_value(json_object_get(&object, key)); }

json_t *json_object_get(const json_t *from, const char *key)
{
    for (int k = 0; from && k < count; k++)
        if (strcmp(entries[k].key, key) == 0) return strcmp(key, "corrected") == 0 ? &yes : &entries[k].head;
    return NULL;
}
const char *json_string_value(const json_t *j) { return j && j->type == JSON_STRING ? ((const entry *)j)->text : NULL; }
double json_number_value(const json_t *j) { return j && j->type == JSON_REAL ? ((const entry *)j)->number : 0; }

/* Lists of names: the page has none. */
json_t *json_array(void) { return &list; }
size_t json_array_size(const json_t *j) { return (void)j, 0; }
json_t *json_array_get(const json_t *j, size_t k) { return (void)j, (void)k, NULL; }
int json_array_append_new(json_t *j, json_t *value) { return (void)j, (void)value, 0; }
void json_delete(json_t *j) { (void)j; }

/* There is no environment, and no file is ever open. */
char *getenv(const char *name) { return (void)name, NULL; }
void su_npz_close(su_npz *npz) { (void)npz; }
