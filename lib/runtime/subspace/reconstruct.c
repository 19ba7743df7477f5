#include "runtime/subspace/reconstruct.h"

#include "core/choice.h"
#include "core/memory.h"
#include "core/threads.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/subspace/rest_lanes.h"
#include "runtime/subspace/rest_patch.h"
#include "runtime/subspace/skinning_space.h"

#include <stdlib.h>
#include <string.h>

/* Frames share the way of the basis through the cache in groups of SU_WIDE_FRAMES. */
enum { GROUPS = SU_RECONSTRUCT_BLOCK / SU_WIDE_FRAMES };

/* Scratch of a thread for GROUPS groups of frames. */
typedef struct work {
    float *rotation; /* as in rest_lanes.h */
    float *near, *moved, *nodes;
    float *w;            /* (m,16) */
    double *scale;       /* (r) and (frames,r) */
    float *coefficients; /* (groups, m * modes of a region,16) */
    float *u;            /* (groups,flesh,3,16) m */
} work;

struct su_reconstruct {
    const su_model *model;
    su_reduced_basis basis;
    su_rest_patch patch;
    su_rest_lanes lanes;
    const su_frame_kernels *kernels;
    int64_t flesh;      /* flesh vertices with a displacement */
    int32_t *chosen;    /* (flesh) */
    float *sum;         /* (3 vertices of the largest region) */
    float *phi;         /* (flesh,r / 3) of skinning modes; NULL: the basis and the patch serve */
    int32_t **slots;    /* per region: slot of each of its vertices, -1 where not wanted */
    int64_t skin_count; /* skin vertices with a displacement */
    int32_t *skin_list;
    int32_t *corner; /* (skin_count,4) slots */
    float *bary;     /* (skin_count,4) */
    int threads;
    work *works;                         /* (threads) */
    double *skin_block, *u_block, *full; /* for su_reconstruct_shot; full (n,3) */
    su_arena arena;
};

void su_reconstruct_free(su_reconstruct *rec)
{
    if (!rec) return;
    su_reduced_basis_free(&rec->basis);
    su_rest_lanes_free(&rec->lanes);
    su_rest_patch_free(&rec->patch);
    su_arena_free(&rec->arena);
    free(rec);
}

/* What memory is wanted for. */
static const char purpose[] = "displacements";

/* The flesh that carries the wanted skin vertices, ascending; slot[v] = -1 elsewhere. */
static su_status choose_flesh(su_reconstruct *rec, int64_t count, const int32_t *list, int32_t *slot, su_error *err)
{
    const su_model *model = rec->model;
    rec->skin_count = list ? count : model->nbar;
    SU_TRY(SU_TAKE_ALL(&rec->arena, purpose, err, SU_WANT(rec->skin_list, rec->skin_count),
                       SU_WANT(rec->corner, 4 * rec->skin_count), SU_WANT(rec->bary, 4 * rec->skin_count)));
    for (int64_t v = 0; v < model->n; v++) slot[v] = list || count ? -1 : 0;
    for (int64_t k = 0; k < rec->skin_count; k++) {
        int32_t s = rec->skin_list[k] = list ? list[k] : (int32_t)k;
        if (s < 0 || s >= model->nbar) return su_fail(err, SU_USAGE, "there is no skin vertex %d", (int)s);
        for (int c = 0; c < 4 && !(model->rigid && model->rigid[s]); c++) {
            rec->bary[4 * k + c] = (float)model->embed_bary[4 * (int64_t)s + c];
            slot[model->tets[4 * (int64_t)model->embed_tet[s] + c]] = 0;
        }
    }
    if (rec->skin_count > 0 && model->n > 0 && slot[0] < 0) { /* never empty: all skin may be rigid */
        bool none = true;
        for (int64_t v = 0; v < model->n; v++) none &= slot[v] < 0;
        if (none) slot[0] = 0;
    }
    for (int64_t v = 0; v < model->n; v++)
        if (slot[v] == 0) slot[v] = (int32_t)rec->flesh++;
    SU_TRY(SU_TAKE_ALL(&rec->arena, purpose, err, SU_WANT(rec->chosen, rec->flesh)));
    for (int64_t v = 0; v < model->n; v++)
        if (slot[v] >= 0) rec->chosen[slot[v]] = (int32_t)v;
    for (int64_t k = 0; k < 4 * rec->skin_count; k++) {
        int32_t s = rec->skin_list[k / 4], at = slot[model->tets[4 * (int64_t)model->embed_tet[s] + k % 4]];
        rec->corner[k] = at >= 0 ? at : 0; /* rigid vertices: times zero */
    }
    return SU_OK;
}

static su_status create_work(su_reconstruct *rec, work *w, su_error *err)
{
    int64_t m = rec->basis.m, r = rec->basis.r, flesh = rec->flesh;
    return SU_TAKE_ALL(&rec->arena, purpose, err, SU_WANT(w->near, SU_POINT_WIDE * rec->patch.vertex_count),
                       SU_WANT(w->rotation, SU_TURN_WIDE * flesh), SU_WANT(w->nodes, SU_TURN_WIDE * rec->patch.nodes),
                       SU_WANT(w->moved, SU_POINT_WIDE * rec->patch.skin_count),
                       SU_WANT(w->w, SU_REST_FRAMES * rec->model->m), SU_WANT(w->scale, (1 + SU_RECONSTRUCT_BLOCK) * r),
                       SU_WANT(w->coefficients, SU_RECONSTRUCT_BLOCK * m * r),
                       SU_WANT(w->u, 3 * SU_RECONSTRUCT_BLOCK * flesh));
}

/* The basis, and what turns it at a pose. */
static su_status take_basis(su_reconstruct *rec, su_interpolation interpolation, const su_kernel_set *set,
                            const int32_t *slot, su_error *err)
{
    const su_model *model = rec->model;
    int64_t turned = interpolation == SU_COROTATED ? rec->flesh : 0;
    SU_TRY(su_reduced_basis_create(model, interpolation, &rec->basis, err));
    SU_TRY(su_rest_patch_create(model, rec->flesh, rec->chosen, turned, &rec->patch, err));
    SU_TRY(su_rest_lanes_create(&rec->patch, &set->pose, &rec->lanes, err));
    int64_t most = 0;
    for (int64_t g = 0; g < model->d; g++)
        if (rec->basis.vertex_count[g] > most) most = rec->basis.vertex_count[g];
    SU_TRY(SU_TAKE_ALL(&rec->arena, purpose, err, SU_WANT(rec->sum, 3 * most), SU_WANT(rec->slots, model->d)));
    for (int64_t g = 0; g < model->d; g++) {
        SU_TRY(SU_TAKE_ALL(&rec->arena, purpose, err, SU_WANT(rec->slots[g], rec->basis.vertex_count[g])));
        for (int64_t v = 0; v < rec->basis.vertex_count[g]; v++) rec->slots[g][v] = slot[rec->basis.vertices[g][v]];
    }
    return SU_OK;
}

/* Skinning modes: they depend on no pose, and need no skin. */
static su_status take_rows(su_reconstruct *rec, su_error *err)
{
    const su_model *model = rec->model;
    int64_t K = model->r / 3;
    su_skinning_frame frame = su_skinning_frame_of(model);
    double *row;
    rec->basis.m = 1, rec->basis.r = model->r;
    SU_TRY(SU_TAKE_ALL(&rec->arena, purpose, err, SU_WANT(rec->phi, rec->flesh * K)));
    SU_TRY(SU_ALLOC(&row, K, "displacements", err));
    for (int64_t v = 0; v < rec->flesh; v++) {
        su_skinning_row(model, &frame, rec->chosen[v], row);
        for (int64_t k = 0; k < K; k++) rec->phi[v * K + k] = (float)row[k];
    }
    free(row);
    return SU_OK;
}

su_status su_reconstruct_create(const su_model *model, su_interpolation interpolation, int64_t count,
                                const int32_t *list, int threads, su_reconstruct **out, su_error *err)
{
    su_status status;
    su_reconstruct *rec = NULL;
    const su_kernel_set *set;
    int32_t *slot = NULL;
    SU_GO(SU_ALLOC(&rec, 1, "displacements", err));
    rec->model = model;
    rec->threads = threads > 0 ? threads : 1;
    SU_GO(su_kernel_set_find(&set, err));
    rec->kernels = &set->frames;
    SU_GO(SU_ALLOC(&slot, model->n, "displacements", err));
    SU_GO(choose_flesh(rec, count, list, slot, err));
    SU_GO(su_is_skinning_model(model) ? take_rows(rec, err) : take_basis(rec, interpolation, set, slot, err));
    SU_GO(SU_TAKE_ALL(&rec->arena, purpose, err, SU_WANT(rec->works, rec->threads)));
    for (int k = 0; k < rec->threads; k++) SU_GO(create_work(rec, rec->works + k, err));
    *out = rec;
    rec = NULL;
done:
    free(slot);
    su_reconstruct_free(rec);
    return status;
}

int64_t su_reconstruct_skin_needed(const su_reconstruct *rec, const int32_t **list)
{
    *list = rec->phi ? rec->chosen : rec->patch.skin; /* never NULL, which would mean all */
    return rec->patch.skin_count;
}

int64_t su_reconstruct_flesh(const su_reconstruct *rec, const int32_t **list)
{
    *list = rec->chosen;
    return rec->flesh;
}

/* U^ q of frames into own->u, rotations not yet applied. Lanes beyond the last frame repeat it. */
static void combine(const su_reconstruct *rec, int64_t frames, const double *b, const double *q, work *own)
{
    const su_reduced_basis *basis = &rec->basis;
    int groups = (int)((frames + SU_WIDE_FRAMES - 1) / SU_WIDE_FRAMES);
    int64_t m = basis->m, r = basis->r, poses = rec->model->m;
    double *scaled = own->scale + r;
    memset(own->u, 0, (size_t)(3 * SU_WIDE_FRAMES * groups * rec->flesh) * sizeof *own->u);
    for (int64_t f = 0; f < frames; f++) {
        su_reduced_basis_scale(basis, b + f * poses, own->scale);
        for (int64_t k = 0; k < r; k++) scaled[f * r + k] = own->scale[k] * q[f * r + k];
    }
    for (int64_t g = 0; g < basis->d; g++) {
        int64_t first = basis->first_mode[g], modes = su_region_modes(basis, g), vertices = basis->vertex_count[g];
        float *c = own->coefficients;
        for (int group = 0; group < groups; group++)
            for (int64_t i = 0; i < m; i++)
                for (int64_t k = 0; k < modes; k++)
                    for (int64_t lane = 0; lane < SU_WIDE_FRAMES; lane++) {
                        int64_t at = SU_WIDE_FRAMES * group + lane, f = at < frames ? at : frames - 1;
                        *c++ = (float)((m == 1 ? 1 : b[f * poses + i]) * scaled[f * r + first + k]);
                    }
        rec->kernels->combine(groups, m * modes, vertices, basis->blocks[g], own->coefficients, rec->slots[g],
                              rec->flesh, own->u);
    }
}

/* The same of skinning modes. */
static void weigh(const su_reconstruct *rec, int64_t frames, const double *q, work *own)
{
    int64_t r = rec->basis.r;
    for (int64_t first = 0; first < frames; first += SU_WIDE_FRAMES) {
        for (int64_t k = 0; k < r; k++)
            for (int64_t lane = 0; lane < SU_WIDE_FRAMES; lane++) {
                int64_t f = first + lane < frames ? first + lane : frames - 1;
                own->coefficients[k * SU_WIDE_FRAMES + lane] = (float)q[f * r + k];
            }
        rec->kernels->weigh(rec->flesh, r / 3, rec->phi, own->coefficients, own->u + 3 * first * rec->flesh);
    }
}

/* rotation of a group of frames. */
static void rotate(const su_reconstruct *rec, work *own, int64_t frames, const double *skin, const double *w)
{
    int64_t m = rec->model->m, needed = 3 * rec->patch.skin_count;
    const double *skins[SU_REST_FRAMES];
    double *nowhere[2] = {NULL, NULL};
    for (int64_t f = 0; f < SU_REST_FRAMES; f++) {
        int64_t from = f < frames ? f : frames - 1;
        skins[f] = skin + from * needed;
        for (int64_t i = 0; i < m; i++) own->w[SU_REST_FRAMES * i + f] = (float)w[from * m + i];
    }
    su_rest_lanes_moved(&rec->lanes, skins, own->moved);
    su_rest_lanes_positions(&rec->lanes, frames, own->moved, own->w, nowhere, own->near);
    su_rest_lanes_rotations(&rec->lanes, frames, own->near, own->nodes, own->rotation);
}

static bool is_turned(const su_reconstruct *rec) { return !rec->phi && rec->basis.interpolation == SU_COROTATED; }

/* Up to SU_RECONSTRUCT_BLOCK frames: sums of modes in float. */
static void some_frames(const su_reconstruct *rec, int64_t frames, const double *skin, const double *w, const double *b,
                        const double *q, double *u, double *displacement)
{
    work *own = rec->works + su_thread();
    bool corotated = is_turned(rec);
    double *out[SU_WIDE_FRAMES];
    if (rec->phi)
        weigh(rec, frames, q, own);
    else
        combine(rec, frames, corotated ? b : w, q, own);
    for (int64_t at = 0; at < frames; at += SU_WIDE_FRAMES) {
        int64_t count = frames - at < SU_WIDE_FRAMES ? frames - at : SU_WIDE_FRAMES;
        float *lanes = own->u + 3 * at * rec->flesh;
        if (corotated) {
            rotate(rec, own, count, skin + at * 3 * rec->patch.skin_count, w + at * rec->model->m);
            rec->kernels->turn(rec->flesh, own->rotation, lanes);
        }
        for (int64_t f = 0; u && f < count; f++) out[f] = u + (at + f) * 3 * rec->flesh;
        if (u) rec->kernels->separate(count, rec->flesh, lanes, out);
        for (int64_t f = 0; displacement && f < count; f++) out[f] = displacement + (at + f) * 3 * rec->skin_count;
        if (displacement) rec->kernels->embed(count, rec->skin_count, rec->corner, rec->bary, lanes, out);
    }
}

void su_reconstruct_frames(su_reconstruct *rec, int64_t frames, const double *skin, const double *w, const double *b,
                           const double *q, double *u, double *displacement)
{
    int64_t m = rec->model->m, r = rec->basis.r;
    int64_t groups = (frames + SU_WIDE_FRAMES - 1) / SU_WIDE_FRAMES, each = (groups + rec->threads - 1) / rec->threads;
    int64_t block = SU_WIDE_FRAMES * (each < 1 ? 1 : each > GROUPS ? GROUPS : each);
    if (!b) b = w;
#pragma omp parallel for schedule(dynamic, 1) num_threads(rec->threads)
    for (int64_t f = 0; f < frames; f += block)
        some_frames(rec, frames - f < block ? frames - f : block, skin + f * 3 * rec->patch.skin_count, w + f * m,
                    b + f * m, q + f * r, u ? u + f * 3 * rec->flesh : NULL,
                    displacement ? displacement + f * 3 * rec->skin_count : NULL);
}

/* One frame of modes: own->u (flesh,3), turned by that lane of own->rotation where the basis is. */
static void combine_frame(su_reconstruct *rec, int64_t lane, const double *w, const double *b, const double *q)
{
    const su_reduced_basis *basis = &rec->basis;
    work *own = rec->works;
    bool corotated = is_turned(rec);
    if (!b || !corotated) b = w;
    su_reduced_basis_scale(basis, b, own->scale);
    memset(own->u, 0, (size_t)(3 * rec->flesh) * sizeof *own->u);
    for (int64_t g = 0; g < basis->d; g++) {
        int64_t first = basis->first_mode[g], modes = su_region_modes(basis, g), count = basis->vertex_count[g];
        float *c = own->coefficients;
        for (int64_t i = 0; i < basis->m; i++)
            for (int64_t k = first; k < first + modes; k++)
                *c++ = (float)((basis->m == 1 ? 1 : b[i]) * own->scale[k] * q[k]);
        rec->kernels->combine_one(basis->m * modes, 3 * count, basis->blocks[g], own->coefficients, rec->sum);
        for (int64_t v = 0; v < count; v++)
            for (int i = 0; i < 3 && rec->slots[g][v] >= 0; i++)
                own->u[3 * (int64_t)rec->slots[g][v] + i] += rec->sum[3 * v + i];
    }
    for (int64_t v = 0; corotated && v < rec->flesh; v++) {
        const float *R = own->rotation + SU_TURN_WIDE * v + lane;
        float x[3] = {own->u[3 * v], own->u[3 * v + 1], own->u[3 * v + 2]};
        for (int i = 0; i < 3; i++)
            own->u[3 * v + i] = R[SU_REST_FRAMES * 3 * i] * x[0] + R[SU_REST_FRAMES * (3 * i + 1)] * x[1] +
                                R[SU_REST_FRAMES * (3 * i + 2)] * x[2];
    }
}

static void weigh_frame(su_reconstruct *rec, const double *q)
{
    work *own = rec->works;
    int64_t K = rec->basis.r / 3;
    for (int64_t k = 0; k < K; k++)
        for (int i = 0; i < 3; i++) own->coefficients[i * K + k] = (float)q[3 * k + i];
    rec->kernels->weigh_one(rec->flesh, K, rec->phi, own->coefficients, own->u);
}

void su_reconstruct_turn(su_reconstruct *rec, int64_t frames, const double *skin, const double *w)
{
    if (is_turned(rec)) rotate(rec, rec->works, frames, skin, w);
}

void su_reconstruct_one(su_reconstruct *rec, const double *skin, const double *w, const double *b, const double *q,
                        double *u, double *displacement)
{
    su_reconstruct_turn(rec, 1, skin, w);
    su_reconstruct_turned(rec, 0, w, b, q, u, displacement);
}

void su_reconstruct_turned(su_reconstruct *rec, int64_t frame, const double *w, const double *b, const double *q,
                           double *u, double *displacement)
{
    work *own = rec->works;
    if (rec->phi)
        weigh_frame(rec, q);
    else
        combine_frame(rec, frame, w, b, q);
    for (int64_t k = 0; u && k < 3 * rec->flesh; k++) u[k] = (double)own->u[k];
    for (int64_t s = 0; displacement && s < rec->skin_count; s++) {
        float sum[3] = {0, 0, 0};
        for (int c = 0; c < 4; c++)
            for (int i = 0; i < 3; i++)
                sum[i] += rec->bary[4 * s + c] * own->u[3 * (int64_t)rec->corner[4 * s + c] + i];
        for (int i = 0; i < 3; i++) displacement[3 * s + i] = (double)sum[i];
    }
}

/* A u of given full-space displacements u (frames,n,3): displacement (frames,nbar,3). */
static void embed(const su_model *model, int64_t frames, const double *u, double *displacement, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads > 0 ? threads : 1) collapse(2)
    for (int64_t f = 0; f < frames; f++)
        for (int64_t s = 0; s < model->nbar; s++) {
            double *out = displacement + 3 * (f * model->nbar + s), sum[3] = {0, 0, 0};
            bool rigid = model->rigid && model->rigid[s];
            for (int c = 0; c < 4 && !rigid; c++) {
                int64_t v = model->tets[4 * (int64_t)model->embed_tet[s] + c];
                for (int i = 0; i < 3; i++) sum[i] += model->embed_bary[4 * s + c] * u[3 * (f * model->n + v) + i];
            }
            memcpy(out, sum, sizeof sum);
        }
}

su_interpolation su_sim_interpolation(const su_sim *sim)
{
    const char *name = json_string_value(json_object_get(sim->file.meta, "interpolation"));
    return (su_interpolation)su_choice_find(SU_INTERPOLATION_NAMES, name, SU_COROTATED);
}

su_status su_reconstruct_shot(su_reconstruct *rec, const su_shot *shot, const su_sim *sim, int64_t first,
                              int64_t frames, const su_shot_motion *wanted, su_error *err)
{
    const su_model *model = rec->model;
    int64_t nbar = model->nbar;
    double *u = wanted->u, *points = wanted->points, *displacement = wanted->displacement;
    if (rec->skin_count != nbar || (u && rec->flesh != model->n))
        return su_fail(err, SU_USAGE, "displacements of a whole shot need every vertex");
    if (frames > SU_RECONSTRUCT_BLOCK) return su_fail(err, SU_USAGE, "at most %d frames at once", SU_RECONSTRUCT_BLOCK);
    if (!rec->u_block)
        SU_TRY(SU_TAKE_ALL(&rec->arena, purpose, err,
                           SU_WANT(rec->skin_block, SU_RECONSTRUCT_BLOCK * 3 * rec->patch.skin_count),
                           SU_WANT(rec->u_block, SU_RECONSTRUCT_BLOCK * 3 * nbar)));
    if (!displacement && points) displacement = rec->u_block;
    if (sim->q) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(rec->threads)
        for (int64_t f = 0; f < (rec->phi ? 0 : frames); f++) /* skinning modes need no skin */
            su_shot_sample_skin(shot, first + f, 0.0, rec->patch.skin_count, rec->patch.skin, 1,
                                rec->skin_block + f * 3 * rec->patch.skin_count);
        su_reconstruct_frames(rec, frames, rec->skin_block, sim->weights + first * sim->m,
                              sim->basis_weights ? sim->basis_weights + first * sim->m : NULL, sim->q + first * sim->r,
                              u, displacement);
        if (sim->full > 0 && !rec->full)
            SU_TRY(SU_TAKE_ALL(&rec->arena, purpose, err, SU_WANT(rec->full, 3 * model->n)));
        for (int64_t k = 0; k < sim->full; k++) { /* corrected, or played in the full space */
            int64_t f = sim->full_frame[k] - first;
            if (f < 0 || f >= frames) continue;
            for (int64_t i = 0; i < 3 * sim->n; i++) rec->full[i] = (double)sim->full_u[k * 3 * sim->n + i];
            if (u) memcpy(u + f * 3 * sim->n, rec->full, (size_t)(3 * sim->n) * sizeof *u);
            if (displacement) embed(model, 1, rec->full, displacement + f * 3 * nbar, rec->threads);
        }
    } else {
        const double *source = sim->u + first * 3 * sim->n;
        if (u) memcpy(u, source, (size_t)(frames * 3 * sim->n) * sizeof *u);
        if (displacement) embed(model, frames, source, displacement, rec->threads);
    }
    if (!points) return SU_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(rec->threads)
    for (int64_t f = 0; f < frames; f++) {
        double *out = points + f * 3 * nbar;
        su_shot_sample_skin(shot, first + f, 0.0, 0, NULL, 1, out);
        const double *add = displacement + f * 3 * nbar;
        for (int64_t k = 0; k < 3 * nbar; k++) out[k] += add[k];
    }
    return SU_OK;
}
