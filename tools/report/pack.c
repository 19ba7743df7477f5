#include "pack.h"

#include "core/memory.h"
#include "geometry/box.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOTION_BYTES = 32 << 20, MODE_BYTES = 1 << 20 };
/* Of the neutral skin's diagonal: what is looked at need not be finer. */
static const double SHOWN_UNIT = 1e-4;

/* ---- the shot: rig and displacement in the world, as 16-bit fractions ---- */

static void to_world(const double *root, int64_t count, const double *in, bool vectors, double *out)
{
    for (int64_t v = 0; v < count; v++)
        for (int i = 0; i < 3; i++)
            out[3 * v + i] = root[4 * i] * in[3 * v] + root[4 * i + 1] * in[3 * v + 1] +
                             root[4 * i + 2] * in[3 * v + 2] + (vectors ? 0.0 : root[4 * i + 3]);
}

static int16_t quantize(double value, double scale)
{
    double x = scale > 0.0 ? value / scale * 32767.0 : 0.0;
    return (int16_t)lrint(x < -32767.0 ? -32767.0 : x > 32767.0 ? 32767.0 : x);
}

typedef struct motion {
    double *points, *displacement; /* (block,nbar,3) root frame */
    double *world;                 /* (nbar,3) */
    float *rig, *moved;            /* (shown,nbar,3) */
    double *largest, *rms;         /* (F) m */
} motion;

static void motion_free(motion *m)
{
    free(m->points), free(m->displacement), free(m->world), free(m->rig), free(m->moved), free(m->largest),
        free(m->rms);
}

static su_status gather_motion(const report_data *d, int64_t step, int64_t block, motion *m, su_error *err)
{
    int64_t nbar = d->model->nbar, F = d->anim->F, columns = 3 * nbar;
    for (int64_t first = 0; first < F; first += block) {
        int64_t count = F - first < block ? F - first : block;
        SU_TRY(su_reconstruct_shot(d->reconstruct, d->shot, d->sim, first, count,
                                   &(su_shot_motion){.displacement = m->displacement, .points = m->points}, err));
        for (int64_t k = 0; k < count; k++) {
            const double *u = m->displacement + k * columns;
            double sum = 0.0, largest = 0.0;
            for (int64_t v = 0; v < nbar; v++) {
                double square = u[3 * v] * u[3 * v] + u[3 * v + 1] * u[3 * v + 1] + u[3 * v + 2] * u[3 * v + 2];
                sum += square;
                if (square > largest) largest = square;
            }
            if (!isfinite(sum))
                return su_fail(err, SU_NUMERICS, "frame %lld has no finite displacement", (long long)(first + k));
            m->largest[first + k] = sqrt(largest), m->rms[first + k] = sqrt(sum / (double)nbar);
            if ((first + k) % step) continue;
            int64_t shown = (first + k) / step;
            const double *root = d->anim->root + 16 * (first + k);
            double *p = m->points + k * columns;
            for (int64_t i = 0; i < columns; i++) p[i] -= u[i];
            to_world(root, nbar, p, false, m->world);
            for (int64_t i = 0; i < columns; i++) m->rig[shown * columns + i] = (float)m->world[i];
            to_world(root, nbar, u, true, m->world);
            for (int64_t i = 0; i < columns; i++) m->moved[shown * columns + i] = (float)m->world[i];
        }
        SU_TRY(su_progress_update(d->progress, 0.7 * (double)(first + count) / (double)F, err));
    }
    return SU_OK;
}

/* A displacement that nobody sees on a character of this size, m. */
static double unseen(const su_model *model) { return SHOWN_UNIT * su_box_diagonal(model->nbar, model->neutral); }

/* Frames of a page by their name there. */
typedef struct track {
    const char *name;
    int64_t frames, width;
    const float *values;  /* (frames,width) */
    const double *centre; /* (3) taken off; NULL: none */
    double unit;          /* what nobody sees */
} track;

/* Frames as 16-bit shares of the largest value, or of what nobody sees where that is more; not stored: their scale
 * alone. */
static su_status add_motion(su_page *page, json_t *info, const track *t, bool stored, su_error *err)
{
    double scale = 32767.0 * t->unit;
    int16_t *out = NULL;
    int64_t count = t->frames * t->width;
    const float *values = t->values;
    const double *centre = t->centre;
    SU_TRY(SU_ALLOC(&out, count, "the page", err));
    for (int64_t i = 0; i < count; i++) scale = fmax(scale, fabs((double)values[i] - (centre ? centre[i % 3] : 0.0)));
    for (int64_t i = 0; i < count; i++) out[i] = quantize((double)values[i] - (centre ? centre[i % 3] : 0.0), scale);
    su_status status = stored ? su_page_add_motion(page, t->name, SU_PAGE_I16, t->frames, t->width, out, err) : SU_OK;
    free(out);
    char key[64];
    snprintf(key, sizeof key, "%s_scale", t->name);
    json_object_set_new(info, key, json_real(scale));
    if (centre) {
        snprintf(key, sizeof key, "%s_centre", t->name);
        json_object_set_new(info, key, json_pack("[f, f, f]", centre[0], centre[1], centre[2]));
    }
    return status;
}

static su_status pack_motion(const report_data *d, su_page *page, json_t *info, su_error *err)
{
    int64_t nbar = d->model->nbar, F = d->anim->F, step = 1;
    while ((F + step - 1) / step > 2 && (F + step - 1) / step * nbar * 12 > MOTION_BYTES) step++;
    int64_t shown = (F + step - 1) / step, block = 8;
    motion m = {0};
    su_status status;
    SU_GO(SU_ALLOC(&m.points, block * 3 * nbar, "frames", err));
    SU_GO(SU_ALLOC(&m.displacement, block * 3 * nbar, "frames", err));
    SU_GO(SU_ALLOC(&m.world, 3 * nbar, "frames", err));
    SU_GO(SU_ALLOC(&m.rig, shown * 3 * nbar, "frames", err));
    SU_GO(SU_ALLOC(&m.moved, shown * 3 * nbar, "frames", err));
    SU_GO(SU_ALLOC(&m.largest, F, "frames", err));
    SU_GO(SU_ALLOC(&m.rms, F, "frames", err));
    SU_GO(gather_motion(d, step, block, &m, err));
    double low[3], high[3], centre[3];
    for (int i = 0; i < 3; i++) low[i] = high[i] = (double)m.rig[i];
    for (int64_t i = 0; i < shown * 3 * nbar; i++) {
        low[i % 3] = fmin(low[i % 3], (double)m.rig[i]);
        high[i % 3] = fmax(high[i % 3], (double)m.rig[i]);
    }
    for (int i = 0; i < 3; i++) centre[i] = 0.5 * (low[i] + high[i]);
    /* where the page has the animation's own skin it places that itself */
    bool placed = report_is_live(d, NULL) && !d->model->psd_shapes;
    SU_GO(add_motion(page, info, &(track){"rig", shown, 3 * nbar, m.rig, centre, 0}, !placed, err));
    SU_GO(add_motion(page, info, &(track){"moved", shown, 3 * nbar, m.moved, NULL, unseen(d->model)}, true, err));
    SU_GO(su_page_add_doubles(page, "largest", F, m.largest, err));
    SU_GO(su_page_add_doubles(page, "rms", F, m.rms, err));
    json_object_set_new(info, "shown_frames", json_integer(shown));
    json_object_set_new(info, "frame_step", json_integer(step));
done:
    motion_free(&m);
    return status;
}

/* The second bake's displacement, as "moved" has the first's. */
static su_status pack_other(const report_data *d, su_page *page, json_t *info, su_error *err)
{
    if (!d->other) return SU_OK;
    int64_t columns = 3 * d->model->nbar, F = d->anim->F,
            step = json_integer_value(json_object_get(info, "frame_step")), shown = (F + step - 1) / step;
    double *u = NULL, *world = NULL, *largest = NULL;
    float *moved = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&u, columns, "frames", err));
    SU_GO(SU_ALLOC(&world, columns, "frames", err));
    SU_GO(SU_ALLOC(&largest, F, "frames", err));
    SU_GO(SU_ALLOC(&moved, shown * columns, "frames", err));
    for (int64_t f = 0; f < F; f++) {
        SU_GO(su_reconstruct_shot(d->other, d->shot, d->other_sim, f, 1, &(su_shot_motion){.displacement = u}, err));
        to_world(d->anim->root + 16 * f, d->model->nbar, u, true, world);
        for (int64_t v = 0; v < columns; v += 3)
            largest[f] = fmax(largest[f], sqrt(u[v] * u[v] + u[v + 1] * u[v + 1] + u[v + 2] * u[v + 2]));
        if (!isfinite(largest[f])) {
            status = su_fail(err, SU_NUMERICS, "frame %lld of the second run has no finite displacement", (long long)f);
            goto done;
        }
        for (int64_t i = 0; f % step == 0 && i < columns; i++) moved[f / step * columns + i] = (float)world[i];
    }
    SU_GO(su_page_add_doubles(page, "largest2", F, largest, err));
    SU_GO(add_motion(page, info, &(track){"moved2", shown, columns, moved, NULL, unseen(d->model)}, true, err));
done:
    free(u), free(world), free(largest), free(moved);
    return status;
}

/* ---- modes of the example poses ---- */

static su_status pack_modes(const report_data *d, su_page *page, json_t *info, su_error *err)
{
    const su_model *model = d->model;
    int64_t nbar = model->nbar, m = d->poses ? model->m : 1, needed, k = MODE_BYTES / (3 * nbar * m + 1);
    const int32_t *list;
    k = k < 1 ? 1 : k > model->r ? model->r : k > 32 ? 32 : k;
    needed = su_reconstruct_skin_needed(d->reconstruct, &list);
    double *skin = NULL, *one = NULL, *q = NULL, *u = NULL;
    float *shapes = NULL;
    int8_t *out = NULL; /* shapes to look at: in hundredths */
    su_status status;
    SU_GO(SU_ALLOC(&skin, 3 * needed, "modes", err));
    SU_GO(SU_ALLOC(&one, model->m, "modes", err));
    SU_GO(SU_ALLOC(&q, model->r, "modes", err));
    SU_GO(SU_ALLOC(&u, 3 * nbar, "modes", err));
    SU_GO(SU_ALLOC(&shapes, m * 3 * nbar, "modes", err));
    SU_GO(SU_ALLOC(&out, m * k * 3 * nbar, "modes", err));
    for (int64_t i = 0; i < m; i++) {
        const double *shape = d->poses ? d->poses->shapes + i * 3 * nbar : model->neutral;
        for (int64_t v = 0; v < 3 * nbar; v++) shapes[i * 3 * nbar + v] = (float)shape[v];
        for (int64_t v = 0; v < needed; v++) memcpy(skin + 3 * v, shape + 3 * (int64_t)list[v], 3 * sizeof *skin);
        memset(one, 0, (size_t)model->m * sizeof *one);
        one[i] = 1.0;
        for (int64_t j = 0; j < k; j++) {
            double largest = 0.0;
            memset(q, 0, (size_t)model->r * sizeof *q);
            q[j] = 1.0;
            su_reconstruct_frames(d->reconstruct, 1, skin, one, one, q, NULL, u);
            for (int64_t v = 0; v < 3 * nbar; v++) largest = fmax(largest, fabs(u[v]));
            for (int64_t v = 0; v < 3 * nbar; v++)
                out[(i * k + j) * 3 * nbar + v] = (int8_t)lrint(largest > 0.0 ? 127.0 * u[v] / largest : 0.0);
        }
        SU_GO(su_progress_update(d->progress, 0.7 + 0.2 * (double)(i + 1) / (double)m, err));
    }
    SU_GO(add_motion(page, info, &(track){"pose_shapes", m, 3 * nbar, shapes, NULL, unseen(model)}, true, err));
    SU_GO(su_page_add(page, "modes", SU_PAGE_I8, m * k * 3 * nbar, out, err));
    json_object_set_new(info, "mode_poses", json_integer(m));
    json_object_set_new(info, "mode_count", json_integer(k));
done:
    free(skin), free(one), free(q), free(u), free(shapes), free(out);
    return status;
}

/* ---- the character ---- */

/* Linear light as a share of 255. */
static uint8_t shade(double x) { return (uint8_t)lrint(255.0 * fmin(fmax(x, 0.0), 1.0)); }

/* How the source looks: vertex colours times the mean of the materials around, (nbar,3) in linear light. Nothing where
 * it has neither. */
static su_status pack_look(const report_data *d, su_page *page, su_error *err)
{
    const su_anim *a = d->anim;
    double *sum = NULL; /* (nbar,4) of the materials of the corners, and their number */
    uint8_t *out = NULL;
    int32_t *any = NULL; /* (nbar) a source vertex of each */
    su_status status = SU_OK;
    if (!a->color && !a->face_material) return SU_OK;
    SU_GO(SU_ALLOC(&sum, 4 * a->nbar, "colours", err));
    SU_GO(SU_ALLOC(&any, a->nbar, "colours", err));
    SU_GO(SU_ALLOC(&out, 3 * a->nbar, "colours", err));
    for (int64_t f = 0, at = 0; a->face_material && f < a->P; at += a->face_counts[f++])
        for (int64_t k = at; a->face_material[f] >= 0 && k < at + a->face_counts[f]; k++) {
            double *to = sum + 4 * (int64_t)a->source_vertex[a->face_indices[k]];
            for (int i = 0; i < 3; i++) to[i] += (double)a->material_color[4 * (int64_t)a->face_material[f] + i];
            to[3] += 1.0;
        }
    for (int64_t v = a->N - 1; v >= 0; v--) any[a->source_vertex[v]] = (int32_t)v;
    for (int64_t i = 0; i < 3 * a->nbar; i++) {
        double base = sum[4 * (i / 3) + 3] > 0.0 ? sum[4 * (i / 3) + i % 3] / sum[4 * (i / 3) + 3] : 1.0;
        out[i] = shade(base * (a->color ? (double)a->color[4 * (int64_t)any[i / 3] + i % 3] : 1.0));
    }
    SU_GO(su_page_add(page, "look", SU_PAGE_U8, 3 * a->nbar, out, err));
done:
    free(sum), free(any), free(out);
    return status;
}

static su_status pack_character(const report_data *d, su_page *page, json_t *info, su_error *err)
{
    const su_model *model = d->model;
    uint8_t *region = NULL, *vertex_region = NULL;
    int32_t *covers = NULL;
    su_status status;
    SU_GO(su_page_add(page, "triangles", SU_PAGE_U32, 3 * d->anim->T, d->anim->triangles, err));
    if (model->rigid) SU_GO(su_page_add(page, "rigid", SU_PAGE_U8, model->nbar, model->rigid, err));
    SU_GO(su_page_add_doubles(page, "cubature_weights", model->c, model->cubature_weights, err));
    /* the skin takes the region that covers most corners of its tet; 255: none */
    SU_GO(SU_ALLOC(&region, model->nbar, "regions", err));
    SU_GO(SU_ALLOC(&covers, model->nbar, "regions", err));
    SU_GO(SU_ALLOC(&vertex_region, model->n, "regions", err));
    memset(region, 255, (size_t)model->nbar);
    for (int64_t g = 0; g + 1 < model->d1 && g < 255; g++) {
        memset(vertex_region, 0, (size_t)model->n);
        for (int64_t k = model->region_vertex_offsets[g]; k < model->region_vertex_offsets[g + 1]; k++)
            vertex_region[model->region_vertices[k]] = 1;
        for (int64_t s = 0; s < model->nbar; s++) {
            int32_t count = 0;
            for (int c = 0; c < 4; c++) count += vertex_region[model->tets[4 * (int64_t)model->embed_tet[s] + c]];
            if (count > covers[s]) covers[s] = count, region[s] = (uint8_t)g;
        }
    }
    SU_GO(pack_look(d, page, err));
    SU_GO(su_page_add(page, "region", SU_PAGE_U8, model->nbar, region, err));
    json_object_set_new(info, "regions", json_integer(model->d1 - 1));
    const double *young =
        d->poses && d->poses->young ? d->poses->young : d->anim->young; /* as painted, at the neutral pose */
    if (young) SU_GO(su_page_add_doubles(page, "young", model->nbar, young, err));
done:
    free(region), free(covers), free(vertex_region);
    return status;
}

static su_status pack_series(const report_data *d, su_page *page, su_error *err)
{
    const su_sim *sim = d->sim;
    double *integers = NULL;
    su_status status;
    SU_GO(su_page_add_doubles(page, "times", sim->F, sim->times, err));
    SU_GO(su_page_add_doubles(page, "energy", 3 * sim->F, sim->energy, err));
    SU_GO(su_page_add_doubles(page, "weights", sim->F * sim->m, sim->weights, err));
    SU_GO(SU_ALLOC(&integers, sim->F, "series", err));
    if (sim->error_estimate) SU_GO(su_page_add_doubles(page, "error_estimate", sim->F, sim->error_estimate, err));
    if (sim->contacts && sim->contact_depth && sim->rig_depth) {
        for (int64_t k = 0; k < sim->F; k++) integers[k] = sim->contacts[k];
        SU_GO(su_page_add_doubles(page, "contacts", sim->F, integers, err));
        SU_GO(su_page_add_doubles(page, "contact_depth", sim->F, sim->contact_depth, err));
        SU_GO(su_page_add_doubles(page, "rig_depth", sim->F, sim->rig_depth, err));
    }
    int64_t played = 0;
    for (int64_t k = 0; k < sim->full; k++) integers[played++] = sim->full_frame[k];
    if (played > 0) SU_GO(su_page_add_doubles(page, "full_frame", played, integers, err));
    for (int64_t k = 0; k < sim->F; k++) integers[k] = sim->status[k];
    SU_GO(su_page_add_doubles(page, "status", sim->F, integers, err));
    for (int64_t k = 0; k < sim->F; k++) integers[k] = sim->iterations[k];
    SU_GO(su_page_add_doubles(page, "iterations", sim->F, integers, err));
    if (d->modes)
        SU_GO(su_page_add_doubles(page, "eigenvalues", d->modes->k * d->modes->linear, d->modes->eigenvalues, err));
    if (d->basis) SU_GO(su_page_add_doubles(page, "angles", d->basis->m * d->basis->r, d->basis->angles, err));
done:
    free(integers);
    return status;
}

su_status report_pack(const report_data *d, su_page *page, json_t *info, su_error *err)
{
    const su_model *model = d->model;
    json_t *parents = json_array();
    for (int64_t i = 0; d->basis && i < d->basis->m; i++)
        json_array_append_new(parents, json_integer(d->basis->parent[i]));
    json_object_set_new(info, "parent", parents);
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"skin_vertices", model->nbar},
                  {"triangles", d->anim->T},
                  {"flesh_vertices", model->n},
                  {"tets", model->t},
                  {"poses", model->m},
                  {"modes", model->r},
                  {"cubature_tets", model->c},
                  {"inertia_vertices", model->ci},
                  {"held_vertices", model->fixed_count},
                  {"frames", d->anim->F},
                  {"parameters", model->s},
                  {"eigenvalue_poses", d->modes ? d->modes->k : 0},
                  {"linear_modes", d->modes ? d->modes->linear : 0}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_object_set_new(info, counts[i].name, json_integer(counts[i].value));
    json_t *model_meta = model->file.meta ? json_deep_copy(model->file.meta) : json_object();
    json_object_del(model_meta, "param_names");
    json_object_set_new(info, "model", model_meta);
    if (d->sim->file.meta) json_object_set(info, "sim", d->sim->file.meta);
    SU_TRY(pack_motion(d, page, info, err));
    SU_TRY(pack_other(d, page, info, err));
    SU_TRY(pack_modes(d, page, info, err));
    SU_TRY(pack_character(d, page, info, err));
    SU_TRY(report_pack_points(d, page, info, err));
    SU_TRY(report_pack_live(d, page, info, err));
    return pack_series(d, page, err);
}
