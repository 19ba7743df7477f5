/* supple-info: what stands in a file of supple. */
#include "core/json_text.h"
#include "core/npz.h"
#include "core/tool.h"
#include "io/stage/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    bool json, quick;
} settings;

static const su_schema *schema_of(const json_t *meta)
{
    const char *kind = su_meta_text(meta, "kind", "");
    for (const su_schema *const *at = su_schemas; *at; at++)
        if (strcmp((*at)->kind, kind) == 0) return *at;
    return NULL;
}

static const su_field *field_of(const su_schema *schema, const char *name)
{
    for (int i = 0; schema && i < schema->count; i++)
        if (strcmp(schema->fields[i].name, name) == 0) return &schema->fields[i];
    return NULL;
}

/* Smallest and largest value; the count of values that are not finite. */
typedef struct range {
    double low, high;
    int64_t bad;
} range;

static double value_at(su_dtype type, const void *data, int64_t i)
{
    switch (type) {
    case SU_F64:
        return ((const double *)data)[i];
    case SU_F32:
        return ((const float *)data)[i];
    case SU_I32:
        return ((const int32_t *)data)[i];
    case SU_I64:
        return (double)((const int64_t *)data)[i];
    case SU_U8:
        return ((const uint8_t *)data)[i];
    }
    return 0;
}

static range range_of(const su_npz_entry *entry, const void *data)
{
    range found = {INFINITY, -INFINITY, 0};
    for (int64_t i = 0; i < entry->elements; i++) {
        double value = value_at(entry->type, data, i);
        if (!isfinite(value)) found.bad++;
        found.low = fmin(found.low, value);
        found.high = fmax(found.high, value);
    }
    return found;
}

static void shape_text(const su_npz_entry *entry, char *out, size_t room)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < entry->dimensions && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%lld", i ? " x " : "", (long long)entry->shape[i]);
}

static void print_array(FILE *out, const su_npz_entry *entry, const su_schema *schema, const void *data)
{
    char shape[160], symbols[100] = "";
    const su_field *field = field_of(schema, entry->name);
    shape_text(entry, shape, sizeof shape);
    if (field) su_field_shape_text(schema, field, symbols, sizeof symbols);
    fprintf(out, "  %-22s %-3s %-20s %-14s", entry->name, su_dtype_name(entry->type), shape, symbols);
    if (data && entry->elements) {
        range found = range_of(entry, data);
        fprintf(out, " %.6g to %.6g", found.low, found.high);
        if (field && strcmp(field->unit, "1") != 0) fprintf(out, " %s", field->unit);
        if (found.bad) fprintf(out, ", %lld NOT FINITE", (long long)found.bad);
    }
    fprintf(out, "\n  %-22s %s\n", "", field ? field->meaning : "(not an array of this kind)");
}

/* 0: no memory. */
static int print_text(FILE *out, su_npz *file, const su_schema *schema, const void *const *data)
{
    const json_t *meta = su_npz_meta(file);
    const char *key;
    json_t *value;
    fprintf(out, "%s: %s, version %lld\n", su_npz_path(file), su_meta_text(meta, "kind", "no kind in meta.json"),
            (long long)json_integer_value(json_object_get(meta, "version")));
    json_object_foreach((json_t *)(uintptr_t)meta, key, value)
    {
        if (strcmp(key, "kind") == 0 || strcmp(key, "version") == 0) continue;
        char *text = su_json_dump(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
        if (!text) return 0;
        fprintf(out, "  %-22s %.200s%s\n", key, text, strlen(text) > 200 ? " ..." : "");
        free(text);
    }
    fprintf(out, "\n");
    for (int i = 0; i < su_npz_count(file); i++) print_array(out, su_npz_entry_at(file, i), schema, data[i]);
    return 1;
}

static void print_json(FILE *out, su_npz *file, const su_schema *schema, const void *const *data)
{
    json_t *root = json_object(), *arrays = json_object();
    for (int i = 0; i < su_npz_count(file); i++) {
        const su_npz_entry *entry = su_npz_entry_at(file, i);
        const su_field *field = field_of(schema, entry->name);
        json_t *array = json_object(), *shape = json_array();
        for (int d = 0; d < entry->dimensions; d++) json_array_append_new(shape, json_integer(entry->shape[d]));
        json_object_set_new(array, "type", json_string(su_dtype_name(entry->type)));
        json_object_set_new(array, "shape", shape);
        if (field) {
            char symbols[100];
            su_field_shape_text(schema, field, symbols, sizeof symbols);
            json_object_set_new(array, "symbols", json_string(symbols));
            json_object_set_new(array, "unit", json_string(field->unit));
            json_object_set_new(array, "meaning", json_string(field->meaning));
        }
        if (data[i] && entry->elements) {
            range found = range_of(entry, data[i]);
            json_object_set_new(array, "min", isfinite(found.low) ? json_real(found.low) : json_null());
            json_object_set_new(array, "max", isfinite(found.high) ? json_real(found.high) : json_null());
            json_object_set_new(array, "not_finite", json_integer(found.bad));
        }
        json_object_set_new(arrays, entry->name, array);
    }
    json_object_set_new(root, "file", json_string(su_npz_path(file)));
    json_object_set(root, "meta", (json_t *)(uintptr_t)su_npz_meta(file));
    json_object_set_new(root, "arrays", arrays);
    json_dumpf(root, out, JSON_SORT_KEYS | JSON_INDENT(1));
    fprintf(out, "\n");
    json_decref(root);
}

/* The schema's own loader is the judge of a file: consistent, finite, in range. */
static su_status check(const su_schema *schema, const char *path, su_error *err)
{
    void *object = su_calloc(1, schema->size);
    if (!object) return su_fail(err, SU_AGAIN, "%s: out of memory", path);
    su_status status = su_schema_load(schema, path, object, err);
    if (status == SU_OK) su_schema_free(schema, object);
    free(object);
    return status;
}

static su_status show(FILE *out, const char *path, const settings *set, su_error *err)
{
    su_status status = SU_OK;
    su_npz *file = NULL;
    const void **data = NULL;
    SU_GO(su_npz_open(path, &file, err));
    const su_schema *schema = schema_of(su_npz_meta(file));
    SU_GO(SU_ALLOC(&data, su_npz_count(file), "array list", err));
    for (int i = 0; !set->quick && i < su_npz_count(file); i++)
        SU_GO(su_npz_data(file, su_npz_entry_at(file, i), &data[i], err));
    if (set->json)
        print_json(out, file, schema, data);
    else if (!print_text(out, file, schema, data))
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
    if (status != SU_OK) goto done;
    if (schema && !set->quick) SU_GO(check(schema, path, err));
done:
    free(data);
    su_npz_close(file);
    return status;
}

int main(int argc, char **argv)
{
    settings set = {0};
    const su_option options[] = {
        {"json", 0, SU_OPT_FLAG, &set.json, NULL, "Print JSON instead of text, one object a file.", 0, 0, NULL, false,
         false},
        {"quick", 0, SU_OPT_FLAG, &set.quick, NULL, "Read headers only: no ranges, no checks.", 0, 0, NULL, false,
         false},
    };
    const su_program program = {
        .name = "supple-info",
        .summary = "show and check what stands in a file of supple",
        .usage = "FILE...",
        .description = "Prints kind, settings and every array with type, shape, range, unit and meaning of any .npz "
                       "file, then checks it as the other programs would: bad files end with status 3.",
        .example = "supple info fox.tet.npz",
        .options = options,
        .option_count = 2,
        .min_inputs = 1,
        .max_inputs = -1,
        .text_output = true,
    };
    su_tool tool;
    int code;
    if (!su_tool_begin(&tool, &program, argc, argv, &code)) return code;
    su_status status = SU_OK;
    su_output file = {0};
    bool to_file = tool.output && !tool.output_is_stdout && !tool.dry_run;
    if (to_file) SU_GO(su_output_open(&file, tool.output, &tool.err));
    FILE *out = to_file ? file.stream : stdout;
    for (int i = 0; i < tool.inputs.count; i++) {
        if (i && !set.json) fprintf(out, "\n");
        SU_GO(show(out, tool.inputs.items[i], &set, &tool.err));
    }
    if (to_file) SU_GO(su_output_commit(&file, &tool.err));
done:
    su_output_abandon(&file);
    return su_tool_end(&tool, status);
}
