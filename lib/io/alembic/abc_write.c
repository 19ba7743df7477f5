/* Alembic archives, the writing half. Blocks may stand in any order, so samples are written as they come and all
 * headers at the end, from the leaves up. */
#include "io/alembic/abc_archive.h"

#include "core/memory.h"
#include "io/alembic/abc_hash.h"

#include <stdlib.h>
#include <string.h>

enum { LAYER_VERSION = 0, LIBRARY_VERSION = 10708, TABLE_LIMIT = 254, INLINE_INDEX = 255 };

typedef struct sampling {
    double cycle, times[SU_ABC_TIMES_MAX];
    uint32_t count, samples;
} sampling;

struct su_abc_property {
    su_abc_property *next, *children, *last_child; /* siblings; members of a compound */
    const char *name, *metadata;
    su_abc_kind kind;
    su_abc_type type;
    int extent, time_sampling;
    int64_t samples, first, last;
    bool varies_in_size, not_single;
    uint64_t key[2];    /* of the last sample */
    int64_t elements;   /* of the last sample */
    uint64_t digest[2]; /* of the last sample */
    uint64_t hash[2];   /* over all samples */
    int64_t ref_count, ref_capacity;
    su_ogawa_ref *refs; /* values of the stored samples */
};

struct su_abc_object {
    su_abc_object *next, *children, *last_child;
    const char *name, *metadata;
    su_abc_property root; /* the object's own compound */
};

struct su_abc_archive {
    su_ogawa_writer *writer;
    su_arena arena;
    su_abc_object top;
    int sampling_count;
    sampling *samplings;
    int string_count;
    const char *strings[TABLE_LIMIT];
    bool failed; /* an allocation in a function without status */
};

size_t su_abc_type_size(su_abc_type type)
{
    static const size_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 0, 0};
    return (unsigned)type < sizeof sizes / sizeof *sizes ? sizes[type] : 0;
}

/* ---- objects and properties ---- */

static const char *keep(su_abc_archive *archive, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = su_arena_alloc(&archive->arena, (int64_t)size, 1);
    if (!copy) {
        archive->failed = true;
        return "";
    }
    return memcpy(copy, text, size);
}

su_status su_abc_archive_create(const char *path, su_abc_archive **out, su_error *err)
{
    su_abc_archive *archive = NULL;
    SU_TRY(SU_ALLOC(&archive, 1, "an Alembic archive", err));
    archive->top.name = "ABC", archive->top.metadata = "";
    archive->top.root.name = archive->top.root.metadata = "";
    su_status status = su_ogawa_create(path, &archive->writer, err);
    if (status != SU_OK) {
        su_abc_archive_abandon(archive);
        return status;
    }
    static const double start = 0.0;
    if (su_abc_time_sampling(archive, 1, &start, 1.0) != 0) archive->failed = true; /* the default, always number 0 */
    *out = archive;
    return SU_OK;
}

int su_abc_time_sampling(su_abc_archive *archive, int count, const double *times, double cycle)
{
    size_t bytes = (size_t)count * sizeof *times;
    for (int i = 0; i < archive->sampling_count; i++) {
        const sampling *s = &archive->samplings[i];
        if (s->count == (uint32_t)count && s->cycle == cycle && memcmp(s->times, times, bytes) == 0) return i;
    }
    sampling *grown = realloc(archive->samplings, (size_t)(archive->sampling_count + 1) * sizeof *grown);
    if (!grown) {
        archive->failed = true;
        return 0;
    }
    archive->samplings = grown;
    grown[archive->sampling_count] = (sampling){.cycle = cycle, .count = (uint32_t)count};
    memcpy(grown[archive->sampling_count].times, times, bytes);
    return archive->sampling_count++;
}

su_abc_object *su_abc_add_object(su_abc_archive *archive, su_abc_object *parent, const char *name, const char *metadata)
{
    su_abc_object *object = su_arena_alloc(&archive->arena, 1, sizeof *object);
    if (!object) {
        archive->failed = true;
        return NULL;
    }
    if (!parent) parent = &archive->top;
    object->name = keep(archive, name);
    object->metadata = keep(archive, metadata);
    object->root.name = object->root.metadata = "";
    if (parent->last_child)
        parent->last_child->next = object;
    else
        parent->children = object;
    parent->last_child = object;
    return object;
}

su_abc_property *su_abc_properties(su_abc_object *object) { return object ? &object->root : NULL; }

su_abc_property *su_abc_add_property(su_abc_archive *archive, su_abc_property *parent, const char *name,
                                     const char *metadata, su_abc_kind kind, su_abc_type type, int extent,
                                     int time_sampling)
{
    su_abc_property *property = su_arena_alloc(&archive->arena, 1, sizeof *property);
    if (!property) {
        archive->failed = true;
        return NULL;
    }
    if (!parent) parent = &archive->top.root;
    property->name = keep(archive, name);
    property->metadata = keep(archive, metadata);
    property->kind = kind;
    property->type = type;
    property->extent = extent;
    property->time_sampling = time_sampling;
    if (parent->last_child)
        parent->last_child->next = property;
    else
        parent->children = property;
    parent->last_child = property;
    return property;
}

su_abc_property *su_abc_add_compound(su_abc_archive *archive, su_abc_property *parent, const char *name,
                                     const char *metadata)
{
    return su_abc_add_property(archive, parent, name, metadata, SU_ABC_COMPOUND, SU_ABC_BOOL, 0, 0);
}

/* ---- samples ---- */

static su_status store_ref(su_abc_property *property, su_ogawa_ref ref, su_error *err)
{
    if (property->ref_count == property->ref_capacity) {
        int64_t capacity = property->ref_capacity ? 2 * property->ref_capacity : 8;
        su_ogawa_ref *grown = realloc(property->refs, (size_t)capacity * sizeof *grown);
        if (!grown) return su_fail(err, SU_AGAIN, "out of memory for the index of an Alembic file");
        property->refs = grown, property->ref_capacity = capacity;
    }
    property->refs[property->ref_count++] = ref;
    return SU_OK;
}

static void add_digest(su_abc_property *property)
{
    if (property->samples == 0)
        memcpy(property->hash, property->digest, sizeof property->hash);
    else
        su_spooky_mix(property->hash, property->digest);
}

su_status su_abc_sample(su_abc_archive *archive, su_abc_property *property, const void *values, int64_t elements,
                        su_error *err)
{
    if (!property || archive->failed) return su_fail(err, SU_AGAIN, "out of memory for an Alembic file");
    size_t bytes = (size_t)elements * (size_t)property->extent * su_abc_type_size(property->type);
    uint64_t key[2] = {0, 0};
    if (bytes) su_murmur3(values, bytes, key);
    bool same = property->samples > 0 && elements == property->elements && memcmp(key, property->key, sizeof key) == 0;
    if (!same) {
        /* a run of equal samples since the last change is stored again, as references, once something else follows */
        if (property->samples > 0 && property->first == 0) {
            property->first = property->samples;
        } else if (property->samples > 0) {
            su_ogawa_ref ref = property->refs[property->ref_count - 1];
            for (int64_t k = property->last + 1; k < property->samples; k++) SU_TRY(store_ref(property, ref, err));
        }
        su_ogawa_ref ref;
        SU_TRY(su_ogawa_put_data(archive->writer, key, bytes ? sizeof key : 0, values, bytes, &ref, err));
        SU_TRY(store_ref(property, ref, err));
        if (property->samples > 0 && elements != property->elements) property->varies_in_size = true;
        if (elements != 1) property->not_single = true;
        property->last = property->samples;
        property->elements = elements;
        memcpy(property->key, key, sizeof key);
        if (property->kind == SU_ABC_SCALAR) {
            memcpy(property->digest, key, sizeof key);
        } else { /* S(dims + key) */
            uint64_t text[3] = {(uint64_t)elements, key[0], key[1]};
            su_spooky(text, sizeof text, property->digest);
        }
    }
    add_digest(property);
    property->samples++;
    return SU_OK;
}

su_status su_abc_repeat(su_abc_archive *archive, su_abc_property *property, int64_t times, su_error *err)
{
    if (!property || archive->failed) return su_fail(err, SU_AGAIN, "out of memory for an Alembic file");
    for (int64_t k = 0; k < times && property->samples > 0; k++) add_digest(property), property->samples++;
    return SU_OK;
}

/* ---- growing byte strings: header blocks and what is hashed ---- */

typedef struct bytes {
    uint8_t *data;
    size_t count, capacity;
    bool failed;
} bytes;

static void append(bytes *b, const void *data, size_t count)
{
    if (b->failed || count == 0) return;
    if (count > b->capacity - b->count) {
        size_t capacity = 2 * (b->count + count) + 64;
        uint8_t *grown = realloc(b->data, capacity);
        if (!grown) {
            b->failed = true;
            return;
        }
        b->data = grown, b->capacity = capacity;
    }
    memcpy(b->data + b->count, data, count);
    b->count += count;
}

static void append_u32(bytes *b, uint32_t value) { append(b, &value, sizeof value); }
static void append_text(bytes *b, const char *text) { append(b, text, strlen(text)); }

static su_status put_bytes(su_abc_archive *archive, bytes *b, su_ogawa_ref *ref, su_error *err)
{
    su_status status = b->failed || archive->failed
                           ? su_fail(err, SU_AGAIN, "out of memory for an Alembic file")
                           : su_ogawa_put_data(archive->writer, b->data, b->count, NULL, 0, ref, err);
    free(b->data);
    *b = (bytes){0};
    return status;
}

/* ---- headers ---- */

/* Index of a metadata string: 0 none, 1..254 in the table (entered on first use), 255 written in place. */
static uint32_t metadata_index(su_abc_archive *archive, const char *text)
{
    if (!*text) return 0;
    for (int i = 0; i < archive->string_count; i++)
        if (strcmp(archive->strings[i], text) == 0) return (uint32_t)i + 1;
    if (strlen(text) > 255 || archive->string_count == TABLE_LIMIT) return INLINE_INDEX;
    archive->strings[archive->string_count++] = text;
    return (uint32_t)archive->string_count;
}

static void append_field(bytes *b, int width, uint64_t value) { append(b, &value, (size_t)1 << width); }

static void append_property_header(su_abc_archive *archive, const su_abc_property *p, bytes *b)
{
    uint64_t name_size = strlen(p->name), metadata_size = strlen(p->metadata);
    uint32_t index = metadata_index(archive, p->metadata), info = index << 20;
    uint64_t largest = name_size > metadata_size ? name_size : metadata_size;
    if (p->kind != SU_ABC_COMPOUND) {
        if ((uint64_t)p->samples > largest) largest = (uint64_t)p->samples;
        if ((uint64_t)p->time_sampling > largest) largest = (uint64_t)p->time_sampling;
    }
    int width = largest > 65535 ? 2 : largest > 255 ? 1 : 0;
    info |= (uint32_t)width << 2;
    if (p->kind == SU_ABC_COMPOUND) {
        append_u32(b, info);
    } else {
        bool constant = p->first == 0, stored = !constant && !(p->first == 1 && p->last == p->samples - 1);
        bool scalar = p->kind == SU_ABC_SCALAR;
        info |= scalar ? 1u : p->not_single ? 2u : 3u;
        info |= (uint32_t)p->type << 4 | (uint32_t)p->extent << 12;
        if (p->time_sampling) info |= 0x100;
        if (stored) info |= 0x200;
        if (scalar || !p->varies_in_size) info |= 0x400;
        if (constant) info |= 0x800;
        append_u32(b, info);
        append_field(b, width, (uint64_t)p->samples);
        if (stored) append_field(b, width, (uint64_t)p->first), append_field(b, width, (uint64_t)p->last);
        if (p->time_sampling) append_field(b, width, (uint64_t)p->time_sampling);
    }
    append_field(b, width, name_size);
    append_text(b, p->name);
    if (index == INLINE_INDEX) append_field(b, width, metadata_size), append_text(b, p->metadata);
}

static su_status property_hash(su_abc_archive *archive, const su_abc_property *p, uint64_t hash[2], su_error *err)
{
    bytes b = {0};
    append_text(&b, p->name);
    append_text(&b, p->metadata);
    uint8_t type = (uint8_t)p->type, extent = (uint8_t)p->extent, zero = 0;
    append(&b, &type, 1), append(&b, &extent, 1);
    if (p->kind == SU_ABC_SCALAR) append(&b, &zero, 1);
    const sampling *time = &archive->samplings[p->time_sampling];
    append(&b, &time->cycle, sizeof time->cycle);
    append_u32(&b, time->count);
    append(&b, time->times, time->count * sizeof *time->times);
    if (p->samples) append(&b, p->hash, sizeof p->hash);
    su_status status = b.failed ? su_fail(err, SU_AGAIN, "out of memory for an Alembic file") : SU_OK;
    if (status == SU_OK) su_spooky(b.data, b.count, hash);
    free(b.data);
    return status;
}

/* Group of the stored samples: values and dimensions (empty: one-dimensional) of arrays, values of scalars. */
static su_status put_samples(su_abc_archive *archive, su_abc_property *p, su_ogawa_ref *ref, su_error *err)
{
    sampling *time = &archive->samplings[p->time_sampling];
    int64_t samples = p->samples && p->first == 0 ? 1 : p->samples;
    if (samples > time->samples) time->samples = (uint32_t)samples;
    if (p->kind == SU_ABC_SCALAR) return su_ogawa_put_group(archive->writer, (uint64_t)p->ref_count, p->refs, ref, err);
    su_ogawa_ref *children = NULL;
    SU_TRY(SU_ALLOC(&children, 2 * p->ref_count, "the index of an Alembic file", err));
    for (int64_t k = 0; k < p->ref_count; k++) children[2 * k] = p->refs[k], children[2 * k + 1] = SU_OGAWA_EMPTY_DATA;
    su_status status = su_ogawa_put_group(archive->writer, 2 * (uint64_t)p->ref_count, children, ref, err);
    free(children);
    return status;
}

/* Members of a compound, their headers, its group. hashes receives the members' hashes in order. */
static su_status put_compound(su_abc_archive *archive, su_abc_property *compound, bytes *hashes, su_ogawa_ref *ref,
                              su_error *err)
{
    bytes headers = {0}, members = {0};
    su_status status = SU_OK;
    *ref = SU_OGAWA_EMPTY_GROUP;
    if (!compound->children) return SU_OK;
    for (su_abc_property *p = compound->children; p && status == SU_OK; p = p->next) {
        su_ogawa_ref child;
        uint64_t hash[2];
        if (p->kind == SU_ABC_COMPOUND) {
            bytes inner = {0};
            status = put_compound(archive, p, &inner, &child, err);
            append_text(&inner, p->name);
            append_text(&inner, p->metadata);
            if (inner.failed)
                hashes->failed = true;
            else
                su_spooky(inner.data, inner.count, hash);
            free(inner.data);
        } else {
            status = put_samples(archive, p, &child, err);
            if (status == SU_OK) status = property_hash(archive, p, hash, err);
        }
        if (status != SU_OK || hashes->failed) break;
        append(hashes, hash, sizeof hash);
        append(&members, &child, sizeof child);
        append_property_header(archive, p, &headers);
    }
    if (status == SU_OK && (hashes->failed || members.failed || headers.failed))
        status = su_fail(err, SU_AGAIN, "out of memory for an Alembic file");
    su_ogawa_ref header_ref;
    if (status == SU_OK) status = put_bytes(archive, &headers, &header_ref, err);
    if (status == SU_OK) {
        append(&members, &header_ref, sizeof header_ref);
        status = members.failed ? su_fail(err, SU_AGAIN, "out of memory for an Alembic file")
                                : su_ogawa_put_group(archive->writer, members.count / sizeof(su_ogawa_ref),
                                                     (const su_ogawa_ref *)members.data, ref, err);
    }
    free(headers.data);
    free(members.data);
    return status;
}

/* An object with everything below it; own_hash is what its parent hashes. */
static su_status put_object(su_abc_archive *archive, su_abc_object *object, uint64_t own_hash[2], su_ogawa_ref *ref,
                            su_error *err)
{
    bytes group = {0}, headers = {0}, property_hashes = {0}, child_hashes = {0};
    su_ogawa_ref child;
    uint64_t hashes[4] = {0, 0, 0, 0}; /* of the properties, of the children */
    su_status status = put_compound(archive, &object->root, &property_hashes, &child, err);
    append(&group, &child, sizeof child);
    for (su_abc_object *o = object->children; o && status == SU_OK; o = o->next) {
        uint64_t hash[2];
        status = put_object(archive, o, hash, &child, err);
        if (status != SU_OK) break;
        append(&group, &child, sizeof child);
        append(&child_hashes, hash, sizeof hash);
        uint8_t index = (uint8_t)metadata_index(archive, o->metadata);
        append_u32(&headers, (uint32_t)strlen(o->name));
        append_text(&headers, o->name);
        append(&headers, &index, 1);
        if (index == INLINE_INDEX)
            append_u32(&headers, (uint32_t)strlen(o->metadata)), append_text(&headers, o->metadata);
    }
    if (status == SU_OK) {
        su_spooky(property_hashes.data, property_hashes.count, hashes);
        if (child_hashes.count) su_spooky(child_hashes.data, child_hashes.count, hashes + 2);
        append(&child_hashes, hashes, 2 * sizeof *hashes);
        append_text(&child_hashes, object->metadata);
        append_text(&child_hashes, object->name);
        append(&headers, hashes, sizeof hashes);
        if (group.failed || property_hashes.failed || child_hashes.failed)
            status = su_fail(err, SU_AGAIN, "out of memory for an Alembic file");
    }
    if (status == SU_OK) status = put_bytes(archive, &headers, &child, err);
    if (status == SU_OK) {
        su_spooky(child_hashes.data, child_hashes.count, own_hash);
        append(&group, &child, sizeof child);
        status = group.failed ? su_fail(err, SU_AGAIN, "out of memory for an Alembic file")
                              : su_ogawa_put_group(archive->writer, group.count / sizeof child,
                                                   (const su_ogawa_ref *)group.data, ref, err);
    }
    free(group.data);
    free(headers.data);
    free(property_hashes.data);
    free(child_hashes.data);
    return status;
}

/* ---- the archive ---- */

static su_status put_times(su_abc_archive *archive, su_ogawa_ref *ref, su_error *err)
{
    bytes b = {0};
    for (int i = 0; i < archive->sampling_count; i++) {
        append_u32(&b, archive->samplings[i].samples);
        append(&b, &archive->samplings[i].cycle, sizeof(double));
        append_u32(&b, archive->samplings[i].count);
        append(&b, archive->samplings[i].times, archive->samplings[i].count * sizeof(double));
    }
    return put_bytes(archive, &b, ref, err);
}

static su_status put_table(su_abc_archive *archive, su_ogawa_ref *ref, su_error *err)
{
    bytes b = {0};
    for (int i = 0; i < archive->string_count; i++) {
        uint8_t size = (uint8_t)strlen(archive->strings[i]);
        append(&b, &size, 1);
        append_text(&b, archive->strings[i]);
    }
    return put_bytes(archive, &b, ref, err);
}

static su_status put_archive(su_abc_archive *archive, const char *metadata, su_ogawa_ref *root, su_error *err)
{
    su_ogawa_ref children[6];
    uint64_t unused[2];
    const int32_t versions[2] = {LAYER_VERSION, LIBRARY_VERSION};
    archive->top.metadata = metadata;
    SU_TRY(su_ogawa_put_data(archive->writer, &versions[0], 4, NULL, 0, &children[0], err));
    SU_TRY(su_ogawa_put_data(archive->writer, &versions[1], 4, NULL, 0, &children[1], err));
    SU_TRY(put_object(archive, &archive->top, unused, &children[2], err));
    SU_TRY(su_ogawa_put_data(archive->writer, metadata, strlen(metadata), NULL, 0, &children[3], err));
    SU_TRY(put_times(archive, &children[4], err));
    SU_TRY(put_table(archive, &children[5], err));
    return su_ogawa_put_group(archive->writer, 6, children, root, err);
}

su_status su_abc_archive_commit(su_abc_archive *archive, const char *metadata, su_error *err)
{
    su_ogawa_ref root;
    su_status status = archive->failed ? su_fail(err, SU_AGAIN, "out of memory for an Alembic file")
                                       : put_archive(archive, metadata, &root, err);
    if (status == SU_OK) {
        su_ogawa_writer *writer = archive->writer;
        archive->writer = NULL; /* freed by the commit in every case */
        status = su_ogawa_commit(writer, root, err);
    }
    su_abc_archive_abandon(archive);
    return status;
}

static void free_refs(su_abc_property *compound)
{
    for (su_abc_property *p = compound->children; p; p = p->next) {
        free_refs(p);
        free(p->refs);
    }
}

static void free_object_refs(su_abc_object *object)
{
    free_refs(&object->root);
    for (su_abc_object *o = object->children; o; o = o->next) free_object_refs(o);
}

void su_abc_archive_abandon(su_abc_archive *archive)
{
    if (!archive) return;
    free_object_refs(&archive->top);
    su_ogawa_abandon(archive->writer);
    free(archive->samplings);
    su_arena_free(&archive->arena);
    free(archive);
}
