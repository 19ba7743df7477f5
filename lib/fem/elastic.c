/* Sums over tets: each thread has a range of the vertices, which lie close together, and walks the tets that touch it,
 * eight at a time, so that it waits for nobody; tets between two ranges are evaluated by both. Every sum so has the
 * order of the tets, for any number of threads. */
#include "fem/elastic.h"

#include "core/memory.h"
#include "core/order.h"
#include "fem/tet_lanes.h"
#include "geometry/bisection.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"
#include "geometry/vector.h"
#include "geometry/rotation.h"
#include "geometry/rotation_lanes.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

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
void su_tet_force(const su_elastic *elastic, int64_t e, const double P[9], double f[12])
{
    const double *inverse = elastic->inverse + 9 * e, volume = elastic->volume[e];
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

void su_tet_elastic(const su_elastic *elastic, const double *y, int64_t e, bool project, double f[12], double K[144],
                    double *energy)
{
    const double *inverse = elastic->inverse + 9 * e, mu = elastic->mu[e], lambda = elastic->lambda[e];
    double volume = elastic->volume[e], F[9], P[9], H[81];
    su_elastic_gradient(elastic, y, e, F);
    if (energy) *energy = volume * su_material_energy(elastic->material, mu, lambda, F);
    if (f) {
        su_material_stress(elastic->material, mu, lambda, F, P);
        su_tet_force(elastic, e, P, f);
    }
    if (K) {
        su_material_derivative(elastic->material, mu, lambda, F, project, H);
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

void su_displacement_gradient(const su_elastic *elastic, const double *u, int64_t e, double G[9])
{
    double edges[9];
    tet_edges(u, elastic->tets + 4 * e, edges);
    su_mul33(edges, elastic->inverse + 9 * e, G);
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

/* Where a block (a, b >= a) of a tet's matrix is stored: its entry (r,c) at + r + c length - (0, 1, 3)[c] entries into
 * the values. */
struct su_block_place {
    int32_t at;     /* -1: not at all */
    int32_t length; /* of the block's first column of the matrix; negative: the block is stored transposed */
};

/* Pattern of the lower triangle and scatter map. Column 3f + c holds rows 3f + c..3f + 2, then three rows for each
 * higher neighbour in order. */
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
    pattern->in_threes = true;
    if (pattern->entries > INT32_MAX) {
        status = su_fail(err, SU_INPUT, "flesh of %lld tets couples too many vertices", (long long)elastic->t);
        goto done;
    }
    SU_GO(SU_ALLOC(&elastic->scatter, SU_LANE_BLOCKS * elastic->t, "scatter map", err));
    struct su_block_place *place = elastic->scatter;
    for (int64_t e = 0; e < elastic->t; e++)
        for (int a = 0; a < 4; a++)
            for (int b = a; b < 4; b++, place++) {
                int32_t f = elastic->free_index[elastic->tets[4 * e + a]];
                int32_t g = elastic->free_index[elastic->tets[4 * e + b]];
                int32_t low = f < g ? f : g, high = f < g ? g : f;
                place->at = -1;
                if (low < 0) continue;
                place->at = (int32_t)pattern->start[3 * low];
                place->length = (int32_t)(pattern->start[3 * low + 1] - pattern->start[3 * low]);
                if (low == high) continue;
                const int32_t *found = bsearch(&high, list + start[low], (size_t)(start[low + 1] - start[low]),
                                               sizeof high, su_order_int32);
                place->at += 3 + 3 * (int32_t)(found - (list + start[low]));
                if (f < g) place->length = -place->length; /* the column is a's */
            }
    status = SU_OK;
done:
    free(start);
    free(list);
    return status;
}

/* Free vertices first, so that numbers serve as free_index, then held ones. */
static su_status number_vertices(su_elastic *elastic, const double *points, int64_t held_count, const int32_t *held,
                                 su_error *err)
{
    int32_t *order = NULL, *number = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&elastic->free_index, elastic->n, "free vertices", err));
    for (int64_t i = 0; i < held_count; i++) {
        if (held[i] < 0 || held[i] >= elastic->n) {
            status =
                su_fail(err, SU_INPUT, "held vertex %d out of range (%lld vertices)", held[i], (long long)elastic->n);
            goto done;
        }
        elastic->free_index[held[i]] = -1;
    }
    SU_GO(SU_ALLOC(&order, elastic->n, "free vertices", err));
    SU_GO(SU_ALLOC(&number, elastic->n, "free vertices", err));
    su_bisection_order(elastic->n, points, 0, order);
    for (int64_t k = 0; k < elastic->n; k++)
        if (elastic->free_index[order[k]] == 0) number[order[k]] = (int32_t)elastic->free_count++;
    int64_t next = elastic->free_count;
    for (int64_t k = 0; k < elastic->n; k++)
        if (elastic->free_index[order[k]] < 0) number[order[k]] = (int32_t)next++;
    SU_GO(SU_ALLOC(&elastic->free_vertex, elastic->free_count, "free vertices", err));
    for (int64_t v = 0; v < elastic->n; v++) {
        if (elastic->free_index[v] < 0) continue;
        if (!(elastic->mass[v] > 0)) {
            status = su_fail(err, SU_INPUT, "flesh vertex %lld belongs to no tet", (long long)v);
            goto done;
        }
        elastic->free_index[v] = number[v];
        elastic->free_vertex[number[v]] = (int32_t)v;
    }
    SU_GO(SU_ALLOC(&elastic->corner, 4 * elastic->t, "free vertices", err));
    for (int64_t k = 0; k < 4 * elastic->t; k++) elastic->corner[k] = number[elastic->tets[k]];
done:
    free(order), free(number);
    return status;
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
    SU_GO(number_vertices(elastic, body->mesh.x, body->held_count, body->held, err));
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
    SU_GO(SU_ALLOC(&elastic->energy, t + SU_TET_LANES, "energies", err));
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
    free(elastic->scatter), free(elastic->energy), free(elastic->corner);
    su_sparse_free(&elastic->pattern);
    memset(elastic, 0, sizeof *elastic);
}

void su_elastic_gather(const su_elastic *elastic, const double *field, double *free_dofs)
{
    for (int64_t f = 0; f < elastic->free_count; f++)
        memcpy(free_dofs + 3 * f, field + 3 * (int64_t)elastic->free_vertex[f], 3 * sizeof *field);
}

void su_elastic_scatter(const su_elastic *elastic, const double *free_dofs, double *field)
{
    for (int64_t f = 0; f < elastic->free_count; f++)
        memcpy(field + 3 * (int64_t)elastic->free_vertex[f], free_dofs + 3 * f, 3 * sizeof *field);
}

void su_elastic_set_material(su_elastic *elastic, const double *young, const double *poisson)
{
    for (int64_t e = 0; e < elastic->t; e++) {
        elastic->mu[e] = SU_LAME_MU(young[e], poisson[e]);
        elastic->lambda[e] = SU_LAME_LAMBDA(young[e], poisson[e]);
    }
}

/* The neutral shape turned: D = R D_X, D^-1 = D_X^-1 R'. offset: what it has more than the edges of the rest shape. */
static void turn_tet(su_elastic *elastic, const double *rest, int64_t e, const double R[9])
{
    double neutral[9], edges[9], *offset = elastic->offset + 9 * e;
    const double *neutral_inverse = elastic->neutral_inverse + 9 * e;
    tet_edges(rest, elastic->tets + 4 * e, edges);
    su_inverse3(neutral_inverse, neutral);
    su_mult33(neutral_inverse, R, elastic->inverse + 9 * e);
    su_mul33(R, neutral, offset);
    for (int i = 0; i < 9; i++) offset[i] -= edges[i];
    elastic->volume[e] = elastic->neutral_volume[e];
}

void su_elastic_set_turned_rest(su_elastic *elastic, const double *rest, const double *R, int threads)
{
    elastic->collapsed = 0;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t e = 0; e < elastic->t; e++) turn_tet(elastic, rest, e, R + 9 * e);
}

void su_elastic_set_rest(su_elastic *elastic, const double *rest, const double *turn, int threads)
{
    int64_t collapsed = 0, t = elastic->t;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : collapsed)
    for (int64_t from = 0; from < t; from += SU_ROTATION_LANES) {
        int64_t some = t - from < SU_ROTATION_LANES ? t - from : SU_ROTATION_LANES;
        double R[9 * SU_ROTATION_LANES], edges[9];
        if (turn) su_mean_rotations(some, elastic->tets + 4 * from, turn, R);
        for (int64_t e = from; e < from + some; e++) {
            double *offset = elastic->offset + 9 * e;
            if (turn) {
                turn_tet(elastic, rest, e, R + 9 * (e - from));
                continue;
            }
            tet_edges(rest, elastic->tets + 4 * e, edges);
            bool stand_in = rest_tet(elastic->neutral_inverse + 9 * e, elastic->neutral_volume[e], edges,
                                     elastic->inverse + 9 * e, elastic->volume + e);
            if (stand_in) su_inverse3(elastic->inverse + 9 * e, offset);
            for (int i = 0; i < 9; i++) offset[i] = stand_in ? offset[i] - edges[i] : 0.0;
            collapsed += stand_in;
        }
    }
    elastic->collapsed = collapsed;
}

/* ---- sums over tets ---- */

static su_lane_tets lanes_of(const su_elastic *elastic)
{
    return (su_lane_tets){elastic->material, elastic->tets, elastic->offset, elastic->inverse,
                          elastic->volume,   elastic->mu,   elastic->lambda};
}

/* The numbers that a thread of a team adds up: some of the free vertices, some of the held ones. */
typedef struct range {
    uint32_t free_from, free_count, held_from, held_count;
} range;

static range range_of(const su_elastic *elastic, int64_t me, int64_t team)
{
    int64_t count = elastic->free_count, held = elastic->n - count;
    int64_t first = count * me / team, last = count * (me + 1) / team;
    int64_t first_held = held * me / team, last_held = held * (me + 1) / team;
    return (range){(uint32_t)first, (uint32_t)(last - first), (uint32_t)(count + first_held),
                   (uint32_t)(last_held - first_held)};
}

static bool has(const range *r, int32_t number)
{
    return (uint32_t)number - r->free_from < r->free_count || (uint32_t)number - r->held_from < r->held_count;
}

/* The four corners of a tet. */
typedef uint32_t numbers __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t signed_numbers __attribute__((vector_size(16)));

/* The next tets, from *e on, with a corner in the range; how many there are. */
static int next_tets(const su_elastic *elastic, const range *r, int64_t *e, int32_t which[SU_TET_LANES])
{
    int count = 0;
    for (; *e < elastic->t && count < SU_TET_LANES; ++*e) {
        numbers c = *(const numbers *)(elastic->corner + 4 * *e);
        signed_numbers in = (c - r->free_from < r->free_count) | (c - r->held_from < r->held_count);
        which[count] = (int32_t)*e;
        count += (in[0] | in[1] | in[2] | in[3]) != 0;
    }
    return count;
}

double su_elastic_energy(const su_elastic *elastic, const double *y, int threads)
{
    const su_tet_kernels *kernels = SU_OF_SET_HERE(su_tet_kernels);
    const su_lane_tets mesh = lanes_of(elastic);
    double sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t e = 0; e < elastic->t; e += SU_TET_LANES) {
        _Alignas(64) double energy[SU_TET_LANES];
        int32_t which[SU_TET_LANES];
        int64_t count = elastic->t - e < SU_TET_LANES ? elastic->t - e : SU_TET_LANES;
        for (int64_t k = 0; k < count; k++) which[k] = (int32_t)(e + k);
        kernels->energies(&mesh, (int)count, which, y, energy);
        memcpy(elastic->energy + e, energy, sizeof energy);
    }
    for (int64_t e = 0; e < elastic->t; e++) sum += elastic->energy[e];
    return sum;
}

void su_elastic_force(const su_elastic *elastic, const double *y, double *force, int threads)
{
    const su_tet_kernels *kernels = SU_OF_SET_HERE(su_tet_kernels);
    const su_lane_tets mesh = lanes_of(elastic);
    memset(force, 0, 3 * (size_t)elastic->n * sizeof *force);
#pragma omp parallel num_threads(threads)
    {
        const range own = range_of(elastic, omp_get_thread_num(), omp_get_num_threads());
        _Alignas(64) double f[SU_LANE_FORCES];
        int32_t which[SU_TET_LANES];
        int64_t e = 0;
        for (int count; (count = next_tets(elastic, &own, &e, which)) > 0;) {
            kernels->forces(&mesh, count, which, y, f);
            for (int k = 0; k < count; k++)
                for (int a = 0; a < 4; a++) {
                    int64_t at = 4 * (int64_t)which[k] + a;
                    if (!has(&own, elastic->corner[at])) continue;
                    double *sum = force + 3 * (int64_t)elastic->tets[at];
                    for (int i = 0; i < 3; i++) sum[i] += f[SU_TET_LANES * (3 * a + i) + k];
                }
        }
    }
}

/* Adds the blocks of one tet's matrix that lie in the entries [first, last), whole columns of blocks. K as
 * su_tet_kernels leave it, from the tet's lane on. */
static void scatter_tet(const su_elastic *elastic, int64_t e, const double *K, int64_t first, int64_t last, double *out)
{
    enum { ACROSS = SU_TET_LANES, DOWN = 3 * SU_TET_LANES };
    static const bool diagonal[SU_LANE_BLOCKS] = {true, [4] = true, [7] = true, [9] = true};
    const struct su_block_place *place = elastic->scatter + SU_LANE_BLOCKS * e;
    for (int b = 0; b < SU_LANE_BLOCKS; b++, K += 9 * SU_TET_LANES) {
        if (place[b].at < first || place[b].at >= last) continue;
        bool transposed = place[b].length < 0;
        double *c0 = out + place[b].at, *c1 = c0 + (transposed ? -place[b].length : place[b].length) - 1;
        double *c2 = c1 + (c1 - c0) - 1;
        if (diagonal[b]) {
            c0[0] += K[0], c0[1] += K[DOWN], c0[2] += K[2 * DOWN];
            c1[1] += K[DOWN + ACROSS], c1[2] += K[2 * DOWN + ACROSS], c2[2] += K[2 * DOWN + 2 * ACROSS];
        } else if (transposed) {
            c0[0] += K[0], c0[1] += K[ACROSS], c0[2] += K[2 * ACROSS];
            c1[0] += K[DOWN], c1[1] += K[DOWN + ACROSS], c1[2] += K[DOWN + 2 * ACROSS];
            c2[0] += K[2 * DOWN], c2[1] += K[2 * DOWN + ACROSS], c2[2] += K[2 * DOWN + 2 * ACROSS];
        } else {
            c0[0] += K[0], c0[1] += K[DOWN], c0[2] += K[2 * DOWN];
            c1[0] += K[ACROSS], c1[1] += K[DOWN + ACROSS], c1[2] += K[2 * DOWN + ACROSS];
            c2[0] += K[2 * ACROSS], c2[1] += K[DOWN + 2 * ACROSS], c2[2] += K[2 * DOWN + 2 * ACROSS];
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
    const su_tet_kernels *kernels = SU_OF_SET_HERE(su_tet_kernels);
    const su_lane_tets mesh = lanes_of(elastic);
#pragma omp parallel num_threads(threads)
    {
        range own = range_of(elastic, omp_get_thread_num(), omp_get_num_threads());
        int64_t first = K->start[3 * (int64_t)own.free_from];
        int64_t last = K->start[3 * ((int64_t)own.free_from + own.free_count)];
        _Alignas(64) double blocks[SU_LANE_STIFFNESS];
        int32_t which[SU_TET_LANES];
        int64_t e = 0;
        own.held_count = 0; /* they have no rows */
        memset(K->value + first, 0, (size_t)(last - first) * sizeof *K->value);
        for (int count; (count = next_tets(elastic, &own, &e, which)) > 0;) {
            kernels->stiffness(&mesh, project, count, which, y, by_ratio, blocks);
            for (int k = 0; k < count; k++) scatter_tet(elastic, which[k], blocks + k, first, last, K->value);
        }
    }
}

void su_elastic_add_couplings(const su_elastic *elastic, int64_t e, const double c[16], su_sparse *K)
{
    double block[SU_LANE_STIFFNESS] = {0}, *at = block; /* one lane of it */
    for (int a = 0; a < 4; a++)
        for (int b = a; b < 4; b++, at += 9 * SU_TET_LANES)
            for (int i = 0; i < 3; i++) at[4 * i * SU_TET_LANES] = c[4 * a + b];
    scatter_tet(elastic, e, block, 0, K->entries, K->value);
}

void su_elastic_add_laplacian(const su_elastic *elastic, int64_t e, double weight, su_sparse *K)
{
    double g[12], c[16];
    su_shape_gradients(elastic->neutral_inverse + 9 * e, g);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) c[4 * a + b] = weight * su_dot3(g + 3 * a, g + 3 * b);
    su_elastic_add_couplings(elastic, e, c, K);
}

void su_elastic_add_stress(const su_elastic *elastic, int64_t e, const double P[9], double *force)
{
    double f[12];
    su_tet_force(elastic, e, P, f);
    for (int a = 0; a < 4; a++)
        for (int i = 0; i < 3; i++) force[3 * (int64_t)elastic->tets[4 * e + a] + i] += f[3 * a + i];
}
