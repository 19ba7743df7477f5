#include "runtime/pack_model.h"

#include "core/order.h"
#include "geometry/mat3.h"
#include "runtime/forces/linear_force.h"
#include "runtime/forces/model_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void su_runtime_model_free(su_runtime_model *model)
{
    su_reduced_basis_free(&model->basis);
    su_rest_lanes_free(&model->lanes);
    su_rest_patch_free(&model->patch);
    su_arena_free(&model->arena);
    memset(model, 0, sizeof *model);
}

/* Basis rows of all points and poses, columns in panel order: rows (m times all_row_entries). */
static void pack_points(const su_runtime_model *model, const int32_t *point_of, float *rows)
{
    const su_reduced_basis *basis = &model->basis;
    for (int64_t p = 0; p < model->point_panels; p++) {
        const su_panel *panel = model->point_panel + p;
        int64_t column = 0;
        for (int64_t a = 0; a < panel->region_count; a++) {
            int64_t g = panel->regions[a], modes = basis->first_mode[g + 1] - basis->first_mode[g];
            for (int64_t v = 0; v < basis->vertex_count[g]; v++) {
                int64_t k = point_of[basis->vertices[g][v]] - panel->first;
                if (k < 0 || k >= panel->count) continue;
                for (int64_t i = 0; i < model->bases; i++)
                    for (int64_t mode = 0; mode < modes; mode++)
                        for (int c = 0; c < 3; c++)
                            rows[3 * model->bases * panel->offset + ((k * model->bases + i) * 3 + c) * panel->stride +
                                 column + mode] =
                                basis->blocks[g][((i * modes + mode) * basis->vertex_count[g] + v) * 3 + c];
            }
            column += modes;
        }
    }
}

/* The same at the corners of tets that stand abreast. */
static void pack_abreast(su_runtime_model *model, const float *rows)
{
    int64_t m = model->bases;
    for (int64_t p = 0; p < model->panels_abreast; p++) {
        const su_panel *panel = model->tet_panel + p;
        for (int64_t k = 0; k < 4 * panel->count; k++) {
            int64_t e = k / 4, corner = k % 4, point = model->corner[4 * panel->first + k];
            if (point >= model->points) continue;
            const su_panel *own = model->point_panel + model->panel_of_point[point];
            const float *from = rows + 3 * m * (own->offset + (point - own->first) * own->stride);
            float *to = model->abreast_rows + 12 * m * (panel->offset + e / SU_ABREAST * SU_ABREAST * panel->columns) +
                        e % SU_ABREAST;
            for (int64_t j = 0, n = 0; n < own->columns; n++) {
                while (panel->modes[j] != own->modes[n]) j++; /* a tet's regions are all of its corners' */
                for (int64_t i = 0; i < m; i++)
                    for (int c = 0; c < 3; c++)
                        to[SU_ABREAST * (((4 * j + corner) * m + i) * 3 + c)] = from[(3 * i + c) * own->stride + n];
            }
        }
    }
}

static su_status pack_rows(su_runtime_model *model, const int32_t *point_of, su_error *err)
{
    float *rows;
    model->point_rows = su_model_take(model, model->bases * model->row_entries, sizeof *model->point_rows, err);
    model->abreast_rows =
        su_model_take(model, 12 * model->bases * model->abreast_entries, sizeof *model->abreast_rows, err);
    if (!model->point_rows || !model->abreast_rows) return SU_AGAIN;
    SU_TRY(SU_ALLOC(&rows, model->bases * model->all_row_entries, "rows of points", err));
    pack_points(model, point_of, rows);
    memcpy(model->point_rows, rows, (size_t)(model->bases * model->row_entries) * sizeof *rows);
    pack_abreast(model, rows);
    free(rows);
    return SU_OK;
}

/* Columns of a corner's panel that land in columns at .. at + 7 of the tet's panel: taps, written where out is not
 * NULL. Neighbouring columns with the same shift share a tap. */
static int64_t find_taps(const su_runtime_model *model, const su_panel *tet, const su_panel *corner, int64_t at,
                         su_tap *out)
{
    int64_t count = 0, shift = 0, from = 0;
    for (int64_t j = at; j < at + 8 && j < tet->columns; j++) {
        while (from < corner->columns && corner->modes[from] < tet->modes[j]) from++;
        if (from == corner->columns) break;
        if (corner->modes[from] != tet->modes[j]) continue;
        if (count == 0 || from - j != shift) {
            shift = from - j;
            count++;
            if (out) out[count - 1] = (su_tap){.offset = at + shift};
        }
        if (out) {
            /* masks are numbered by their bits: (256,8) */
            int64_t bits = out[count - 1].mask ? (out[count - 1].mask - model->masks) / 8 : 0;
            out[count - 1].mask = model->masks + 8 * (bits | (int64_t)1 << (j - at));
        }
    }
    return count;
}

static su_status make_taps(su_runtime_model *model, su_error *err)
{
    int64_t slots = 0, total = 0;
    for (int64_t p = model->panels_abreast; p < model->tet_panels; p++)
        slots += model->tet_panel[p].count * (model->tet_panel[p].stride / 8) * 4;
    model->masks = su_model_take(model, 256 * 8, sizeof *model->masks, err);
    model->tap_start = su_model_take(model, slots + 1, sizeof *model->tap_start, err);
    model->tap_first = su_model_take(model, model->tets, sizeof *model->tap_first, err);
    if (!model->masks || !model->tap_start || !model->tap_first) return SU_AGAIN;
    for (int bits = 0; bits < 256; bits++)
        for (int k = 0; k < 8; k++) model->masks[8 * bits + k] = bits >> k & 1;
    for (int pass = 0; pass < 2; pass++) {
        int64_t slot = total = 0;
        for (int64_t p = model->panels_abreast; p < model->tet_panels; p++) {
            const su_panel *panel = model->tet_panel + p;
            for (int64_t k = panel->first; k < panel->first + panel->count; k++) {
                model->tap_first[k] = slot;
                for (int64_t j = 0; j < panel->stride; j += 8)
                    for (int c = 0; c < 4; c++, slot++) {
                        int64_t point = model->corner[4 * k + c];
                        model->tap_start[slot] = (int32_t)total;
                        if (point >= model->points) continue;
                        const su_panel *own = model->point_panel + model->panel_of_point[point];
                        total += find_taps(model, panel, own, j, pass ? model->taps + total : NULL);
                    }
            }
        }
        model->tap_start[slot] = (int32_t)total;
        if (pass == 0 && !(model->taps = su_model_take(model, total, sizeof *model->taps, err))) return SU_AGAIN;
    }
    return SU_OK;
}

/* Rooms for the rows of points that are not kept, taken over from those that no later tet needs. */
static su_status assign_slots(su_runtime_model *model, su_error *err)
{
    int64_t loose = model->rowed - model->kept, free_slots = 0;
    int32_t *last = NULL, *spare = NULL;
    su_status status;
    for (int64_t p = model->kept_panels; p < model->row_panels; p++)
        if (3 * model->point_panel[p].stride > model->slot_size) model->slot_size = 3 * model->point_panel[p].stride;
    if (!(model->slot = su_model_take(model, model->points, sizeof *model->slot, err))) return SU_AGAIN;
    SU_GO(SU_ALLOC(&last, model->points, "points", err));
    SU_GO(SU_ALLOC(&spare, loose, "points", err));
    for (int64_t k = 0; k < model->points; k++) model->slot[k] = -1;
    for (int64_t k = 4 * model->abreast; k < 4 * model->tets; k++)
        if (model->corner[k] < model->points) last[model->corner[k]] = (int32_t)(k / 4);
    for (int64_t k = model->abreast; k < model->tets; k++) {
        for (int c = 0; c < 4; c++) {
            int32_t point = model->corner[4 * k + c];
            if (point < model->kept || point >= model->points || model->slot[point] >= 0) continue;
            model->slot[point] = free_slots > 0 ? spare[--free_slots] : (int32_t)model->slots++;
        }
        for (int c = 0; c < 4; c++) {
            int32_t point = model->corner[4 * k + c];
            if (point >= model->kept && point < model->points && last[point] == k)
                spare[free_slots++] = model->slot[point];
        }
    }
done:
    free(last), free(spare);
    return status;
}

/* Corners of one tet, by their numbers among the chosen: the first becomes one that is kept or never moves, by an even
 * permutation. */
static void base_first(const su_runtime_model *model, const int32_t *point_of, const int32_t *from, int32_t tet[4])
{
    int base = 0;
    for (int c = 3; c >= 0; c--)
        if (point_of[from[c]] < model->kept) base = c;
    for (int c = 3; c >= 0; c--)
        if (point_of[from[c]] >= model->points) base = c;
    for (int c = 0; c < 4; c++) tet[c] = from[c ^ base];
}

static su_status pack_tets(const su_model *source, su_runtime_model *model, const su_member *sorted,
                           const int32_t *point_of, su_error *err)
{
    int64_t count = model->tets;
    if (!(model->corner = su_model_take(model, 4 * count, sizeof *model->corner, err)) ||
        !(model->neutral_inverse = su_model_take(model, 9 * count, sizeof *model->neutral_inverse, err)) ||
        !(model->neutral_volume = su_model_take(model, count, sizeof *model->neutral_volume, err)) ||
        !(model->tet_weight = su_model_take(model, model->m * count, sizeof *model->tet_weight, err)) ||
        !(model->young = su_model_take(model, model->m * count, sizeof *model->young, err)) ||
        !(model->poisson = su_model_take(model, model->m * count, sizeof *model->poisson, err)) ||
        !(model->filler = su_model_take(model, count, sizeof *model->filler, err)))
        return SU_AGAIN;
    for (int64_t k = 0; k < count; k++) {
        int64_t e = sorted[k].item;
        int32_t tet[4];
        double edges[9];
        base_first(model, point_of, source->tets + 4 * (int64_t)source->cubature_tets[e], tet);
        for (int c = 0; c < 4; c++) model->corner[4 * k + c] = point_of[tet[c]];
        su_tet_edges(source->vertices + 3 * (int64_t)tet[0], source->vertices + 3 * (int64_t)tet[1],
                     source->vertices + 3 * (int64_t)tet[2], source->vertices + 3 * (int64_t)tet[3], edges);
        model->neutral_volume[k] = su_inverse3(edges, model->neutral_inverse + 9 * k) / 6;
        model->filler[k] = sorted[k].filler;
        for (int64_t i = 0; i < model->m; i++) {
            model->tet_weight[i * count + k] = sorted[k].filler ? 0 : source->cubature_weights[i * source->c + e];
            model->young[i * count + k] = source->young[i * source->c + e];
            model->poisson[i * count + k] = source->poisson[i * source->c + e];
        }
    }
    model->tets_padded =
        model->abreast > 0 ? (count + SU_ABREAST - 1) / SU_ABREAST * SU_ABREAST : su_model_padded(count);
    if (!(model->base = su_model_take(model, model->tets_padded, sizeof *model->base, err))) return SU_AGAIN;
    for (int64_t k = 0; k < model->tets_padded; k++)
        model->base[k] = k < count && model->corner[4 * k] < model->kept ? model->corner[4 * k] : (int32_t)model->kept;
    SU_TRY(assign_slots(model, err));
    return make_taps(model, err);
}

static su_status choose_inertia(const su_model *source, su_runtime_model *model, const int32_t *point_of, su_error *err)
{
    model->inertia_point = su_model_take(model, source->ci, sizeof *model->inertia_point, err);
    model->inertia_mass = su_model_take(model, source->ci, sizeof *model->inertia_mass, err);
    double *weight = su_model_take(model, model->points, sizeof *weight, err);
    if (!model->inertia_point || !model->inertia_mass || !weight) return SU_AGAIN;
    for (int64_t k = 0; k < source->ci; k++) {
        int32_t v = source->inertia_vertices[k], point = point_of[v];
        if (point < 0 || point >= model->points) continue;
        weight[point] = source->inertia_weights[k] * model->basis.mass[v];
        model->inertia_point[model->inertia++] = point;
    }
    qsort(model->inertia_point, (size_t)model->inertia, sizeof *model->inertia_point, su_order_int32);
    for (int64_t k = 0; k < model->inertia; k++) model->inertia_mass[k] = weight[model->inertia_point[k]];
    return SU_OK;
}

/* ---- Gram matrices of overlapping regions ---- */

static double largest_entry(const su_runtime_model *model, int32_t left, int32_t right)
{
    const su_reduced_basis *basis = &model->basis;
    int64_t m = model->bases, r = model->r;
    double most = 0;
    for (int64_t k = 0; k < m * m; k++)
        for (int64_t a = basis->first_mode[left]; a < basis->first_mode[left + 1]; a++)
            for (int64_t b = basis->first_mode[right]; b < basis->first_mode[right + 1]; b++)
                most = fmax(most, fabs(basis->gram[(k * r + a) * r + b]));
    return most;
}

/* With one basis nothing of it depends on the instant: the blocks as a pose would hold them. */
static su_status fix_gram(su_runtime_model *model, su_error *err)
{
    const su_reduced_basis *basis = &model->basis;
    double *scale;
    if (!(model->gram = su_model_take(model, model->pair_entries, sizeof *model->gram, err))) return SU_AGAIN;
    SU_TRY(SU_ALLOC(&scale, model->r, "scales", err));
    su_reduced_basis_scale(basis, NULL, scale);
    for (int64_t k = 0; k < model->pairs; k++) {
        const su_gram_pair *pair = model->pair + k;
        int64_t a0 = basis->first_mode[pair->left], b0 = basis->first_mode[pair->right],
                columns = basis->first_mode[pair->right + 1] - b0;
        for (int64_t a = 0; a < pair->rows; a++)
            for (int64_t b = 0; b < columns; b++)
                model->gram[pair->offset + a * pair->stride + b] =
                    (float)(scale[a0 + a] * basis->gram[(a0 + a) * model->r + b0 + b] * scale[b0 + b]);
    }
    free(scale);
    return SU_OK;
}

/* Regions without a common vertex have a block of zeros; a factor brings its rounding. */
static su_status pack_gram(su_runtime_model *model, su_error *err)
{
    const su_reduced_basis *basis = &model->basis;
    int64_t m = model->bases, r = model->r, d = basis->d;
    double none = basis->gram_is_expanded ? 4e-6 : 0;
    model->pair = su_model_take(model, d * d, sizeof *model->pair, err);
    model->region_offset = su_model_take(model, d + 1, sizeof *model->region_offset, err);
    if (!model->pair || !model->region_offset) return SU_AGAIN;
    for (int64_t g = 0; g < d; g++)
        model->region_offset[g + 1] =
            model->region_offset[g] + su_model_padded(basis->first_mode[g + 1] - basis->first_mode[g]);
    for (int32_t g = 0; g < d; g++)
        for (int32_t h = 0; h < d; h++) {
            if (!(largest_entry(model, g, h) > none || largest_entry(model, h, g) > none)) continue;
            su_gram_pair *pair = model->pair + model->pairs++;
            *pair = (su_gram_pair){g, h, basis->first_mode[g + 1] - basis->first_mode[g],
                                   model->region_offset[h + 1] - model->region_offset[h], model->pair_entries};
            model->pair_entries += (pair->rows * pair->stride + SU_GRAM - 1) / SU_GRAM * SU_GRAM;
        }
    int64_t widest = 0;
    for (int64_t k = 0; k < model->pairs; k++)
        if (model->pair[k].stride > widest) widest = model->pair[k].stride;
    model->pair_entries += 8 * widest;
    float *packed = model->pair_gram = su_model_take(model, m * m * model->pair_entries, sizeof *packed, err);
    if (!packed) return SU_AGAIN;
    for (int64_t k = 0; k < model->pairs; k++) {
        const su_gram_pair *pair = model->pair + k;
        int64_t a0 = basis->first_mode[pair->left], b0 = basis->first_mode[pair->right];
        int64_t columns = basis->first_mode[pair->right + 1] - b0;
        for (int64_t a = 0; a < pair->rows; a++)
            for (int64_t b = 0; b < columns; b++) {
                int64_t entry = pair->offset + a * pair->stride + b;
                for (int64_t i = 0; i < m; i++)
                    for (int64_t j = 0; j < m; j++)
                        packed[(entry / SU_GRAM * m * m + j * m + i) * SU_GRAM + entry % SU_GRAM] =
                            (float)basis->gram[((i * m + j) * r + a0 + a) * r + b0 + b];
            }
    }
    return m == 1 ? fix_gram(model, err) : SU_OK;
}

static su_status pack_linear(const su_model *source, su_runtime_model *model, su_error *err)
{
    if (!source->linear_stiffness) return SU_OK;
    model->linear = su_model_take(model, su_linear_entries(model->size, model->lead), sizeof *model->linear, err);
    if (!model->linear) return SU_AGAIN;
    su_linear_pack(model->r, model->lead, source->linear_stiffness, model->linear);
    return SU_OK;
}

static double diagonal_of(const su_model *model)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int64_t v = 0; v < model->n; v++)
        for (int c = 0; c < 3; c++) {
            low[c] = fmin(low[c], model->vertices[3 * v + c]);
            high[c] = fmax(high[c], model->vertices[3 * v + c]);
        }
    return model->n > 0 ? su_distance3(low, high) : 0.0;
}

su_status su_runtime_model_create(const su_model *source, su_interpolation interpolation, su_runtime_model *out,
                                  su_error *err)
{
    return su_runtime_model_create_with(source, interpolation, 0, NULL, out, err);
}

su_status su_runtime_model_create_with(const su_model *source, su_interpolation interpolation, int64_t count,
                                       const int32_t *extra, su_runtime_model *out, su_error *err)
{
    memset(out, 0, sizeof *out);
    out->extra = count;
    su_status status;
    su_member *of = NULL, *tets = NULL;
    int32_t *point_of = NULL, *vertices = NULL;
    const char *material = json_string_value(json_object_get(source->file.meta, "material"));
    int number = su_material_from_name(material ? material : "neohookean");
    if (number < 0) return su_fail(err, SU_INPUT, "the model's material '%s' is not known", material);
    if (source->d > SU_MOST_REGIONS)
        return su_fail(err, SU_INPUT, "the model has %lld regions, at most %d are possible", (long long)source->d,
                       SU_MOST_REGIONS);
    out->material = (su_material)number;
    out->m = source->m, out->bases = source->bases, out->s = source->s, out->r = source->r;
    out->kernels = su_kernels_choose(NULL);
    out->pose_kernels = su_pose_kernels_choose(NULL);
    out->size = su_model_padded(source->r);
    out->rig = su_rig_of_model(source);
    out->diagonal = diagonal_of(source);
    SU_GO(su_reduced_basis_create(source, interpolation, &out->basis, err));
    out->lead = su_model_padded(source->r + 1);
    for (int64_t g = 0; g < out->basis.d; g++) {
        int64_t end =
            out->basis.first_mode[g] + su_model_padded(out->basis.first_mode[g + 1] - out->basis.first_mode[g]);
        if (su_model_padded(end) > out->lead) out->lead = su_model_padded(end);
    }
    SU_GO(pack_gram(out, err));
    SU_GO(pack_linear(source, out, err));
    SU_GO(SU_ALLOC(&of, source->n, "regions of vertices", err));
    SU_GO(SU_ALLOC(&point_of, source->n, "points", err));
    su_vertex_regions(&out->basis, of);
    SU_GO(su_choose_tets(source, out, of, &tets, err));
    SU_GO(su_choose_points(source, out, of, tets, extra, point_of, &vertices, err));
    /* A turned tet reads the rotations of all its corners, those that never move too. */
    bool turned = su_model_smoothing(source).nodes > 0;
    if (turned && interpolation == SU_LINEAR) {
        status = su_fail(err, SU_INPUT,
                         "linear interpolation goes with the posed rest shape only (supple fit --rest posed)");
        goto done;
    }
    SU_GO(su_rest_patch_create(source, out->chosen, vertices,
                               interpolation == SU_COROTATED ? turned ? out->chosen : out->points : 0, false,
                               &out->patch, err));
    SU_GO(su_rest_lanes_create(&out->patch, out->pose_kernels, &out->lanes, err));
    SU_GO(pack_tets(source, out, tets, point_of, err));
    SU_GO(pack_rows(out, point_of, err));
    SU_GO(choose_inertia(source, out, point_of, err));
    out->kept_padded = su_model_padded(out->kept + 1);
    out->inertia_padded = su_model_padded(out->inertia);
done:
    free(of);
    free(tets);
    free(point_of);
    if (status != SU_OK) su_runtime_model_free(out);
    return status;
}

int64_t su_runtime_model_bytes(const su_runtime_model *model)
{
    int64_t m = model->m, bases = model->bases,
            linear = model->linear ? su_linear_entries(model->size, model->lead) : 0;
    return bases * (model->row_entries + 12 * model->abreast_entries) * 4 + linear * 4 +
           bases * bases * (model->pair_entries * 4 + model->r * 8) + model->tets * (4 * 4 + 10 * 8 + 3 * m * 8) +
           model->inertia * 12 + su_rest_lanes_bytes(&model->lanes);
}
