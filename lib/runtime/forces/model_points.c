#include "runtime/forces/model_points.h"

#include "core/memory.h"
#include "core/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_members(const void *a, const void *b)
{
    const su_member *x = a, *y = b;
    if (x->rank != y->rank) return x->rank - y->rank;
    for (int w = 0; w < SU_REGION_WORDS; w++)
        if (x->bits[w] != y->bits[w]) return x->bits[w] < y->bits[w] ? -1 : 1;
    if (x->use != y->use) return x->use < y->use ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

static bool same_panel(const su_member *a, const su_member *b)
{
    return a->rank == b->rank && memcmp(a->bits, b->bits, sizeof a->bits) == 0;
}

/* What memory is wanted for. */
static const char purpose[] = "the run-time model";

static bool has_region(const su_member *member, int64_t region)
{
    return member->bits[region / 64] >> (region % 64) & 1;
}

static int64_t columns_of(const su_reduced_basis *basis, const su_member *member)
{
    int64_t columns = 0;
    for (int64_t g = 0; g < basis->d; g++)
        if (has_region(member, g)) columns += su_region_modes(basis, g);
    return columns;
}

/* Splits sorted members into panels. *entries: entries of all panels together, for one row a member. */
static su_status make_panels(su_runtime_model *model, int64_t count, int64_t abreast, const su_member *sorted,
                             su_panel **out, int64_t *panels, int64_t *entries, su_error *err)
{
    *panels = 0;
    for (int64_t k = 0; k < count; k++) *panels += k == 0 || !same_panel(sorted + k, sorted + k - 1);
    su_panel *list;
    SU_TRY(SU_TAKE_ALL(&model->arena, purpose, err, SU_WANT(list, *panels)));
    *out = list;
    *entries = 16; /* taps may read a little before a row */
    int64_t at = -1;
    for (int64_t k = 0; k < count; k++) {
        if (k > 0 && same_panel(sorted + k, sorted + k - 1)) {
            list[at].count++;
            continue;
        }
        su_panel *panel = list + ++at;
        int64_t columns = columns_of(&model->basis, sorted + k);
        *panel = (su_panel){.first = k, .count = 1, .columns = columns, .stride = su_padded(columns)};
        SU_TRY(SU_TAKE_ALL(&model->arena, purpose, err, SU_WANT(panel->regions, model->basis.d),
                           SU_WANT(panel->modes, panel->stride)));
        int64_t column = 0;
        for (int32_t g = 0; g < model->basis.d; g++) {
            if (!has_region(sorted + k, g)) continue;
            panel->regions[panel->region_count++] = g;
            for (int64_t mode = model->basis.first_mode[g]; mode < model->basis.first_mode[g + 1]; mode++)
                panel->modes[column++] = (int32_t)mode;
        }
        while (column < panel->stride) panel->modes[column++] = (int32_t)model->r;
    }
    for (int64_t p = 0; p < *panels; p++) {
        list[p].offset = *entries;
        list[p].before = p > 0 ? list[p - 1].before + list[p - 1].stride : 0;
        *entries += list[p].first < abreast ? list[p].count * list[p].columns : (list[p].count + 8) * list[p].stride;
    }
    return SU_OK;
}

/* How many panels the first `members` fill; *entries: where the next begins, `end` after the last. */
static int64_t panels_before(int64_t panels, const su_panel *panel, int64_t members, int64_t end, int64_t *entries)
{
    int64_t p = 0;
    while (p < panels && panel[p].first < members) p++;
    *entries = p < panels ? panel[p].offset : end;
    return p;
}

void su_vertex_regions(const su_reduced_basis *basis, su_member *of)
{
    for (int64_t g = 0; g < basis->d; g++)
        for (int64_t v = 0; v < basis->vertex_count[g]; v++)
            of[basis->vertices[g][v]].bits[g / 64] |= (uint64_t)1 << (g % 64);
}

static bool empty(const su_member *s)
{
    uint64_t any = 0;
    for (int w = 0; w < SU_REGION_WORDS; w++) any |= s->bits[w];
    return any == 0;
}

/* Wider panels are as fast by rows, which fill their vectors then. */
enum { WIDEST_ABREAST = 24 };

/* Nanoseconds a tet and instant that lanes save, or cost where negative, with `fillers` to each sixteen
 * (docs/runtime.md, "Tets abreast"): their strain, forces and tangent; B; and the example poses' rows, read from
 * memory, of four corners instead of those of the `freed` points a tet whose rows nobody else wants. Fitted to
 * measurements; only ratios count. */
static double lanes_save(const su_runtime_model *model, int64_t columns, double freed, int64_t fillers)
{
    const double entry = 0.04, filler = 40, narrow_rows = 77, wide_rows = 133, column = 1.9, column_pair = 0.08;
    double c = (double)columns, m = (double)model->bases, share = (double)(SU_ABREAST - fillers) / SU_ABREAST;
    double by_rows = (columns <= 16 ? narrow_rows : wide_rows) + entry * freed * 3 * m * (double)su_padded(columns);
    double abreast = column * c + column_pair * c * c + entry * 12 * m * c;
    return share * by_rows - abreast - (1 - share) * filler;
}

/* Points that only tets of one set of regions want, and no inertia: owner (n) the first tet of the set, -1 none, -2
 * several. */
static void find_owners(const su_model *source, int64_t count, const su_member *tets, const su_member *of,
                        int32_t *owner)
{
    for (int64_t v = 0; v < source->n; v++) owner[v] = -1;
    for (int64_t first = 0, end; first < count; first = end)
        for (end = first; end < count && same_panel(tets + end, tets + first); end++)
            for (int c = 0; c < 4; c++) {
                int32_t *own = owner + source->tets[4 * (int64_t)source->cubature_tets[tets[end].item] + c];
                *own = *own == -1 || *own == first ? (int32_t)first : -2;
            }
    for (int64_t k = 0; k < source->ci; k++) owner[source->inertia_vertices[k]] = -2;
    for (int64_t v = 0; v < source->n; v++)
        if (empty(of + v)) owner[v] = -2;
}

/* Ranks of tets sorted by regions: of each set of regions as many stand abreast as fill sixteen lanes, or nearly so. */
static su_status rank_tets(const su_model *source, su_runtime_model *model, int64_t count, const su_member *of,
                           su_member *tets, su_error *err)
{
    int32_t *owner, *owned = NULL;
    su_status status;
    model->tets.count = count;
    SU_TRY(SU_ALLOC(&owner, source->n, "points", err));
    SU_GO(SU_ALLOC(&owned, count, "points", err));
    find_owners(source, count, tets, of, owner);
    for (int64_t v = 0; v < source->n; v++)
        if (owner[v] >= 0) owned[owner[v]]++;
    for (int64_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && same_panel(tets + end, tets + first);) end++;
        int64_t columns = columns_of(&model->basis, tets + first), abreast = 0, some = end - first,
                rest = some % SU_ABREAST;
        double freed = fmax((double)owned[first] / (double)some - 1, 0); /* one a tet is kept in any case */
        if (columns <= WIDEST_ABREAST && lanes_save(model, columns, freed, 0) > 0) abreast = some - rest;
        if (columns <= WIDEST_ABREAST && rest > 0 && lanes_save(model, columns, freed, SU_ABREAST - rest) > 0) {
            abreast = some;
            model->tets.count += SU_ABREAST - rest;
        }
        for (int64_t k = first + abreast; k < end; k++) tets[k].rank = 1;
    }
done:
    free(owner), free(owned);
    return status;
}

su_status su_choose_tets(const su_model *source, su_runtime_model *model, const su_member *of, su_member **sorted,
                         su_error *err)
{
    su_member *tets;
    int64_t count = 0, entries;
    SU_TRY(SU_ALLOC(&tets, source->c, "cubature tets", err));
    for (int64_t e = 0; e < source->c; e++) {
        su_member s = {.item = (int32_t)e};
        for (int c = 0; c < 4; c++)
            for (int w = 0; w < SU_REGION_WORDS; w++)
                s.bits[w] |= of[source->tets[4 * (int64_t)source->cubature_tets[e] + c]].bits[w];
        if (!empty(&s)) tets[count++] = s;
    }
    su_sort(tets, (size_t)count, sizeof *tets, compare_members);
    su_status status;
    SU_GO(rank_tets(source, model, count, of, tets, err));
    su_sort(tets, (size_t)count, sizeof *tets, compare_members);
    SU_GO(SU_ALLOC(sorted, model->tets.count, "cubature tets", err));
    int64_t at = 0;
    for (int64_t k = 0; k < count; k++) {
        (*sorted)[at++] = tets[k];
        if (tets[k].rank > 0) continue;
        for (bool last = k + 1 == count || !same_panel(tets + k, tets + k + 1); last && at % SU_ABREAST != 0; at++) {
            (*sorted)[at] = tets[k];
            (*sorted)[at].filler = true;
        }
        model->tets.abreast = at;
    }
    SU_GO(make_panels(model, model->tets.count, model->tets.abreast, *sorted, &model->tets.panel, &model->tets.panels,
                      &entries, err));
    model->tets.B_entries = 9 * entries;
    model->tets.panels_abreast = panels_before(model->tets.panels, model->tets.panel, model->tets.abreast, entries,
                                               &model->tets.abreast_entries);
    if (model->tets.panels_abreast == 0) model->tets.abreast_entries = 0;
done:
    free(tets);
    return status;
}

/* mark (n): 3 at vertices asked for, 2 where else rows are kept, 1 at other corners of cubature tets, 0 elsewhere. A
 * tet needs one kept corner unless one never moves: those that most of the others share are taken first. */
static su_status mark_points(const su_model *source, const su_runtime_model *model, const su_member *of,
                             const su_member *tets, const int32_t *extra, int32_t *mark, su_error *err)
{
    int32_t *shared;
    bool *served;
    su_status status;
    for (int64_t v = 0; v < source->n; v++) mark[v] = 0;
    for (int64_t e = 0; e < 4 * source->c; e++)
        mark[source->tets[4 * (int64_t)source->cubature_tets[e / 4] + e % 4]] = 1;
    for (int64_t k = 0; k < source->ci; k++) mark[source->inertia_vertices[k]] = 2;
    for (int64_t k = 0; k < model->points.extra; k++) mark[extra[k]] = 3;
    served = NULL;
    SU_TRY(SU_ALLOC(&shared, source->n, "points", err));
    SU_GO(SU_ALLOC(&served, model->tets.count, "points", err));
    for (;;) {
        const int32_t *best = NULL;
        for (int64_t k = 0; k < 4 * model->tets.count; k++)
            shared[source->tets[4 * (int64_t)source->cubature_tets[tets[k / 4].item] + k % 4]] = 0;
        for (int64_t k = 0; k < model->tets.count; k++) {
            const int32_t *tet = source->tets + 4 * (int64_t)source->cubature_tets[tets[k].item];
            for (int c = 0; c < 4; c++) served[k] |= mark[tet[c]] >= 2 || empty(of + tet[c]) || tets[k].filler;
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

su_status su_choose_points(const su_model *source, su_runtime_model *model, su_member *of, const su_member *tets,
                           const int32_t *extra, int32_t *point_of, int32_t **vertices, su_error *err)
{
    su_member *sorted = NULL;
    su_status status;
    int64_t count = 0;
    SU_GO(SU_ALLOC(&sorted, source->n, "points", err));
    SU_GO(mark_points(source, model, of, tets, extra, point_of, err));
    for (int64_t v = 0; v < source->n; v++) of[v].use = (int32_t)model->tets.count, of[v].rank = 2;
    for (int64_t k = model->tets.count - 1; k >= 0; k--)
        for (int c = 0; c < 4; c++) {
            su_member *corner = of + source->tets[4 * (int64_t)source->cubature_tets[tets[k].item] + c];
            corner->use = (int32_t)k;
            if (k >= model->tets.abreast) corner->rank = 1;
        }
    for (int64_t v = 0; v < source->n; v++) {
        int32_t mark = point_of[v];
        point_of[v] = -1;
        if (mark == 0 || empty(of + v)) continue;
        sorted[count] = of[v];
        if (mark >= 2) sorted[count].rank = mark == 3 ? -1 : 0;
        model->points.kept += sorted[count].rank <= 0;
        model->points.with_rows += sorted[count].rank < 2;
        sorted[count++].item = (int32_t)v;
    }
    su_sort(sorted, (size_t)count, sizeof *sorted, compare_members);
    model->points.count = count;
    int64_t entries;
    SU_GO(make_panels(model, count, 0, sorted, &model->points.panel, &model->points.panels, &entries, err));
    model->points.all_row_entries = 3 * entries;
    model->points.kept_panels = panels_before(model->points.panels, model->points.panel, model->points.kept, entries,
                                              &model->points.kept_entries);
    model->points.row_panels = panels_before(model->points.panels, model->points.panel, model->points.with_rows,
                                             entries, &model->points.row_entries);
    model->points.kept_entries *= 3, model->points.row_entries *= 3;
    SU_GO(SU_TAKE_ALL(&model->arena, purpose, err, SU_WANT(*vertices, source->n),
                      SU_WANT(model->points.panel_of, count), SU_WANT(model->points.extra_point, model->points.extra),
                      SU_WANT(model->points.extra_place, model->points.extra)));

    for (int64_t k = 0; k < count; k++) {
        (*vertices)[k] = sorted[k].item;
        point_of[sorted[k].item] = (int32_t)k;
    }

    for (int64_t p = 0; p < model->points.panels; p++)
        for (int64_t k = 0; k < model->points.panel[p].count; k++)
            model->points.panel_of[model->points.panel[p].first + k] = (int32_t)p;

    for (int64_t k = 0; k < model->points.extra; k++) model->points.extra_point[k] = point_of[extra[k]];
    /* Corners that never move still shape their tets, and vertices asked for have a place: they follow the points,
     * without rows. */
    model->points.chosen = count;
    for (int64_t k = 0; k < 4 * source->c + model->points.extra; k++) {
        int32_t v = k < 4 * source->c ? source->tets[4 * (int64_t)source->cubature_tets[k / 4] + k % 4]
                                      : extra[k - 4 * source->c];
        if (point_of[v] >= 0) continue;
        point_of[v] = (int32_t)model->points.chosen;
        (*vertices)[model->points.chosen++] = v;
    }
    for (int64_t k = 0; k < model->points.extra; k++) model->points.extra_place[k] = point_of[extra[k]];
    model->points.chosen_padded = su_padded(model->points.chosen);
done:
    free(sorted);
    return status;
}
