#include "io/scene/fbx6_tree.h"

#include "io/scene/fbx_records.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32 };

typedef struct reader {
    su_arena *arena;
    su_fbx6_value *value; /* of the node that is read */
    int64_t values, room;
    bool broken;
} reader;

/* A further value, all 0; NULL: no memory. */
static su_fbx6_value *add_value(reader *r)
{
    su_fbx6_value *more = su_fbx_one_more(r->arena, r->value, r->values, &r->room, sizeof *more);
    if (!more) return NULL;
    r->value = more;
    more[r->values] = (su_fbx6_value){0};
    return &more[r->values++];
}

static const char *keep(reader *r, const char *text, size_t length)
{
    char *out = su_arena_alloc(r->arena, (int64_t)length + 1, 1);
    if (out) memcpy(out, text, length);
    return out;
}

/* A node of the name with the values read so far; NULL: no memory. */
static su_fbx6_node *finish(reader *r, const char *name, size_t length)
{
    su_fbx6_node *node = su_arena_alloc(r->arena, 1, sizeof *node);
    su_fbx6_value *value = su_arena_alloc(r->arena, r->values, sizeof *value);
    if (!node || !value || !(node->name = keep(r, name, length))) return NULL;
    if (r->values) memcpy(value, r->value, (size_t)r->values * sizeof *value);
    node->values = r->values, node->value = value;
    r->values = 0;
    return node;
}

/* "name\0\1Class" stands for Class::name. */
static const char *keep_string(reader *r, const char *text, size_t length)
{
    const char *cut = memchr(text, 0, length);
    if (!cut || cut + 1 >= text + length || cut[1] != 1) return keep(r, text, length);
    size_t name = (size_t)(cut - text), kind = length - name - 2;
    char *out = su_arena_alloc(r->arena, (int64_t)(kind + name) + 3, 1);
    if (!out) return NULL;
    memcpy(out, cut + 2, kind);
    memcpy(out + kind, "::", 2);
    memcpy(out + kind + 2, text, name);
    return out;
}

static bool read_properties(reader *r, const su_fbx_reader *file, const su_fbx_record *record)
{
    size_t at = record->properties;
    for (size_t i = 0; i < record->property_count; i++) {
        su_fbx_property p;
        at = su_fbx_next_property(file, record, at, &p);
        su_fbx6_value *out = p.type ? add_value(r) : NULL;
        if (!out) return false;
        bool letter = p.type == 'C' && isalpha(p.data[0]);
        if (letter)
            out->text = keep(r, (const char *)p.data, 1);
        else if (p.type == 'S' || p.type == 'R')
            out->text = keep_string(r, (const char *)p.data, p.length);
        else
            out->number = su_fbx_real(p);
        if ((letter || p.type == 'S' || p.type == 'R') && !out->text) return false;
    }
    return true;
}

static su_fbx6_node *read_records(reader *r, const su_fbx_reader *file, size_t at, size_t limit, int depth)
{
    su_fbx6_node *first = NULL, **last = &first;
    su_fbx_record record;
    if (depth > DEEPEST) r->broken = true;
    for (; !r->broken && su_fbx_open_record(file, at, limit, &record); at = record.end) {
        su_fbx6_node *node = read_properties(r, file, &record) ? finish(r, record.name, record.name_length) : NULL;
        if (!node) r->broken = true;
        if (!node) break;
        *last = node, last = &node->next;
        node->child = read_records(r, file, record.children, record.end, depth + 1);
    }
    return first;
}

bool su_fbx6_is(const char *data, size_t size)
{
    enum { VERSION = 23, OLDEST = 6000, NEXT = 7000 };
    int64_t version = 0;
    if (su_fbx_is_binary(data, size)) {
        version = (int64_t)su_fbx_little((const unsigned char *)data + VERSION, 4);
    } else {
        const char *said = strstr(data, "FBXVersion:"), *headed = data + strspn(data, " \t\r\n");
        if (said && headed[0] == ';') version = strtoll(said + strlen("FBXVersion:"), NULL, 10);
    }
    return version >= OLDEST && version < NEXT;
}

const su_fbx6_node *su_fbx6_read(const char *data, size_t size, su_arena *arena)
{
    enum { FIRST_RECORD = 27 };
    reader r = {.arena = arena};
    su_fbx_reader file = su_fbx_read_binary(data, size, arena);
    su_fbx6_node *top = read_records(&r, &file, FIRST_RECORD, size, 0);
    return r.broken ? NULL : top;
}

const su_fbx6_node *su_fbx6_find(const su_fbx6_node *list, const char *name)
{
    while (list && strcmp(list->name, name) != 0) list = list->next;
    return list;
}

const su_fbx6_node *su_fbx6_child(const su_fbx6_node *parent, const char *name)
{
    return parent ? su_fbx6_find(parent->child, name) : NULL;
}

const char *su_fbx6_text(const su_fbx6_node *node, int64_t index)
{
    return node && index < node->values && node->value[index].text ? node->value[index].text : "";
}

double su_fbx6_number(const su_fbx6_node *node, int64_t index)
{
    return node && index < node->values ? node->value[index].number : 0.0;
}

bool su_fbx6_property(const su_fbx6_node *object, const char *name, int count, double *out)
{
    enum { FIRST = 3 };
    const su_fbx6_node *table = su_fbx6_child(object, "Properties60");
    for (const su_fbx6_node *row = table ? table->child : NULL; row; row = row->next) {
        if (strcmp(su_fbx6_text(row, 0), name) != 0 || row->values < FIRST + count) continue;
        for (int i = 0; i < count; i++) out[i] = row->value[FIRST + i].number;
        return true;
    }
    return false;
}
