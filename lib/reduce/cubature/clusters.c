#include "reduce/cubature/clusters.h"

#include "core/memory.h"
#include "core/random.h"
#include "geometry/tetmesh.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Tets a job of the team takes; sums are added chunk by chunk, so that they do not depend on the team. */
enum { CHUNK = 8192 };
/* A thread less than this many chunks waits longer for the others than it works. */
enum { CHUNKS_A_THREAD = 8 };
/* Means are found of so many tets for each, drawn one from each equal stretch of the list; then every tet goes to its
 * nearest. */
enum { SAMPLES_A_MEAN = 200 };
/* Lloyd's iterations end where fewer than this part of the tets changes its cluster, or after so many. */
#define STILL 2e-3
enum { MOST_ITERATIONS = 40 };
/* An eigenvalue below this part of the largest is rounding: a motion of a part as a whole. */
#define COSTS_NOTHING 1e-9

typedef struct means {
    const su_cluster_problem *problem;
    int64_t t, k, count, room, chunks; /* room: count rounded up for the vector units */
    int team;
    double *scale;        /* (k) Lambda^-2, so that the largest feature is 1 */
    float *feature;       /* (t,k) */
    double *volume;       /* (t) */
    float *centre;        /* (k,room) */
    float *half;          /* (room) half the distance to the nearest other centre */
    float *move;          /* (room) */
    float *upper, *lower; /* (t) bounds of the distances to the nearest and the second nearest centre */
    int32_t *cluster;     /* (t) */
    double *sum;          /* (chunks,count,k+1) */
    int64_t *changed;     /* (chunks) */
    su_arena arena;       /* owns all of these */
} means;

static int64_t chunk_end(const means *m, int64_t chunk)
{
    return (chunk + 1) * CHUNK < m->t ? (chunk + 1) * CHUNK : m->t;
}

static void make_scale(means *m)
{
    const su_cluster_problem *p = m->problem;
    double top = 0, largest = 0;
    for (int64_t j = 0; j < m->k; j++) top = fmax(top, p->eigenvalues[j]);
    for (int64_t j = 0; j < m->k; j++) {
        double share = top > 0 ? p->eigenvalues[j] / top : 0, high = 0;
        m->scale[j] = share > COSTS_NOTHING ? 1 / (share * share) : 0;
        for (int64_t v = 0; v < p->n; v++) high = fmax(high, fabs(p->weights[v * m->k + j]));
        largest = fmax(largest, m->scale[j] * high);
    }
    for (int64_t j = 0; j < m->k && largest > 0; j++) m->scale[j] /= largest;
}

static void feature_of(const means *m, int64_t tet, float *x)
{
    const int32_t *corner = m->problem->tets + 4 * tet;
    for (int64_t j = 0; j < m->k; j++) {
        double sum = 0;
        for (int c = 0; c < 4; c++) sum += m->problem->weights[corner[c] * m->k + j];
        x[j] = (float)(sum / 4 * m->scale[j]);
    }
}

/* The tets that the means are found of, all or a sample, and their features. */
static void choose_items(means *m)
{
    int64_t all = m->problem->t;
    su_random random = su_random_seed(m->problem->seed, 1);
    for (int64_t i = 0; i < m->t; i++) {
        int64_t from = i * all / m->t, to = (i + 1) * all / m->t;
        int64_t tet = m->t == all ? i : from + (int64_t)(su_random_uniform(&random) * (double)(to - from));
        m->volume[i] = fabs(su_tet_volume(m->problem->vertices, m->problem->tets + 4 * tet));
        feature_of(m, tet, m->feature + i * m->k);
    }
}

static int team_of(int threads, int64_t chunks)
{
    int64_t most = chunks / CHUNKS_A_THREAD;
    return threads <= most ? threads : most > 1 ? (int)most : 1;
}

static su_status means_create(means *m, su_error *err)
{
    int64_t all = m->problem->t, wanted = m->problem->wanted, sample = SAMPLES_A_MEAN * wanted;
    m->t = all < sample ? all : sample;
    m->room = (wanted + 15) / 16 * 16, m->chunks = (m->t + CHUNK - 1) / CHUNK;
    m->team = team_of(m->problem->threads, m->chunks);
    SU_TRY(SU_TAKE_ALL(&m->arena, "clusters", err, SU_WANT(m->scale, m->k), SU_WANT(m->feature, m->t * m->k),
                       SU_WANT(m->volume, m->t), SU_WANT(m->centre, m->room * m->k), SU_WANT(m->half, m->room),
                       SU_WANT(m->move, m->room), SU_WANT(m->upper, m->t), SU_WANT(m->lower, m->t),
                       SU_WANT(m->sum, m->chunks * wanted * (m->k + 1)), SU_WANT(m->changed, m->chunks),
                       SU_WANT(m->cluster, m->t)));
    make_scale(m);
    choose_items(m);
    return SU_OK;
}

/* Of a feature, whose entries lie `stride` apart, from a centre. */
static float distance(const means *m, const float *x, int64_t stride, int64_t centre)
{
    float sum = 0;
    for (int64_t j = 0; j < m->k; j++) {
        float d = x[j * stride] - m->centre[j * m->room + centre];
        sum += d * d;
    }
    return sqrtf(sum);
}

static float between(const means *m, int64_t a, int64_t b) { return distance(m, m->centre + a, m->room, b); }

static void set_centre(means *m, int64_t centre, const float *x)
{
    for (int64_t j = 0; j < m->k; j++) m->centre[j * m->room + centre] = x[j];
}

/* ---- seeds ---- */

/* Tets nearer to the newest centre than to all before are its own; what each chunk weighs is set anew. */
static void take_centre(means *m, int64_t newest, double *weight)
{
#pragma omp parallel for num_threads(m->team) if (m->team > 1) schedule(static)
    for (int64_t chunk = 0; chunk < m->chunks; chunk++) {
        double sum = 0;
        for (int64_t e = chunk * CHUNK; e < chunk_end(m, chunk); e++) {
            /* A centre twice as far from the nearest one as the tet cannot be nearer. */
            if (newest == 0 || m->half[m->cluster[e]] < m->upper[e]) {
                float d = distance(m, m->feature + e * m->k, 1, newest);
                if (newest == 0 || d < m->upper[e]) m->upper[e] = d, m->cluster[e] = (int32_t)newest;
            }
            sum += m->volume[e] * (double)m->upper[e] * (double)m->upper[e];
        }
        weight[chunk] = sum;
    }
}

/* The tet at which the running sum of volume d^2 (first: of volume) passes `at`; the last that weighs anything where
 * rounding lets none. */
static int64_t draw(const means *m, bool first, const double *weight, double at)
{
    int64_t chosen = 0, chunk = 0;
    for (; chunk < m->chunks - 1 && at >= weight[chunk]; chunk++) at -= weight[chunk];
    for (int64_t e = chunk * CHUNK; e < chunk_end(m, chunk); e++) {
        double w = m->volume[e] * (first ? 1 : (double)m->upper[e] * (double)m->upper[e]);
        if (w > 0) chosen = e;
        if (at < w) return chosen;
        at -= w;
    }
    return chosen;
}

static su_status seed(means *m, su_error *err)
{
    su_random random = su_random_seed(m->problem->seed, 0);
    double *weight;
    SU_TRY(SU_ALLOC(&weight, m->chunks, "clusters", err));
    for (int64_t chunk = 0; chunk < m->chunks; chunk++)
        for (int64_t e = chunk * CHUNK; e < chunk_end(m, chunk); e++) weight[chunk] += m->volume[e];
    for (m->count = 0; m->count < m->problem->wanted; m->count++) {
        double sum = 0;
        for (int64_t chunk = 0; chunk < m->chunks; chunk++) sum += weight[chunk];
        if (m->count > 0 && !(sum > 0)) break; /* every tet is at a centre */
        int64_t e = draw(m, m->count == 0, weight, su_random_uniform(&random) * sum);
        if (m->count > 0 && m->upper[e] == 0) break;
        set_centre(m, m->count, m->feature + e * m->k);
        for (int64_t c = 0; c < m->count; c++) m->half[c] = between(m, c, m->count) / 2;
        take_centre(m, m->count, weight);
    }
    free(weight);
    return SU_OK;
}

/* ---- Lloyd's iterations ---- */

/* The nearest centre and the distances to it and to the second nearest. */
static int32_t scan(const means *m, const float *x, float *near, float *second, float *squares)
{
    for (int64_t c = 0; c < m->room; c++) squares[c] = 0;
    for (int64_t j = 0; j < m->k; j++) {
        const float *centre = m->centre + j * m->room, at = x[j];
#pragma omp simd
        for (int64_t c = 0; c < m->room; c++) squares[c] += (centre[c] - at) * (centre[c] - at);
    }
    float first = FLT_MAX, next = FLT_MAX;
    int32_t best = 0;
    for (int64_t c = 0; c < m->count; c++) {
        float s = squares[c];
        if (s < first)
            next = first, first = s, best = (int32_t)c;
        else if (s < next)
            next = s;
    }
    *near = sqrtf(first), *second = next < FLT_MAX ? sqrtf(next) : FLT_MAX;
    return best;
}

static void assign(means *m, bool fresh, float *squares)
{
#pragma omp parallel for num_threads(m->team) if (m->team > 1) schedule(static)
    for (int64_t chunk = 0; chunk < m->chunks; chunk++) {
        double *sum = m->sum + chunk * m->count * (m->k + 1);
        float *own = squares + chunk * m->room;
        int64_t changed = 0;
        memset(sum, 0, (size_t)(m->count * (m->k + 1)) * sizeof *sum);
        for (int64_t e = chunk * CHUNK; e < chunk_end(m, chunk); e++) {
            const float *x = m->feature + e * m->k;
            int32_t at = m->cluster[e];
            float bound = fmaxf(m->half[at], m->lower[e]);
            if (fresh || m->upper[e] > bound) {
                m->upper[e] = distance(m, x, 1, at);
                if (fresh || m->upper[e] > bound) {
                    m->cluster[e] = scan(m, x, &m->upper[e], &m->lower[e], own);
                    changed += m->cluster[e] != at;
                }
            }
            double *to = sum + m->cluster[e] * (m->k + 1);
            for (int64_t j = 0; j < m->k; j++) to[j] += m->volume[e] * (double)x[j];
            to[m->k] += m->volume[e];
        }
        m->changed[chunk] = changed;
    }
}

/* Centres to the means of their tets; one without tets stays. The bounds follow. */
static void move_centres(means *m)
{
    float farthest = 0, next = 0;
    int64_t who = -1;
    for (int64_t c = 0; c < m->count; c++) {
        double weight = 0, square = 0;
        for (int64_t chunk = 0; chunk < m->chunks; chunk++)
            weight += m->sum[(chunk * m->count + c) * (m->k + 1) + m->k];
        for (int64_t j = 0; j < m->k && weight > 0; j++) {
            double sum = 0;
            for (int64_t chunk = 0; chunk < m->chunks; chunk++) sum += m->sum[(chunk * m->count + c) * (m->k + 1) + j];
            float to = (float)(sum / weight);
            double way = (double)to - (double)m->centre[j * m->room + c];
            square += way * way;
            m->centre[j * m->room + c] = to;
        }
        m->move[c] = (float)sqrt(square);
        if (m->move[c] > farthest)
            next = farthest, farthest = m->move[c], who = c;
        else if (m->move[c] > next)
            next = m->move[c];
    }
    for (int64_t a = 0; a < m->count; a++) {
        m->half[a] = FLT_MAX;
        for (int64_t b = 0; b < m->count; b++)
            if (b != a) m->half[a] = fminf(m->half[a], between(m, a, b) / 2);
    }
    for (int64_t e = 0; e < m->t; e++) {
        m->upper[e] += m->move[m->cluster[e]];
        m->lower[e] -= m->cluster[e] == who ? next : farthest;
    }
}

static su_status iterate(means *m, su_cluster_report *report, su_error *err)
{
    float *squares;
    SU_TRY(SU_ALLOC(&squares, m->chunks * m->room, "clusters", err));
    for (report->iterations = 0; report->iterations < MOST_ITERATIONS; report->iterations++) {
        int64_t changed = 0;
        assign(m, report->iterations == 0, squares);
        for (int64_t chunk = 0; chunk < m->chunks; chunk++) changed += m->changed[chunk];
        if (report->iterations > 0 && (double)changed < STILL * (double)m->t) break;
        move_centres(m);
    }
    free(squares);
    return SU_OK;
}

/* Every tet to its nearest mean. */
static su_status assign_all(const means *m, int32_t *cluster, su_error *err)
{
    int64_t t = m->problem->t, chunks = (t + CHUNK - 1) / CHUNK, width = m->room + m->k;
    int team = team_of(m->problem->threads, chunks);
    float *scratch;
    SU_TRY(SU_ALLOC(&scratch, team * width, "clusters", err));
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        float *squares = scratch + omp_get_thread_num() * width, *x = squares + m->room, near, second;
        for (int64_t e = chunk * CHUNK; e < (chunk + 1) * CHUNK && e < t; e++) {
            feature_of(m, e, x);
            cluster[e] = scan(m, x, &near, &second, squares);
        }
    }
    free(scratch);
    return SU_OK;
}

static double spread(const means *m)
{
    double weight = 0, own = 0, all = 0, *mean = m->sum; /* the sums have done their work */
    memset(mean, 0, (size_t)m->k * sizeof *mean);
    for (int64_t e = 0; e < m->t; e++) {
        weight += m->volume[e];
        for (int64_t j = 0; j < m->k; j++) mean[j] += m->volume[e] * (double)m->feature[e * m->k + j];
    }
    for (int64_t e = 0; e < m->t; e++) {
        double d = (double)distance(m, m->feature + e * m->k, 1, m->cluster[e]);
        own += m->volume[e] * d * d;
        for (int64_t j = 0; j < m->k; j++) {
            double a = (double)m->feature[e * m->k + j] - mean[j] / weight;
            all += m->volume[e] * a * a;
        }
    }
    return all > 0 ? sqrt(own / all) : 0;
}

/* ---- pieces ---- */

/* Pieces of equal number that hang together by faces, numbered by their first tets. neighbour (t,4): tets across the
 * faces, -1. */
static su_status split(int64_t t, const int32_t *neighbour, int32_t *cluster, int64_t *count, su_error *err)
{
    int32_t *stack = NULL, *piece = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("clusters", err, SU_WANT(stack, t), SU_WANT(piece, t)));
    for (int64_t e = 0; e < t; e++) piece[e] = -1;
    *count = 0;
    for (int64_t first = 0; first < t; first++) {
        int64_t depth = 0;
        if (piece[first] >= 0) continue;
        piece[first] = (int32_t)*count, stack[depth++] = (int32_t)first;
        while (depth > 0) {
            int32_t e = stack[--depth];
            for (int i = 0; i < 4; i++) {
                int32_t other = neighbour[4 * (int64_t)e + i];
                if (other < 0 || piece[other] >= 0 || cluster[other] != cluster[e]) continue;
                piece[other] = (int32_t)*count, stack[depth++] = other;
            }
        }
        ++*count;
    }
    memcpy(cluster, piece, (size_t)t * sizeof *cluster);
done:
    free(stack), free(piece);
    return status;
}

/* A piece below this part of the mean volume of a mean's tets joins the neighbour that it shares most faces with: modes
 * that two limbs have in common cut each into slivers that a step would pay for and nobody would see. */
#define SLIVER 0.1

/* The larger of two pieces, the earlier of equal ones. */
static bool is_larger(const double *volume, int32_t a, int32_t b)
{
    return volume[a] > volume[b] || (volume[a] == volume[b] && a < b);
}

/* Pieces of the flesh, joined until none is a sliver. */
typedef struct pieces {
    int64_t t, count;
    int32_t *cluster;         /* (t) the piece of each tet */
    const int32_t *neighbour; /* (t,4) */
    double *tet_volume;       /* (t) m^3 */
    double *volume;           /* (count) */
    int32_t *order;           /* (t) tets by piece; start (count + 1) where each piece begins */
    int64_t *start;
    int32_t *into;   /* (count) the piece that one goes to, itself where it stays */
    int32_t *faces;  /* (count) scratch: shared with the piece at hand */
    int32_t *number; /* (count) of the pieces that stay, -1 */
} pieces;

/* The larger neighbour that piece c shares most faces with; -1: there is none. */
static int32_t best_neighbour(const pieces *p, int32_t c)
{
    int32_t best = -1;
    for (int turn = 0; turn < 2; turn++) /* counts faces, then finds the most and forgets them */
        for (int64_t i = p->start[c]; i < p->start[c + 1]; i++)
            for (int k = 0; k < 4; k++) {
                int32_t other = p->neighbour[4 * (int64_t)p->order[i] + k];
                if (other < 0 || !is_larger(p->volume, p->cluster[other], c)) continue;
                int32_t piece = p->cluster[other], *faces = p->faces;
                if (turn == 0)
                    faces[piece]++;
                else if (faces[piece] > 0 && piece != best) {
                    bool more = best < 0 || faces[piece] > faces[best] ||
                                (faces[piece] == faces[best] && is_larger(p->volume, piece, best));
                    int32_t less = more ? best : piece;
                    if (less >= 0) faces[less] = 0;
                    if (more) best = piece;
                }
            }
    if (best >= 0) p->faces[best] = 0;
    return best;
}

/* One round: pieces of less than `least` go to larger neighbours; false where none did. Pieces are numbered anew, by
 * their first tets. */
static bool join(pieces *p, double least)
{
    bool any = false;
    int32_t *into = p->into, next = 0;
    memset(p->volume, 0, (size_t)p->count * sizeof *p->volume);
    memset(p->start, 0, (size_t)(p->count + 1) * sizeof *p->start);
    for (int64_t e = 0; e < p->t; e++) p->volume[p->cluster[e]] += p->tet_volume[e];
    su_simplices_around(p->count, p->t, p->cluster, 1, p->start, p->order);
    for (int32_t c = 0; c < p->count; c++) {
        int32_t best = p->volume[c] < least ? best_neighbour(p, c) : -1;
        into[c] = best < 0 ? c : best, p->number[c] = -1;
        any = any || best >= 0;
    }
    for (int32_t c = 0; c < p->count; c++) /* larger ones only: the way up ends */
        while (into[into[c]] != into[c]) into[c] = into[into[c]];
    for (int64_t e = 0; e < p->t; e++) {
        int32_t *number = &p->number[into[p->cluster[e]]];
        if (*number < 0) *number = next++;
        p->cluster[e] = *number;
    }
    p->count = next;
    return any;
}

static su_status join_slivers(const su_cluster_problem *problem, const int32_t *neighbour, int32_t *cluster,
                              int64_t *count, su_error *err)
{
    pieces p = {.t = problem->t, .count = *count, .cluster = cluster, .neighbour = neighbour};
    double whole = 0;
    su_arena arena = {0};
    su_status status;
    SU_GO(SU_TAKE_ALL(&arena, "clusters", err, SU_WANT(p.order, p.t), SU_WANT(p.tet_volume, p.t),
                      SU_WANT(p.volume, p.count), SU_WANT(p.start, p.count + 1), SU_WANT(p.into, p.count),
                      SU_WANT(p.faces, p.count), SU_WANT(p.number, p.count)));
    for (int64_t e = 0; e < p.t; e++)
        whole += p.tet_volume[e] = su_tet_volume(problem->vertices, problem->tets + 4 * e);
    while (join(&p, SLIVER * whole / (double)problem->wanted)) {}
    *count = p.count;
done:
    su_arena_free(&arena);
    return status;
}

su_status su_clusters_create(const su_cluster_problem *problem, int32_t *cluster, int64_t *count,
                             su_cluster_report *report, su_error *err)
{
    means m = {.problem = problem, .k = problem->k};
    int32_t *neighbour = NULL;
    su_cluster_report unused;
    su_status status;
    if (!report) report = &unused;
    *report = (su_cluster_report){0};
    if (problem->wanted < 1 || problem->t < 1)
        return su_fail(err, SU_INPUT, "%lld clusters asked of %lld tets", (long long)problem->wanted,
                       (long long)problem->t);
    SU_GO(means_create(&m, err));
    SU_GO(seed(&m, err));
    report->means = m.count;
    SU_GO(iterate(&m, report, err));
    report->spread = spread(&m);
    SU_GO(assign_all(&m, cluster, err));
    SU_GO(SU_ALLOC(&neighbour, 4 * problem->t, "clusters", err));
    SU_GO(su_tet_neighbours(problem->t, problem->tets, neighbour, err));
    SU_GO(split(problem->t, neighbour, cluster, count, err));
    SU_GO(join_slivers(problem, neighbour, cluster, count, err));
done:
    free(neighbour);
    su_arena_free(&m.arena);
    return status;
}
