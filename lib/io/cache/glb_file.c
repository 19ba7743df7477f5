#include "io/cache/glb_file.h"

#include "core/file.h"
#include "core/json_text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void su_glb_file_begin(su_glb_file *file, su_error *err)
{
    *file = (su_glb_file){.views = json_array(),
                          .accessors = json_array(),
                          .meshes = json_array(),
                          .nodes = json_array(),
                          .skins = json_array(),
                          .channels = json_array(),
                          .samplers = json_array(),
                          .err = err};
}

void su_glb_file_free(su_glb_file *file)
{
    json_decref(file->views), json_decref(file->accessors), json_decref(file->meshes), json_decref(file->nodes);
    json_decref(file->skins), json_decref(file->channels), json_decref(file->samplers);
    free(file->data);
    *file = (su_glb_file){0};
}

su_status su_glb_no_memory(su_glb_file *file) { return su_fail(file->err, SU_AGAIN, "out of memory for a glTF file"); }

static void *extend(su_glb_file *file, size_t bytes)
{
    size_t room = (bytes + 3) & ~(size_t)3;
    if (room > file->capacity - file->count) {
        size_t capacity = 2 * file->capacity + room + 4096;
        uint8_t *grown = realloc(file->data, capacity);
        if (!grown) return NULL;
        file->data = grown, file->capacity = capacity;
    }
    void *at = file->data + file->count;
    memset(at, 0, room);
    file->count += room;
    return at;
}

int su_glb_accessor(su_glb_file *file, int64_t elements, int width, int type, int target, void *data_pointer)
{
    static const char *const names[] = {"", "SCALAR", "VEC2", "VEC3", "VEC4"};
    size_t size = type == SU_GLB_U8 ? 1 : type == SU_GLB_U16 ? 2 : 4;
    size_t bytes = (size_t)elements * (size_t)width * size, offset = file->count;
    void *data = extend(file, bytes);
    if (!data) return -1;
    memcpy(data_pointer, &data, sizeof data);
    json_t *view =
        json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)offset, "byteLength", (json_int_t)bytes);
    if (target) file->bad |= json_object_set_new(view, "target", json_integer(target));
    file->bad |= json_array_append_new(file->views, view);
    file->bad |= json_array_append_new(file->accessors, json_pack("{s:I, s:i, s:I, s:s}", "bufferView",
                                                                  (json_int_t)json_array_size(file->views) - 1,
                                                                  "componentType", type, "count", (json_int_t)elements,
                                                                  "type", width == 16 ? "MAT4" : names[width]));
    return (int)json_array_size(file->accessors) - 1;
}

void su_glb_range(su_glb_file *file, int index, int64_t elements, int width, const float *values)
{
    json_t *low = json_array(), *high = json_array(), *object = json_array_get(file->accessors, (size_t)index);
    for (int c = 0; c < width; c++) {
        float a = FLT_MAX, b = -FLT_MAX;
        for (int64_t i = 0; i < elements; i++) a = fminf(a, values[width * i + c]), b = fmaxf(b, values[width * i + c]);
        file->bad |= json_array_append_new(low, json_real((double)a));
        file->bad |= json_array_append_new(high, json_real((double)b));
    }
    file->bad |= json_object_set_new(object, "min", low);
    file->bad |= json_object_set_new(object, "max", high);
}

su_status su_glb_write(su_glb_file *file, const char *path, const json_t *document)
{
    char *text = document && !file->bad ? su_json_dump(document, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    if (!text) return su_glb_no_memory(file);
    size_t length = strlen(text), padded = (length + 3) & ~(size_t)3;
    uint64_t total = 12 + 8 + (uint64_t)padded + 8 + file->count;
    su_output out = {0};
    su_status status;
    if (total > UINT32_MAX) {
        status = su_fail(file->err, SU_FAILED, "%s: would need %llu bytes, glTF ends at 4 GiB; write fewer --morphs",
                         path, (unsigned long long)total);
        goto done;
    }
    const uint32_t head[5] = {0x46546c67, 2, (uint32_t)total, (uint32_t)padded, 0x4e4f534a}; /* glTF, JSON */
    const uint32_t binary[2] = {(uint32_t)file->count, 0x004e4942};                          /* BIN */
    SU_GO(su_output_open(&out, path, file->err));
    SU_GO(su_output_write(&out, head, sizeof head, file->err));
    SU_GO(su_output_write(&out, text, length, file->err));
    SU_GO(su_output_write(&out, "   ", padded - length, file->err));
    SU_GO(su_output_write(&out, binary, sizeof binary, file->err));
    SU_GO(su_output_write(&out, file->data, file->count, file->err));
    SU_GO(su_output_commit(&out, file->err));
done:
    su_output_abandon(&out);
    free(text);
    return status;
}
