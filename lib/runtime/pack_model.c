#include "runtime/pack_model.h"

#include "core/order.h"
#include "geometry/box.h"
#include "geometry/mat3.h"
#include "runtime/forces/linear_force.h"
#include "runtime/forces/model_points.h"
#include "runtime/kernels/kernel_set.h"

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

/* What memory is wanted for. */
static const char purpose[] = "the run-time model";

/* Basis rows of all points and poses, columns in panel order: rows (m times all_row_entries). */
static void pack_points(const su_runtime_model *model, const int32_t *point_of, float *rows)
{
    const su_reduced_basis *basis = &model->basis;
    for (int64_t p = 0; p < model->points.panels; p++) {
        const su_panel *panel = model->points.panel + p;
        int64_t column = 0;
        for (int64_t a = 0; a < panel->region_count; a++) {
            int64_t g = panel->regions[a], modes = su_region_modes(basis, g);
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
    for (int64_t p = 0; p < model->tets.panels_abreast; p++) {
        const su_panel *panel = model->tets.panel + p;
        for (int64_t k = 0; k < 4 * panel->count; k++) {
            int64_t e = k / 4, corner = k % 4, point = model->tets.corner[4 * panel->first + k];
            if (point >= model->points.count) continue;
            const su_panel *own = su_panel_of(&model->points, point);
            const float *from = rows + 3 * m * (own->offset + (point - own->first) * own->stride);
            float *to = model->tets.abreast_rows +
                        12 * m * (panel->offset + e / SU_ABREAST * SU_ABREAST * panel->columns) + e % SU_ABREAST;
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
    SU_TRY(SU_TAKE_ALL(&model->arena, purpose, err,
                       SU_WANT(model->points.rows, model->bases * model->points.row_entries),
                       SU_WANT(model->tets.abreast_rows, 12 * model->bases * model->tets.abreast_entries)));
    SU_TRY(SU_ALLOC(&rows, model->bases * model->points.all_row_entries, "rows of points", err));
    pack_points(model, point_of, rows);
    memcpy(model->points.rows, rows, (size_t)(model->bases * model->points.row_entries) * sizeof *rows);
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
            int64_t bits = out[count - 1].mask ? (out[count - 1].mask - model->tets.masks) / 8 : 0;
            out[count - 1].mask = model->tets.masks + 8 * (bits | (int64_t)1 << (j - at));
        }
    }
    return count;
}

/* Masks of eight columns, one for each set of them. */
enum { MASKS = 1 << SU_LANES };

static su_status make_taps(su_runtime_model *model, su_error *err)
{
    int64_t starts = 0, total = 0;
    for (int64_t p = model->tets.panels_abreast; p < model->tets.panels; p++)
        starts += model->tets.panel[p].count * (model->tets.panel[p].stride / 8) * 4;
    SU_TRY(SU_TAKE_ALL(&model->arena, purpose, err, SU_WANT(model->tets.masks, MASKS * SU_LANES),
                       SU_WANT(model->tets.tap_start, starts + 1), SU_WANT(model->tets.tap_first, model->tets.count)));
    for (int bits = 0; bits < MASKS; bits++)
        for (int k = 0; k < 8; k++) model->tets.masks[8 * bits + k] = bits >> k & 1;
    for (int pass = 0; pass < 2; pass++) {
        int64_t start = total = 0;
        for (int64_t p = model->tets.panels_abreast; p < model->tets.panels; p++) {
            const su_panel *panel = model->tets.panel + p;
            for (int64_t k = panel->first; k < panel->first + panel->count; k++) {
                model->tets.tap_first[k] = start;
                for (int64_t j = 0; j < panel->stride; j += 8)
                    for (int c = 0; c < 4; c++, start++) {
                        int64_t point = model->tets.corner[4 * k + c];
                        model->tets.tap_start[start] = (int32_t)total;
                        if (point >= model->points.count) continue;
                        const su_panel *own = su_panel_of(&model->points, point);
                        total += find_taps(model, panel, own, j, pass ? model->tets.taps + total : NULL);
                    }
            }
        }
        model->tets.tap_start[start] = (int32_t)total;
        if (pass == 0) SU_TRY(SU_TAKE_ALL(&model->arena, purpose, err, SU_WANT(model->tets.taps, total)));
    }
    return SU_OK;
}

/* Rooms for the rows of points that are not kept, taken over from those that no later tet needs. */
static su_status assign_rooms(su_runtime_model *model, su_error *err)
{
    int64_t passing = model->points.with_rows - model->points.kept, free_rooms = 0;
    int32_t *last = NULL, *spare = NULL;
    su_status status;
    for (int64_t p = model->points.kept_panels; p < model->points.row_panels; p++)
        if (3 * model->points.panel[p].stride > model->points.room_size)
            model->points.room_size = 3 * model->points.panel[p].stride;
    SU_TRY(SU_TAKE_ALL(&model->arena, purpose, err, SU_WANT(model->points.room, model->points.count)));

    SU_GO(SU_ALLOC_ALL("points", err, SU_WANT(last, model->points.count), SU_WANT(spare, passing)));
    for (int64_t k = 0; k < model->points.count; k++) model->points.room[k] = -1;
    for (int64_t k = 4 * model->tets.abreast; k < 4 * model->tets.count; k++)
        if (model->tets.corner[k] < model->points.count) last[model->tets.corner[k]] = (int32_t)(k / 4);
    for (int64_t k = model->tets.abreast; k < model->tets.count; k++) {
        for (int c = 0; c < 4; c++) {
            int32_t point = model->tets.corner[4 * k + c];
            if (point < model->points.kept || point >= model->points.count || model->points.room[point] >= 0) continue;
            model->points.room[point] = free_rooms > 0 ? spare[--free_rooms] : (int32_t)model->points.rooms++;
        }
        for (int c = 0; c < 4; c++) {
            int32_t point = model->tets.corner[4 * k + c];
            if (point >= model->points.kept && point < model->points.count && last[point] == k)
                spare[free_rooms++] = model->points.room[point];
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
        if (point_of[from[c]] < model->points.kept) base = c;
    for (int c = 3; c >= 0; c--)
        if (point_of[from[c]] >= model->points.count) base = c;
    for (int c = 0; c < 4; c++) tet[c] = from[c ^ base];
}

static su_status pack_tets(const su_model *source, su_runtime_model *model, const su_member *sorted,
                           const int32_t *point_of, su_error *err)
{
    int64_t count = model->tets.count;
    model->tets.padded =
        model->tets.abreast > 0 ? (count + SU_ABREAST - 1) / SU_ABREAST * SU_ABREAST : su_padded(count);
    SU_TRY(SU_TAKE_ALL(&model->arena, purpose, err, SU_WANT(model->tets.corner, 4 * count),
                       SU_WANT(model->tets.neutral_inverse, 9 * count), SU_WANT(model->tets.neutral_volume, count),
                       SU_WANT(model->tets.weight, model->m * count), SU_WANT(model->tets.young, model->m * count),
                       SU_WANT(model->tets.poisson, model->m * count), SU_WANT(model->tets.filler, count),
                       SU_WANT(model->tets.base, model->tets.padded)));
    for (int64_t k = 0; k < count; k++) {
        int64_t e = sorted[k].item;
        int32_t tet[4];
        double edges[9];
        base_first(model, point_of, source->tets + 4 * (int64_t)source->cubature_tets[e], tet);
        for (int c = 0; c < 4; c++) model->tets.corner[4 * k + c] = point_of[tet[c]];
        su_tet_edges(source->vertices + 3 * (int64_t)tet[0], source->vertices + 3 * (int64_t)tet[1],
                     source->vertices + 3 * (int64_t)tet[2], source->vertices + 3 * (int64_t)tet[3], edges);
        model->tets.neutral_volume[k] = su_inverse3(edges, model->tets.neutral_inverse + 9 * k) / 6;
        model->tets.filler[k] = sorted[k].filler;
        for (int64_t i = 0; i < model->m; i++) {
            model->tets.weight[i * count + k] = sorted[k].filler ? 0 : source->cubature_weights[i * source->c + e];
            model->tets.young[i * count + k] = source->young[i * source->c + e];
            model->tets.poisson[i * count + k] = source->poisson[i * source->c + e];
        }
    }

    for (int64_t k = 0; k < model->tets.padded; k++)
        model->tets.base[k] = k < count && model->tets.corner[4 * k] < model->points.kept ? model->tets.corner[4 * k]
                                                                                          : (int32_t)model->points.kept;
    SU_TRY(assign_rooms(model, err));
    return make_taps(model, err);
}

static su_status choose_inertia(const su_model *source, su_runtime_model *model, const int32_t *point_of, su_error *err)
{
    double *weight;
    SU_TRY(SU_TAKE_ALL(&model->arena, purpose, err, SU_WANT(model->inertia.point, source->ci),
                       SU_WANT(model->inertia.mass, source->ci), SU_WANT(weight, model->points.count)));
    for (int64_t k = 0; k < source->ci; k++) {
        int32_t v = source->inertia_vertices[k], point = point_of[v];
        if (point < 0 || point >= model->points.count) continue;
        weight[point] = source->inertia_weights[k] * model->basis.mass[v];
        model->inertia.point[model->inertia.count++] = point;
    }
    su_sort(model->inertia.point, (size_t)model->inertia.count, sizeof *model->inertia.point, su_order_int32);
    for (int64_t k = 0; k < model->inertia.count; k++) model->inertia.mass[k] = weight[model->inertia.point[k]];
    return SU_OK;
}

/* ---- Gram matrices of overlapping regions ---- */

static bool any_entry(const su_runtime_model *model, int32_t left, int32_t right)
{
    const su_reduced_basis *basis = &model->basis;
    int64_t m = model->bases, r = model->r;

    for (int64_t k = 0; k < m * m; k++)
        for (int64_t a = basis->first_mode[left]; a < basis->first_mode[left + 1]; a++)
            for (int64_t b = basis->first_mode[right]; b < basis->first_mode[right + 1]; b++)
                if (basis->gram[(k * r + a) * r + b] != 0) return true;
    return false;
}

/* With one basis nothing of it depends on the instant: the blocks as a pose would hold them. */
static su_status fix_gram(su_runtime_model *model, su_error *err)
{
    const su_reduced_basis *basis = &model->basis;
    double *scale;
    SU_TRY(SU_TAKE_ALL(&model->arena, purpose, err, SU_WANT(model->gram.fixed, model->gram.entries)));

    SU_TRY(SU_ALLOC(&scale, model->r, "scales", err));
    su_reduced_basis_scale(basis, NULL, scale);
    for (int64_t k = 0; k < model->gram.pairs; k++) {
        const su_gram_pair *pair = model->gram.pair + k;
        int64_t a0 = basis->first_mode[pair->left], b0 = basis->first_mode[pair->right],
                columns = su_region_modes(basis, pair->right);
        for (int64_t a = 0; a < pair->rows; a++)
            for (int64_t b = 0; b < columns; b++)
                model->gram.fixed[pair->offset + a * pair->stride + b] =
                    (float)(scale[a0 + a] * basis->gram[(a0 + a) * model->r + b0 + b] * scale[b0 + b]);
    }
    free(scale);
    return SU_OK;
}

/* Regions without a common vertex have a block of zeros. */
static su_status pack_gram(su_runtime_model *model, su_error *err)
{
    const su_reduced_basis *basis = &model->basis;
    int64_t m = model->bases, r = model->r, d = basis->d;

    SU_TRY(SU_TAKE_ALL(&model->arena, purpose, err, SU_WANT(model->gram.pair, d * d),
                       SU_WANT(model->gram.region_offset, d + 1)));
    for (int64_t g = 0; g < d; g++)
        model->gram.region_offset[g + 1] = model->gram.region_offset[g] + su_padded(su_region_modes(basis, g));
    for (int32_t g = 0; g < d; g++)
        for (int32_t h = 0; h < d; h++) {
            if (!any_entry(model, g, h) && !any_entry(model, h, g)) continue;
            su_gram_pair *pair = model->gram.pair + model->gram.pairs++;
            *pair =
                (su_gram_pair){g, h, su_region_modes(basis, g),
                               model->gram.region_offset[h + 1] - model->gram.region_offset[h], model->gram.entries};
            model->gram.entries += (pair->rows * pair->stride + SU_GRAM - 1) / SU_GRAM * SU_GRAM;
        }
    int64_t widest = 0;
    for (int64_t k = 0; k < model->gram.pairs; k++)
        if (model->gram.pair[k].stride > widest) widest = model->gram.pair[k].stride;
    model->gram.entries += 8 * widest;
    SU_TRY(SU_TAKE_ALL(&model->arena, purpose, err, SU_WANT(model->gram.source, m * m * model->gram.entries)));
    for (int64_t k = 0; k < model->gram.pairs; k++) {
        const su_gram_pair *pair = model->gram.pair + k;
        int64_t a0 = basis->first_mode[pair->left], b0 = basis->first_mode[pair->right];
        int64_t columns = su_region_modes(basis, pair->right);
        for (int64_t a = 0; a < pair->rows; a++)
            for (int64_t b = 0; b < columns; b++) {
                int64_t entry = pair->offset + a * pair->stride + b;
                for (int64_t i = 0; i < m; i++)
                    for (int64_t j = 0; j < m; j++)
                        model->gram.source[(entry / SU_GRAM * m * m + j * m + i) * SU_GRAM + entry % SU_GRAM] =
                            (float)basis->gram[((i * m + j) * r + a0 + a) * r + b0 + b];
            }
    }
    return m == 1 ? fix_gram(model, err) : SU_OK;
}

static su_status pack_linear(const su_model *source, su_runtime_model *model, su_error *err)
{
    if (!source->linear_stiffness) return SU_OK;
    SU_TRY(
        SU_TAKE_ALL(&model->arena, purpose, err, SU_WANT(model->linear, su_linear_entries(model->size, model->lead))));
    su_linear_pack(model->r, model->lead, source->linear_stiffness, model->linear);
    return SU_OK;
}

su_status su_runtime_model_create(const su_model *source, su_interpolation interpolation, int64_t count,
                                  const int32_t *extra, su_runtime_model *out, su_error *err)
{
    memset(out, 0, sizeof *out);
    out->points.extra = count;
    su_status status;
    su_member *of = NULL, *tets = NULL;
    int32_t *point_of = NULL, *vertices = NULL;
    const su_kernel_set *set;
    const char *material = json_string_value(json_object_get(source->file.meta, "material"));
    int number = su_material_from_name(material ? material : "neohookean");
    if (number < 0) return su_fail(err, SU_INPUT, "the model's material '%s' is not known", material);
    if (source->r < 1) return su_fail(err, SU_INPUT, "the model has no modes: it is for full simulations only");
    if (source->d > SU_MOST_REGIONS)
        return su_fail(err, SU_INPUT, "the model has %lld regions, at most %d are possible", (long long)source->d,
                       SU_MOST_REGIONS);
    out->material = (su_material)number;
    out->m = source->m, out->bases = source->bases, out->s = source->s, out->r = source->r;
    SU_TRY(su_kernel_set_find(&set, err));
    out->kernels = &set->step;
    out->pose_kernels = &set->pose;
    out->size = su_padded(source->r);
    out->rig = su_rig_of_model(source);
    out->diagonal = su_box_diagonal(source->n, source->vertices);
    SU_GO(su_reduced_basis_create(source, interpolation, &out->basis, err));
    out->lead = su_padded(source->r + 1);
    for (int64_t g = 0; g < out->basis.d; g++) {
        int64_t end = out->basis.first_mode[g] + su_padded(su_region_modes(&out->basis, g));
        if (su_padded(end) > out->lead) out->lead = su_padded(end);
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
    SU_GO(su_rest_patch_create(source, out->points.chosen, vertices,
                               interpolation == SU_COROTATED ? turned ? out->points.chosen : out->points.count : 0,
                               &out->patch, err));
    SU_GO(su_rest_lanes_create(&out->patch, out->pose_kernels, &out->lanes, err));
    SU_GO(pack_tets(source, out, tets, point_of, err));
    SU_GO(pack_rows(out, point_of, err));
    SU_GO(choose_inertia(source, out, point_of, err));
    out->points.kept_padded = su_padded(out->points.kept + 1);
    out->inertia.padded = su_padded(out->inertia.count);
done:
    free(of), free(tets), free(point_of);
    if (status != SU_OK) su_runtime_model_free(out);
    return status;
}

int64_t su_runtime_model_bytes(const su_runtime_model *model)
{
    int64_t m = model->m, bases = model->bases,
            linear = model->linear ? su_linear_entries(model->size, model->lead) : 0;
    return bases * (model->points.row_entries + 12 * model->tets.abreast_entries) * 4 + linear * 4 +
           bases * bases * (model->gram.entries * 4 + model->r * 8) + model->tets.count * (4 * 4 + 10 * 8 + 3 * m * 8) +
           model->inertia.count * 12 + su_rest_lanes_bytes(&model->lanes);
}
