#include "runtime/subspace/pose_part.h"

#include "physics/material.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "rig/rbf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Floats before and behind rows that taps may read and masks clear. */
enum { LOOSE_GAP = 16 };

static void *take(su_arena *arena, int64_t count, su_error *err)
{
    void *block = su_arena_alloc(arena, count, sizeof(double));
    if (!block) su_fail(err, SU_AGAIN, "not enough memory for the pose part");
    return block;
}

su_status su_blend_create(const su_runtime_model *model, su_blend *blend, su_arena *arena, su_error *err)
{
    blend->serial = 0;
    bool good = (blend->w = take(arena, model->m, err)) && (blend->b = take(arena, model->m, err)) &&
                (blend->positive = take(arena, model->m, err)) && (blend->scale = take(arena, model->lead, err));
    return good ? SU_OK : SU_AGAIN;
}

void su_blend_copy(const su_runtime_model *model, const su_blend *from, su_blend *to)
{
    size_t size = (size_t)model->m * sizeof(double);
    memcpy(to->w, from->w, size);
    memcpy(to->b, from->b, size);
    memcpy(to->positive, from->positive, size);
    memcpy(to->scale, from->scale, (size_t)model->lead * sizeof(double));
    to->serial = from->serial;
}

su_status su_pose_create(const su_runtime_model *model, su_pose *pose, su_error *err)
{
    memset(pose, 0, sizeof *pose);
    su_arena *arena = &pose->arena;
    int64_t kept = model->kept_padded, tets = model->tets_padded, inertia = model->inertia_padded;
    if (su_blend_create(model, &pose->blend, arena, err) != SU_OK ||
        !(pose->rotation = take(arena, (9 * kept + 1) / 2, err)) ||
        !(pose->corner_rotation = take(arena, 18 * tets, err)) ||
        !(pose->rows = take(arena, (model->kept_entries + 1) / 2, err)) ||
        !(pose->B = take(arena, (model->B_entries + 1) / 2, err)) || !(pose->gradient = take(arena, 12 * tets, err)) ||
        !(pose->volume = take(arena, tets, err)) || !(pose->mu = take(arena, tets, err)) ||
        !(pose->lambda = take(arena, tets, err)) || !(pose->turn = take(arena, 9 * inertia, err)) ||
        !(pose->world = take(arena, 3 * inertia, err))) {
        su_pose_free(pose);
        return SU_AGAIN;
    }
    float **blocks[] = {&pose->gram, &pose->mixed[0], &pose->mixed[1]};
    for (int k = 0; k < 3; k++) {
        if ((*blocks[k] = model->gram)) continue;
        if ((*blocks[k] = take(arena, (model->pair_entries + 1) / 2, err))) continue;
        su_pose_free(pose);
        return SU_AGAIN;
    }
    return SU_OK;
}

void su_pose_free(su_pose *pose)
{
    su_arena_free(&pose->arena);
    memset(pose, 0, sizeof *pose);
}

su_status su_pose_work_create(const su_runtime_model *model, su_pose_work *work, su_error *err)
{
    memset(work, 0, sizeof *work);
    su_arena *arena = &work->arena;
    int64_t m = 8 * model->m, tets = 8 * model->tets, inertia = 8 * model->inertia, widest = SU_PANEL, strides = 0;
    for (int64_t p = 0; p < model->row_panels; p++) strides += model->point_panel[p].stride;
    for (int64_t p = 0; p < model->tet_panels; p++)
        if (model->tet_panel[p].stride > widest) widest = model->tet_panel[p].stride;
    if ((work->x = take(arena, 48 * model->chosen, err)) &&
        (work->near = take(arena, 24 * model->patch.vertex_count, err)) &&
        (work->moved = take(arena, 24 * model->patch.skin_count, err)) && (work->rest = take(arena, m, err)) &&
        (work->rotation = take(arena, 72 * model->chosen, err)) && (work->gradient = take(arena, 24 * tets, err)) &&
        (work->volume = take(arena, 2 * tets, err)) && (work->mu = take(arena, 2 * tets, err)) &&
        (work->lambda = take(arena, 2 * tets, err)) && (work->collapsed = take(arena, model->tets, err)) &&
        (work->turn = take(arena, 18 * inertia, err)) && (work->world = take(arena, 6 * inertia, err)) &&
        (work->positive = take(arena, m, err)) && (work->b = take(arena, m, err)) &&
        (work->older[0] = take(arena, m, err)) && (work->older[1] = take(arena, m, err)) &&
        (work->nodes = take(arena, 72 * model->patch.nodes, err)) && (work->scale = take(arena, 12 * strides, err)) &&
        (work->blended = take(arena, model->points, err)) && (work->spread = take(arena, 6 * widest, err)) &&
        (work->column_scale = take(arena, SU_FRAMES * widest / 2, err)) &&
        (work->loose = take(arena, SU_FRAMES * model->slots * model->slot_size / 2 + 2 * LOOSE_GAP, err))) {
        work->loose += LOOSE_GAP;
        return SU_OK;
    }
    su_pose_work_free(work);
    return SU_AGAIN;
}

void su_pose_work_free(su_pose_work *work)
{
    su_arena_free(&work->arena);
    memset(work, 0, sizeof *work);
}

su_status su_pose_input_create(const su_runtime_model *model, bool skin, su_pose_input *input, su_error *err)
{
    memset(input, 0, sizeof *input);
    su_status status;
    SU_GO(SU_ALLOC(&input->p, model->s, "rig parameters", err));
    if (skin) SU_GO(SU_ALLOC(&input->skin, 3 * model->patch.skin_count, "skin points", err));
done:
    if (status != SU_OK) su_pose_input_free(input);
    return status;
}

void su_pose_input_free(su_pose_input *input)
{
    free(input->p);
    free(input->skin);
    memset(input, 0, sizeof *input);
}

/* ---- the parts ---- */

void su_blend_evaluate(const su_runtime_model *model, const double *p, int64_t serial, su_blend *blend)
{
    su_rig_weights(&model->rig, p, blend->w);
    su_positive_weights(model->m, blend->w, blend->positive);
    if (model->bases == 1) {
        blend->b[0] = 1;
        su_reduced_basis_scale(&model->basis, NULL, blend->scale);
    } else {
        if (model->basis.interpolation == SU_LINEAR)
            memcpy(blend->b, blend->w, (size_t)model->m * sizeof *blend->b);
        else
            su_rig_basis_weights(&model->rig, p, blend->w, blend->b);
        su_reduced_basis_scale(&model->basis, blend->b, blend->scale);
    }
    blend->serial = serial;
}

/* The arrays of one half of the instants. */
static su_pose_work half_of(const su_runtime_model *model, const su_pose_work *work, int half)
{
    su_pose_work h = *work;
    if (half == 0) return h;
    h.x += 24 * model->chosen, h.rotation += SU_FRAMES, h.gradient += 96 * model->tets, h.volume += 8 * model->tets;
    h.mu += 8 * model->tets, h.lambda += 8 * model->tets, h.collapsed += model->tets;
    h.turn += 72 * model->inertia, h.world += 24 * model->inertia;
    h.b += 8 * model->bases, h.older[0] += 8 * model->bases, h.older[1] += 8 * model->bases;
    return h;
}

/* Frames into lanes; lanes beyond count repeat the last frame. */
static void fill_lanes(const su_runtime_model *model, int64_t count, const su_blend *const *blends,
                       const su_blend *(*older)[2], su_pose_work *work)
{
    for (int64_t f = 0; f < SU_FRAMES; f++) {
        int64_t from = f < count ? f : count - 1;
        for (int64_t i = 0; i < model->m; i++) work->positive[8 * i + f] = blends[from]->positive[i];
        for (int64_t i = 0; i < model->bases; i++) {
            work->b[8 * i + f] = (float)blends[from]->b[i];
            for (int k = 0; k < 2; k++) work->older[k][8 * i + f] = older[from][k] ? (float)older[from][k]->b[i] : 0;
        }
    }
}

static void turn_points(const su_runtime_model *model, int64_t count, const su_pose_input *inputs, su_pose_work *work)
{
    double Q[72] __attribute__((aligned(64))), c[24] __attribute__((aligned(64)));
    for (int64_t f = 0; f < SU_FRAMES; f++) {
        const su_pose_input *input = inputs + (f < count ? f : count - 1);
        for (int k = 0; k < 9; k++) Q[8 * k + f] = input->Q[k];
        for (int k = 0; k < 3; k++) c[8 * k + f] = input->c[k];
    }
    model->pose_kernels->world(model->inertia, model->inertia_point, work->rotation, work->x, Q, c, work->turn,
                               work->world);
}

/* The rotation of a tet's own gradient. */
static void rotation_of_tet(const su_runtime_model *model, int64_t k, int64_t lane, const su_pose_work *work,
                            double R[9])
{
    double x[12], edges[9], F[9];
    for (int c = 0; c < 4; c++)
        for (int a = 0; a < 3; a++) x[3 * c + a] = work->x[24 * (int64_t)model->corner[4 * k + c] + 8 * a + lane];
    su_tet_edges(x, x + 3, x + 6, x + 9, edges);
    su_mul33(edges, model->neutral_inverse + 9 * k, F);
    su_nearest_rotation(F, R);
}

/* The neutral shape of a tet, turned. */
static void neutral_tet(const su_runtime_model *model, int64_t k, int64_t lane, const double R[9], su_pose_work *work)
{
    double inverse[9], *g = work->gradient + 96 * k + lane;
    su_mult33(model->neutral_inverse + 9 * k, R, inverse); /* (R D)^-1 = D^-1 R' */
    for (int b = 0; b < 3; b++) {
        g[8 * b] = -inverse[b] - inverse[3 + b] - inverse[6 + b];
        for (int c = 0; c < 3; c++) g[8 * (3 * (c + 1) + b)] = inverse[3 * c + b];
    }
    work->volume[8 * k + lane] = model->neutral_volume[k];
}

/* The rotation of a tet whose corners' contradict each other: nearest to their mean all the same. */
static void mean_of_corners(const su_runtime_model *model, int64_t k, int64_t lane, const su_pose_work *work,
                            double R[9])
{
    double mean[9] = {0};
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 9; i++)
            mean[i] += 0.25 * work->rotation[144 * (int64_t)model->corner[4 * k + c] + 16 * i + lane];
    su_nearest_rotation(mean, R);
}

static void shape_tets(const su_runtime_model *model, int64_t count, su_pose_work *work)
{
    const su_pose_kernels *kernels = model->pose_kernels;
    bool turned = model->patch.nodes > 0;
    if (turned)
        kernels->turned_shapes(model->tets, model->corner, model->neutral_inverse, model->neutral_volume,
                               work->rotation, work->gradient, work->volume, work->collapsed);
    else
        kernels->shapes(model->tets, model->corner, model->neutral_inverse, work->x, work->gradient, work->volume,
                        work->collapsed);
    for (int64_t k = 0; k < model->tets; k++)
        for (int64_t f = 0; f < count && work->collapsed[k]; f++) {
            double R[9];
            if (!(work->collapsed[k] >> f & 1)) continue;
            if (turned)
                mean_of_corners(model, k, f, work, R);
            else
                rotation_of_tet(model, k, f, work, R);
            neutral_tet(model, k, f, R, work);
        }
    kernels->materials(model->tets, model->m, model->tet_weight, model->young, model->poisson, work->positive,
                       work->volume, work->mu, work->lambda);
}

/* What was made in lanes, into the arrays of `count` instants. */
static void scatter_lanes(const su_runtime_model *model, int64_t count, const su_pose_work *work, su_pose *poses)
{
    double *out[6][SU_FRAMES];
    float *rotation[SU_FRAMES], *corners[SU_FRAMES];
    for (int64_t f = 0; f < count; f++) {
        su_pose *p = poses + f;
        double *arrays[6] = {p->turn, p->world, p->gradient, p->volume, p->mu, p->lambda};
        for (int k = 0; k < 6; k++) out[k][f] = arrays[k];
        rotation[f] = p->rotation, corners[f] = p->corner_rotation;
        p->collapsed = 0;
        for (int64_t k = 0; k < model->tets; k++) p->collapsed += !model->filler[k] && work->collapsed[k] >> f & 1;
    }
    const struct {
        int64_t count, entries, stride;
        const double *from;
    } what[6] = {
        {model->inertia, 9, model->inertia_padded, work->turn}, {model->inertia, 3, model->inertia_padded, work->world},
        {model->tets, 12, model->tets_padded, work->gradient},  {model->tets, 1, model->tets_padded, work->volume},
        {model->tets, 1, model->tets_padded, work->mu},         {model->tets, 1, model->tets_padded, work->lambda}};
    if (model->extra > 0)
        model->pose_kernels->scatter_floats(count, model->kept, 9, model->kept_padded, work->rotation, rotation);
    model->pose_kernels->scatter_corners(count, model->tets, model->corner, model->points, model->tets_padded,
                                         work->rotation, corners);
    for (int k = 0; k < 6; k++)
        model->pose_kernels->scatter(count, what[k].count, what[k].entries, what[k].stride, what[k].from, out[k]);
}

static void spread_scales(const su_runtime_model *model, int64_t count, const su_pose *poses, su_pose_work *work)
{
    float *own = work->scale;
    for (int64_t p = 0; p < model->row_panels; p++) {
        const su_panel *panel = model->point_panel + p;
        for (int64_t f = 0; f < SU_FRAMES; f++, own += 3 * panel->stride) {
            if (f >= count) continue;
            size_t size = (size_t)panel->stride * sizeof *own;
            for (int64_t j = 0; j < panel->stride; j++) own[j] = (float)poses[f].blend.scale[panel->modes[j]];
            memcpy(own + panel->stride, own, size);
            memcpy(own + 2 * panel->stride, own, size);
        }
    }
    memset(work->blended, 0, (size_t)model->points);
}

/* Where the rows of points are, in the instants and, of points that are not kept, in the rooms. */
typedef struct row_places {
    float *kept[SU_FRAMES], *loose[SU_FRAMES];
} row_places;

/* The rows of one point in all frames, made unless they are there: from *at in what is returned. */
static float *const *blend_rows(const su_runtime_model *model, int64_t count, int64_t point, const row_places *places,
                                su_pose_work *work, int64_t *at)
{
    const su_panel *panel = model->point_panel + model->panel_of_point[point];
    int64_t size = 3 * panel->stride, nth = point - panel->first;
    float *const *rows = point < model->kept ? places->kept : places->loose;
    *at = point < model->kept ? 3 * panel->offset + nth * size : SU_FRAMES * model->slot[point] * model->slot_size;
    if (work->blended[point]) return rows;
    work->blended[point] = 1;
    model->pose_kernels->blend_rows(count, model->bases, size,
                                    model->point_rows + model->bases * (3 * panel->offset + nth * size), work->b,
                                    work->scale + 3 * SU_FRAMES * panel->before, rows, *at);
    return rows;
}

/* B of tets that stand abreast; their corners' rotations and gradients are in the poses. */
static void build_abreast(const su_runtime_model *model, int64_t count, su_pose *poses, su_pose_work *work)
{
    su_abreast_rows what = {.frames = count, .m = model->bases, .b = work->b, .stride = model->tets_padded};
    for (int64_t p = 0; p < model->panels_abreast; p++) {
        const su_panel *panel = model->tet_panel + p;
        what.columns = panel->columns;
        for (int64_t f = 0; f < count; f++) {
            float *scale = work->column_scale + f * panel->stride;
            for (int64_t j = 0; j < panel->columns; j++) scale[j] = (float)poses[f].blend.scale[panel->modes[j]];
            what.scale[f] = scale;
        }
        for (int64_t k = 0; k < panel->count; k += SU_ABREAST) {
            int64_t e = panel->first + k, at = panel->offset + k * panel->columns;
            what.source = model->abreast_rows + 12 * model->bases * at;
            for (int64_t f = 0; f < count; f++) {
                what.rotation[f] = poses[f].corner_rotation + e;
                what.gradient[f] = poses[f].gradient + e;
                what.B[f] = poses[f].B + 9 * at;
            }
            model->pose_kernels->build_abreast(&what);
        }
    }
}

/* Rows and B of the other tets; a point's rows are made when the first tet asks for them, while they are near. */
static void build_B(const su_runtime_model *model, int64_t count, su_pose *poses, su_pose_work *work)
{
    su_tet_rows what = {.frames = count, .taps = model->taps, .spread = work->spread};
    row_places places = {{NULL}, {NULL}};
    int64_t unused;
    for (int64_t f = 0; f < count; f++)
        places.kept[f] = poses[f].rows, places.loose[f] = work->loose + f * model->slot_size;
    for (int64_t p = model->panels_abreast; p < model->tet_panels; p++) {
        const su_panel *panel = model->tet_panel + p;
        what.stride = panel->stride;
        for (int64_t k = panel->first; k < panel->first + panel->count; k++) {
            for (int c = 0; c < 4; c++) {
                int64_t point = model->corner[4 * k + c];
                what.R[c] = NULL;
                if (point >= model->points) continue;
                what.rows[c] = blend_rows(model, count, point, &places, work, &what.at[c]);
                const su_panel *own = model->point_panel + model->panel_of_point[point];
                what.R[c] = work->rotation + 144 * point;
                what.row_stride[c] = own->stride;
                what.same[c] = own->region_count == panel->region_count; /* a tet's regions are all of its corners' */
            }
            what.tap_start = model->tap_start + model->tap_first[k];
            what.gradient = work->gradient + 96 * k;
            for (int64_t f = 0; f < count; f++)
                what.B[f] = poses[f].B + 9 * (panel->offset + (k - panel->first) * panel->stride);
            model->pose_kernels->build_B(&what);
        }
    }
    for (int64_t point = 0; point < model->kept; point++) blend_rows(model, count, point, &places, work, &unused);
}

static void blend_grams(const su_runtime_model *model, int64_t count, const su_blend *(*older)[2], su_pose *poses,
                        const su_pose_work *work)
{
    su_gram_block block = {
        .frames = count, .m = model->bases, .left = work->b, .right = {work->b, work->older[0], work->older[1]}};
    for (int64_t f = 0; f < count; f++)
        for (int k = 0; k < 2; k++) poses[f].follows[k] = older[f][k] ? older[f][k]->serial : 0;
    for (int64_t p = 0; p < model->pairs && !model->gram; p++) {
        const su_gram_pair *pair = model->pair + p;
        int64_t left = model->basis.first_mode[pair->left], right = model->basis.first_mode[pair->right];
        block.rows = pair->rows, block.stride = pair->stride;
        block.source = model->pair_gram + pair->offset * model->bases * model->bases;
        for (int64_t f = 0; f < SU_FRAMES; f++) {
            int64_t at = f < count ? f : count - 1;
            block.left_scale[f] = poses[at].blend.scale + left;
            for (int k = 0; k < 3; k++) {
                const su_blend *other = k ? older[at][k - 1] : &poses[at].blend;
                float *out = k ? poses[at].mixed[k - 1] : poses[at].gram;
                block.right_scale[k][f] = (other ? other : &poses[at].blend)->scale + right;
                block.out[k][f] = f < count && other ? out + pair->offset : NULL;
            }
        }
        model->pose_kernels->gram_block(&block);
    }
}

void su_gram_blend(const su_runtime_model *model, const su_blend *left, const su_blend *right, float *lanes,
                   float *blocks)
{
    int64_t m = model->bases;
    if (model->gram) {
        memcpy(blocks, model->gram, (size_t)model->pair_entries * sizeof *blocks);
        return;
    }
    su_gram_block block = {.frames = 1, .m = m, .left = lanes, .right = {lanes + 8 * m, lanes + 8 * m, lanes + 8 * m}};
    for (int64_t i = 0; i < 8 * m; i++) lanes[i] = (float)left->b[i / 8], lanes[8 * m + i] = (float)right->b[i / 8];
    for (int64_t k = 0; k < model->pairs; k++) {
        const su_gram_pair *pair = model->pair + k;
        block.rows = pair->rows, block.stride = pair->stride;
        block.source = model->pair_gram + pair->offset * m * m;
        block.left_scale[0] = left->scale + model->basis.first_mode[pair->left];
        block.right_scale[0][0] = right->scale + model->basis.first_mode[pair->right];
        block.out[0][0] = blocks + pair->offset;
        model->pose_kernels->gram_block(&block);
    }
}

void su_gram_times(const su_runtime_model *model, const float *blocks, const double *q, double *padded, double *out)
{
    const int64_t *first = model->basis.first_mode;
    double part[64];
    memset(out, 0, (size_t)model->lead * sizeof *out);
    for (int64_t g = 0; g < model->basis.d; g++)
        for (int64_t k = 0; k < model->region_offset[g + 1] - model->region_offset[g]; k++)
            padded[model->region_offset[g] + k] = first[g] + k < first[g + 1] ? q[first[g] + k] : 0;
    for (int64_t k = 0; k < model->pairs; k++) {
        const su_gram_pair *pair = model->pair + k;
        for (int64_t a = 0; a < pair->rows; a += 64) {
            int64_t rows = pair->rows - a < 64 ? pair->rows - a : 64;
            model->kernels->rows_times(rows, pair->stride, blocks + pair->offset + a * pair->stride,
                                       padded + model->region_offset[pair->right], part);
            for (int64_t i = 0; i < rows; i++) out[first[pair->left] + a + i] += part[i];
        }
    }
}

/* Rest positions and rotations of all instants, into both halves of work->x and work->rotation. */
static void rest_and_rotations(const su_runtime_model *model, int64_t count, const su_pose_input *inputs,
                               const su_blend *const *blends, su_pose_work *work)
{
    bool both = count > SU_FRAMES;
    double *x[2] = {work->x, both ? work->x + 24 * model->chosen : NULL};
    const double *skins[SU_REST_FRAMES];
    for (int64_t f = 0; f < SU_REST_FRAMES; f++) {
        int64_t from = f < count ? f : count - 1;
        skins[f] = inputs[from].skin;
        for (int64_t i = 0; i < model->m; i++) work->rest[SU_REST_FRAMES * i + f] = (float)blends[from]->w[i];
    }
    if (skins[0]) su_rest_lanes_moved(&model->lanes, skins, work->moved);
    su_rest_lanes_positions(&model->lanes, work->moved, work->rest, x, work->near);
    su_rest_lanes_rotations(&model->lanes, work->near, work->nodes, work->rotation);
}

void su_pose_prepare(const su_runtime_model *model, int64_t count, const su_pose_input *inputs,
                     const su_blend *const *blends, const su_blend *(*older)[2], su_pose_work *work)
{
    work->count = count;
    rest_and_rotations(model, count, inputs, blends, work);
    for (int half = 0; SU_FRAMES * half < count; half++) {
        int64_t first = SU_FRAMES * half, some = count - first < SU_FRAMES ? count - first : SU_FRAMES;
        su_pose_work own = half_of(model, work, half);
        fill_lanes(model, some, blends + first, older + first, &own);
        turn_points(model, some, inputs + first, &own);
        shape_tets(model, some, &own);
    }
}

void su_pose_finish(const su_runtime_model *model, int64_t first, const su_pose_input *inputs,
                    const su_blend *const *blends, const su_blend *(*older)[2], su_pose_work *work, su_pose *poses)
{
    su_pose_work half = half_of(model, work, (int)(first / SU_FRAMES));
    int64_t count = work->count - first < SU_FRAMES ? work->count - first : SU_FRAMES;
    for (int64_t f = 0; f < count; f++) {
        if (blends[first + f] != &poses[f].blend) su_blend_copy(model, blends[first + f], &poses[f].blend);
        memcpy(poses[f].Q, inputs[first + f].Q, sizeof poses[f].Q);
        memcpy(poses[f].c, inputs[first + f].c, sizeof poses[f].c);
    }
    scatter_lanes(model, count, &half, poses);
    spread_scales(model, count, poses, &half);
    build_abreast(model, count, poses, &half);
    build_B(model, count, poses, &half);
    blend_grams(model, count, older + first, poses, &half);
}

void su_pose_evaluate(const su_runtime_model *model, int64_t count, const su_pose_input *inputs,
                      const su_blend *(*older)[2], su_pose_work *work, su_pose *poses)
{
    const su_blend *blends[SU_POSE_FRAMES] = {NULL};
    for (int64_t f = 0; f < count; f++) blends[f] = &poses[f].blend;
    su_pose_prepare(model, count, inputs, blends, older, work);
    for (int64_t f = 0; f < count; f += SU_FRAMES) su_pose_finish(model, f, inputs, blends, older, work, poses + f);
}
