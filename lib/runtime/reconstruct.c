#include "runtime/reconstruct.h"

#include "core/memory.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "runtime/rest_patch.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Entries of a displacement row that are summed at once: fits the first cache together with one row of a block. */
enum { CHUNK = 768 };

struct su_reconstruct {
    const su_model *model;
    su_reduced_basis basis;
    su_rest_patch patch;
    int64_t flesh;              /* flesh vertices with a displacement */
    int32_t **slots;            /* per region: slot of each of its vertices, -1 where not wanted */
    int64_t skin_count;         /* skin vertices with a displacement */
    int32_t *skin_list;
    int32_t *corner;            /* (skin_count,4) slots */
    double *bary;               /* (skin_count,4) */
    int threads;
    int64_t work_size;
    double *work;               /* (threads, work_size) */
    double *skin_block, *u_block;   /* for su_reconstruct_shot */
    su_arena arena;
};

void su_reconstruct_free(su_reconstruct *rec)
{
    if (!rec) return;
    su_reduced_basis_free(&rec->basis);
    su_rest_patch_free(&rec->patch);
    su_arena_free(&rec->arena);
    free(rec);
}

static void *take(su_reconstruct *rec, int64_t count, size_t size, su_error *err)
{
    void *block = su_arena_alloc(&rec->arena, count, size);
    if (!block) su_fail(err, SU_AGAIN, "not enough memory to rebuild displacements");
    return block;
}

/* The flesh that carries the wanted skin vertices, ascending; slot[v] = -1 elsewhere. */
static su_status choose_flesh(su_reconstruct *rec, int64_t count, const int32_t *list, int32_t *slot, int32_t **chosen,
                              su_error *err)
{
    const su_model *model = rec->model;
    rec->skin_count = list ? count : model->nbar;
    rec->skin_list = take(rec, rec->skin_count, sizeof *rec->skin_list, err);
    rec->corner = take(rec, 4 * rec->skin_count, sizeof *rec->corner, err);
    rec->bary = take(rec, 4 * rec->skin_count, sizeof *rec->bary, err);
    if (!rec->skin_list || !rec->corner || !rec->bary) return SU_AGAIN;
    for (int64_t v = 0; v < model->n; v++) slot[v] = list ? -1 : 0;
    for (int64_t k = 0; k < rec->skin_count; k++) {
        int32_t s = rec->skin_list[k] = list ? list[k] : (int32_t)k;
        if (s < 0 || s >= model->nbar) return su_fail(err, SU_USAGE, "there is no skin vertex %d", (int)s);
        for (int c = 0; c < 4; c++) slot[model->tets[4 * (int64_t)model->embed_tet[s] + c]] = 0;
    }
    for (int64_t v = 0; v < model->n; v++)
        if (slot[v] == 0) slot[v] = (int32_t)rec->flesh++;
    *chosen = take(rec, rec->flesh, sizeof **chosen, err);
    if (!*chosen) return SU_AGAIN;
    for (int64_t v = 0; v < model->n; v++)
        if (slot[v] >= 0) (*chosen)[slot[v]] = (int32_t)v;
    for (int64_t k = 0; k < rec->skin_count; k++) {
        int32_t s = rec->skin_list[k];
        bool rigid = model->rigid && model->rigid[s];
        for (int c = 0; c < 4; c++) {
            rec->corner[4 * k + c] = slot[model->tets[4 * (int64_t)model->embed_tet[s] + c]];
            rec->bary[4 * k + c] = rigid ? 0.0 : model->embed_bary[4 * (int64_t)s + c];
        }
    }
    return SU_OK;
}

su_status su_reconstruct_create(const su_model *model, su_interpolation interpolation, int64_t count,
                                const int32_t *list, int threads, su_reconstruct **out, su_error *err)
{
    su_status status;
    su_reconstruct *rec = NULL;
    int32_t *slot = NULL, *chosen = NULL;
    SU_GO(SU_ALLOC(&rec, 1, "displacements", err));
    rec->model = model;
    rec->threads = threads > 0 ? threads : 1;
    SU_GO(SU_ALLOC(&slot, model->n, "displacements", err));
    SU_GO(su_reduced_basis_create(model, interpolation, &rec->basis, err));
    SU_GO(choose_flesh(rec, count, list, slot, &chosen, err));
    bool corotated = interpolation == SU_COROTATED;
    SU_GO(su_rest_patch_create(model, rec->flesh, chosen, corotated ? rec->flesh : 0, corotated, &rec->patch, err));
    status = SU_AGAIN;
    if (!(rec->slots = take(rec, model->d, sizeof *rec->slots, err))) goto done;
    for (int64_t g = 0; g < model->d; g++) {
        if (!(rec->slots[g] = take(rec, rec->basis.vertex_count[g], sizeof **rec->slots, err))) goto done;
        for (int64_t v = 0; v < rec->basis.vertex_count[g]; v++) rec->slots[g][v] = slot[rec->basis.vertices[g][v]];
    }
    /* per thread: rest positions, quaternions, blended coefficients, one chunk, scale, displacements */
    rec->work_size = 3 * rec->patch.vertex_count + 4 * rec->flesh + model->m * model->r + CHUNK + model->r +
                     3 * rec->flesh;
    rec->work_size = (rec->work_size + 15) / 8 * 8;
    if (!(rec->work = take(rec, rec->threads * rec->work_size, sizeof *rec->work, err))) goto done;
    status = SU_OK;
    *out = rec;
    rec = NULL;
done:
    free(slot);
    su_reconstruct_free(rec);
    return status;
}

int64_t su_reconstruct_skin_needed(const su_reconstruct *rec, const int32_t **list)
{
    *list = rec->patch.skin;
    return rec->patch.skin_count;
}

int64_t su_reconstruct_flesh(const su_reconstruct *rec, const int32_t **list)
{
    *list = rec->patch.vertices;
    return rec->flesh;
}

/* u += sum over rows of coefficient * block, one region, in the neutral pose. */
static void add_region(const su_reconstruct *rec, int64_t g, const double *coefficients, double *chunk, double *u)
{
    const su_reduced_basis *basis = &rec->basis;
    int64_t first = basis->first_mode[g], modes = basis->first_mode[g + 1] - first, size = 3 * basis->vertex_count[g];
    const int32_t *slots = rec->slots[g];
    for (int64_t at = 0; at < size; at += CHUNK) {
        int64_t width = size - at < CHUNK ? size - at : CHUNK;
        memset(chunk, 0, CHUNK * sizeof *chunk);
        for (int64_t i = 0; i < basis->m; i++)
            for (int64_t k = 0; k < modes; k++) {
                double c = coefficients[i * basis->r + first + k];
                if (c == 0.0) continue;
                const float *row = basis->blocks[g] + (i * modes + k) * size + at;
                for (int64_t j = 0; j < width; j++) chunk[j] += c * (double)row[j];
            }
        for (int64_t j = 0; j < width; j += 3) {
            int32_t slot = slots[(at + j) / 3];
            if (slot < 0) continue;
            for (int c = 0; c < 3; c++) u[3 * slot + c] += chunk[j + c];
        }
    }
}

static void one_frame(const su_reconstruct *rec, double *work, const double *skin, const double *w, const double *b,
                      const double *q, double *u, double *displacement)
{
    int64_t m = rec->basis.m, r = rec->basis.r;
    bool corotated = rec->basis.interpolation == SU_COROTATED;
    double *x = work, *quaternions = x + 3 * rec->patch.vertex_count, *coefficients = quaternions + 4 * rec->flesh;
    double *chunk = coefficients + m * r, *scale = chunk + CHUNK, *own = scale + r;
    if (!u) u = own;
    if (!corotated) b = w;
    su_reduced_basis_scale(&rec->basis, b, scale);
    for (int64_t i = 0; i < m; i++)
        for (int64_t k = 0; k < r; k++) coefficients[i * r + k] = b[i] * scale[k] * q[k];
    memset(u, 0, (size_t)(3 * rec->flesh) * sizeof *u);
    for (int64_t g = 0; g < rec->basis.d; g++) add_region(rec, g, coefficients, chunk, u);
    if (corotated) {
        su_rest_patch_evaluate(&rec->patch, skin, w, x, quaternions);
        for (int64_t v = 0; v < rec->flesh; v++) {
            double R[9];
            su_quaternion_matrix(quaternions + 4 * v, R);
            su_mulv3(R, u + 3 * v, u + 3 * v);
        }
    }
    if (!displacement) return;
    for (int64_t k = 0; k < rec->skin_count; k++) {
        const int32_t *corner = rec->corner + 4 * k;
        const double *bary = rec->bary + 4 * k;
        for (int c = 0; c < 3; c++)
            displacement[3 * k + c] = bary[0] * u[3 * corner[0] + c] + bary[1] * u[3 * corner[1] + c] +
                                      bary[2] * u[3 * corner[2] + c] + bary[3] * u[3 * corner[3] + c];
    }
}

su_status su_reconstruct_frames(su_reconstruct *rec, int64_t frames, const double *skin, const double *w,
                                const double *b, const double *q, double *u, double *displacement, su_error *err)
{
    int64_t m = rec->basis.m, r = rec->basis.r;
    (void)err;
#pragma omp parallel for schedule(dynamic, 1) num_threads(rec->threads)
    for (int64_t f = 0; f < frames; f++)
        one_frame(rec, rec->work + omp_get_thread_num() * rec->work_size, skin + f * 3 * rec->patch.skin_count,
                  w + f * m, b ? b + f * m : w + f * m, q + f * r, u ? u + f * 3 * rec->flesh : NULL,
                  displacement ? displacement + f * 3 * rec->skin_count : NULL);
    return SU_OK;
}

void su_embed(const su_model *model, int64_t frames, const double *u, double *displacement, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads > 0 ? threads : 1) collapse(2)
    for (int64_t f = 0; f < frames; f++)
        for (int64_t s = 0; s < model->nbar; s++) {
            double *out = displacement + 3 * (f * model->nbar + s), sum[3] = {0, 0, 0};
            bool rigid = model->rigid && model->rigid[s];
            for (int c = 0; c < 4 && !rigid; c++) {
                int64_t v = model->tets[4 * (int64_t)model->embed_tet[s] + c];
                for (int i = 0; i < 3; i++)
                    sum[i] += model->embed_bary[4 * s + c] * u[3 * (f * model->n + v) + i];
            }
            memcpy(out, sum, sizeof sum);
        }
}

su_interpolation su_sim_interpolation(const su_sim *sim)
{
    const char *name = json_string_value(json_object_get(sim->file.meta, "interpolation"));
    return name && strcmp(name, "linear") == 0 ? SU_LINEAR : SU_COROTATED;
}

su_status su_reconstruct_shot(su_reconstruct *rec, const su_shot *shot, const su_sim *sim, int64_t first,
                              int64_t frames, double *u, double *displacement, double *points, su_error *err)
{
    const su_model *model = rec->model;
    int64_t nbar = model->nbar;
    if (rec->skin_count != nbar || rec->flesh != model->n)
        return su_fail(err, SU_USAGE, "displacements of a whole shot need every vertex");
    if (frames > SU_RECONSTRUCT_BLOCK) return su_fail(err, SU_USAGE, "at most %d frames at once", SU_RECONSTRUCT_BLOCK);
    if (!rec->skin_block) {
        rec->skin_block = take(rec, SU_RECONSTRUCT_BLOCK * 3 * rec->patch.skin_count, sizeof *rec->skin_block, err);
        rec->u_block = take(rec, SU_RECONSTRUCT_BLOCK * 3 * nbar, sizeof *rec->u_block, err);
        if (!rec->skin_block || !rec->u_block) return SU_AGAIN;
    }
    if (!displacement && points) displacement = rec->u_block;
    if (sim->q) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(rec->threads)
        for (int64_t f = 0; f < frames; f++)
            su_shot_sample(shot, first + f, 0.0, rec->patch.skin_count, rec->patch.skin,
                           rec->skin_block + f * 3 * rec->patch.skin_count, NULL, NULL, NULL);
        SU_TRY(su_reconstruct_frames(rec, frames, rec->skin_block, sim->weights + first * sim->m,
                                     sim->basis_weights ? sim->basis_weights + first * sim->m : NULL,
                                     sim->q + first * sim->r, u, displacement, err));
    } else {
        const double *source = sim->u + first * 3 * sim->n;
        if (u) memcpy(u, source, (size_t)(frames * 3 * sim->n) * sizeof *u);
        if (displacement) su_embed(model, frames, source, displacement, rec->threads);
    }
    if (!points) return SU_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(rec->threads)
    for (int64_t f = 0; f < frames; f++) {
        double *out = points + f * 3 * nbar;
        su_shot_sample(shot, first + f, 0.0, nbar, NULL, out, NULL, NULL, NULL);
        const double *add = displacement + f * 3 * nbar;
        for (int64_t k = 0; k < 3 * nbar; k++) out[k] += add[k];
    }
    return SU_OK;
}
