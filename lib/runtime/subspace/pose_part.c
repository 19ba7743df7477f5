#include "runtime/subspace/pose_part.h"

#include "physics/material.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "rig/rbf.h"

#include <stdlib.h>
#include <string.h>

/* Floats before and behind rows that taps may read and masks clear. */
enum { ROOM_GAP = 16 };

/* What memory is wanted for. */
static const char purpose[] = "the pose part";

su_status su_blend_create(const su_runtime_model *model, su_blend *blend, su_arena *arena, su_error *err)
{
    double *numbers;
    SU_TRY(SU_TAKE_ALL(arena, purpose, err, SU_WANT(numbers, su_blend_size(model))));
    *blend = su_blend_in(model, numbers);
    return SU_OK;
}

int64_t su_blend_size(const su_runtime_model *model) { return 3 * model->m + model->lead; }

su_blend su_blend_in(const su_runtime_model *model, double *numbers)
{
    int64_t m = model->m;
    return (su_blend){.w = numbers, .b = numbers + m, .positive = numbers + 2 * m, .scale = numbers + 3 * m};
}

void su_blend_copy(const su_runtime_model *model, const su_blend *from, su_blend *to)
{
    memcpy(to->w, from->w, (size_t)su_blend_size(model) * sizeof *to->w);
    to->serial = from->serial;
}

su_status su_pose_create(const su_runtime_model *model, su_pose *pose, su_error *err)
{
    memset(pose, 0, sizeof *pose);
    su_arena *arena = &pose->arena;
    int64_t kept = model->points.kept_padded, tets = model->tets.padded, inertia = model->inertia.padded;
    su_status status;
    SU_GO(su_blend_create(model, &pose->blend, arena, err));
    SU_GO(SU_TAKE_ALL(arena, purpose, err, SU_WANT(pose->rotation, 9 * kept),
                      SU_WANT(pose->place, model->points.extra > 0 ? 3 * model->points.chosen_padded : 0),
                      SU_WANT(pose->corner_rotation, 4 * 9 * tets), SU_WANT(pose->rows, model->points.kept_entries),
                      SU_WANT(pose->B, model->tets.B_entries), SU_WANT(pose->gradient, 12 * tets),
                      SU_WANT(pose->volume, tets), SU_WANT(pose->mu, tets), SU_WANT(pose->lambda, tets),
                      SU_WANT(pose->turn, 9 * inertia), SU_WANT(pose->world, 3 * inertia)));
    float **blocks[] = {&pose->gram, &pose->mixed[0], &pose->mixed[1]};
    for (int k = 0; k < 3; k++)
        if (!(*blocks[k] = model->gram.fixed))
            SU_GO(SU_TAKE_ALL(arena, purpose, err, SU_WANT(*blocks[k], model->gram.entries)));
done:
    if (status != SU_OK) su_pose_free(pose);
    return status;
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
    const int64_t halves = SU_POSE_FRAMES / SU_FRAMES;
    int64_t m = model->m, tets = model->tets.count, inertia = model->inertia.count, widest = SU_PANEL, strides = 0;
    for (int64_t p = 0; p < model->points.row_panels; p++) strides += model->points.panel[p].stride;
    for (int64_t p = 0; p < model->tets.panels; p++)
        if (model->tets.panel[p].stride > widest) widest = model->tets.panel[p].stride;
    int64_t rooms = SU_FRAMES * model->points.rooms * model->points.room_size;
    su_status status = SU_TAKE_ALL(
        arena, purpose, err, SU_WANT(work->x, halves * SU_POINT_FRAMES * model->points.chosen),
        SU_WANT(work->near, SU_POINT_WIDE * model->patch.vertex_count),
        SU_WANT(work->moved, SU_POINT_WIDE * model->patch.skin_count), SU_WANT(work->rest, SU_REST_FRAMES * m),
        SU_WANT(work->rotation, SU_TURN_WIDE * model->points.chosen),
        SU_WANT(work->nodes, SU_TURN_WIDE * model->patch.nodes),
        SU_WANT(work->gradient, halves * SU_GRADIENT_FRAMES * tets), SU_WANT(work->volume, halves * SU_FRAMES * tets),
        SU_WANT(work->mu, halves * SU_FRAMES * tets), SU_WANT(work->lambda, halves * SU_FRAMES * tets),
        SU_WANT(work->collapsed, halves * tets), SU_WANT(work->turn, halves * SU_TURN_FRAMES * inertia),
        SU_WANT(work->world, halves * SU_POINT_FRAMES * inertia), SU_WANT(work->positive, SU_FRAMES * m),
        SU_WANT(work->b, halves * SU_FRAMES * m), SU_WANT(work->older[0], halves * SU_FRAMES * m),
        SU_WANT(work->older[1], halves * SU_FRAMES * m), SU_WANT(work->scale, 3 * SU_FRAMES * strides),
        SU_WANT(work->blended, model->points.count), SU_WANT(work->spread, 4 * 3 * widest),
        SU_WANT(work->column_scale, SU_FRAMES * widest), SU_WANT(work->rooms, rooms + 2 * ROOM_GAP));
    if (status == SU_OK)
        work->rooms += ROOM_GAP;
    else
        su_pose_work_free(work);
    return status;
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
    if (model->bases == 1)
        blend->b[0] = 1;
    else if (model->basis.interpolation == SU_LINEAR)
        memcpy(blend->b, blend->w, (size_t)model->m * sizeof *blend->b);
    else
        su_rig_basis_weights(&model->rig, p, blend->w, blend->b);
    su_reduced_basis_scale(&model->basis, blend->b, blend->scale);
    blend->serial = serial;
}

/* The arrays of one half of the instants. */
static su_pose_work half_of(const su_runtime_model *model, const su_pose_work *work, int half)
{
    su_pose_work h = *work;
    if (half == 0) return h;
    int64_t tets = model->tets.count, inertia = model->inertia.count;
    h.x += SU_POINT_FRAMES * model->points.chosen, h.rotation += SU_FRAMES, h.gradient += SU_GRADIENT_FRAMES * tets;
    h.volume += SU_FRAMES * tets, h.mu += SU_FRAMES * tets, h.lambda += SU_FRAMES * tets, h.collapsed += tets;
    h.turn += SU_TURN_FRAMES * inertia, h.world += SU_POINT_FRAMES * inertia;
    h.b += SU_FRAMES * model->bases;
    for (int k = 0; k < 2; k++) h.older[k] += SU_FRAMES * model->bases;
    return h;
}

/* Frames into lanes; lanes beyond count repeat the last frame. */
static void fill_lanes(const su_runtime_model *model, int64_t count, const su_blend *const *blends,
                       const su_blend *(*older)[2], su_pose_work *work)
{
    for (int64_t f = 0; f < SU_FRAMES; f++) {
        int64_t from = f < count ? f : count - 1;
        for (int64_t i = 0; i < model->m; i++) work->positive[SU_FRAMES * i + f] = blends[from]->positive[i];
        for (int64_t i = 0; i < model->bases; i++) {
            work->b[SU_FRAMES * i + f] = (float)blends[from]->b[i];
            for (int k = 0; k < 2; k++)
                work->older[k][SU_FRAMES * i + f] = older[from][k] ? (float)older[from][k]->b[i] : 0;
        }
    }
}

static void turn_points(const su_runtime_model *model, int64_t count, const su_pose_input *inputs, su_pose_work *work)
{
    double Q[SU_TURN_FRAMES] __attribute__((aligned(64))), c[SU_POINT_FRAMES] __attribute__((aligned(64)));
    for (int64_t f = 0; f < SU_FRAMES; f++) {
        const su_pose_input *input = inputs + (f < count ? f : count - 1);
        for (int k = 0; k < 9; k++) Q[SU_FRAMES * k + f] = input->Q[k];
        for (int k = 0; k < 3; k++) c[SU_FRAMES * k + f] = input->c[k];
    }
    model->pose_kernels->world(model->inertia.count, model->inertia.point, work->rotation, work->x, Q, c, work->turn,
                               work->world);
}

/* The rotation of a tet's own gradient. */
static void rotation_of_tet(const su_runtime_model *model, int64_t k, int64_t lane, const su_pose_work *work,
                            double R[9])
{
    double x[12], edges[9], F[9];
    for (int c = 0; c < 4; c++)
        for (int a = 0; a < 3; a++)
            x[3 * c + a] = work->x[SU_POINT_FRAMES * (int64_t)model->tets.corner[4 * k + c] + SU_FRAMES * a + lane];
    su_tet_edges(x, x + 3, x + 6, x + 9, edges);
    su_mul33(edges, model->tets.neutral_inverse + 9 * k, F);
    su_nearest_rotation(F, R);
}

/* The neutral shape of a tet, turned. */
static void neutral_tet(const su_runtime_model *model, int64_t k, int64_t lane, const double R[9], su_pose_work *work)
{
    double inverse[9], g[12];
    su_mult33(model->tets.neutral_inverse + 9 * k, R, inverse); /* (R D)^-1 = D^-1 R' */
    su_shape_gradients(inverse, g);
    for (int i = 0; i < 12; i++) work->gradient[SU_GRADIENT_FRAMES * k + SU_FRAMES * i + lane] = g[i];
    work->volume[SU_FRAMES * k + lane] = model->tets.neutral_volume[k];
}

/* The rotation of a tet whose corners' contradict each other: nearest to their mean all the same. */
static void mean_of_corners(const su_runtime_model *model, int64_t k, int64_t lane, const su_pose_work *work,
                            double R[9])
{
    double mean[9] = {0};
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < 9; i++)
            mean[i] +=
                0.25 *
                work->rotation[SU_TURN_WIDE * (int64_t)model->tets.corner[4 * k + c] + SU_REST_FRAMES * i + lane];
    su_nearest_rotation(mean, R);
}

static void shape_tets(const su_runtime_model *model, int64_t count, su_pose_work *work)
{
    const su_pose_kernels *kernels = model->pose_kernels;
    bool turned = model->patch.nodes > 0;
    if (turned)
        kernels->turned_shapes(model->tets.count, model->tets.corner, model->tets.neutral_inverse,
                               model->tets.neutral_volume, work->rotation, work->gradient, work->volume,
                               work->collapsed);
    else
        kernels->shapes(model->tets.count, model->tets.corner, model->tets.neutral_inverse, work->x, work->gradient,
                        work->volume, work->collapsed);
    for (int64_t k = 0; k < model->tets.count; k++)
        for (int64_t f = 0; f < count && work->collapsed[k]; f++) {
            double R[9];
            if (!(work->collapsed[k] >> f & 1)) continue;
            if (turned)
                mean_of_corners(model, k, f, work, R);
            else
                rotation_of_tet(model, k, f, work, R);
            neutral_tet(model, k, f, R, work);
        }
    const su_tet_materials materials = {model->tets.count, model->m, model->tets.weight, model->tets.young,
                                        model->tets.poisson};
    kernels->materials(&materials, work->positive, work->volume, work->mu, work->lambda);
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
        for (int64_t k = 0; k < model->tets.count; k++)
            p->collapsed += !model->tets.filler[k] && work->collapsed[k] >> f & 1;
    }
    const struct {
        int64_t count, entries, stride;
        const double *from;
    } what[6] = {{model->inertia.count, 9, model->inertia.padded, work->turn},
                 {model->inertia.count, 3, model->inertia.padded, work->world},
                 {model->tets.count, 12, model->tets.padded, work->gradient},
                 {model->tets.count, 1, model->tets.padded, work->volume},
                 {model->tets.count, 1, model->tets.padded, work->mu},
                 {model->tets.count, 1, model->tets.padded, work->lambda}};
    if (model->points.extra > 0) {
        double *place[SU_FRAMES];
        for (int64_t f = 0; f < count; f++) place[f] = poses[f].place;
        model->pose_kernels->scatter(count, model->points.chosen, 3, model->points.chosen_padded, work->x, place);
        model->pose_kernels->scatter_floats(count, model->points.kept, 9, model->points.kept_padded, work->rotation,
                                            rotation);
    }
    model->pose_kernels->scatter_corners(count, model->tets.count, model->tets.corner, model->points.count,
                                         model->tets.padded, work->rotation, corners);
    for (int k = 0; k < 6; k++)
        model->pose_kernels->scatter(count, what[k].count, what[k].entries, what[k].stride, what[k].from, out[k]);
}

static void spread_scales(const su_runtime_model *model, int64_t count, const su_pose *poses, su_pose_work *work)
{
    float *own = work->scale;
    for (int64_t p = 0; p < model->points.row_panels; p++) {
        const su_panel *panel = model->points.panel + p;
        for (int64_t f = 0; f < SU_FRAMES; f++, own += 3 * panel->stride) {
            if (f >= count) continue;
            size_t size = (size_t)panel->stride * sizeof *own;
            for (int64_t j = 0; j < panel->stride; j++) own[j] = (float)poses[f].blend.scale[panel->modes[j]];
            memcpy(own + panel->stride, own, size);
            memcpy(own + 2 * panel->stride, own, size);
        }
    }
    memset(work->blended, 0, (size_t)model->points.count);
}

/* Where the rows of points are, in the instants and, of points that are not kept, in the rooms. */
typedef struct row_places {
    float *kept[SU_FRAMES], *rooms[SU_FRAMES];
} row_places;

/* The rows of one point in all frames, made unless they are there: from *at in what is returned. */
static float *const *blend_rows(const su_runtime_model *model, int64_t count, int64_t point, const row_places *places,
                                su_pose_work *work, int64_t *at)
{
    const su_panel *panel = su_panel_of(&model->points, point);
    int64_t size = 3 * panel->stride, nth = point - panel->first;
    float *const *rows = point < model->points.kept ? places->kept : places->rooms;
    *at = point < model->points.kept ? 3 * panel->offset + nth * size
                                     : SU_FRAMES * model->points.room[point] * model->points.room_size;
    if (work->blended[point]) return rows;
    work->blended[point] = 1;
    model->pose_kernels->blend_rows(count, model->bases, size,
                                    model->points.rows + model->bases * (3 * panel->offset + nth * size), work->b,
                                    work->scale + 3 * SU_FRAMES * panel->before, rows, *at);
    return rows;
}

/* B of tets that stand abreast; their corners' rotations and gradients are in the poses. */
static void build_abreast(const su_runtime_model *model, int64_t count, su_pose *poses, su_pose_work *work)
{
    su_abreast_rows what = {.frames = count, .m = model->bases, .b = work->b, .stride = model->tets.padded};
    for (int64_t p = 0; p < model->tets.panels_abreast; p++) {
        const su_panel *panel = model->tets.panel + p;
        what.columns = panel->columns;
        for (int64_t f = 0; f < count; f++) {
            float *scale = work->column_scale + f * panel->stride;
            for (int64_t j = 0; j < panel->columns; j++) scale[j] = (float)poses[f].blend.scale[panel->modes[j]];
            what.scale[f] = scale;
        }
        for (int64_t k = 0; k < panel->count; k += SU_ABREAST) {
            int64_t e = panel->first + k, at = panel->offset + k * panel->columns;
            what.source = model->tets.abreast_rows + 12 * model->bases * at;
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
    su_tet_rows what = {.frames = count, .taps = model->tets.taps, .spread = work->spread};
    row_places places = {{NULL}, {NULL}};
    int64_t unused;
    for (int64_t f = 0; f < count; f++)
        places.kept[f] = poses[f].rows, places.rooms[f] = work->rooms + f * model->points.room_size;
    for (int64_t p = model->tets.panels_abreast; p < model->tets.panels; p++) {
        const su_panel *panel = model->tets.panel + p;
        what.stride = panel->stride;
        for (int64_t k = panel->first; k < panel->first + panel->count; k++) {
            for (int c = 0; c < 4; c++) {
                int64_t point = model->tets.corner[4 * k + c];
                what.R[c] = NULL;
                if (point >= model->points.count) continue;
                what.rows[c] = blend_rows(model, count, point, &places, work, &what.at[c]);
                const su_panel *own = su_panel_of(&model->points, point);
                what.R[c] = work->rotation + SU_TURN_WIDE * point;
                what.row_stride[c] = own->stride;
                what.same[c] = own->region_count == panel->region_count; /* a tet's regions are all of its corners' */
            }
            what.tap_start = model->tets.tap_start + model->tets.tap_first[k];
            what.gradient = work->gradient + SU_GRADIENT_FRAMES * k;
            for (int64_t f = 0; f < count; f++)
                what.B[f] = poses[f].B + 9 * (panel->offset + (k - panel->first) * panel->stride);
            model->pose_kernels->build_B(&what);
        }
    }
    for (int64_t point = 0; point < model->points.kept; point++)
        blend_rows(model, count, point, &places, work, &unused);
}

static void blend_grams(const su_runtime_model *model, int64_t count, const su_blend *(*older)[2], su_pose *poses,
                        const su_pose_work *work)
{
    su_gram_block block = {
        .frames = count, .m = model->bases, .left = work->b, .right = {work->b, work->older[0], work->older[1]}};
    for (int64_t f = 0; f < count; f++)
        for (int k = 0; k < 2; k++) poses[f].follows[k] = older[f][k] ? older[f][k]->serial : 0;
    for (int64_t p = 0; p < model->gram.pairs && !model->gram.fixed; p++) {
        const su_gram_pair *pair = model->gram.pair + p;
        int64_t left = model->basis.first_mode[pair->left], right = model->basis.first_mode[pair->right];
        block.rows = pair->rows, block.stride = pair->stride;
        block.source = model->gram.source + pair->offset * model->bases * model->bases;
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
    su_gram_block block = {.frames = 1,
                           .m = m,
                           .left = lanes,
                           .right = {lanes + SU_FRAMES * m, lanes + SU_FRAMES * m, lanes + SU_FRAMES * m}};
    for (int64_t i = 0; i < SU_FRAMES * m; i++)
        lanes[i] = (float)left->b[i / SU_FRAMES], lanes[SU_FRAMES * m + i] = (float)right->b[i / SU_FRAMES];
    for (int64_t k = 0; k < model->gram.pairs; k++) {
        const su_gram_pair *pair = model->gram.pair + k;
        block.rows = pair->rows, block.stride = pair->stride;
        block.source = model->gram.source + pair->offset * m * m;
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
        for (int64_t k = 0; k < model->gram.region_offset[g + 1] - model->gram.region_offset[g]; k++)
            padded[model->gram.region_offset[g] + k] = first[g] + k < first[g + 1] ? q[first[g] + k] : 0;
    for (int64_t k = 0; k < model->gram.pairs; k++) {
        const su_gram_pair *pair = model->gram.pair + k;
        for (int64_t a = 0; a < pair->rows; a += 64) {
            int64_t rows = pair->rows - a < 64 ? pair->rows - a : 64;
            model->kernels->rows_times(rows, pair->stride, blocks + pair->offset + a * pair->stride,
                                       padded + model->gram.region_offset[pair->right], part);
            for (int64_t i = 0; i < rows; i++) out[first[pair->left] + a + i] += part[i];
        }
    }
}

/* Rest positions and rotations of all instants, into both halves of work->x and work->rotation. */
static void rest_and_rotations(const su_runtime_model *model, int64_t count, const su_pose_input *inputs,
                               const su_blend *const *blends, su_pose_work *work)
{
    bool both = count > SU_FRAMES;
    double *x[2] = {work->x, both ? work->x + SU_POINT_FRAMES * model->points.chosen : NULL};
    const double *skins[SU_REST_FRAMES];
    for (int64_t f = 0; f < SU_REST_FRAMES; f++) {
        int64_t from = f < count ? f : count - 1;
        skins[f] = inputs[from].skin;
        for (int64_t i = 0; i < model->m; i++) work->rest[SU_REST_FRAMES * i + f] = (float)blends[from]->w[i];
    }
    if (skins[0]) su_rest_lanes_moved(&model->lanes, skins, work->moved);
    su_rest_lanes_positions(&model->lanes, count, work->moved, work->rest, x, work->near);
    su_rest_lanes_rotations(&model->lanes, count, work->near, work->nodes, work->rotation);
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
