#include "io/stage/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The count at byte offset -(dim + 1). */
static int64_t *count_at(const void *object, size_t offset) { return (int64_t *)((char *)(uintptr_t)object + offset); }

static int64_t dimension(const void *object, int64_t dim)
{
    return dim >= 0 ? dim : *count_at(object, (size_t)(-(dim + 1)));
}

static const char *dimension_name(const su_schema *schema, int64_t dim, char *buffer, size_t room)
{
    for (int i = 0; dim < 0 && i < schema->count_count; i++)
        if (schema->counts[i] == (size_t)(-(dim + 1))) return schema->count_names[i];
    snprintf(buffer, room, "%lld", (long long)dim);
    return buffer;
}

void su_field_shape_text(const su_schema *schema, const su_field *field, char *out, size_t room)
{
    size_t used = (size_t)snprintf(out, room, "(");
    for (int i = 0; i < field->dimensions && used < room; i++) {
        char number[24];
        used += (size_t)snprintf(out + used, room - used, "%s%s", i ? "," : "",
                                 dimension_name(schema, field->shape[i], number, sizeof number));
    }
    if (used < room) snprintf(out + used, room - used, ")");
}

static void *field_get(const su_field *field, const void *object)
{
    void *pointer;
    memcpy(&pointer, (const char *)object + field->offset, sizeof pointer);
    return pointer;
}

static void field_set(const su_field *field, void *object, const void *pointer)
{
    memcpy((char *)object + field->offset, &pointer, sizeof pointer);
}

static int64_t field_elements(const su_field *field, const void *object)
{
    int64_t elements = 1;
    for (int i = 0; i < field->dimensions; i++)
        if (__builtin_mul_overflow(elements, dimension(object, field->shape[i]), &elements)) return -1;
    return elements;
}

/* ---- values ---- */

static int64_t first_not_finite(su_dtype type, const void *data, int64_t count)
{
    if (type == SU_F64) {
        const double *values = data;
        for (int64_t i = 0; i < count; i++)
            if (!isfinite(values[i])) return i;
    } else if (type == SU_F32) {
        const float *values = data;
        for (int64_t i = 0; i < count; i++)
            if (!isfinite(values[i])) return i;
    }
    return -1;
}

static int64_t integer_at(su_dtype type, const void *data, int64_t i)
{
    return type == SU_I32   ? ((const int32_t *)data)[i]
           : type == SU_I64 ? ((const int64_t *)data)[i]
                            : ((const uint8_t *)data)[i];
}

static su_status check_values(const su_field *field, const void *object, const char *path, su_error *err)
{
    const void *data = field_get(field, object);
    int64_t count = field_elements(field, object);
    if (!data) return SU_OK;
    if (count < 0) return su_fail(err, SU_INPUT, "%s: array '%s' has impossible dimensions", path, field->name);
    if (field->type == SU_F64 || field->type == SU_F32) {
        int64_t bad = field->flags & SU_FIELD_ANY_FLOAT ? -1 : first_not_finite(field->type, data, count);
        if (bad >= 0)
            return su_fail(err, SU_INPUT, "%s: array '%s' is not finite at element %lld", path, field->name,
                           (long long)bad);
        return SU_OK;
    }
    int64_t low = field->index_low, high = INT64_MAX;
    if (field->index_limit) high = dimension(object, field->index_limit) + field->index_extra;
    for (int64_t i = 0; i < count; i++) {
        int64_t value = integer_at(field->type, data, i);
        if (value >= low && value < high) continue;
        if (high == INT64_MAX)
            return su_fail(err, SU_INPUT, "%s: array '%s' holds %lld at element %lld; at least %lld is wanted", path,
                           field->name, (long long)value, (long long)i, (long long)low);
        if (high <= low)
            return su_fail(err, SU_INPUT, "%s: array '%s' indexes an array that is empty", path, field->name);
        return su_fail(err, SU_INPUT, "%s: array '%s' holds %lld at element %lld; %lld to %lld is wanted", path,
                       field->name, (long long)value, (long long)i, (long long)low, (long long)high - 1);
    }
    return SU_OK;
}

static su_status check_object(const su_schema *schema, const void *object, const char *path, su_error *err)
{
    for (int i = 0; i < schema->count; i++) SU_TRY(check_values(&schema->fields[i], object, path, err));
    return schema->check ? schema->check(object, path, err) : SU_OK;
}

/* ---- loading ---- */

static su_status check_kind(const su_schema *schema, const su_npz *file, su_error *err)
{
    const char *path = su_npz_path(file);
    const json_t *meta = su_npz_meta(file), *version = json_object_get(meta, "version");
    const char *kind = json_string_value(json_object_get(meta, "kind"));
    if (!kind)
        return su_fail(err, SU_INPUT, "%s: says no kind in meta.json; a %s is wanted", su_base_name(path),
                       schema->kind);
    if (strcmp(kind, schema->kind) != 0)
        return su_fail(err, SU_INPUT, "%s is a %s, a %s is wanted", su_base_name(path), kind, schema->kind);
    if (!json_is_integer(version))
        return su_fail(err, SU_INPUT, "%s: says no version in meta.json", su_base_name(path));
    if (json_integer_value(version) > schema->version)
        return su_fail(err, SU_INPUT, "%s: is version %lld of %s, this program reads up to %d; use a newer one",
                       su_base_name(path), (long long)json_integer_value(version), kind, schema->version);
    if (json_integer_value(version) < 1)
        return su_fail(err, SU_INPUT, "%s: version %lld of %s is unknown", su_base_name(path),
                       (long long)json_integer_value(version), kind);
    return SU_OK;
}

static void shape_text(const su_npz_entry *entry, char *out, size_t room)
{
    size_t used = (size_t)snprintf(out, room, "(");
    for (int i = 0; i < entry->dimensions && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%lld", i ? "," : "", (long long)entry->shape[i]);
    if (used < room) snprintf(out + used, room - used, ")");
}

/* Compares the stored shape with the table; a count that no array has named yet takes its value here. */
static su_status match_shape(const su_schema *schema, const su_field *field, const su_npz_entry *entry,
                             const char **namers, void *object, const char *path, su_error *err)
{
    char stored[160], wanted[160];
    bool same = entry->dimensions == field->dimensions;
    for (int i = 0; same && i < field->dimensions; i++) {
        int64_t dim = field->shape[i];
        for (int c = 0; dim < 0 && c < schema->count_count; c++) {
            if (schema->counts[c] != (size_t)(-(dim + 1)) || namers[c]) continue;
            namers[c] = field->name;
            *count_at(object, schema->counts[c]) = entry->shape[i];
        }
        same = entry->shape[i] == dimension(object, dim);
    }
    if (same) return SU_OK;
    shape_text(entry, stored, sizeof stored);
    su_field_shape_text(schema, field, wanted, sizeof wanted);
    su_fail(err, SU_INPUT, "%s: array '%s' has the shape %s, %s is wanted", path, field->name, stored, wanted);
    for (int i = 0; err && entry->dimensions == field->dimensions && i < field->dimensions; i++) {
        int64_t dim = field->shape[i];
        if (dim >= 0 || entry->shape[i] == dimension(object, dim)) continue;
        for (int c = 0; c < schema->count_count; c++) {
            if (schema->counts[c] != (size_t)(-(dim + 1)) || !namers[c]) continue;
            size_t used = strlen(err->text);
            snprintf(err->text + used, sizeof err->text - used, " with %s = %lld as in '%s'", schema->count_names[c],
                     (long long)dimension(object, dim), namers[c]);
            return SU_INPUT;
        }
    }
    return SU_INPUT;
}

static su_status load_field(const su_schema *schema, const su_field *field, const char **namers, void *object,
                            su_error *err)
{
    su_file *head = object;
    su_npz *file = head->source;
    const char *path = su_npz_path(file);
    const su_npz_entry *entry = su_npz_find(file, field->name);
    if (!entry) {
        const char *refused = su_npz_refused(file, field->name);
        if (refused) return su_fail(err, SU_INPUT, "%s: array '%s' %s", path, field->name, refused);
        if (field->flags & SU_FIELD_OPTIONAL) return SU_OK;
        return su_fail(err, SU_INPUT, "%s: array '%s' is missing", path, field->name);
    }
    SU_TRY(match_shape(schema, field, entry, namers, object, path, err));
    if (entry->type == field->type) {
        const void *data;
        SU_TRY(su_npz_data(file, entry, &data, err));
        field_set(field, object, data); /* the map is private and writable, so dropping const is honest */
        return SU_OK;
    }
    void *data = su_arena_alloc(&head->arena, entry->elements, su_dtype_size(field->type));
    if (!data) return su_fail(err, SU_AGAIN, "%s: out of memory for array '%s'", path, field->name);
    SU_TRY(su_npz_copy(file, entry, field->type, data, err));
    field_set(field, object, data);
    return SU_OK;
}

su_status su_schema_load(const su_schema *schema, const char *path, void *object, su_error *err)
{
    enum { MAX_COUNTS = 40 };
    const char *namers[MAX_COUNTS] = {0};
    su_status status = SU_OK;
    su_file *head = object;
    memset(object, 0, schema->size);
    if (schema->count_count > MAX_COUNTS) return su_fail(err, SU_FAILED, "%s: too many counts", schema->kind);
    SU_GO(su_npz_open(path, &head->source, err));
    SU_GO(check_kind(schema, head->source, err));
    head->meta = json_deep_copy(su_npz_meta(head->source)); /* which leaves out what it has no memory for */
    if (!head->meta || !json_equal(head->meta, su_npz_meta(head->source))) {
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
        goto done;
    }
    for (int i = 0; i < schema->count; i++) SU_GO(load_field(schema, &schema->fields[i], namers, object, err));
    SU_GO(check_object(schema, object, path, err));
done:
    if (status != SU_OK) su_schema_free(schema, object);
    return status;
}

/* ---- saving ---- */

/* A copy of meta with kind and version set, so that no file can lack them. */
static json_t *final_meta(const su_schema *schema, const su_file *head)
{
    json_t *meta = head->meta ? json_copy(head->meta) : json_object();
    if (meta && ((head->meta && !json_equal(meta, head->meta)) || /* a copy leaves out what it has no memory for */
                 json_object_set_new(meta, "kind", json_string(schema->kind)) != 0 ||
                 json_object_set_new(meta, "version", json_integer(schema->version)) != 0)) {
        json_decref(meta);
        return NULL;
    }
    return meta;
}

su_status su_schema_save(const su_schema *schema, const char *path, const void *object, su_error *err)
{
    return su_schema_save_streamed(schema, path, object, NULL, err);
}

su_status su_schema_save_streamed(const su_schema *schema, const char *path, const void *object,
                                  const su_field_stream *stream, su_error *err)
{
    const su_file *head = object;
    su_status status = SU_OK;
    su_npz_writer *writer = NULL;
    json_t *meta = NULL;
    for (int i = 0; i < schema->count; i++) {
        const su_field *field = &schema->fields[i];
        bool streamed = stream && strcmp(stream->name, field->name) == 0;
        if (!field_get(field, object) && !streamed && !(field->flags & SU_FIELD_OPTIONAL))
            return su_fail(err, SU_FAILED, "%s: array '%s' was not made", path, field->name);
        if (field_get(field, object) && field_elements(field, object) < 0)
            return su_fail(err, SU_FAILED, "%s: array '%s' is too large", path, field->name);
    }
    /* What we made ourselves and would refuse to read is a failure of the numerics, not of an input. */
    status = check_object(schema, object, path, err);
    if (status == SU_INPUT) {
        if (err) err->status = SU_NUMERICS;
        return SU_NUMERICS;
    }
    if (status != SU_OK) return status;
    if (!(meta = final_meta(schema, head))) return su_fail(err, SU_AGAIN, "%s: out of memory", path);
    SU_GO(su_npz_create(path, &writer, err));
    for (int i = 0; i < schema->count; i++) {
        const su_field *field = &schema->fields[i];
        const void *data = field_get(field, object);
        int64_t shape[SU_MAX_DIMENSIONS];
        bool streamed = stream && strcmp(stream->name, field->name) == 0;
        if (!data && !streamed) continue;
        for (int d = 0; d < field->dimensions; d++) shape[d] = dimension(object, field->shape[d]);
        if (streamed) {
            SU_GO(su_npz_begin(writer, field->name, field->type, field->dimensions, shape, err));
            SU_GO(stream->write(stream->context, writer, err));
            SU_GO(su_npz_end(writer, err));
            continue;
        }
        SU_GO(su_npz_add(writer, field->name, field->type, field->dimensions, shape, data, err));
    }
    status = su_npz_commit(writer, meta, err);
    writer = NULL;
done:
    su_npz_abandon(writer);
    json_decref(meta);
    return status;
}

void su_schema_free(const su_schema *schema, void *object)
{
    su_file *head = object;
    if (!head) return;
    json_decref(head->meta);
    su_arena_free(&head->arena);
    su_npz_close(head->source);
    memset(object, 0, schema->size);
}

su_status su_file_allocate(su_file *file, void *out, int64_t count, size_t size, const char *what, su_error *err)
{
    void *pointer = su_arena_alloc(&file->arena, count, size);
    if (!pointer)
        return su_fail(err, SU_AGAIN, "out of memory for %s (%.3g MB)", what, (double)count * (double)size / 1e6);
    memcpy(out, &pointer, sizeof pointer);
    return SU_OK;
}

su_status su_file_copy(su_file *file, void *out, int64_t count, size_t size, const void *from, const char *what,
                       su_error *err)
{
    void *copy = NULL;
    if (from) SU_TRY(su_file_allocate(file, &copy, count, size, what, err));
    if (from) memcpy(copy, from, (size_t)count * size);
    memcpy(out, &copy, sizeof copy);
    return SU_OK;
}

const char *su_file_name(const su_file *file, const char *key, int64_t index)
{
    const json_t *list = json_object_get(file->meta, key);
    if (index < 0 || !json_is_array(list)) return NULL;
    return json_string_value(json_array_get(list, (size_t)index));
}
