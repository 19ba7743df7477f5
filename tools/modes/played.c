/* supple modes --play and --played: shots are played once, and the modes of each pose, a job each, read what came. */
#include "modes.h"

#include "core/memory.h"
#include "io/stage/played.h"

#include <string.h>

su_status played_key(const job *j, char hex[33])
{
    const settings *set = j->set;
    su_error *err = &j->tool->err;
    const su_list *inputs = &j->tool->inputs;
    size_t regions = (size_t)j->setup.d;
    su_digest *digest = su_digest_begin();
    su_status status = digest ? SU_OK : su_fail(err, SU_AGAIN, "out of memory");
    for (int i = 0; status == SU_OK && i < inputs->count + set->shots.count; i++) {
        char file[33];
        status = su_file_digest(i < inputs->count ? inputs->items[i] : set->shots.items[i - inputs->count], file, err);
        if (status == SU_OK) su_digest_add(digest, file, sizeof file - 1);
    }
    if (!digest) return status;
    su_digest_add(digest, j->r, regions * sizeof *j->r);
    su_digest_add(digest, j->linear, regions * sizeof *j->linear);
    su_digest_add(digest, j->responses, regions * sizeof *j->responses);
    su_digest_add(digest, set->sim.gravity, sizeof set->sim.gravity);
    su_digest_add(digest, &set->sim.gravity_mode, sizeof set->sim.gravity_mode);
    su_digest_end(digest, hex);
    return status;
}

su_status played_write(job *j, const char *key)
{
    su_tool *tool = j->tool;
    const su_shot_loads *loads = &j->loads;
    su_played out = {.l = loads->principal,
                     .n = j->tet.n,
                     .f = loads->played.count,
                     .loads = loads->principal ? loads->loads : NULL,
                     .shapes = loads->played.count ? loads->played.shapes : NULL,
                     .weights = loads->played.count ? loads->played.weights : NULL};
    if (out.l + out.f == 0)
        return su_fail(&tool->err, SU_INPUT, "nothing of the shots could be played, or no mode answers them");
    out.file.meta = su_tool_meta(tool, "supple.played", 1, tool->inputs.items, tool->inputs.count);
    if (!out.file.meta) return tool->err.status;
    json_object_set_new(out.file.meta, "key", json_string(key));
    su_status status = su_played_save(tool->output, &out, &tool->err);
    json_decref(out.file.meta);
    su_note(tool, "%lld loads and %lld frames of the shots", (long long)out.l, (long long)out.f);
    return status;
}

/* A copy of `count` numbers, NULL where there are none. */
static su_status copy(int64_t count, const double *from, double **out, su_error *err)
{
    if (!from) return SU_OK;
    SU_TRY(SU_ALLOC(out, count, "played shots", err));
    memcpy(*out, from, (size_t)count * sizeof *from);
    return SU_OK;
}

su_status played_read(job *j, const char *key)
{
    const char *path = j->set->played;
    su_error *err = &j->tool->err;
    su_shot_loads *loads = &j->loads;
    su_played in = {0};
    su_status status;
    SU_GO(su_played_load(path, &in, err));
    const char *known = json_string_value(json_object_get(in.file.meta, "key"));
    if (!known || strcmp(known, key) != 0 || in.n != j->tet.n) {
        status = su_fail(err, SU_INPUT, "%s: was played with other flesh, shots or modes", path);
        goto done;
    }
    loads->principal = in.l, loads->played.count = in.f;
    SU_GO(copy(3 * in.l * in.n, in.loads, &loads->loads, err));
    SU_GO(copy(3 * in.f * in.n, in.shapes, &loads->played.shapes, err));
    SU_GO(copy(in.f, in.weights, &loads->played.weights, err));
done:
    su_played_free(&in);
    return status;
}
