#include "io/cache/skin_modes.h"

#include "core/file.h"
#include "core/json_text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One array of the binary file, behind `*at` bytes of others, which grow by it. */
static json_t *describe(const char *file, int64_t *at, int dimensions, const int64_t *shape)
{
    int64_t bytes = (int64_t)sizeof(float);
    json_t *sizes = json_array();
    for (int i = 0; i < dimensions; i++) {
        json_array_append_new(sizes, json_integer(shape[i]));
        bytes *= shape[i];
    }
    json_t *out =
        json_pack("{s:s, s:s, s:I, s:o}", "file", file, "type", "f32", "offset", (json_int_t)*at, "shape", sizes);
    *at += bytes;
    return out;
}

static char *description(const char *binary, const su_skin_modes *s, const su_cache_layout *l)
{
    const char up[2] = {l->up, 0}, *file = su_base_name(binary);
    int64_t at = 0;
    json_t *text =
        json_pack("{s:s, s:i, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:s, s:s}", "format", "supple skin modes",
                  "version", 1, "holds", s->phi ? "products" : "weights", "frames", (json_int_t)s->frames, "vertices",
                  (json_int_t)s->vertices, "modes", (json_int_t)s->modes, "fps", l->fps, "frame_start", l->frame_start,
                  "frame_step", l->frame_step, "unit", l->unit, "up", up, "space", s->root_space ? "root" : "world");
    int bad = 0;
    if (s->phi) {
        bad |=
            json_object_set_new(text, "products", describe(file, &at, 3, (const int64_t[]){s->vertices, s->modes, 4}));
    } else {
        bad |= json_object_set_new(text, "weights", describe(file, &at, 2, (const int64_t[]){s->vertices, s->modes}));
        bad |= json_object_set_new(text, "rest", describe(file, &at, 2, (const int64_t[]){s->vertices, 3}));
    }
    bad |= json_object_set_new(text, "maps", describe(file, &at, 4, (const int64_t[]){s->frames, s->modes, 3, 4}));
    const char *const notes[][2] = {{"clip", l->clip}, {"application", l->application}, {"provenance", l->provenance}};
    for (int i = 0; i < 3; i++)
        if (notes[i][1]) bad |= json_object_set_new(text, notes[i][0], json_string(notes[i][1]));
    char *dump = text && !bad ? su_json_dump(text, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(text);
    return dump;
}

static su_status write_numbers(su_output *out, const su_skin_modes *s, su_error *err)
{
    size_t pairs = (size_t)(s->vertices * s->modes);
    if (s->phi) {
        SU_TRY(su_output_write(out, s->phi, 4 * pairs * sizeof *s->phi, err));
    } else {
        SU_TRY(su_output_write(out, s->weights, pairs * sizeof *s->weights, err));
        SU_TRY(su_output_write(out, s->rest, 3 * (size_t)s->vertices * sizeof *s->rest, err));
    }
    SU_TRY(su_output_write(out, s->maps, 12 * (size_t)(s->frames * s->modes) * sizeof *s->maps, err));
    return su_output_flush(out, err);
}

su_status su_skin_modes_save(const char *path, const su_skin_modes *skin, const su_cache_layout *layout, su_error *err)
{
    su_output numbers = {0}, text = {0};
    size_t length = strlen(path);
    char *binary = NULL, *dump = NULL;
    su_status status;
    if (length > 5 && strcmp(path + length - 5, ".json") == 0) length -= 5;
    if (asprintf(&binary, "%.*s.bin", (int)length, path) < 0) binary = NULL;
    dump = binary ? description(binary, skin, layout) : NULL;
    if (!dump) {
        status = su_fail(err, SU_AGAIN, "%s: out of memory", path);
        goto done;
    }
    SU_GO(su_output_open(&numbers, binary, err));
    SU_GO(write_numbers(&numbers, skin, err));
    SU_GO(su_output_open(&text, path, err));
    SU_GO(su_output_write(&text, dump, strlen(dump), err));
    SU_GO(su_output_write(&text, "\n", 1, err));
    SU_GO(su_output_flush(&text, err));
    SU_GO(su_output_commit(&numbers, err));
    status = su_output_commit(&text, err); /* the description comes last */
    if (status != SU_OK) unlink(binary);
done:
    su_output_abandon(&numbers);
    su_output_abandon(&text);
    free(binary), free(dump);
    return status;
}
