/* Alembic archives, the reading half: headers are parsed once, samples are read where asked for. */
#include "io/alembic/abc_archive.h"

#include "core/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_LIBRARY = 9999, DEPTH_LIMIT = 64, NODE_LIMIT = 1 << 20, INLINE_INDEX = 255 };

/* ---- a block in memory, read field by field ---- */

typedef struct cursor {
    const su_ogawa *file;
    uint8_t *data; /* owned */
    uint64_t size, at;
    bool failed;    /* a field reached beyond the block */
    bool no_memory; /* a string could not be copied */
} cursor;

static su_status load(const su_ogawa *file, su_ogawa_ref ref, cursor *c, su_error *err)
{
    *c = (cursor){.file = file};
    SU_TRY(su_ogawa_size(file, ref, &c->size, err));
    SU_TRY(SU_ALLOC(&c->data, c->size, "a block of an Alembic file", err));
    su_status status = su_ogawa_read(file, ref, 0, c->data, c->size, err);
    if (status != SU_OK) {
        free(c->data);
        c->data = NULL;
    }
    return status;
}

static void take(cursor *c, void *out, uint64_t count)
{
    if (c->failed || count > c->size - c->at) {
        c->failed = true;
        memset(out, 0, count);
        return;
    }
    memcpy(out, c->data + c->at, count);
    c->at += count;
}

static uint64_t take_number(cursor *c, int bytes)
{
    uint64_t value = 0;
    take(c, &value, (uint64_t)bytes);
    return value;
}

/* A new string; NULL where it does not fit or memory ends. Zero bytes inside would hide the rest: refused. */
static char *take_text(cursor *c, uint64_t count)
{
    if (c->failed || count > c->size - c->at || memchr(c->data + c->at, 0, count)) {
        c->failed = true;
        return NULL;
    }
    char *text = malloc(count + 1);
    if (!text) {
        c->failed = c->no_memory = true;
        return NULL;
    }
    memcpy(text, c->data + c->at, count);
    text[count] = 0;
    c->at += count;
    return text;
}

static su_status damaged(const su_ogawa *file, su_error *err, const char *what)
{
    return su_fail(err, SU_INPUT, "%s: damaged: %s", su_ogawa_path(file), what);
}

/* A cursor that has failed. */
static su_status broken(const su_ogawa *file, const cursor *c, su_error *err, const char *what)
{
    return c->no_memory ? su_fail(err, SU_AGAIN, "%s: out of memory for %s", su_ogawa_path(file), what)
                        : damaged(file, err, what);
}

static char *copy_text(cursor *c, const char *text)
{
    char *copy = strdup(text);
    if (!copy) c->failed = c->no_memory = true;
    return copy;
}

static char *metadata_of(const su_abc_tree *tree, cursor *c, uint32_t index, int size_bytes)
{
    if (index == INLINE_INDEX) return take_text(c, take_number(c, size_bytes));
    if (index == 0) return copy_text(c, "");
    if ((int)index > tree->string_count) {
        c->failed = true;
        return NULL;
    }
    return copy_text(c, tree->strings[index - 1]);
}

/* ---- the tree of objects ---- */

static su_status read_times(su_abc_tree *tree, su_ogawa_ref ref, su_error *err)
{
    cursor c;
    SU_TRY(load(tree->file, ref, &c, err));
    su_status status = c.size == 0 ? damaged(tree->file, err, "no time sampling") : SU_OK;
    while (status == SU_OK && c.at < c.size) {
        su_abc_time *grown = realloc(tree->times, (size_t)(tree->time_count + 1) * sizeof *grown);
        if (!grown) {
            status = su_fail(err, SU_AGAIN, "out of memory");
            break;
        }
        tree->times = grown;
        su_abc_time *time = &grown[tree->time_count];
        *time = (su_abc_time){0};
        tree->time_count++;
        take(&c, &time->samples, 4);
        take(&c, &time->cycle, 8);
        take(&c, &time->count, 4);
        if (c.failed || time->count == 0 || time->count > (c.size - c.at) / 8 || !(time->cycle > 0.0)) {
            status = damaged(tree->file, err, "a time sampling is cut or not positive");
            break;
        }
        if ((status = SU_ALLOC(&time->times, time->count, "times", err)) != SU_OK) break;
        take(&c, time->times, 8 * (uint64_t)time->count);
        for (uint32_t i = 0; i < time->count; i++)
            if (!isfinite(time->times[i]) || (i > 0 && time->times[i] <= time->times[i - 1]))
                status = damaged(tree->file, err, "times do not increase");
    }
    free(c.data);
    return status;
}

static su_status read_table(su_abc_tree *tree, su_ogawa_ref ref, su_error *err)
{
    cursor c;
    SU_TRY(load(tree->file, ref, &c, err));
    tree->strings = calloc(256, sizeof *tree->strings);
    if (!tree->strings) c.failed = c.no_memory = true;
    while (!c.failed && c.at < c.size && tree->string_count < 255) {
        char *text = take_text(&c, take_number(&c, 1));
        if (text) tree->strings[tree->string_count++] = text;
    }
    su_status status = c.failed ? broken(tree->file, &c, err, "the table of metadata") : SU_OK;
    free(c.data);
    return status;
}

static su_status add_node(su_abc_tree *tree, su_abc_node *parent, char *name, char *metadata, su_abc_node **out,
                          su_error *err)
{
    su_abc_node *node = calloc(1, sizeof *node);
    su_abc_node **grown = NULL;
    if (node && tree->node_count < NODE_LIMIT) {
        bool full = (tree->node_count & (tree->node_count - 1)) == 0; /* capacity is the next power of two */
        grown = full ? realloc(tree->nodes, (size_t)(tree->node_count ? 2 * tree->node_count : 1) * sizeof *grown)
                     : tree->nodes;
    }
    if (!grown) {
        free(node);
        free(name);
        free(metadata);
        return tree->node_count < NODE_LIMIT ? su_fail(err, SU_AGAIN, "out of memory")
                                             : damaged(tree->file, err, "too many objects");
    }
    tree->nodes = grown;
    node->index = tree->node_count;
    node->depth = parent ? parent->depth + 1 : 0;
    node->parent = parent, node->name = name, node->metadata = metadata;
    grown[tree->node_count++] = node;
    *out = node;
    return SU_OK;
}

static su_status read_object(su_abc_tree *tree, su_ogawa_ref ref, su_abc_node *node, int depth, su_error *err)
{
    uint64_t count;
    su_ogawa_ref *refs;
    cursor c = {0};
    if (depth > DEPTH_LIMIT) return damaged(tree->file, err, "objects are nested too deeply");
    SU_TRY(su_ogawa_group(tree->file, ref, &count, &refs, err));
    su_status status = SU_OK;
    if (count == 0) goto done;
    if (refs[0] & SU_OGAWA_DATA) {
        status = damaged(tree->file, err, "an object without properties group");
        goto done;
    }
    node->properties = refs[0];
    if (count == 1) goto done;
    SU_GO(load(tree->file, refs[count - 1], &c, err));
    if (c.size < 32) {
        if (count > 2) status = damaged(tree->file, err, "object headers without hashes");
        goto done;
    }
    c.size -= 32;
    for (uint64_t k = 1; k + 1 < count; k++) {
        su_abc_node *child;
        uint64_t size = take_number(&c, 4);
        char *name = size ? take_text(&c, size) : NULL;
        char *metadata = name ? metadata_of(tree, &c, (uint32_t)take_number(&c, 1), 4) : NULL;
        if (!name || !metadata || c.failed) {
            free(name);
            free(metadata);
            status = broken(tree->file, &c, err, "an object header");
            goto done;
        }
        SU_GO(add_node(tree, node, name, metadata, &child, err));
        SU_GO(read_object(tree, refs[k], child, depth + 1, err));
    }
done:
    free(c.data);
    free(refs);
    return status;
}

/* ---- instances ---- */

/* The first value of a string property: *text is the caller's, freed by free(). */
static su_status read_text(const su_abc_tree *tree, const su_abc_entry *entry, char **text, su_error *err)
{
    enum { KEY = 16 };
    uint64_t count, size = 0;
    su_ogawa_ref *refs;
    if (entry->kind != SU_ABC_SCALAR || entry->type != SU_ABC_STRING || entry->samples < 1)
        return su_fail(err, SU_INPUT, "%s: property %s is no text", su_ogawa_path(tree->file), entry->name);
    SU_TRY(su_ogawa_group(tree->file, entry->group, &count, &refs, err));
    su_status status = count > 0 ? su_ogawa_size(tree->file, refs[0], &size, err) : SU_OK;
    *text = NULL;
    if (status == SU_OK && size < KEY) status = damaged(tree->file, err, "a text without a sample");
    if (status == SU_OK) status = SU_ALLOC(text, size - KEY + 1, "a text", err);
    if (status == SU_OK) status = su_ogawa_read(tree->file, refs[0], KEY, *text, size - KEY, err);
    if (status != SU_OK) free(*text), *text = NULL;
    free(refs);
    return status;
}

/* The object of a path "/a/b" among the first `count` nodes; NULL: there is none. */
static su_abc_node *node_at(const su_abc_tree *tree, int count, const char *path)
{
    su_abc_node *at = tree->nodes[0];
    while (at && *path == '/') {
        size_t length = strcspn(++path, "/");
        su_abc_node *found = NULL;
        for (int i = at->index + 1; i < count && !found; i++) {
            su_abc_node *node = tree->nodes[i];
            if (node->parent == at && strlen(node->name) == length && memcmp(node->name, path, length) == 0)
                found = node;
        }
        at = found;
        path += length;
    }
    return at;
}

/* Nodes below `to` as they stand below `from`, among the first `count` nodes. */
static su_status copy_below(su_abc_tree *tree, int count, const su_abc_node *from, su_abc_node *to, su_error *err)
{
    if (to->depth > DEPTH_LIMIT) return damaged(tree->file, err, "instances are nested too deeply");
    for (int i = from->index + 1; i < count && tree->nodes[i]->depth > from->depth; i++) { /* depth first */
        if (tree->nodes[i]->parent != from) continue;
        char *name = strdup(tree->nodes[i]->name), *metadata = strdup(tree->nodes[i]->metadata);
        su_abc_node *child;
        if (!name || !metadata) {
            free(name);
            free(metadata);
            return su_fail(err, SU_AGAIN, "out of memory");
        }
        SU_TRY(add_node(tree, to, name, metadata, &child, err));
        child->properties = tree->nodes[i]->properties;
        SU_TRY(copy_below(tree, count, tree->nodes[i], child, err));
    }
    return SU_OK;
}

/* What an instance repeats takes its place; copies that hold instances are looked at in their turn. */
static su_status resolve_instances(su_abc_tree *tree, su_error *err)
{
    int original = tree->node_count;
    for (int i = 1; i < tree->node_count; i++) {
        su_abc_node *node = tree->nodes[i];
        char flag[4] = "", *path = NULL;
        if (!su_abc_metadata_value(node->metadata, "isInstance", flag, sizeof flag) || strcmp(flag, "1") != 0) continue;
        int count;
        su_abc_entry *entries;
        SU_TRY(su_abc_entries(tree, node->properties, &count, &entries, err));
        const su_abc_entry *entry = su_abc_find(count, entries, ".instanceSource");
        su_status status = entry ? read_text(tree, entry, &path, err)
                                 : damaged(tree->file, err, "an instance that does not say of what");
        su_abc_entries_free(count, entries);
        SU_TRY(status);
        su_abc_node *source = path[0] == '/' ? node_at(tree, original, path) : NULL;
        if (!source || source == tree->nodes[0] ||
            su_abc_metadata_value(source->metadata, "isInstance", flag, sizeof flag))
            status = su_fail(err, SU_INPUT, "%s: instance %s: there is no object %s", su_ogawa_path(tree->file),
                             node->name, path);
        free(path);
        SU_TRY(status);
        node->repeats = source;
        SU_TRY(copy_below(tree, original, source, node, err));
    }
    for (int i = 1; i < tree->node_count; i++) { /* now that nothing is copied any more */
        su_abc_node *node = tree->nodes[i];
        if (!node->repeats) continue;
        char *metadata = strdup(node->repeats->metadata);
        if (!metadata) return su_fail(err, SU_AGAIN, "out of memory");
        free(node->metadata);
        node->metadata = metadata;
        node->properties = node->repeats->properties;
    }
    return SU_OK;
}

static su_status read_version(su_abc_tree *tree, su_ogawa_ref ref, int32_t *version, su_error *err)
{
    uint64_t size;
    SU_TRY(su_ogawa_size(tree->file, ref, &size, err));
    if (size != 4) return damaged(tree->file, err, "no version");
    return su_ogawa_read(tree->file, ref, 0, version, 4, err);
}

su_status su_abc_tree_open(const char *path, su_abc_tree *tree, su_error *err)
{
    uint64_t count = 0;
    su_ogawa_ref *refs = NULL;
    su_abc_node *top;
    int32_t layer, library;
    cursor c = {0};
    *tree = (su_abc_tree){0};
    su_status status;
    SU_GO(su_ogawa_open(path, &tree->file, err));
    SU_GO(su_ogawa_group(tree->file, su_ogawa_root(tree->file), &count, &refs, err));
    if (count < 6) {
        status = damaged(tree->file, err, "not an Alembic archive");
        goto done;
    }
    SU_GO(read_version(tree, refs[0], &layer, err));
    SU_GO(read_version(tree, refs[1], &library, err));
    if (layer != 0 || library < OLDEST_LIBRARY) {
        status = su_fail(err, SU_INPUT, "%s: unknown Alembic version %d, %d", path, layer, library);
        goto done;
    }
    tree->version = library;
    SU_GO(load(tree->file, refs[3], &c, err));
    tree->metadata = take_text(&c, c.size);
    if (!tree->metadata) {
        status = broken(tree->file, &c, err, "metadata of the archive");
        goto done;
    }
    SU_GO(read_times(tree, refs[4], err));
    SU_GO(read_table(tree, refs[5], err));
    char *name = strdup("ABC"), *metadata = strdup("");
    if (!name || !metadata) {
        free(name);
        free(metadata);
        status = su_fail(err, SU_AGAIN, "out of memory");
        goto done;
    }
    SU_GO(add_node(tree, NULL, name, metadata, &top, err));
    SU_GO(read_object(tree, refs[2], top, 0, err));
    SU_GO(resolve_instances(tree, err));
done:
    free(c.data);
    free(refs);
    if (status != SU_OK) su_abc_tree_close(tree);
    return status;
}

void su_abc_tree_close(su_abc_tree *tree)
{
    for (int i = 0; i < tree->time_count; i++) free(tree->times[i].times);
    for (int i = 0; i < tree->string_count; i++) free(tree->strings[i]);
    for (int i = 0; i < tree->node_count; i++) {
        free(tree->nodes[i]->name);
        free(tree->nodes[i]->metadata);
        free(tree->nodes[i]);
    }
    free(tree->times);
    free(tree->strings);
    free(tree->nodes);
    free(tree->metadata);
    su_ogawa_close(tree->file);
    *tree = (su_abc_tree){0};
}

double su_abc_time_of(const su_abc_time *time, int64_t i)
{
    if (time->count == 1) return time->times[0] + (time->cycle < SU_ABC_ACYCLIC ? (double)i * time->cycle : 0.0);
    int64_t k = (int64_t)time->count;
    if (time->cycle >= SU_ABC_ACYCLIC) return time->times[i < k ? i : k - 1];
    return time->times[i % k] + (double)(i / k) * time->cycle;
}

/* ---- properties ---- */

static su_status read_entry(const su_abc_tree *tree, cursor *c, su_abc_entry *entry, su_error *err)
{
    uint32_t info = (uint32_t)take_number(c, 4);
    int width = 1 << (info >> 2 & 3);
    entry->kind = info & 3;
    entry->type = info >> 4 & 15;
    entry->extent = (int)(info >> 12 & 255);
    if (width == 8) return damaged(tree->file, err, "a property header");
    if (entry->kind != SU_ABC_COMPOUND) {
        uint64_t n = take_number(c, width), first = 1, last = n ? n - 1 : 0;
        if (info & 0x200) first = take_number(c, width), last = take_number(c, width);
        if (info & 0x800 || n < 2) first = last = 0;
        if (info & 0x100) entry->time_sampling = (int)(take_number(c, width) & INT32_MAX);
        if (first > last || (n && last >= n) || (n && !first && last) || entry->type > SU_ABC_WSTRING ||
            entry->extent < 1 || entry->time_sampling >= tree->time_count)
            return damaged(tree->file, err, "a property header");
        entry->samples = (int64_t)n, entry->first = (int64_t)first, entry->last = (int64_t)last;
    }
    uint64_t size = take_number(c, width);
    entry->name = size ? take_text(c, size) : NULL;
    entry->metadata = entry->name ? metadata_of(tree, c, info >> 20 & 255, width) : NULL;
    return entry->metadata && !c->failed ? SU_OK : broken(tree->file, c, err, "a property header");
}

su_status su_abc_entries(const su_abc_tree *tree, su_ogawa_ref compound, int *count, su_abc_entry **entries,
                         su_error *err)
{
    uint64_t n;
    su_ogawa_ref *refs;
    cursor c = {0};
    su_abc_entry *list = NULL;
    *count = 0, *entries = NULL;
    SU_TRY(su_ogawa_group(tree->file, compound, &n, &refs, err));
    su_status status = SU_OK;
    int read = 0;
    if (n < 2) goto done;
    SU_GO(load(tree->file, refs[n - 1], &c, err));
    if (n - 1 > c.size / 5) { /* a header has at least 5 bytes */
        status = damaged(tree->file, err, "property headers");
        goto done;
    }
    SU_GO(SU_ALLOC(&list, n - 1, "properties", err));
    for (; read < (int)(n - 1); read++) {
        list[read].group = refs[read];
        status = read_entry(tree, &c, &list[read], err);
        if (status != SU_OK) {
            read++; /* its strings, too, are released */
            goto done;
        }
    }
done:
    free(c.data);
    free(refs);
    if (status != SU_OK) {
        su_abc_entries_free(read, list);
        return status;
    }
    *count = read, *entries = list;
    return SU_OK;
}

void su_abc_entries_free(int count, su_abc_entry *entries)
{
    for (int i = 0; i < count && entries; i++) {
        free(entries[i].name);
        free(entries[i].metadata);
    }
    free(entries);
}

const su_abc_entry *su_abc_find(int count, const su_abc_entry *entries, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(entries[i].name, name) == 0) return &entries[i];
    return NULL;
}

bool su_abc_is_schema(const char *metadata, const char *wanted)
{
    char title[128] = "";
    return su_abc_metadata_value(metadata, "schemaObjTitle", title, sizeof title)
               ? strncmp(title, wanted, strlen(wanted)) == 0
               : su_abc_metadata_value(metadata, "schema", title, sizeof title) && strcmp(title, wanted) == 0;
}

su_status su_abc_schema_entries(const su_abc_tree *tree, const su_abc_node *node, const char *compound, int *count,
                                su_abc_entry **entries, su_error *err)
{
    int outer_count;
    su_abc_entry *outer;
    *count = 0, *entries = NULL;
    SU_TRY(su_abc_entries(tree, node->properties, &outer_count, &outer, err));
    const su_abc_entry *entry = su_abc_find(outer_count, outer, compound);
    su_status status = SU_OK;
    if (entry && entry->kind == SU_ABC_COMPOUND) status = su_abc_entries(tree, entry->group, count, entries, err);
    su_abc_entries_free(outer_count, outer);
    return status;
}

/* ---- samples ---- */

su_status su_abc_samples_open(const su_abc_tree *tree, const su_abc_entry *entry, su_abc_samples *out, su_error *err)
{
    *out = (su_abc_samples){.kind = entry->kind,
                            .type = entry->type,
                            .extent = entry->extent,
                            .samples = entry->samples,
                            .first = entry->first,
                            .last = entry->last,
                            .time_sampling = entry->time_sampling};
    if (entry->kind == SU_ABC_COMPOUND || su_abc_type_size(entry->type) == 0)
        return su_fail(err, SU_INPUT, "%s: property %s does not hold numbers", su_ogawa_path(tree->file), entry->name);
    SU_TRY(su_ogawa_group(tree->file, entry->group, &out->ref_count, &out->refs, err));
    uint64_t stored = !entry->samples ? 0 : !entry->first ? 1 : (uint64_t)(entry->last - entry->first) + 2;
    if (entry->kind != SU_ABC_SCALAR) stored *= 2;
    if (out->ref_count < stored) {
        su_abc_samples_close(out);
        return su_fail(err, SU_INPUT, "%s: damaged: property %s has fewer samples than it says",
                       su_ogawa_path(tree->file), entry->name);
    }
    return SU_OK;
}

void su_abc_samples_close(su_abc_samples *samples)
{
    free(samples->refs);
    *samples = (su_abc_samples){0};
}

static su_ogawa_ref stored_ref(const su_abc_samples *s, int64_t i)
{
    int64_t at = i < s->first || s->first == 0 ? 0 : (i < s->last ? i : s->last) - s->first + 1;
    return s->refs[s->kind == SU_ABC_SCALAR ? at : 2 * at];
}

su_status su_abc_samples_count(const su_abc_tree *tree, const su_abc_samples *s, int64_t i, int64_t *elements,
                               su_error *err)
{
    uint64_t size, unit = (uint64_t)s->extent * su_abc_type_size(s->type);
    *elements = 0;
    if (s->samples == 0) return damaged(tree->file, err, "a property without samples");
    SU_TRY(su_ogawa_size(tree->file, stored_ref(s, i), &size, err));
    if (size == 0 && s->kind != SU_ABC_SCALAR) return SU_OK;
    if (size < 16 || (size - 16) % unit != 0 || (s->kind == SU_ABC_SCALAR && size - 16 != unit))
        return damaged(tree->file, err, "a sample of a wrong size");
    *elements = (int64_t)((size - 16) / unit);
    return SU_OK;
}

su_status su_abc_samples_read(const su_abc_tree *tree, const su_abc_samples *s, int64_t i, int64_t elements,
                              void *values, su_error *err)
{
    if (elements == 0) return SU_OK;
    return su_ogawa_read(tree->file, stored_ref(s, i), 16, values,
                         (uint64_t)elements * (uint64_t)s->extent * su_abc_type_size(s->type), err);
}

bool su_abc_metadata_value(const char *metadata, const char *key, char *text, size_t size)
{
    size_t length = strlen(key);
    for (const char *p = metadata; p && *p; p = strchr(p, ';') ? strchr(p, ';') + 1 : NULL) {
        if (strncmp(p, key, length) != 0 || p[length] != '=') continue;
        const char *value = p + length + 1;
        size_t count = strcspn(value, ";");
        if (count >= size) count = size - 1;
        memcpy(text, value, count);
        text[count] = 0;
        return true;
    }
    return false;
}
