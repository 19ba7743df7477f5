#include "reduce/cubature/selection_pool.h"

#include "core/memory.h"
#include "geometry/vector.h"
#include "linalg/nnls.h"
#include "reduce/cubature/columns.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT = 64 }; /* samples a work unit */

static int64_t rows_of(const su_pool *pool, int64_t a) { return pool->problem->stations[a].samples * pool->problem->r; }

static bool of_vertices(const su_pool *pool) { return pool->problem->points->kind == SU_POINT_VERTEX; }

static const su_columns *columns_of(const su_pool *pool)
{
    return of_vertices(pool) ? &su_vertex_columns : &su_tet_columns;
}

static int64_t column_size(const su_pool *pool, int64_t a) { return columns_of(pool)->size(pool->problem, a); }

void su_pool_free(su_pool *pool)
{
    if (!pool->problem) return;
    for (int64_t a = 0; pool->stations && a < pool->problem->station_count; a++) {
        su_pool_station *of = &pool->stations[a];
        free(of->columns), free(of->gram), free(of->dot), free(of->residual);
    }
    free(pool->stations), free(pool->candidate), free(pool->slot_of), free(pool->kept);
    su_arena_free(&pool->normal.arena);
    *pool = (su_pool){0};
}

su_status su_pool_create(su_pool *pool, const su_fit_problem *problem, int threads, su_error *err)
{
    *pool = (su_pool){.problem = problem, .threads = threads};
    SU_TRY(SU_ALLOC_ALL("cubature columns", err, SU_WANT(pool->stations, problem->station_count),
                        SU_WANT(pool->slot_of, problem->points->count)));
    for (int64_t e = 0; e < problem->points->count; e++) pool->slot_of[e] = -1;
    for (int64_t a = 0; a < problem->station_count; a++) {
        const double *target = problem->stations[a].target;
        SU_TRY(SU_ALLOC(&pool->stations[a].residual, rows_of(pool, a), "cubature rows", err));
        pool->stations[a].target2 = su_dot(rows_of(pool, a), target, target);
    }
    return SU_OK;
}

/* ---- columns ---- */

void su_pool_keep(su_pool *pool, bool first, int64_t count, const int64_t *slot)
{
    if (first && pool->kept) memset(pool->kept, 0, (size_t)pool->capacity);
    for (int64_t k = 0; k < count; k++) pool->kept[slot[k]] = 1;
}

static su_status resize(void *pointer, int64_t old, int64_t count, size_t size, su_error *err)
{
    void **p = pointer, *more = realloc(*p, (size_t)count * size);
    if (!more) return su_fail(err, SU_AGAIN, "no memory for %lld more cubature columns", (long long)(count - old));
    memset((char *)more + (size_t)old * size, 0, (size_t)(count - old) * size);
    *p = more;
    return SU_OK;
}

static su_status grow_pool(su_pool *pool, int64_t wanted, su_error *err)
{
    int64_t old = pool->capacity, capacity = old ? old : 64;
    while (capacity < wanted) capacity += capacity / 2;
    if (capacity == old) return SU_OK;
    SU_TRY(resize(&pool->candidate, old, capacity, sizeof *pool->candidate, err));
    SU_TRY(resize(&pool->kept, old, capacity, 1, err));
    for (int64_t a = 0; a < pool->problem->station_count; a++) {
        int64_t length = column_size(pool, a);
        su_pool_station *of = &pool->stations[a];
        double *gram;
        SU_TRY(resize(&of->columns, old * length, capacity * length, sizeof *of->columns, err));
        SU_TRY(resize(&of->dot, old, capacity, sizeof *of->dot, err));
        SU_TRY(SU_ALLOC(&gram, capacity * capacity, "cubature columns", err));
        for (int64_t k = 0; k < old; k++) memcpy(gram + k * capacity, of->gram + k * old, (size_t)old * sizeof *gram);
        free(of->gram);
        of->gram = gram;
    }
    for (int64_t k = old; k < capacity; k++) pool->candidate[k] = -1;
    pool->capacity = capacity;
    return SU_OK;
}

/* Columns of some new slots at station a. */
static su_status fill_columns(su_pool *pool, int64_t count, const int32_t *candidate, const int64_t *slot, int64_t a)
{
    int64_t length = column_size(pool, a);
    float *fresh = malloc((size_t)(count * length) * sizeof *fresh);
    su_status status = fresh ? columns_of(pool)->make(pool->problem, a, count, candidate, fresh) : SU_AGAIN;
    for (int64_t k = 0; k < count && status == SU_OK; k++)
        memcpy(pool->stations[a].columns + slot[k] * length, fresh + k * length, (size_t)length * sizeof *fresh);
    free(fresh);
    return status;
}

/* Rows of the Gram matrix and products with the target of some new slots at station a. */
static su_status fill_products(su_pool *pool, int64_t count, const int64_t *slot, int64_t a)
{
    int64_t length = column_size(pool, a), size = pool->size;
    float *some = malloc((size_t)(count * length) * sizeof *some);
    double *gram = malloc((size_t)(count * (size + 1)) * sizeof *gram), *dot = gram + count * size;
    su_status status = some && gram ? SU_OK : SU_AGAIN;
    if (status == SU_OK) {
        for (int64_t k = 0; k < count; k++)
            memcpy(some + k * length, pool->stations[a].columns + slot[k] * length, (size_t)length * sizeof *some);
        status = columns_of(pool)->products(pool->problem, a, count, some, size, pool->stations[a].columns, gram, dot);
    }
    for (int64_t k = 0; k < count && status == SU_OK; k++) {
        memcpy(pool->stations[a].gram + slot[k] * pool->capacity, gram + k * size, (size_t)size * sizeof *gram);
        pool->stations[a].dot[slot[k]] = dot[k];
    }
    free(some), free(gram);
    return status;
}

/* Columns and products of new slots at all stations, the threads' work a few at a time. The Gram matrix is symmetric to
 * the last bit. */
static su_status fill_slots(su_pool *pool, int64_t count, const int32_t *candidate, const int64_t *slot, su_error *err)
{
    enum { TETS_AT_ONCE = 64, VERTICES_AT_ONCE = 16 }; /* metrics are packed for so many; nine numbers a pair */
    const int64_t few = of_vertices(pool) ? VERTICES_AT_ONCE : TETS_AT_ONCE, stations = pool->problem->station_count,
                  parts = (count + few - 1) / few, capacity = pool->capacity;
    int failed = 0;
#pragma omp parallel for num_threads(pool->threads) schedule(dynamic) reduction(|| : failed)
    for (int64_t part = 0; part < stations * parts; part++) {
        int64_t first = part % parts * few, more = count - first < few ? count - first : few;
        failed = failed || fill_columns(pool, more, candidate + first, slot + first, part / parts) != SU_OK;
    }
#pragma omp parallel for num_threads(pool->threads) schedule(dynamic) reduction(|| : failed)
    for (int64_t part = 0; part < stations * parts; part++) {
        int64_t first = part % parts * few, more = count - first < few ? count - first : few;
        failed = failed || fill_products(pool, more, slot + first, part / parts) != SU_OK;
    }
#pragma omp parallel for num_threads(pool->threads) schedule(static)
    for (int64_t a = 0; a < stations; a++) {
        double *gram = pool->stations[a].gram;
        for (int64_t k = 0; k < count; k++)
            for (int64_t l = 0; l < pool->size; l++) gram[l * capacity + slot[k]] = gram[slot[k] * capacity + l];
    }
    return failed ? su_fail(err, SU_AGAIN, "no memory for cubature columns") : SU_OK;
}

su_status su_pool_add(su_pool *pool, int64_t count, const int32_t *candidate, int64_t *slot, su_error *err)
{
    int64_t fresh = 0, next = 0, unused = 0, *new_slot = NULL;
    int32_t *new_candidate = NULL;
    su_status status;
    if (count == 0) return SU_OK;
    SU_GO(SU_ALLOC_ALL("cubature columns", err, SU_WANT(new_slot, count), SU_WANT(new_candidate, count)));
    for (int64_t k = 0; k < pool->size; k++) unused += !pool->kept[k];
    bool reuse = unused > count + 2 * (pool->size - unused);
    SU_GO(grow_pool(pool, pool->size + count, err));
    for (int64_t k = 0; k < count; k++)
        if (pool->slot_of[candidate[k]] >= 0) pool->kept[pool->slot_of[candidate[k]]] = 1;
    for (int64_t k = 0; k < count; k++) {
        slot[k] = pool->slot_of[candidate[k]];
        if (slot[k] >= 0) continue;
        while (reuse && next < pool->size && pool->kept[next]) next++;
        if (reuse && next < pool->size) {
            slot[k] = next++;
            pool->slot_of[pool->candidate[slot[k]]] = -1;
        } else {
            slot[k] = pool->size++;
        }
        pool->kept[slot[k]] = 1;
        pool->candidate[slot[k]] = candidate[k];
        pool->slot_of[candidate[k]] = (int32_t)slot[k];
        new_slot[fresh] = slot[k];
        new_candidate[fresh++] = candidate[k];
    }
    if (fresh > 0) status = fill_slots(pool, fresh, new_candidate, new_slot, err);
done:
    free(new_slot), free(new_candidate);
    return status;
}

/* ---- weights ---- */

/* What is left of a sum whose other terms cancel; weights that move less than this, squared and relative, stand still;
 * and what is added to the diagonal of a normal matrix of single-precision columns: a share of its largest entry, and
 * of its own, tenfold until there is a factor. */
static const double ROUNDING = 1e-14, STILL = 1e-10, FLOOR = 1e-8, FIRST_RIDGE = 1e-6, LAST_RIDGE = 0.1;

/* Gathers the part of the pool that a set needs, in workspace that only grows: without that, most of the time would go
 * into fresh pages. */
static su_status normal_gather(su_pool *pool, int64_t count, const int64_t *slot, su_error *err)
{
    su_pool_normal *n = &pool->normal;
    int64_t stations = pool->problem->station_count, groups = pool->problem->groups;
    if (count > n->capacity) {
        su_arena_free(&n->arena);
        *n = (su_pool_normal){0};
        int64_t c = count + count / 2;
        SU_TRY(SU_TAKE_ALL(&n->arena, "cubature weights", err, SU_WANT(n->gram, stations * c * c),
                           SU_WANT(n->target, stations * c), SU_WANT(n->v, stations * c), SU_WANT(n->G, c * c),
                           SU_WANT(n->group, groups * c * c), SU_WANT(n->h, c), SU_WANT(n->x, c), SU_WANT(n->y, c)));
        n->capacity = c;
    }
    n->count = count;
#pragma omp parallel num_threads(pool->threads)
    {
#pragma omp for schedule(static)
        for (int64_t a = 0; a < stations; a++) {
            double scale = pool->problem->stations[a].importance;
            for (int64_t k = 0; k < count; k++) {
                const double *row = pool->stations[a].gram + slot[k] * pool->capacity;
                double *to = n->gram + (a * count + k) * count;
                for (int64_t l = 0; l < count; l++) to[l] = scale * row[slot[l]];
                n->target[a * count + k] = scale * pool->stations[a].dot[slot[k]];
            }
        }
        /* Normal matrix of each group: sum of w^2 G over the stations, in their order. */
#pragma omp for schedule(static)
        for (int64_t part = 0; part < groups * count; part++) {
            int64_t i = part / count, k = part % count;
            double *to = n->group + (i * count + k) * count;
            memset(to, 0, (size_t)count * sizeof *to);
            for (int64_t a = 0; a < stations; a++) {
                double w = pool->problem->stations[a].blend[i];
                const double *from = n->gram + (a * count + k) * count;
                for (int64_t l = 0; w != 0 && l < count; l++) to[l] += w * w * from[l];
            }
        }
    }
    return SU_OK;
}

/* Right-hand side of group i with the other groups held: sum of w (target - G (v - w x_i)), n->x = x_i. */
static void group_target(const su_pool *pool, int64_t i)
{
    const su_fit_problem *p = pool->problem;
    const su_pool_normal *n = &pool->normal;
    int64_t count = n->count;
    memset(n->h, 0, (size_t)count * sizeof *n->h);
    for (int64_t a = 0; a < p->station_count; a++) {
        double w = p->stations[a].blend[i];
        bool others = false;
        if (w == 0) continue;
        const double *v = n->v + a * count, *target = n->target + a * count;
        for (int64_t k = 0; k < count; k++) {
            n->y[k] = v[k] - w * n->x[k];
            n->h[k] += w * target[k];
            others = others || fabs(n->y[k]) > ROUNDING * fabs(v[k]);
        }
        if (others)
            cblas_dsymv(CblasRowMajor, CblasUpper, (int)count, -w, n->gram + a * count * count, (int)count, n->y, 1, 1,
                        n->h, 1);
    }
}

/* Rms error of each station from the Gram matrices alone: |b|^2 - 2 b'Av + v'A'Av. */
static void gram_errors(const su_pool *pool, su_error_pair *errors)
{
    const su_fit_problem *p = pool->problem;
    const su_pool_normal *n = &pool->normal;
    int64_t count = n->count;
    for (int64_t a = 0; a < p->station_count; a++) {
        const double *v = n->v + a * count;
        double scale = p->stations[a].importance, square = pool->stations[a].target2;
        cblas_dsymv(CblasRowMajor, CblasUpper, (int)count, 1, n->gram + a * count * count, (int)count, v, 1, 0, n->y,
                    1);
        for (int64_t k = 0; k < count; k++) square += v[k] * (n->y[k] - 2 * n->target[a * count + k]) / scale;
        errors[a].rms = sqrt(fmax(square, 0) / fmax((double)p->stations[a].samples, 1));
        errors[a].mean = errors[a].rms;
    }
}

/* out (stations,count): what the weights of the groups are at each station. */
static void blend_weights(const su_fit_problem *p, int64_t count, int64_t stride, const double *weights, double *out)
{
    memset(out, 0, (size_t)(p->station_count * count) * sizeof *out);
    for (int64_t a = 0; a < p->station_count; a++)
        for (int64_t i = 0; i < p->groups; i++)
            for (int64_t k = 0; k < count; k++) out[a * count + k] += p->stations[a].blend[i] * weights[i * stride + k];
}

su_status su_pool_fit(su_pool *pool, int64_t count, const int64_t *slot, int64_t stride, double *weights, int sweeps,
                      su_error_pair *errors, su_error *err)
{
    const su_fit_problem *p = pool->problem;
    if (count == 0) {
        for (int64_t a = 0; a < p->station_count; a++) errors[a] = (su_error_pair){1, 1};
        return SU_OK;
    }
    SU_TRY(normal_gather(pool, count, slot, err));
    su_pool_normal *n = &pool->normal;
    blend_weights(p, count, stride, weights, n->v);
    for (int sweep = 0; sweep < sweeps; sweep++) {
        double moved = 0, size = 0;
        for (int64_t i = 0; i < p->groups; i++) {
            const double *G = n->group + i * count * count;
            memcpy(n->x, weights + i * stride, (size_t)count * sizeof *n->x);
            group_target(pool, i);
            SU_TRY(su_nnls(count, G, n->h, n->x, err));
            for (int64_t k = 0; k < count; k++) {
                double d = n->x[k] - weights[i * stride + k];
                moved += d * d * G[k * count + k], size += n->x[k] * n->x[k] * G[k * count + k];
                for (int64_t a = 0; d != 0 && a < p->station_count; a++)
                    n->v[a * count + k] += p->stations[a].blend[i] * d;
                weights[i * stride + k] = n->x[k];
            }
        }
        if (p->groups == 1 || moved <= STILL * size) break;
    }
    gram_errors(pool, errors);
    return SU_OK;
}

/* Units of at most UNIT samples: station, first sample, samples. Owned by the caller. */
static su_status list_units(const su_pool *pool, int64_t (**work)[3], int64_t *count, su_error *err)
{
    const su_fit_problem *p = pool->problem;
    int64_t units = 0;
    for (int64_t a = 0; a < p->station_count; a++) units += (p->stations[a].samples + UNIT - 1) / UNIT;
    SU_TRY(SU_ALLOC(work, units, "cubature rows", err));
    *count = 0;
    for (int64_t a = 0; a < p->station_count; a++)
        for (int64_t k = 0; k < p->stations[a].samples; k += UNIT) {
            int64_t more = p->stations[a].samples - k, *unit = (*work)[(*count)++];
            unit[0] = a, unit[1] = k, unit[2] = more < UNIT ? more : UNIT;
        }
    return SU_OK;
}

/* Target less the weighted columns over a unit of samples, into residual (samples,r), work, and into pool->residual,
 * there turned back, as the gradient meets plain forces. sums: of lengths and of their squares. */
static su_status unit_residual(su_pool *pool, const int64_t unit[3], int64_t count, const int64_t *slot,
                               const double *weights, double *residual, double sums[2])
{
    const su_fit_problem *p = pool->problem;
    const su_station_rows *station = &p->stations[unit[0]];
    int64_t r = p->r;
    float *back = pool->stations[unit[0]].residual + unit[1] * r;
    const su_column_set set = {count, slot, weights, pool->stations[unit[0]].columns};
    SU_TRY(columns_of(pool)->residual(p, unit[0], unit[1], unit[2], &set, residual));
    sums[0] = sums[1] = 0;
    for (int64_t k = 0; k < unit[2]; k++, back += r) {
        const double *own = residual + k * r;
        const float *metric = station->metric ? station->metric + (unit[1] + k) * r * r : NULL;
        double square = su_dot(r, own, own);
        sums[0] += sqrt(square), sums[1] += square;
        for (int64_t i = 0; i < r; i++) back[i] = metric ? 0 : (float)own[i];
        for (int64_t i = 0; i < r && metric; i++)
            for (int64_t j = 0; j < r; j++) back[j] += (float)own[i] * metric[i * r + j];
    }
    return SU_OK;
}

su_status su_pool_residual(su_pool *pool, int64_t count, const int64_t *slot, int64_t stride, const double *weights,
                           su_error_pair *errors, su_error *err)
{
    const su_fit_problem *p = pool->problem;
    int64_t units = 0, (*work)[3] = NULL;
    double *blended = NULL, *residual = NULL, (*sums)[2] = NULL;
    int failed = 0;
    su_status status;
    SU_GO(list_units(pool, &work, &units, err));
    SU_GO(SU_ALLOC_ALL("cubature rows", err, SU_WANT(blended, p->station_count * count), SU_WANT(sums, units),
                       SU_WANT(residual, pool->threads * UNIT * p->r)));
    blend_weights(p, count, stride, weights, blended);
#pragma omp parallel for num_threads(pool->threads) schedule(dynamic) reduction(|| : failed)
    for (int64_t u = 0; u < units; u++)
        failed = failed || unit_residual(pool, work[u], count, slot, blended + work[u][0] * count,
                                         residual + omp_get_thread_num() * UNIT * p->r, sums[u]) != SU_OK;
    if (failed) SU_GO(su_fail(err, SU_AGAIN, "no memory for cubature rows"));
    for (int64_t a = 0; a < p->station_count; a++) errors[a] = (su_error_pair){0};
    for (int64_t u = 0; u < units; u++) errors[work[u][0]].mean += sums[u][0], errors[work[u][0]].rms += sums[u][1];
    for (int64_t a = 0; a < p->station_count; a++) {
        double samples = fmax((double)p->stations[a].samples, 1);
        errors[a] = (su_error_pair){errors[a].mean / samples, sqrt(errors[a].rms / samples)};
    }
done:
    free(work), free(blended), free(residual), free(sums);
    return status;
}

/* n->G: rows and columns of a group's normal matrix that belong to members with weight there, with a part of the
 * diagonal added; returns how many. */
static int64_t gather_used(su_pool_normal *n, int64_t group, int64_t count, const double *weights, double ridge)
{
    int64_t used = 0;
    double largest = 0;
    for (int64_t k = 0; k < count; k++) {
        const double *row = n->group + (group * count + k) * count;
        int64_t column = 0;
        if (!(weights[k] > 0)) continue;
        for (int64_t l = 0; l < count; l++)
            if (weights[l] > 0) n->G[used * count + column++] = row[l];
        largest = fmax(largest, n->G[used * count + used]);
        used++;
    }
    for (int64_t k = 0; k < used; k++) n->G[k * count + k] += FLOOR * largest + ridge * n->G[k * count + k];
    return used;
}

su_status su_pool_losses(su_pool *pool, int64_t count, const int64_t *slot, int64_t stride, const double *weights,
                         double *loss, su_error *err)
{
    memset(loss, 0, (size_t)count * sizeof *loss);
    if (count == 0) return SU_OK;
    SU_TRY(normal_gather(pool, count, slot, err));
    su_pool_normal *n = &pool->normal;
    for (int64_t i = 0; i < pool->problem->groups; i++) {
        int64_t used = 0, a = 0;
        bool good = false;
        /* Columns are in single precision: where a few samples stand out, what is added to the diagonal has to cover
         * their rounding. */
        for (double ridge = FIRST_RIDGE; !good && ridge < LAST_RIDGE; ridge *= 10) {
            used = gather_used(n, i, count, weights + i * stride, ridge);
            good = used == 0 || (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (int)used, n->G, (int)count) == 0 &&
                                 LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'U', (int)used, n->G, (int)count) == 0);
        }
        if (!good)
            return su_fail(err, SU_NUMERICS, "the normal matrix of the cubature weights is not positive definite");
        for (int64_t k = 0; k < count; k++) {
            double v = weights[i * stride + k];
            if (v > 0) loss[k] += v * v / n->G[a * count + a], a++;
        }
    }
    return SU_OK;
}

/* ---- gradient ---- */

/* One unit of samples: z = residual . U' in the full space, then force . z for every candidate. */
static void unit_gradient(const su_pool *pool, int64_t a, int64_t from, int64_t count, float *z, float *out)
{
    const su_fit_problem *p = pool->problem;
    const su_station_rows *station = &p->stations[a];
    const int32_t *corners = p->points->corner;
    const int kind = (int)p->points->kind;
    int64_t width = 3 * kind, size = 3 * p->points->vertex_count, candidates = p->points->count;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)size, (int)p->r, 1,
                pool->stations[a].residual + from * p->r, (int)p->r, station->basis, (int)p->r, 0, z, (int)size);
    memset(out, 0, (size_t)candidates * sizeof *out);
    for (int64_t k = 0; k < count; k++) {
        const float *x = z + k * size, *f = station->force + (from + k) * candidates * width;
        for (int64_t e = 0; e < candidates; e++, f += width) {
            const int32_t *corner = corners + e * kind;
            float sum = 0;
            for (int c = 0; c < kind; c++) {
                const float *y = x + 3 * (int64_t)corner[c];
                sum += f[3 * c] * y[0] + f[3 * c + 1] * y[1] + f[3 * c + 2] * y[2];
            }
            out[e] += sum;
        }
    }
}

su_status su_pool_gradient(su_pool *pool, double *out, su_error *err)
{
    const su_fit_problem *p = pool->problem;
    int64_t stations = p->station_count, count = p->points->count, units = 0, (*work)[3] = NULL;
    int64_t size = UNIT * 3 * p->points->vertex_count;
    float *part = NULL, *z = NULL;
    su_status status;
    SU_GO(list_units(pool, &work, &units, err));
    SU_GO(SU_ALLOC(&part, units * count, "cubature gradients", err));
    SU_GO(SU_ROOM(&z, pool->threads * size, "cubature gradients", err));
#pragma omp parallel for num_threads(pool->threads) schedule(dynamic)
    for (int64_t u = 0; u < units; u++)
        unit_gradient(pool, work[u][0], work[u][1], work[u][2], z + omp_get_thread_num() * size, part + u * count);
    memset(out, 0, (size_t)(stations * count) * sizeof *out);
    for (int64_t u = 0; u < units; u++)
        for (int64_t e = 0; e < count; e++)
            out[work[u][0] * count + e] += p->stations[work[u][0]].importance * part[u * count + e];
done:
    free(work), free(part), free(z);
    return status;
}
