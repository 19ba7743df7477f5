#include "runtime/model_runtime.h"

#include "geometry/mat3.h"
#include "rig/rbf.h"
#include "runtime/linear_force.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The set of regions of a vertex or tet. */
enum { WORDS = 4, MAX_REGIONS = 64 * WORDS };
typedef struct signature {
    uint64_t bits[WORDS];
    int32_t loose;       /* 1: a point that need not be kept */
    int32_t use;         /* of a vertex: the first tet, in their sorted order, that it is a corner of, or past the last */
    int32_t item;        /* what it belongs to: flesh vertex or index into cubature_tets */
} signature;

static int compare_signatures(const void *a, const void *b)
{
    const signature *x = a, *y = b;
    if (x->loose != y->loose) return x->loose - y->loose;
    for (int w = 0; w < WORDS; w++)
        if (x->bits[w] != y->bits[w]) return x->bits[w] < y->bits[w] ? -1 : 1;
    if (x->use != y->use) return x->use < y->use ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

static bool same_panel(const signature *a, const signature *b)
{
    return a->loose == b->loose && memcmp(a->bits, b->bits, sizeof a->bits) == 0;
}

void su_runtime_model_free(su_runtime_model *model)
{
    su_reduced_basis_free(&model->basis);
    su_rest_lanes_free(&model->lanes);
    su_rest_patch_free(&model->patch);
    su_arena_free(&model->arena);
    memset(model, 0, sizeof *model);
}

static void *take(su_runtime_model *model, int64_t count, size_t size, su_error *err)
{
    void *block = su_arena_alloc(&model->arena, count, size);
    if (!block) su_fail(err, SU_AGAIN, "not enough memory for the run-time model");
    return block;
}

static int64_t padded(int64_t count) { return (count + SU_PANEL - 1) / SU_PANEL * SU_PANEL; }

/* Splits sorted signatures into panels. *entries: rows-per-member-1 entries of all panels together. */
static su_status make_panels(su_runtime_model *model, int64_t count, const signature *sorted, su_panel **out,
                             int64_t *panels, int64_t *entries, su_error *err)
{
    *panels = 0;
    for (int64_t k = 0; k < count; k++) *panels += k == 0 || !same_panel(sorted + k, sorted + k - 1);
    su_panel *list = take(model, *panels, sizeof *list, err);
    if (!list) return SU_AGAIN;
    *out = list;
    *entries = 8;   /* taps may read a little before a row */
    int64_t at = -1;
    for (int64_t k = 0; k < count; k++) {
        if (k > 0 && same_panel(sorted + k, sorted + k - 1)) {
            list[at].count++;
            continue;
        }
        su_panel *panel = list + ++at;
        *panel = (su_panel){.first = k, .count = 1};
        panel->regions = take(model, model->basis.d, sizeof *panel->regions, err);
        if (!panel->regions) return SU_AGAIN;
        for (int32_t g = 0; g < model->basis.d; g++)
            if (sorted[k].bits[g / 64] >> (g % 64) & 1) {
                panel->regions[panel->region_count++] = g;
                panel->columns += model->basis.first_mode[g + 1] - model->basis.first_mode[g];
            }
        panel->stride = padded(panel->columns);
        panel->modes = take(model, panel->stride, sizeof *panel->modes, err);
        if (!panel->modes) return SU_AGAIN;
        int64_t column = 0;
        for (int64_t i = 0; i < panel->region_count; i++)
            for (int64_t k2 = model->basis.first_mode[panel->regions[i]];
                 k2 < model->basis.first_mode[panel->regions[i] + 1]; k2++)
                panel->modes[column++] = (int32_t)k2;
        while (column < panel->stride) panel->modes[column++] = (int32_t)model->r;
    }
    for (int64_t p = 0; p < *panels; p++) {
        list[p].offset = *entries;
        *entries += list[p].count * list[p].stride;
        *entries += 8 * list[p].stride;
    }
    return SU_OK;
}

/* Region sets of all flesh vertices. */
static void vertex_signatures(const su_reduced_basis *basis, signature *of)
{
    for (int64_t g = 0; g < basis->d; g++)
        for (int64_t v = 0; v < basis->vertex_count[g]; v++)
            of[basis->vertices[g][v]].bits[g / 64] |= (uint64_t)1 << (g % 64);
}

static bool empty(const signature *s)
{
    uint64_t any = 0;
    for (int w = 0; w < WORDS; w++) any |= s->bits[w];
    return any == 0;
}

/* Cubature tets that move, sorted by regions: *sorted (source->c, of which model->tets) is freed by the caller. */
static su_status sort_tets(const su_model *source, su_runtime_model *model, const signature *of, signature **sorted, su_error *err)
{
    SU_TRY(SU_ALLOC(sorted, source->c, "cubature tets", err));
    for (int64_t e = 0; e < source->c; e++) {
        signature s = {.item = (int32_t)e};
        for (int c = 0; c < 4; c++)
            for (int w = 0; w < WORDS; w++)
                s.bits[w] |= of[source->tets[4 * (int64_t)source->cubature_tets[e] + c]].bits[w];
        if (!empty(&s)) (*sorted)[model->tets++] = s;
    }
    qsort(*sorted, (size_t)model->tets, sizeof **sorted, compare_signatures);
    return SU_OK;
}

/* mark (n): 2 where rows are kept, 1 at other corners of cubature tets, 0 elsewhere. A tet needs one kept corner unless one never
 * moves: those that most of the others share are taken first. */
static su_status mark_points(const su_model *source, const su_runtime_model *model, const signature *of, const signature *tets,
                             const int32_t *extra, int32_t *mark, su_error *err)
{
    int32_t *shared;
    bool *served;
    su_status status;
    for (int64_t v = 0; v < source->n; v++) mark[v] = 0;
    for (int64_t e = 0; e < 4 * source->c; e++) mark[source->tets[4 * (int64_t)source->cubature_tets[e / 4] + e % 4]] = 1;
    for (int64_t k = 0; k < source->ci; k++) mark[source->inertia_vertices[k]] = 2;
    for (int64_t k = 0; k < model->extra; k++) mark[extra[k]] = 2;
    served = NULL;
    SU_TRY(SU_ALLOC(&shared, source->n, "points", err));
    SU_GO(SU_ALLOC(&served, model->tets, "points", err));
    for (;;) {
        const int32_t *best = NULL;
        for (int64_t k = 0; k < 4 * model->tets; k++)
            shared[source->tets[4 * (int64_t)source->cubature_tets[tets[k / 4].item] + k % 4]] = 0;
        for (int64_t k = 0; k < model->tets; k++) {
            const int32_t *tet = source->tets + 4 * (int64_t)source->cubature_tets[tets[k].item];
            for (int c = 0; c < 4; c++) served[k] |= mark[tet[c]] == 2 || empty(of + tet[c]);
            for (int c = 0; c < 4 && !served[k]; c++)
                if (++shared[tet[c]] > (best ? shared[*best] : 0)) best = tet + c;
        }
        if (!best) break;
        mark[*best] = 2;
    }
done:
    free(shared), free(served);
    return status;
}

/* Points: corners of moving cubature tets and moving inertia vertices, each once, those kept first, sorted by regions, then as the tets (in their
 * order) first ask for them, so that their rows are read one behind the other. */
static su_status choose_points(const su_model *source, su_runtime_model *model, signature *of, const signature *tets, const int32_t *extra,
                               int32_t *point_of, int32_t **vertices, su_error *err)
{
    signature *sorted = NULL;
    su_status status;
    int64_t count = 0;
    SU_GO(SU_ALLOC(&sorted, source->n, "points", err));
    SU_GO(mark_points(source, model, of, tets, extra, point_of, err));
    for (int64_t v = 0; v < source->n; v++) of[v].use = (int32_t)model->tets;
    for (int64_t k = model->tets - 1; k >= 0; k--)
        for (int c = 0; c < 4; c++) of[source->tets[4 * (int64_t)source->cubature_tets[tets[k].item] + c]].use = (int32_t)k;
    for (int64_t v = 0; v < source->n; v++) {
        int32_t mark = point_of[v];
        point_of[v] = -1;
        if (mark == 0 || empty(of + v)) continue;
        sorted[count] = of[v];
        sorted[count].loose = mark == 1;
        sorted[count++].item = (int32_t)v;
        model->kept += mark == 2;
    }
    qsort(sorted, (size_t)count, sizeof *sorted, compare_signatures);
    model->points = count;
    int64_t entries;
    SU_GO(make_panels(model, count, sorted, &model->point_panel, &model->point_panels, &entries, err));
    model->row_entries = model->kept_entries = 3 * entries;
    while (model->kept_panels < model->point_panels && model->point_panel[model->kept_panels].first < model->kept) model->kept_panels++;
    if (model->kept_panels < model->point_panels) model->kept_entries = 3 * model->point_panel[model->kept_panels].offset;
    *vertices = take(model, source->n, sizeof **vertices, err);
    if (!*vertices) { status = SU_AGAIN; goto done; }
    for (int64_t k = 0; k < count; k++) {
        (*vertices)[k] = sorted[k].item;
        point_of[sorted[k].item] = (int32_t)k;
    }
    model->panel_of_point = take(model, count, sizeof *model->panel_of_point, err);
    if (!model->panel_of_point) { status = SU_AGAIN; goto done; }
    for (int64_t p = 0; p < model->point_panels; p++)
        for (int64_t k = 0; k < model->point_panel[p].count; k++)
            model->panel_of_point[model->point_panel[p].first + k] = (int32_t)p;
    model->extra_point = take(model, model->extra, sizeof *model->extra_point, err);
    if (!model->extra_point) { status = SU_AGAIN; goto done; }
    for (int64_t k = 0; k < model->extra; k++) model->extra_point[k] = point_of[extra[k]];
    /* Corners that never move still shape their tets: they follow the points, without rows. */
    model->chosen = count;
    for (int64_t e = 0; e < source->c; e++)
        for (int c = 0; c < 4; c++) {
            int32_t v = source->tets[4 * (int64_t)source->cubature_tets[e] + c];
            if (point_of[v] >= 0) continue;
            point_of[v] = (int32_t)model->chosen;
            (*vertices)[model->chosen++] = v;
        }
done:
    free(sorted);
    return status;
}

/* Basis rows of all points and poses, columns in panel order. */
static su_status pack_rows(su_runtime_model *model, const int32_t *point_of, su_error *err)
{
    const su_reduced_basis *basis = &model->basis;
    model->point_rows = take(model, model->m * model->row_entries, sizeof *model->point_rows, err);
    if (!model->point_rows) return SU_AGAIN;
    for (int64_t p = 0; p < model->point_panels; p++) {
        const su_panel *panel = model->point_panel + p;
        int64_t column = 0;
        for (int64_t a = 0; a < panel->region_count; a++) {
            int64_t g = panel->regions[a], modes = basis->first_mode[g + 1] - basis->first_mode[g];
            for (int64_t v = 0; v < basis->vertex_count[g]; v++) {
                int64_t k = point_of[basis->vertices[g][v]] - panel->first;
                if (k < 0 || k >= panel->count) continue;
                for (int64_t i = 0; i < model->m; i++)
                    for (int64_t mode = 0; mode < modes; mode++)
                        for (int c = 0; c < 3; c++)
                            model->point_rows[3 * model->m * panel->offset +
                                              ((k * model->m + i) * 3 + c) * panel->stride + column + mode] =
                                basis->blocks[g][((i * modes + mode) * basis->vertex_count[g] + v) * 3 + c];
            }
            column += modes;
        }
    }
    return SU_OK;
}

/* Columns of a corner's panel that land in columns at .. at + 7 of the tet's panel: taps, written where out is not NULL.
 * Neighbouring columns with the same shift share a tap. */
static int64_t find_taps(const su_runtime_model *model, const su_panel *tet, const su_panel *corner, int64_t at, su_tap *out)
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
    for (int64_t p = 0; p < model->tet_panels; p++)
        slots += model->tet_panel[p].count * (model->tet_panel[p].stride / 8) * 4;
    model->masks = take(model, 256 * 8, sizeof *model->masks, err);
    model->tap_start = take(model, slots + 1, sizeof *model->tap_start, err);
    model->tap_first = take(model, model->tets, sizeof *model->tap_first, err);
    if (!model->masks || !model->tap_start || !model->tap_first) return SU_AGAIN;
    for (int bits = 0; bits < 256; bits++)
        for (int k = 0; k < 8; k++) model->masks[8 * bits + k] = bits >> k & 1;
    for (int pass = 0; pass < 2; pass++) {
        int64_t slot = total = 0;
        for (int64_t p = 0; p < model->tet_panels; p++) {
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
        if (pass == 0 && !(model->taps = take(model, total, sizeof *model->taps, err))) return SU_AGAIN;
    }
    return SU_OK;
}

/* Rooms for the rows of loose points, taken over from those that no later tet needs. */
static su_status assign_slots(su_runtime_model *model, su_error *err)
{
    int64_t loose = model->points - model->kept, free_slots = 0;
    int32_t *last = NULL, *spare = NULL;
    su_status status;
    for (int64_t p = model->kept_panels; p < model->point_panels; p++)
        if (3 * model->point_panel[p].stride > model->slot_size) model->slot_size = 3 * model->point_panel[p].stride;
    if (!(model->slot = take(model, model->points, sizeof *model->slot, err))) return SU_AGAIN;
    SU_GO(SU_ALLOC(&last, model->points, "points", err));
    SU_GO(SU_ALLOC(&spare, loose, "points", err));
    for (int64_t k = 0; k < model->points; k++) model->slot[k] = -1;
    for (int64_t k = 0; k < 4 * model->tets; k++)
        if (model->corner[k] < model->points) last[model->corner[k]] = (int32_t)(k / 4);
    for (int64_t k = 0; k < model->tets; k++) {
        for (int c = 0; c < 4; c++) {
            int32_t point = model->corner[4 * k + c];
            if (point < model->kept || point >= model->points || model->slot[point] >= 0) continue;
            model->slot[point] = free_slots > 0 ? spare[--free_slots] : (int32_t)model->slots++;
        }
        for (int c = 0; c < 4; c++) {
            int32_t point = model->corner[4 * k + c];
            if (point >= model->kept && point < model->points && last[point] == k) spare[free_slots++] = model->slot[point];
        }
    }
done:
    free(last), free(spare);
    return status;
}

/* Corners of one tet, by their numbers among the chosen: the first becomes one that is kept or never moves, by an even permutation. */
static void base_first(const su_runtime_model *model, const int32_t *point_of, const int32_t *from, int32_t tet[4])
{
    int base = 0;
    for (int c = 3; c >= 0; c--)
        if (point_of[from[c]] < model->kept) base = c;
    for (int c = 3; c >= 0; c--)
        if (point_of[from[c]] >= model->points) base = c;
    for (int c = 0; c < 4; c++) tet[c] = from[c ^ base];
}

static su_status choose_tets(const su_model *source, su_runtime_model *model, const signature *sorted,
                             const int32_t *point_of, su_error *err)
{
    int64_t entries, count = model->tets;
    SU_TRY(make_panels(model, count, sorted, &model->tet_panel, &model->tet_panels, &entries, err));
    model->B_entries = 9 * entries;
    if (!(model->corner = take(model, 4 * count, sizeof *model->corner, err)) ||
        !(model->neutral_inverse = take(model, 9 * count, sizeof *model->neutral_inverse, err)) ||
        !(model->neutral_volume = take(model, count, sizeof *model->neutral_volume, err)) ||
        !(model->tet_weight = take(model, model->m * count, sizeof *model->tet_weight, err)) ||
        !(model->young = take(model, model->m * count, sizeof *model->young, err)) ||
        !(model->poisson = take(model, model->m * count, sizeof *model->poisson, err)) ||
        !(model->apart = take(model, count, sizeof *model->apart, err)))
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
        if (source->anchors > 0 && source->cubature_apart && source->cubature_apart[e])
            model->apart[model->apart_count++] = (int32_t)k;
        for (int64_t i = 0; i < model->m; i++) {
            model->tet_weight[i * count + k] = source->cubature_weights[i * source->c + e];
            model->young[i * count + k] = source->young[i * source->c + e];
            model->poisson[i * count + k] = source->poisson[i * source->c + e];
        }
    }
    model->tets_padded = padded(count);
    if (!(model->base = take(model, model->tets_padded, sizeof *model->base, err))) return SU_AGAIN;
    for (int64_t k = 0; k < model->tets_padded; k++)
        model->base[k] = k < count && model->corner[4 * k] < model->kept ? model->corner[4 * k] : (int32_t)model->kept;
    SU_TRY(assign_slots(model, err));
    return make_taps(model, err);
}

static int compare_int32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static su_status choose_inertia(const su_model *source, su_runtime_model *model, const int32_t *point_of, su_error *err)
{
    model->inertia_point = take(model, source->ci, sizeof *model->inertia_point, err);
    model->inertia_mass = take(model, source->ci, sizeof *model->inertia_mass, err);
    double *weight = take(model, model->points, sizeof *weight, err);
    if (!model->inertia_point || !model->inertia_mass || !weight) return SU_AGAIN;
    for (int64_t k = 0; k < source->ci; k++) {
        int32_t v = source->inertia_vertices[k], point = point_of[v];
        if (point < 0 || point >= model->points) continue;
        weight[point] = source->inertia_weights[k] * model->basis.mass[v];
        model->inertia_point[model->inertia++] = point;
    }
    qsort(model->inertia_point, (size_t)model->inertia, sizeof *model->inertia_point, compare_int32);
    for (int64_t k = 0; k < model->inertia; k++) model->inertia_mass[k] = weight[model->inertia_point[k]];
    return SU_OK;
}

/* ---- Gram matrices of overlapping regions ---- */

static double largest_entry(const su_runtime_model *model, int32_t left, int32_t right)
{
    const su_reduced_basis *basis = &model->basis;
    int64_t m = model->m, r = model->r;
    double most = 0;
    for (int64_t k = 0; k < m * m; k++)
        for (int64_t a = basis->first_mode[left]; a < basis->first_mode[left + 1]; a++)
            for (int64_t b = basis->first_mode[right]; b < basis->first_mode[right + 1]; b++)
                most = fmax(most, fabs(basis->gram[(k * r + a) * r + b]));
    return most;
}

/* Regions without a common vertex have a block of zeros; a factor brings its rounding. */
static su_status pack_gram(su_runtime_model *model, su_error *err)
{
    const su_reduced_basis *basis = &model->basis;
    int64_t m = model->m, r = model->r, d = basis->d;
    double none = basis->gram_is_expanded ? 4e-6 : 0;
    model->pair = take(model, d * d, sizeof *model->pair, err);
    model->region_offset = take(model, d + 1, sizeof *model->region_offset, err);
    if (!model->pair || !model->region_offset) return SU_AGAIN;
    for (int64_t g = 0; g < d; g++)
        model->region_offset[g + 1] = model->region_offset[g] + padded(basis->first_mode[g + 1] - basis->first_mode[g]);
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
    float *packed = model->pair_gram = take(model, m * m * model->pair_entries, sizeof *packed, err);
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
    return SU_OK;
}

static double distance(const su_runtime_model *model, const double *p, const double *q)
{
    return su_param_distance(model->s, p, q, model->param_scale);
}

/* As far as the loneliest anchor is from the others, and at least half the mean distance between example poses. */
static double anchor_reach(const su_runtime_model *model)
{
    int64_t m = model->m, s = model->s;
    double mean = 0, lonely = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < i; j++) mean += distance(model, model->params + i * s, model->params + j * s);
    if (m > 1) mean *= 2 / (double)(m * (m - 1));
    for (int64_t i = 0; i < model->anchors; i++) {
        double nearest = INFINITY;
        for (int64_t j = 0; j < model->anchors; j++)
            if (j != i) nearest = fmin(nearest, distance(model, model->anchor_params + i * s, model->anchor_params + j * s));
        lonely = fmax(lonely, nearest);
    }
    return fmax(lonely, 0.5 * mean);
}

double su_anchor_trust(const su_runtime_model *model, const double *p)
{
    double nearest = INFINITY;
    for (int64_t k = 0; k < model->anchors && nearest > model->anchor_reach; k++)
        nearest = fmin(nearest, distance(model, model->anchor_params + k * model->s, p));
    if (!(nearest > model->anchor_reach)) return 1;
    double x = fmax(2 - nearest / model->anchor_reach, 0);
    return x * x * (3 - 2 * x);
}

static su_status pack_anchors(const su_model *source, su_runtime_model *model, su_error *err)
{
    int64_t r = model->r;
    model->anchors = source->anchors;
    model->anchor_params = source->anchor_params, model->anchor_rbf = source->anchor_rbf;
    if (model->anchors == 0) return SU_OK;
    model->linear_entries = su_linear_entries(model->size, model->lead);
    model->anchor_stiffness = take(model, model->anchors * model->linear_entries, sizeof *model->anchor_stiffness, err);
    if (!model->anchor_stiffness) return SU_AGAIN;
    model->anchor_reach = anchor_reach(model);
    float *packed;
    SU_TRY(SU_ALLOC(&packed, model->linear_entries, "stiffness at anchors", err));
    for (int64_t k = 0; k < model->anchors; k++) {
        su_linear_pack(r, model->lead, source->anchor_stiffness + k * r * r, packed);
        for (int64_t i = 0; i < model->linear_entries; i++)
            model->anchor_stiffness[(i / SU_MIX * model->anchors + k) * SU_MIX + i % SU_MIX] = packed[i];
    }
    free(packed);
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
    signature *of = NULL, *tets = NULL;
    int32_t *point_of = NULL, *vertices = NULL;
    const char *material = json_string_value(json_object_get(source->file.meta, "material"));
    int number = su_material_from_name(material ? material : "neohookean");
    if (number < 0) return su_fail(err, SU_INPUT, "the model's material '%s' is not known", material);
    if (source->d > MAX_REGIONS)
        return su_fail(err, SU_INPUT, "the model has %lld regions, at most %d are possible", (long long)source->d,
                       MAX_REGIONS);
    out->material = (su_material)number;
    out->m = source->m, out->s = source->s, out->r = source->r;
    out->kernels = su_kernels_choose(NULL);
    out->pose_kernels = su_pose_kernels_choose(NULL);
    out->size = padded(source->r);
    out->params = source->params, out->param_scale = source->param_scale, out->rbf = source->rbf;
    out->basis_rbf = source->basis_rbf;
    out->basis_rbf_columns = source->columns;
    out->diagonal = diagonal_of(source);
    SU_GO(su_reduced_basis_create(source, interpolation, &out->basis, err));
    out->lead = padded(source->r + 1);
    for (int64_t g = 0; g < out->basis.d; g++) {
        int64_t end = out->basis.first_mode[g] + padded(out->basis.first_mode[g + 1] - out->basis.first_mode[g]);
        if (padded(end) > out->lead) out->lead = padded(end);
    }
    SU_GO(pack_gram(out, err));
    SU_GO(pack_anchors(source, out, err));
    SU_GO(SU_ALLOC(&of, source->n, "regions of vertices", err));
    SU_GO(SU_ALLOC(&point_of, source->n, "points", err));
    vertex_signatures(&out->basis, of);
    SU_GO(sort_tets(source, out, of, &tets, err));
    SU_GO(choose_points(source, out, of, tets, extra, point_of, &vertices, err));
    SU_GO(pack_rows(out, point_of, err));
    SU_GO(su_rest_patch_create(source, out->chosen, vertices, interpolation == SU_COROTATED ? out->points : 0, false,
                               &out->patch, err));
    SU_GO(su_rest_lanes_create(&out->patch, out->pose_kernels, &out->lanes, err));
    SU_GO(choose_tets(source, out, tets, point_of, err));
    SU_GO(choose_inertia(source, out, point_of, err));
    out->kept_padded = padded(out->kept + 1);
    out->inertia_padded = padded(out->inertia);
done:
    free(of);
    free(tets);
    free(point_of);
    if (status != SU_OK) su_runtime_model_free(out);
    return status;
}

int64_t su_runtime_model_bytes(const su_runtime_model *model)
{
    int64_t m = model->m;
    return m * model->row_entries * 4 + model->anchors * model->linear_entries * 4 + m * m * (model->pair_entries * 4 + model->r * 8) +
           model->tets * (4 * 4 + 10 * 8 + 3 * m * 8) + model->inertia * 12 + su_rest_lanes_bytes(&model->lanes);
}
