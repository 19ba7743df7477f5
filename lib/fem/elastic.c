/* Sums over tets are made in batches: kernels of a batch run in parallel into scratch, then each thread adds the parts
 * that land in its own range of vertices, tet after tet. Every sum so has the order of the tets, for any number of
 * threads, without colouring and with memory that does not grow with the mesh. */
#include "fem/elastic.h"

#include "core/memory.h"
#include "core/order.h"
#include "fem/tet_lanes.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"
#include "geometry/rotation.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2048 };

/* ---- one tet ---- */

/* Edge matrix (columns b - a, c - a, d - a) of a tet given by its corners in an (n,3) array. */
static void tet_edges(const double *x, const int32_t tet[4], double out[9])
{
    su_tet_edges(x + 3 * (int64_t)tet[0], x + 3 * (int64_t)tet[1], x + 3 * (int64_t)tet[2], x + 3 * (int64_t)tet[3],
                 out);
}

static bool rest_tet(const double neutral_inverse[9], double neutral_volume, const double edges[9], double inverse[9],
                     double *volume)
{
    double F[9], R[9];
    su_mul33(edges, neutral_inverse, F);
    double det = su_det3(F);
    if (det >= SU_COLLAPSED) {
        *volume = su_inverse3(edges, inverse) / 6;
        return false;
    }
    su_nearest_rotation(F, R);
    su_mult33(neutral_inverse, R, inverse); /* (R D)^-1 = D^-1 R' */
    *volume = neutral_volume;
    return true;
}

bool su_tet_rest(const double neutral_corners[12], const double rest_corners[12], double inverse[9], double *volume)
{
    double edges[9], neutral_inverse[9];
    su_tet_edges(neutral_corners, neutral_corners + 3, neutral_corners + 6, neutral_corners + 9, edges);
    double neutral_volume = su_inverse3(edges, neutral_inverse) / 6;
    su_tet_edges(rest_corners, rest_corners + 3, rest_corners + 6, rest_corners + 9, edges);
    return rest_tet(neutral_inverse, neutral_volume, edges, inverse, volume);
}

/* f (12) = volume P D_m^-T for corners 1..3; corner 0 takes minus their sum */
static void tet_force(const double inverse[9], double volume, const double P[9], double f[12])
{
    for (int i = 0; i < 3; i++) {
        f[i] = 0;
        for (int a = 0; a < 3; a++) {
            double value = volume * (P[3 * i] * inverse[3 * a] + P[3 * i + 1] * inverse[3 * a + 1] +
                                     P[3 * i + 2] * inverse[3 * a + 2]);
            f[3 * (a + 1) + i] = value;
            f[i] -= value;
        }
    }
}

/* K (12,12) from H (9,9): K_(ai)(bk) = volume sum_jl g_aj H_(ij)(kl) g_bl, g_a the gradient of corner a's shape
 * function, row a - 1 of D_m^-1. Rows and columns of corner 0 follow from the sums being zero. */
static void tet_stiffness(const double g[9], double volume, const double H[81], double K[144])
{
    double T[81]; /* T_(ij)(bk) = volume sum_l H_(ij)(kl) g_bl */
    for (int r = 0; r < 9; r++)
        for (int b = 0; b < 3; b++)
            for (int k = 0; k < 3; k++)
                T[9 * r + 3 * b + k] = volume * (H[9 * r + 3 * k] * g[3 * b] + H[9 * r + 3 * k + 1] * g[3 * b + 1] +
                                                 H[9 * r + 3 * k + 2] * g[3 * b + 2]);
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < 3; i++) {
            const double *t = T + 27 * i;
            double *row = K + 12 * (3 * (a + 1) + i) + 3;
            for (int c = 0; c < 9; c++) row[c] = g[3 * a] * t[c] + g[3 * a + 1] * t[9 + c] + g[3 * a + 2] * t[18 + c];
        }
    for (int r = 3; r < 12; r++)
        for (int k = 0; k < 3; k++)
            K[12 * r + k] = K[12 * k + r] = -(K[12 * r + 3 + k] + K[12 * r + 6 + k] + K[12 * r + 9 + k]);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) K[12 * i + k] = -(K[12 * i + 3 + k] + K[12 * i + 6 + k] + K[12 * i + 9 + k]);
}

void su_tet_elastic(su_material material, double mu, double lambda, const double inverse[9], double volume,
                    const double y[12], bool project, double f[12], double K[144], double *energy)
{
    double edges[9], F[9], P[9], H[81];
    su_tet_edges(y, y + 3, y + 6, y + 9, edges);
    su_mul33(edges, inverse, F);
    if (energy) *energy = volume * su_material_energy(material, mu, lambda, F);
    if (f) {
        su_material_stress(material, mu, lambda, F, P);
        tet_force(inverse, volume, P, f);
    }
    if (K) {
        su_material_derivative(material, mu, lambda, F, project, H);
        tet_stiffness(inverse, volume, H, K);
    }
}

void su_elastic_gradient(const su_elastic *elastic, const double *y, int64_t e, double F[9])
{
    double edges[9];
    tet_edges(y, elastic->tets + 4 * e, edges);
    for (int i = 0; i < 9; i++) edges[i] += elastic->offset[9 * e + i];
    su_mul33(edges, elastic->inverse + 9 * e, F);
}

/* ---- the mesh ---- */

/* Higher-numbered free neighbours of each free vertex: (start, list), ascending, each once. */
static su_status neighbours(const su_elastic *elastic, int64_t **start_out, int32_t **list_out, su_error *err)
{
    int64_t *start = NULL, *fill = NULL, count = elastic->free_count;
    int32_t *list = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&start, count + 1, "mesh graph", err));
    SU_GO(SU_ALLOC(&fill, count + 1, "mesh graph", err));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t e = 0; e < elastic->t; e++)
            for (int a = 0; a < 4; a++)
                for (int b = 0; b < 4; b++) {
                    int32_t f = elastic->free_index[elastic->tets[4 * e + a]];
                    int32_t g = elastic->free_index[elastic->tets[4 * e + b]];
                    if (f < 0 || g <= f) continue;
                    if (pass == 0)
                        start[f + 1]++;
                    else
                        list[fill[f]++] = g;
                }
        if (pass == 1) break;
        for (int64_t f = 0; f < count; f++) start[f + 1] += start[f];
        memcpy(fill, start, (size_t)(count + 1) * sizeof *fill);
        SU_GO(SU_ALLOC(&list, start[count], "mesh graph", err));
    }
    int64_t write = 0;
    for (int64_t f = 0; f < count; f++) {
        int64_t from = start[f], to = fill[f];
        su_sort(list + from, (size_t)(to - from), sizeof *list, su_order_int32);
        start[f] = write;
        for (int64_t k = from; k < to; k++)
            if (k == from || list[k] != list[write - 1]) list[write++] = list[k];
    }
    start[count] = write;
    *start_out = start, *list_out = list;
    start = NULL, list = NULL;
    status = SU_OK;
done:
    free(start);
    free(fill);
    free(list);
    return status;
}

/* Pattern of the lower triangle and scatter map. Column 3f + c holds rows 3f + c..3f + 2, then three rows for each
 * higher neighbour in order; scatter is the place of the neighbour in that order, -1: block not stored. */
static su_status build_pattern(su_elastic *elastic, su_error *err)
{
    int64_t *start = NULL, count = elastic->free_count;
    int32_t *list = NULL;
    su_sparse *pattern = &elastic->pattern;
    su_status status;
    SU_GO(neighbours(elastic, &start, &list, err));
    pattern->size = 3 * count;
    pattern->entries = 6 * count + 9 * start[count];
    pattern->owns_pattern = 1;
    SU_GO(SU_ALLOC(&pattern->start, pattern->size + 1, "stiffness pattern", err));
    SU_GO(SU_ALLOC(&pattern->row, pattern->entries, "stiffness pattern", err));
    int64_t write = 0;
    for (int64_t f = 0; f < count; f++)
        for (int c = 0; c < 3; c++) {
            pattern->start[3 * f + c] = write;
            for (int r = c; r < 3; r++) pattern->row[write++] = 3 * f + r;
            for (int64_t k = start[f]; k < start[f + 1]; k++)
                for (int r = 0; r < 3; r++) pattern->row[write++] = 3 * (int64_t)list[k] + r;
        }
    pattern->start[3 * count] = write;
    SU_GO(SU_ALLOC(&elastic->scatter, 16 * elastic->t, "scatter map", err));
    for (int64_t e = 0; e < elastic->t; e++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                int32_t g = elastic->free_index[elastic->tets[4 * e + a]];
                int32_t f = elastic->free_index[elastic->tets[4 * e + b]];
                int32_t *place = &elastic->scatter[16 * e + 4 * a + b];
                *place = -1;
                if (f < 0 || g < f) continue;
                *place = 0;
                if (g == f) continue;
                const int32_t *found =
                    bsearch(&g, list + start[f], (size_t)(start[f + 1] - start[f]), sizeof g, su_order_int32);
                *place = (int32_t)(found - (list + start[f]));
            }
    status = SU_OK;
done:
    free(start);
    free(list);
    return status;
}

static su_status number_free(su_elastic *elastic, int64_t held_count, const int32_t *held, su_error *err)
{
    SU_TRY(SU_ALLOC(&elastic->free_index, elastic->n, "free vertices", err));
    for (int64_t i = 0; i < held_count; i++) {
        if (held[i] < 0 || held[i] >= elastic->n)
            return su_fail(err, SU_INPUT, "held vertex %d out of range (%lld vertices)", held[i],
                           (long long)elastic->n);
        elastic->free_index[held[i]] = -1;
    }
    for (int64_t v = 0; v < elastic->n; v++)
        if (elastic->free_index[v] == 0) elastic->free_index[v] = (int32_t)elastic->free_count++;
    SU_TRY(SU_ALLOC(&elastic->free_vertex, elastic->free_count, "free vertices", err));
    for (int64_t v = 0; v < elastic->n; v++)
        if (elastic->free_index[v] >= 0) {
            if (!(elastic->mass[v] > 0))
                return su_fail(err, SU_INPUT, "flesh vertex %lld belongs to no tet", (long long)v);
            elastic->free_vertex[elastic->free_index[v]] = (int32_t)v;
        }
    return SU_OK;
}

static su_status neutral_shape(su_elastic *elastic, const double *vertices, const double *density, su_error *err)
{
    int64_t t = elastic->t;
    SU_TRY(SU_ALLOC(&elastic->neutral_inverse, 9 * t, "rest shape", err));
    SU_TRY(SU_ALLOC(&elastic->neutral_volume, t, "rest shape", err));
    SU_TRY(SU_ALLOC(&elastic->inverse, 9 * t, "rest shape", err));
    SU_TRY(SU_ALLOC(&elastic->volume, t, "rest shape", err));
    SU_TRY(SU_ALLOC(&elastic->offset, 9 * t, "rest shape", err));
    SU_TRY(SU_ALLOC(&elastic->mass, elastic->n, "masses", err));
    for (int64_t e = 0; e < t; e++) {
        double edges[9];
        for (int a = 0; a < 4; a++) {
            int32_t v = elastic->tets[4 * e + a];
            if (v < 0 || v >= elastic->n)
                return su_fail(err, SU_INPUT, "tet %lld has vertex %d out of range (%lld vertices)", (long long)e, v,
                               (long long)elastic->n);
        }
        tet_edges(vertices, elastic->tets + 4 * e, edges);
        double volume = su_inverse3(edges, elastic->neutral_inverse + 9 * e) / 6;
        if (!(volume > 0) || !isfinite(volume) || !(density[e] > 0))
            return su_fail(err, SU_INPUT, "tet %lld has volume %.3g m^3 and density %.3g kg/m^3, both must be positive",
                           (long long)e, volume, density[e]);
        elastic->neutral_volume[e] = volume;
    }
    memcpy(elastic->inverse, elastic->neutral_inverse, 9 * (size_t)t * sizeof(double));
    memcpy(elastic->volume, elastic->neutral_volume, (size_t)t * sizeof(double));
    su_lumped_mass(elastic->n, vertices, t, elastic->tets, density, elastic->mass);
    return SU_OK;
}

su_status su_elastic_create(su_elastic *elastic, const su_elastic_body *body, su_error *err)
{
    const double *young = body->young, *poisson = body->poisson;
    int64_t t = body->mesh.t;
    su_status status;
    memset(elastic, 0, sizeof *elastic);
    elastic->n = body->mesh.n, elastic->t = t, elastic->tets = body->mesh.tets, elastic->material = body->material;
    SU_GO(neutral_shape(elastic, body->mesh.x, body->density, err));
    SU_GO(number_free(elastic, body->held_count, body->held, err));
    SU_GO(SU_ALLOC(&elastic->mu, t, "materials", err));
    SU_GO(SU_ALLOC(&elastic->lambda, t, "materials", err));
    for (int64_t e = 0; e < t; e++)
        if (!(young[e] > 0) || !isfinite(young[e]) || !(poisson[e] > -1 && poisson[e] < 0.5)) {
            status = su_fail(err, SU_INPUT,
                             "tet %lld has Young's modulus %.3g Pa and Poisson's ratio %.3g, "
                             "they must be positive and below 0.5",
                             (long long)e, young[e], poisson[e]);
            goto done;
        }
    su_elastic_set_material(elastic, young, poisson);
    SU_GO(build_pattern(elastic, err));
    double *scratch;
    SU_GO(SU_ALLOC(&scratch, BATCH / SU_TET_LANES * SU_LANE_STIFFNESS, "element matrices", err));
    elastic->scratch = scratch;
    status = SU_OK;
done:
    if (status != SU_OK) su_elastic_free(elastic);
    return status;
}

su_status su_elastic_of_fit(su_elastic *elastic, const su_tet *tet, const su_fit *fit, su_material material,
                            su_error *err)
{
    const su_elastic_body body = {.mesh = {tet->n, tet->t, tet->vertices, tet->tets},
                                  .held_count = tet->fixed_count,
                                  .held = tet->fixed,
                                  .material = material,
                                  .young = fit->young,
                                  .poisson = fit->poisson,
                                  .density = fit->density};
    return su_elastic_create(elastic, &body, err);
}

void su_elastic_free(su_elastic *elastic)
{
    if (!elastic) return;
    free(elastic->free_index), free(elastic->free_vertex);
    free(elastic->neutral_inverse), free(elastic->neutral_volume);
    free(elastic->inverse), free(elastic->volume), free(elastic->offset);
    free(elastic->mu), free(elastic->lambda), free(elastic->mass);
    free(elastic->scatter), free(elastic->scratch);
    su_sparse_free(&elastic->pattern);
    memset(elastic, 0, sizeof *elastic);
}

void su_elastic_set_material(su_elastic *elastic, const double *young, const double *poisson)
{
    for (int64_t e = 0; e < elastic->t; e++) {
        elastic->mu[e] = SU_LAME_MU(young[e], poisson[e]);
        elastic->lambda[e] = SU_LAME_LAMBDA(young[e], poisson[e]);
    }
}

/* The neutral shape turned: D = R D_X, D^-1 = D_X^-1 R'. offset: what it has more than the edges of the rest shape. */
static void turned_tet(const double neutral_inverse[9], const double R[9], const double edges[9], double inverse[9],
                       double offset[9])
{
    double neutral[9];
    su_inverse3(neutral_inverse, neutral);
    su_mult33(neutral_inverse, R, inverse);
    su_mul33(R, neutral, offset);
    for (int i = 0; i < 9; i++) offset[i] -= edges[i];
}

void su_elastic_set_rest(su_elastic *elastic, const double *rest, const double *turn, int threads)
{
    int64_t collapsed = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : collapsed)
    for (int64_t e = 0; e < elastic->t; e++) {
        const int32_t *tet = elastic->tets + 4 * e;
        double edges[9], *offset = elastic->offset + 9 * e;
        tet_edges(rest, tet, edges);
        if (turn) {
            const double *corners[4] = {turn + 4 * (int64_t)tet[0], turn + 4 * (int64_t)tet[1],
                                        turn + 4 * (int64_t)tet[2], turn + 4 * (int64_t)tet[3]};
            double R[9];
            su_mean_rotation(corners, R);
            turned_tet(elastic->neutral_inverse + 9 * e, R, edges, elastic->inverse + 9 * e, offset);
            elastic->volume[e] = elastic->neutral_volume[e];
            continue;
        }
        bool stand_in = rest_tet(elastic->neutral_inverse + 9 * e, elastic->neutral_volume[e], edges,
                                 elastic->inverse + 9 * e, elastic->volume + e);
        if (stand_in) su_inverse3(elastic->inverse + 9 * e, offset);
        for (int i = 0; i < 9; i++) offset[i] = stand_in ? offset[i] - edges[i] : 0.0;
        collapsed += stand_in;
    }
    elastic->collapsed = collapsed;
}

/* ---- sums over tets ---- */

double su_elastic_energy(const su_elastic *elastic, const double *y, int threads)
{
    double *part = elastic->scratch, sum = 0;
    for (int64_t from = 0; from < elastic->t; from += BATCH) {
        int64_t to = from + BATCH < elastic->t ? from + BATCH : elastic->t;
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t e = from; e < to; e++) {
            double F[9];
            su_elastic_gradient(elastic, y, e, F);
            part[e - from] =
                elastic->volume[e] * su_material_energy(elastic->material, elastic->mu[e], elastic->lambda[e], F);
        }
        for (int64_t e = from; e < to; e++) sum += part[e - from];
    }
    return sum;
}

void su_elastic_force(const su_elastic *elastic, const double *y, double *force, int threads)
{
    double *part = elastic->scratch;
    memset(force, 0, 3 * (size_t)elastic->n * sizeof *force);
#pragma omp parallel num_threads(threads)
    {
        int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        int64_t first = elastic->n * me / team, last = elastic->n * (me + 1) / team;
        for (int64_t from = 0; from < elastic->t; from += BATCH) {
            int64_t to = from + BATCH < elastic->t ? from + BATCH : elastic->t;
#pragma omp for schedule(static)
            for (int64_t e = from; e < to; e++) {
                double F[9], P[9];
                su_elastic_gradient(elastic, y, e, F);
                su_material_stress(elastic->material, elastic->mu[e], elastic->lambda[e], F, P);
                tet_force(elastic->inverse + 9 * e, elastic->volume[e], P, part + 12 * (e - from));
            }
            for (int64_t e = from; e < to; e++)
                for (int a = 0; a < 4; a++) {
                    int64_t v = elastic->tets[4 * e + a];
                    if (v < first || v >= last) continue;
                    for (int i = 0; i < 3; i++) force[3 * v + i] += part[12 * (e - from) + 3 * a + i];
                }
#pragma omp barrier
        }
    }
}

/* Adds the blocks of one tet's matrix that lie in block columns [first, last). K as su_tet_stiffness_lanes leaves it,
 * from the tet's lane on. */
static void scatter_tet(const su_elastic *elastic, int64_t e, const double *K, int64_t first, int64_t last,
                        su_sparse *out)
{
    const int32_t *tet = elastic->tets + 4 * e;
    for (int a = 0; a < 4; a++)
        for (int b = a; b < 4; b++, K += 9 * SU_TET_LANES) {
            int64_t f = elastic->free_index[tet[a]], g = elastic->free_index[tet[b]];
            if (f < 0 || g < 0) continue;
            int64_t low = f < g ? f : g;
            if (low < first || low >= last) continue;
            int64_t row = f < g ? SU_TET_LANES : 3 * SU_TET_LANES, column = f < g ? 3 * SU_TET_LANES : SU_TET_LANES;
            int64_t place = a == b ? 0 : 3 + 3 * (int64_t)elastic->scatter[16 * e + (f < g ? 4 * b + a : 4 * a + b)];
            for (int c = 0; c < 3; c++) {
                double *to = out->value + out->start[3 * low + c] + place - c;
                for (int r = a == b ? c : 0; r < 3; r++) to[r] += K[r * row + c * column];
            }
        }
}

void su_elastic_stiffness(const su_elastic *elastic, const double *y, bool project, su_sparse *K, int threads)
{
    su_elastic_stiffness_with(elastic, NULL, y, project, K, threads);
}

void su_elastic_stiffness_with(const su_elastic *elastic, const double *by_ratio, const double *y, bool project,
                               su_sparse *K, int threads)
{
    double *part = elastic->scratch;
    memset(K->value, 0, (size_t)K->entries * sizeof *K->value);
#pragma omp parallel num_threads(threads)
    {
        int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        int64_t first = elastic->free_count * me / team, last = elastic->free_count * (me + 1) / team;
        for (int64_t from = 0; from < elastic->t; from += BATCH) {
            int64_t to = from + BATCH < elastic->t ? from + BATCH : elastic->t;
#pragma omp for schedule(static)
            for (int64_t e = from; e < to; e += SU_TET_LANES)
                su_tet_stiffness_lanes(elastic->material, project, (int)(to - e < SU_TET_LANES ? to - e : SU_TET_LANES),
                                       elastic->tets + 4 * e, y, elastic->offset + 9 * e, elastic->inverse + 9 * e,
                                       elastic->volume + e, elastic->mu + e, elastic->lambda + e,
                                       by_ratio ? by_ratio + 2 * e : NULL,
                                       part + (e - from) / SU_TET_LANES * SU_LANE_STIFFNESS);
            for (int64_t e = from; e < to; e++) {
                int64_t group = (e - from) / SU_TET_LANES, lane = (e - from) % SU_TET_LANES;
                scatter_tet(elastic, e, part + group * SU_LANE_STIFFNESS + lane, first, last, K);
            }
#pragma omp barrier
        }
    }
}

void su_elastic_add_couplings(const su_elastic *elastic, int64_t e, const double c[16], su_sparse *K)
{
    double block[SU_LANE_STIFFNESS] = {0}, *at = block; /* one lane of it */
    for (int a = 0; a < 4; a++)
        for (int b = a; b < 4; b++, at += 9 * SU_TET_LANES)
            for (int i = 0; i < 3; i++) at[4 * i * SU_TET_LANES] = c[4 * a + b];
    scatter_tet(elastic, e, block, 0, elastic->free_count, K);
}

void su_elastic_add_stress(const su_elastic *elastic, int64_t e, const double P[9], double *force)
{
    double f[12];
    tet_force(elastic->inverse + 9 * e, elastic->volume[e], P, f);
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < 3; i++) force[3 * (int64_t)elastic->tets[4 * e + a] + i] += f[3 * a + i];
}
