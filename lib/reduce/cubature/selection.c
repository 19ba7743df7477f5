/* The search. Let A_s,e be the column of candidate e at station s and G its Gram matrices. One round adds the
 * candidates with the largest promised gain sum_i max(0, d_ie)^2 / h_ie (d: negative gradient with respect to the
 * weight of e in group i, h: its curvature), refits all weights by NNLS, and drops the members whose loss would cost
 * least. Columns and Gram matrices of everything ever tried stay in a pool, so that each round only pays for its new
 * candidates. */
#include "reduce/cubature/selection.h"

#include "core/memory.h"
#include "core/order.h"
#include "reduce/cubature/column_norms.h"
#include "reduce/cubature/selection_pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void su_point_set_free(su_point_set *set)
{
    free(set->points), free(set->weights), free(set->errors);
    *set = (su_point_set){0};
}

/* A set under construction: members are slots of the pool. */
typedef struct trial {
    int64_t count;
    int64_t *slot;   /* (limit) */
    double *weights; /* (groups, limit) row stride `limit` */
    double error;    /* worst over stations, rms */
} trial;

typedef struct scored {
    double score;
    int32_t candidate; /* or a member */
} scored;

typedef struct search {
    const su_fit_problem *problem;
    const su_fit_settings *settings;
    su_pool pool;
    int64_t limit; /* most members a trial may have */
    trial now, best, good;
    double *residual_gradient; /* (stations, candidates) */
    double *norm2;             /* (stations, candidates) squared lengths of columns */
    double *score;             /* (candidates), or losses of members */
    scored *list;              /* (candidates) scratch: what is sorted */
    int32_t *order;
    unsigned char *taken;  /* (vertices) corners of this round's new candidates */
    unsigned char *member; /* (candidates) */
    su_error_pair *errors; /* (stations) */
    su_arena arena;        /* owns all arrays, those of the trials too */
} search;

static void trial_copy(const search *s, trial *to, const trial *from)
{
    to->count = from->count, to->error = from->error;
    memcpy(to->slot, from->slot, (size_t)from->count * sizeof *to->slot);
    for (int64_t i = 0; i < s->problem->groups; i++)
        memcpy(to->weights + i * s->limit, from->weights + i * s->limit, (size_t)from->count * sizeof *to->weights);
}

static void search_free(search *s)
{
    su_pool_free(&s->pool);
    su_arena_free(&s->arena);
}

/* Beyond a dozen members a mode a bound is out of reach for other reasons (a bar whose shot has ten directions: 1,306
 * tets, 22 GB and nine minutes, without it), and columns take memory. */
enum { MEMBERS_A_MODE = 12, MEMBERS_AT_LEAST = 100, MOST_MEMBERS = 4000 };

static su_status search_create(search *s, const su_fit_problem *problem, const su_fit_settings *settings, su_error *err)
{
    *s = (search){.problem = problem, .settings = settings};
    s->limit = settings->count > 0 ? 2 * settings->count : problem->points->count;
    if (s->limit > problem->points->count) s->limit = problem->points->count;
    int64_t most = MEMBERS_A_MODE * problem->r + MEMBERS_AT_LEAST;
    if (settings->count == 0 && s->limit > most) s->limit = most;
    if (s->limit > MOST_MEMBERS) s->limit = MOST_MEMBERS;
    trial *trials[] = {&s->now, &s->best, &s->good};
    for (int k = 0; k < 3; k++)
        SU_TRY(SU_TAKE_ALL(&s->arena, "cubature set", err, SU_WANT(trials[k]->slot, s->limit),
                           SU_WANT(trials[k]->weights, problem->groups * s->limit)));
    int64_t stations = problem->station_count, candidates = problem->points->count;
    SU_TRY(SU_TAKE_ALL(&s->arena, "cubature gradients", err, SU_WANT(s->residual_gradient, stations * candidates),
                       SU_WANT(s->norm2, stations * candidates), SU_WANT(s->score, candidates),
                       SU_WANT(s->list, candidates), SU_WANT(s->order, candidates),
                       SU_WANT(s->taken, problem->points->vertex_count), SU_WANT(s->member, candidates),
                       SU_WANT(s->errors, stations)));
    return su_pool_create(&s->pool, problem, settings->threads, err);
}

/* ---- fitting the weights ---- */

/* What must come below the bound: the rms error at each example pose, and over all stations together that are no
 * guides. */
static double worst_error(const su_fit_problem *problem, const su_error_pair *errors)
{
    double worst = 0, sum = 0;
    int64_t count = 0;
    for (int64_t a = 0; a < problem->station_count; a++) {
        const su_station_rows *station = &problem->stations[a];
        if (station->guide) continue;
        if (station->group >= 0) worst = fmax(worst, errors[a].rms);
        sum += errors[a].rms * errors[a].rms, count++;
    }
    return fmax(worst, sqrt(sum / (double)(count > 0 ? count : 1)));
}

/* Member k of s->now leaves; close_gaps() behind the last of them. */
static void drop_member(search *s, int64_t k)
{
    s->member[s->pool.candidate[s->now.slot[k]]] = 0;
    s->now.slot[k] = -1;
}

static void close_gaps(search *s)
{
    trial *t = &s->now;
    int64_t kept = 0;
    for (int64_t k = 0; k < t->count; k++) {
        if (t->slot[k] < 0) continue;
        t->slot[kept] = t->slot[k];
        for (int64_t i = 0; i < s->problem->groups; i++) t->weights[i * s->limit + kept] = t->weights[i * s->limit + k];
        kept++;
    }
    t->count = kept;
}

/* Weights of s->now by NNLS from where they stand, then its error; members without weight at any pose leave. */
static su_status refit(search *s, int sweeps, su_error *err)
{
    trial *t = &s->now;
    SU_TRY(su_pool_fit(&s->pool, t->count, t->slot, s->limit, t->weights, sweeps, s->errors, err));
    for (int64_t k = 0; k < t->count; k++) {
        bool used = false;
        for (int64_t i = 0; i < s->problem->groups; i++) used = used || t->weights[i * s->limit + k] > 0;
        if (!used) drop_member(s, k);
    }
    close_gaps(s);
    t->error = worst_error(s->problem, s->errors);
    return SU_OK;
}

/* ---- one round ---- */

static int by_score(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

/* Squared column length over the largest one's below which a candidate is not considered: its weight is absurd. */
#define SHORTEST 1e-8

static double column_length2(const search *s, int64_t e)
{
    double sum = 0;
    for (int64_t a = 0; a < s->problem->station_count; a++) sum += s->norm2[a * s->problem->points->count + e];
    return sum;
}

/* The gain that each candidate promises on its own, given the residual. */
static void score_candidates(search *s)
{
    const su_fit_problem *p = s->problem;
    double longest = 0;
    for (int64_t e = 0; e < p->points->count; e++) longest = fmax(longest, column_length2(s, e));
#pragma omp parallel for num_threads(s->settings->threads) schedule(static)
    for (int64_t e = 0; e < p->points->count; e++) {
        double gain = 0;
        for (int64_t i = 0; i < p->groups; i++) {
            double d = 0, h = 0;
            for (int64_t a = 0; a < p->station_count; a++) {
                double w = p->stations[a].blend[i];
                if (w == 0) continue;
                d += w * s->residual_gradient[a * p->points->count + e];
                h += w * w * s->norm2[a * p->points->count + e];
            }
            if (d > 0 && h > 0) gain += d * d / h;
        }
        s->score[e] = s->member[e] || column_length2(s, e) < SHORTEST * longest ? 0 : gain;
    }
}

/* Adds up to `count` promising candidates to s->now. No two of a round share a vertex: neighbours say about the same.
 */
static su_status add_candidates(search *s, int64_t count, int64_t *added, su_error *err)
{
    const su_fit_problem *p = s->problem;
    *added = 0;
    if (count > s->limit - s->now.count) count = s->limit - s->now.count;
    if (count <= 0) return SU_OK;
    SU_TRY(su_pool_residual(&s->pool, s->now.count, s->now.slot, s->limit, s->now.weights, s->errors, err));
    SU_TRY(su_pool_gradient(&s->pool, s->residual_gradient, err));
    score_candidates(s);
    scored *list = s->list;
    int64_t listed = 0;
    for (int64_t e = 0; e < p->points->count; e++)
        if (s->score[e] > 0) list[listed++] = (scored){s->score[e], (int32_t)e};
    su_sort(list, (size_t)listed, sizeof *list, by_score);
    memset(s->taken, 0, (size_t)p->points->vertex_count);
    const int kind = (int)p->points->kind;
    int64_t found = 0;
    for (int64_t k = 0; k < listed && found < count; k++) {
        const int32_t *corner = p->points->corner + (int64_t)list[k].candidate * kind;
        bool clear = true;
        for (int c = 0; c < kind; c++) clear = clear && !s->taken[corner[c]];
        if (!clear) continue;
        for (int c = 0; c < kind; c++) s->taken[corner[c]] = 1;
        s->order[found++] = list[k].candidate;
    }
    const trial *trials[] = {&s->now, &s->best, &s->good};
    for (int k = 0; k < 3; k++) su_pool_keep(&s->pool, k == 0, trials[k]->count, trials[k]->slot);
    SU_TRY(su_pool_add(&s->pool, found, s->order, s->now.slot + s->now.count, err));
    for (int64_t k = 0; k < found; k++) {
        s->member[s->order[k]] = 1;
        for (int64_t i = 0; i < p->groups; i++) s->now.weights[i * s->limit + s->now.count + k] = 0;
    }
    s->now.count += found;
    *added = found;
    return SU_OK;
}

/* Drops the members that are missed least, down to `count`. */
static su_status drop_members(search *s, int64_t count, su_error *err)
{
    trial *t = &s->now;
    if (t->count <= count) return SU_OK;
    SU_TRY(su_pool_losses(&s->pool, t->count, t->slot, s->limit, t->weights, s->score, err));
    for (int64_t k = 0; k < t->count; k++) s->list[k] = (scored){s->score[k], (int32_t)k};
    su_sort(s->list, (size_t)t->count, sizeof *s->list, by_score);
    for (int64_t k = count; k < t->count; k++) drop_member(s, s->list[k].candidate);
    close_gaps(s);
    return SU_OK;
}

static void note_curve(const search *s, su_point_set *out)
{
    if (out->curve_count < SU_CURVE_POINTS)
        out->curve[out->curve_count++] = (su_fit_curve_point){s->now.count, s->now.error};
}

static void restore(search *s, const trial *from)
{
    for (int64_t k = 0; k < s->now.count; k++) s->member[s->pool.candidate[s->now.slot[k]]] = 0;
    trial_copy(s, &s->now, from);
    for (int64_t k = 0; k < s->now.count; k++) s->member[s->pool.candidate[s->now.slot[k]]] = 1;
}

/* A round of exchanges pays where the error falls by the first share; below the second it pays little, and fewer are
 * exchanged next. */
static const double PAYS = 1e-3, PAYS_LITTLE = 0.02;

/* Rounds of exchange for a set of fixed size, and while a set shrinks; steps of refitting behind the last change. */
enum { EXCHANGES = 16, SHRINKING_EXCHANGES = 6, LAST_REFITS = 60 };

/* Exchanges members at constant size until that no longer helps; ends early below `enough`. */
static su_status exchange(search *s, int64_t size, int rounds, double enough, su_error *err)
{
    int64_t step = size / 4 > 1 ? size / 4 : 1, added;
    trial_copy(s, &s->best, &s->now);
    for (int round = 0; round < rounds && step >= 1 && s->best.error > enough; round++) {
        SU_TRY(add_candidates(s, step, &added, err));
        if (added == 0) break;
        SU_TRY(refit(s, 1, err));
        SU_TRY(drop_members(s, size, err));
        SU_TRY(refit(s, 3, err));
        if (s->now.error < s->best.error * (1 - PAYS)) {
            if (s->now.error > s->best.error * (1 - PAYS_LITTLE)) step = (step + 1) / 2 < step ? (step + 1) / 2 : step;
            trial_copy(s, &s->best, &s->now);
            continue;
        }
        if (s->now.error < s->best.error) trial_copy(s, &s->best, &s->now);
        restore(s, &s->best);
        step /= 2;
        SU_TRY(su_progress_update(s->settings->progress, 0.5, err));
    }
    restore(s, &s->best);
    return refit(s, 4, err);
}

/* Adds candidates up to `size`, or until the error is below `error` where that is > 0. Weights leave members again:
 * where as many leave as come, and no less is lacking for it, the set is as large as it gets. */
static su_status grow(search *s, int64_t size, double error, su_point_set *out, su_error *err)
{
    int64_t added;
    double least = s->now.error;
    while (s->now.count < size && (error <= 0 || s->now.error > error)) {
        int64_t step = s->now.count / 3 > 8 ? s->now.count / 3 : 8;
        if (step > size - s->now.count) step = size - s->now.count;
        int64_t before = s->now.count;
        SU_TRY(add_candidates(s, step, &added, err));
        if (added == 0) break;
        SU_TRY(refit(s, 2, err));
        note_curve(s, out);
        SU_TRY(su_progress_update(s->settings->progress, 0.4 * (double)s->now.count / (double)(size + 1), err));
        if (s->now.count <= before && s->now.error >= least * (1 - PAYS)) break;
        least = fmin(least, s->now.error);
    }
    return SU_OK;
}

/* The share of a set that is tried next: first, and where trying ends. */
static const double FIRST_SHARE = 0.8, LAST_SHARE = 0.98;

/* Smaller and smaller sets, each made good by exchanges, while the bound holds. */
static su_status shrink(search *s, double error, su_error *err)
{
    double factor = FIRST_SHARE;
    trial_copy(s, &s->good, &s->now);
    while (s->good.error <= error && s->good.count > 1 && factor < LAST_SHARE) {
        int64_t size = (int64_t)(factor * (double)s->good.count);
        SU_TRY(drop_members(s, size, err));
        SU_TRY(refit(s, 4, err));
        SU_TRY(exchange(s, size, SHRINKING_EXCHANGES, error, err));
        if (s->now.error <= error) {
            trial_copy(s, &s->good, &s->now);
            continue;
        }
        restore(s, &s->good);
        factor = 0.5 * (1 + factor);
    }
    restore(s, &s->good);
    s->good.count = 0;
    return SU_OK;
}

/* ---- results ---- */

static su_status hand_over(search *s, su_point_set *out, su_error *err)
{
    const su_fit_problem *p = s->problem;
    const trial *t = &s->now;
    SU_TRY(SU_ALLOC_ALL("cubature set", err, SU_WANT(out->points, t->count),
                        SU_WANT(out->weights, p->groups * t->count), SU_WANT(out->errors, p->station_count)));
    SU_TRY(su_pool_residual(&s->pool, t->count, t->slot, s->limit, t->weights, out->errors, err));
    for (int64_t k = 0; k < t->count; k++) /* ascending candidates: the lowest number scores best */
        s->list[k] = (scored){-(double)s->pool.candidate[t->slot[k]], (int32_t)k};
    su_sort(s->list, (size_t)t->count, sizeof *s->list, by_score);
    for (int64_t k = 0; k < t->count; k++) {
        int64_t from = s->list[k].candidate;
        out->points[k] = p->points->point[s->pool.candidate[t->slot[from]]];
        for (int64_t i = 0; i < p->groups; i++) out->weights[i * t->count + k] = t->weights[i * s->limit + from];
    }
    out->count = t->count, out->candidates = p->points->count, out->worst = worst_error(p, out->errors);
    return SU_OK;
}

su_status su_select_points(const su_fit_problem *problem, const su_fit_settings *settings, su_point_set *out,
                           su_error *err)
{
    search s;
    su_status status;
    SU_GO(search_create(&s, problem, settings, err));
    SU_GO(su_column_norms(problem, settings->threads, s.norm2, err));
    SU_GO(refit(&s, 1, err)); /* the empty set */
    int64_t most = settings->count > 0 && settings->count < s.limit ? settings->count : s.limit;
    if (settings->error > 0) {
        SU_GO(grow(&s, most, settings->error, out, err));
        SU_GO(refit(&s, 8, err));
        SU_GO(shrink(&s, settings->error, err));
    } else {
        SU_GO(grow(&s, most, 0, out, err));
        SU_GO(exchange(&s, most, EXCHANGES, 0, err));
    }
    SU_GO(refit(&s, LAST_REFITS, err));
    SU_GO(hand_over(&s, out, err));
done:
    search_free(&s);
    if (status != SU_OK) su_point_set_free(out);
    return status;
}

su_status su_fit_errors(const su_fit_problem *problem, int64_t count, const int32_t *chosen, const double *weights,
                        int threads, su_error_pair *errors, su_error *err)
{
    su_pool pool;
    int64_t *slot = NULL;
    su_status status;
    SU_GO(su_pool_create(&pool, problem, threads, err));
    SU_GO(SU_ALLOC(&slot, count, "cubature set", err));
    SU_GO(su_pool_add(&pool, count, chosen, slot, err));
    SU_GO(su_pool_residual(&pool, count, slot, count, weights, errors, err));
done:
    free(slot);
    su_pool_free(&pool);
    return status;
}
