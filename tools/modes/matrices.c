#include "matrices.h"

#include "core/memory.h"
#include "core/npz.h"
#include "fem/elastic.h"

#include <stdlib.h>

static su_status add(su_npz_writer *writer, const char *name, su_dtype type, int64_t count, const void *data,
                     su_error *err)
{
    return su_npz_add(writer, name, type, 1, &count, data, err);
}

su_status matrices_write(su_tool *tool, const char *path, const su_tet *tet, const su_fit *fit, int64_t row,
                         int material)
{
    su_error *err = &tool->err;
    int64_t t = tet->t;
    const double *x = fit->shapes + 3 * row * tet->n;
    su_elastic body = {0};
    su_sparse K = {0};
    su_npz_writer *writer = NULL;
    int32_t *indices = NULL;
    double *mass = NULL, *rotation = NULL;
    su_rotation_field *field = NULL;
    json_t *meta = NULL;
    su_status status;
    SU_GO(su_elastic_create(&body,
                            &(su_elastic_body){.mesh = {tet->n, t, tet->vertices, tet->tets},
                                               .held_count = tet->fixed_count,
                                               .held = tet->fixed,
                                               .material = (su_material)material,
                                               .young = fit->young + row * t,
                                               .poisson = fit->poisson + row * t,
                                               .density = fit->density},
                            err));
    su_smoothing smoothing = su_fit_smoothing(fit);
    SU_GO(SU_ALLOC(&rotation, 4 * tet->n, "rotations", err));
    SU_GO(su_rotation_field_create(&(su_tet_mesh){tet->n, t, tet->vertices, tet->tets}, &smoothing, 0, NULL, &field,
                                   err));
    su_rotation_field_evaluate(field, x, rotation, tool->threads);
    su_elastic_set_rest(&body, x, smoothing.nodes > 0 ? rotation : NULL, tool->threads);
    SU_GO(su_sparse_clone_pattern(&body.pattern, &K, err));
    su_elastic_stiffness(&body, x, false, &K, tool->threads);
    SU_GO(SU_ALLOC(&indices, K.entries, "matrices", err));
    SU_GO(SU_ALLOC(&mass, K.size, "matrices", err));
    for (int64_t k = 0; k < K.entries; k++) indices[k] = (int32_t)K.row[k];
    for (int64_t i = 0; i < K.size; i++) mass[i] = body.mass[body.free_vertex[i / 3]];
    meta = su_tool_meta(tool, "supple.matrices", 1, tool->inputs.items, tool->inputs.count);
    if (!meta) {
        status = tool->err.status;
        goto done;
    }
    json_object_set_new(meta, "pose", json_integer(fit->pose[row]));
    SU_GO(su_npz_create(path, &writer, err));
    SU_GO(add(writer, "indptr", SU_I64, K.size + 1, K.start, err));
    SU_GO(add(writer, "indices", SU_I32, K.entries, indices, err));
    SU_GO(add(writer, "data", SU_F64, K.entries, K.value, err));
    SU_GO(add(writer, "mass", SU_F64, K.size, mass, err));
    SU_GO(add(writer, "free_vertex", SU_I32, K.size / 3, body.free_vertex, err));
    su_npz_writer *whole = writer;
    writer = NULL; /* committing frees it in every case */
    SU_GO(su_npz_commit(whole, meta, err));
done:
    su_rotation_field_free(field), free(rotation);
    su_npz_abandon(writer);
    json_decref(meta);
    su_elastic_free(&body);
    su_sparse_free(&K);
    free(indices), free(mass);
    return status;
}
