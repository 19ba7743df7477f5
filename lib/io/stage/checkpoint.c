#include "io/stage/checkpoint.h"

#include "core/npz.h"

#include <string.h>
#include <unistd.h>

static const char kind[] = "supple.checkpoint";

/* The arrays of a sim file that grow with the frames. */
typedef struct column {
    const char *name;
    su_dtype type;
    int64_t width;
    void *data;
} column;

enum { COLUMNS = 12 };

/* Those that this sim has; returns how many. */
static int list_columns(const su_sim *sim, column out[COLUMNS])
{
    const column list[COLUMNS] = {{"q", SU_F64, sim->r, sim->q},
                                  {"qdot", SU_F64, sim->r, sim->qdot},
                                  {"path", SU_F64, sim->substeps * sim->r, sim->path},
                                  {"weights", SU_F64, sim->m, sim->weights},
                                  {"basis_weights", SU_F64, sim->m, sim->basis_weights},
                                  {"energy", SU_F64, 3, sim->energy},
                                  {"iterations", SU_I32, 1, sim->iterations},
                                  {"status", SU_I32, 1, sim->status},
                                  {"contacts", SU_I32, 1, sim->contacts},
                                  {"contact_depth", SU_F64, 1, sim->contact_depth},
                                  {"rig_depth", SU_F64, 1, sim->rig_depth},
                                  {"u", SU_F64, 3 * sim->n, sim->u}};
    int count = 0;
    for (int k = 0; k < COLUMNS; k++)
        if (list[k].data) out[count++] = list[k];
    return count;
}

su_status su_checkpoint_write(const char *path, const char *key, int64_t size, const double *state, int64_t done,
                              const su_sim *sim, su_error *err)
{
    su_npz_writer *writer = NULL;
    json_t *meta = NULL;
    column columns[COLUMNS];
    su_status status;
    SU_GO(su_npz_create(path, &writer, err));
    SU_GO(su_npz_add(writer, "state", SU_F64, 1, &size, state, err));
    for (int k = 0, count = list_columns(sim, columns); k < count; k++) {
        int64_t shape[] = {done, columns[k].width};
        SU_GO(su_npz_add(writer, columns[k].name, columns[k].type, 2, shape, columns[k].data, err));
    }
    meta = json_pack("{s:s, s:i, s:s}", "kind", kind, "version", 1, "key", key);
    if (!meta) {
        status = su_fail(err, SU_AGAIN, "not enough memory for the checkpoint");
        goto done;
    }
    status = su_npz_commit(writer, meta, err);
    writer = NULL;
done:
    su_npz_abandon(writer);
    json_decref(meta);
    return status;
}

static su_status read_columns(su_npz *file, const char *path, su_sim *sim, int64_t *frames, su_error *err)
{
    column columns[COLUMNS];
    for (int k = 0, count = list_columns(sim, columns); k < count; k++) {
        const su_npz_entry *entry = su_npz_find(file, columns[k].name);
        if (!entry || entry->dimensions != 2 || entry->shape[1] != columns[k].width || entry->shape[0] < 1 ||
            entry->shape[0] > sim->F || (k > 0 && entry->shape[0] != *frames))
            return su_fail(err, SU_INPUT, "%s: %s does not fit this run: remove the file", path, columns[k].name);
        *frames = entry->shape[0];
        SU_TRY(su_npz_copy(file, entry, columns[k].type, columns[k].data, err));
    }
    return SU_OK;
}

su_status su_checkpoint_read(const char *path, const char *key, int64_t size, double *state, int64_t *done, su_sim *sim,
                             su_error *err)
{
    *done = 0;
    if (access(path, F_OK) != 0) return SU_OK;
    su_npz *file = NULL;
    int64_t frames = 0;
    su_status status;
    SU_GO(su_npz_open(path, &file, err));
    const char *own = json_string_value(json_object_get(su_npz_meta(file), "kind"));
    const char *other = json_string_value(json_object_get(su_npz_meta(file), "key"));
    if (!own || strcmp(own, kind) != 0 || !other || strcmp(other, key) != 0) {
        status = su_fail(err, SU_INPUT,
                         "%s: belongs to a run with other inputs or settings: remove it, or leave --resume out", path);
        goto done;
    }
    const su_npz_entry *entry = su_npz_find(file, "state");
    if (!entry || entry->dimensions != 1 || entry->shape[0] != size) {
        status = su_fail(err, SU_INPUT, "%s: state does not fit this run: remove the file", path);
        goto done;
    }
    SU_GO(su_npz_copy(file, entry, SU_F64, state, err));
    SU_GO(read_columns(file, path, sim, &frames, err));
    *done = frames;
done:
    su_npz_close(file);
    return status;
}
