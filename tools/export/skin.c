/* supple export --format skin: a run in skinning modes as numbers for vertex shaders. */
#include "export.h"

#include "core/memory.h"
#include "geometry/affine.h"
#include "io/cache/skin_modes.h"
#include "runtime/subspace/skinning_space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is written, and how far weights alone are off. */
typedef struct shader_data {
    float *phi, *weights, *rest, *maps;
} shader_data;

static su_status check(su_tool *tool, const job *j)
{
    su_error *err = &tool->err;
    if (!j->has_sim) return su_fail(err, SU_USAGE, "--format skin: give MODEL ANIM SIM");
    if (!su_is_skinning_model(&j->model))
        return su_fail(err, SU_USAGE,
                       "--format skin is for models of skinning modes (supple bake --fast): the bases of others are "
                       "turned along vertex by vertex; vertex-animation textures (vat) and glb take any run");
    if (!j->sim.q)
        return su_fail(err, SU_USAGE, "%s: was played in the full space, which has no modes; vat or glb",
                       tool->inputs.items[2]);
    if (j->set.space == SU_SPACE_OBJECT) return su_fail(err, SU_USAGE, "--format skin: --space world or root");
    if (j->set.bind || j->set.samples || j->set.velocities || j->set.normals)
        return su_fail(err, SU_USAGE,
                       "--format skin holds maps a frame: it goes with none of --bind, --samples, --velocities, "
                       "--normals");
    return SU_OK;
}

/* phi (vertices,k,4) of the vertices that are written, A phi of docs/skinning.md, eq. 28; rest (vertices,3): where they
 * stand in the unit of affine maps; weights (vertices,k). */
static su_status vertex_data(const job *j, shader_data *d, su_error *err)
{
    const su_model *model = &j->model;
    const su_skinning_frame frame = su_skinning_frame_of(model);
    int64_t k = model->k, count = j->layout.vertices;
    double *row, *sum;
    SU_TRY(SU_ALLOC(&row, 8 * k, "modes", err));
    sum = row + 4 * k;
    for (int64_t at = 0; at < count; at++) {
        int64_t s = j->anim.source_vertex[j->chosen.kept ? j->chosen.kept[at] : at];
        memset(sum, 0, 4 * (size_t)k * sizeof *sum);
        for (int c = 0; c < 4 && !(model->rigid && model->rigid[s]); c++) {
            su_skinning_row(model, &frame, model->tets[4 * (int64_t)model->embed_tet[s] + c], row);
            for (int64_t i = 0; i < 4 * k; i++) sum[i] += model->embed_bary[4 * s + c] * row[i];
        }
        for (int64_t i = 0; i < 4 * k; i++) d->phi[4 * k * at + i] = (float)sum[i];
        for (int64_t b = 0; b < k; b++) d->weights[k * at + b] = (float)sum[4 * b + 3];
        for (int i = 0; i < 3; i++)
            d->rest[3 * at + i] = (float)((model->neutral[3 * s + i] - frame.centre[i]) / frame.length);
    }
    free(row);
    return SU_OK;
}

/* maps (frames,k,3,4): T_b = M Z_b', M from the root frame in metres to the output. */
static void frame_data(const job *j, float *maps)
{
    int64_t k = j->model.k;
    for (int64_t at = 0; j->first + at * j->step <= j->last; at++) {
        int64_t f = j->first + at * j->step;
        const double *q = j->sim.q + f * j->sim.r;
        double m[16];
        if (j->set.space == SU_SPACE_ROOT)
            memcpy(m, j->expand.convert, sizeof m);
        else
            su_affine_multiply(j->expand.convert, j->anim.root + 16 * f, m);
        for (int64_t b = 0; b < k; b++)
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 4; c++) {
                    const double *z = q + 3 * (4 * b + c);
                    maps[4 * (3 * (at * k + b) + r) + c] =
                        (float)(m[4 * r] * z[0] + m[4 * r + 1] * z[1] + m[4 * r + 2] * z[2]);
                }
    }
}

/* RMS of what weights times places leave of the products, over the RMS of these, and the largest displacement, in units
 * of the output. */
static void measure(const job *j, const shader_data *d, double *relative, double *largest)
{
    int64_t k = j->model.k, frames = (j->last - j->first) / j->step + 1;
    double whole = 0, left = 0;
    *largest = 0;
    for (int64_t f = 0; f < frames; f++)
        for (int64_t v = 0; v < j->layout.vertices; v++) {
            double u[3] = {0}, off[3] = {0};
            for (int64_t b = 0; b < k; b++) {
                const float *phi = d->phi + 4 * (k * v + b), *map = d->maps + 12 * (k * f + b);
                double w = (double)d->weights[k * v + b], x[4];
                for (int c = 0; c < 4; c++) x[c] = c < 3 ? w * (double)d->rest[3 * v + c] : w;
                for (int r = 0; r < 3; r++)
                    for (int c = 0; c < 4; c++) {
                        u[r] += (double)(map[4 * r + c] * phi[c]);
                        off[r] += (double)map[4 * r + c] * (x[c] - (double)phi[c]);
                    }
            }
            double square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
            whole += square, left += off[0] * off[0] + off[1] * off[1] + off[2] * off[2];
            *largest = fmax(*largest, sqrt(square));
        }
    *relative = whole > 0 ? sqrt(left / whole) : 0;
}

su_status export_skin(su_tool *tool, job *j)
{
    su_error *err = &tool->err;
    SU_TRY(check(tool, j));
    if (tool->dry_run) return SU_OK;
    int64_t k = j->model.k, count = j->layout.vertices, frames = j->layout.frames;
    shader_data d = {0};
    double relative, largest;
    su_status status;
    SU_GO(SU_ALLOC(&d.phi, 4 * k * count, "modes", err));
    SU_GO(SU_ALLOC(&d.weights, k * count, "modes", err));
    SU_GO(SU_ALLOC(&d.rest, 3 * count, "modes", err));
    SU_GO(SU_ALLOC(&d.maps, 12 * k * frames, "modes", err));
    SU_GO(vertex_data(j, &d, err));
    frame_data(j, d.maps);
    measure(j, &d, &relative, &largest);
    if (!isfinite(largest)) {
        status = su_fail(err, SU_NUMERICS, "%s: a frame has no finite displacement", tool->inputs.items[2]);
        goto done;
    }
    const su_skin_modes skin = {.vertices = count,
                                .modes = k,
                                .frames = frames,
                                .phi = j->set.weights ? NULL : d.phi,
                                .weights = d.weights,
                                .rest = d.rest,
                                .maps = d.maps,
                                .root_space = j->set.space == SU_SPACE_ROOT};
    SU_GO(su_skin_modes_save(tool->output, &skin, &j->layout, err));
    su_stats_integer(tool, "frames", frames);
    su_stats_integer(tool, "vertices", count);
    su_stats_integer(tool, "modes", k);
    su_stats_number(tool, "largest_displacement", largest * j->layout.unit);
    su_stats_number(tool, "weights_error_relative", relative);
    su_note(tool,
            "%s: %lld frames, %lld vertices, %lld modes; flesh moves up to %.4g m; weights alone leave %.2g %% of it",
            su_base_name(tool->output), (long long)frames, (long long)count, (long long)k, largest * j->layout.unit,
            100.0 * relative);
done:
    free(d.phi), free(d.weights), free(d.rest), free(d.maps);
    return status;
}
