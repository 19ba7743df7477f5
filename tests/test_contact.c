/* Self-contact: detection on a fork whose prongs close, constrained modes against a dense null-space reference, and
 * PSSD Figure 5: motions in the constrained basis deepen no contact. */
#include "box.h"
#include "geometry/distance.h"
#include "geometry/mat3.h"
#include "geometry/tetmesh.h"
#include "reduce/modes/contact.h"
#include "reduce/modes/modes.h"
#include "reduce/modes/pose_modes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lapacke.h>

typedef struct fork {
    box_mesh box;
    int64_t b, held_count;
    int32_t *surface, *held_list;
    uint8_t *held;
    double *x; /* the prongs closed */
    double *young, *poisson;
    su_elastic elastic;
} fork_mesh;

/* Moves the upper prong's vertices about in the planes of its faces, by up to a share of a cell, so that the prongs do
 * not match. */
static void shuffle(box_mesh *box, const int cells[3], double share)
{
    uint64_t seed = 77;
    for (int64_t v = 0; v < box->n; v++) {
        double *X = box->vertices + 3 * v, along = share * box_random(&seed) * 4 / cells[0],
               across = share * box_random(&seed) * 1.5 / cells[2];
        if (X[1] < 1.5 - 1e-9 || X[0] < 1 + 1e-9) continue;
        if (X[0] < 4 - 1e-9) X[0] += along;
        if (X[2] > 1e-9 && X[2] < 1.5 - 1e-9) X[2] += across;
    }
}

/* A box along x with a slot of a fifth of its height from a quarter of its length on; held at x = 0. The prongs close
 * to `gap` (negative: they overlap). shuffled: see shuffle; 0: vertices lie on vertices. */
static fork_mesh make_unlike(int scale, double gap, double shuffled)
{
    fork_mesh f = {0};
    int nx = 8 * scale, ny = 5 * scale, nz = 3 * scale;
    f.box = box_mesh_create(nx, ny, nz, 4, 2.5, 1.5);
    int64_t kept = 0, n = 0;
    for (int64_t e = 0; e < f.box.t; e++) {
        int64_t cell = e / 6, i = cell / (ny * nz), j = cell / nz % ny;
        if (i >= 2 * scale && j >= 2 * scale && j < 3 * scale) continue;
        memmove(f.box.tets + 4 * kept++, f.box.tets + 4 * e, 4 * sizeof(int32_t));
    }
    f.box.t = kept;
    int32_t *number = malloc((size_t)f.box.n * sizeof *number);
    for (int64_t v = 0; v < f.box.n; v++) number[v] = -1;
    for (int64_t k = 0; k < 4 * kept; k++) number[f.box.tets[k]] = 0;
    for (int64_t v = 0; v < f.box.n; v++)
        if (number[v] == 0) {
            memmove(f.box.vertices + 3 * n, f.box.vertices + 3 * v, 3 * sizeof(double));
            number[v] = (int32_t)n++;
        }
    for (int64_t k = 0; k < 4 * kept; k++) f.box.tets[k] = number[f.box.tets[k]];
    f.box.n = n;
    free(number);
    shuffle(&f.box, (const int[3]){nx, ny, nz}, shuffled);
    f.held = calloc((size_t)n, 1), f.held_list = malloc((size_t)n * sizeof(int32_t));
    f.x = malloc(3 * (size_t)n * sizeof(double));
    for (int64_t v = 0; v < n; v++) {
        const double *X = f.box.vertices + 3 * v;
        if (X[0] < 1e-9) f.held[v] = 1, f.held_list[f.held_count++] = (int32_t)v;
        double s = fmin(fmax((X[0] - 1) / 1.5, 0), 1), side = X[1] > 1.25 ? -1 : 1;
        memcpy(f.x + 3 * v, X, 3 * sizeof(double));
        f.x[3 * v + 1] += side * 0.5 * (0.5 - gap) * s * s * (3 - 2 * s);
    }
    assert_int_equal(su_tet_boundary(f.box.t, f.box.tets, &f.b, &f.surface, NULL, NULL), SU_OK);
    f.young = box_constant(f.box.t, 1e4), f.poisson = box_constant(f.box.t, 0.4);
    assert_int_equal(su_elastic_create(&f.elastic,
                                       &(su_elastic_body){.mesh = {n, f.box.t, f.box.vertices, f.box.tets},
                                                          .held_count = f.held_count,
                                                          .held = f.held_list,
                                                          .material = SU_NEOHOOKEAN,
                                                          .young = f.young,
                                                          .poisson = f.poisson,
                                                          .density = f.young},
                                       NULL),
                     SU_OK);
    su_elastic_set_rest(&f.elastic, f.x, NULL, 1);
    assert_int_equal(f.elastic.collapsed, 0);
    return f;
}

static fork_mesh make(int scale, double gap) { return make_unlike(scale, gap, 0); }

static void fork_free(fork_mesh *f)
{
    su_elastic_free(&f->elastic);
    box_mesh_free(&f->box);
    free(f->surface), free(f->held), free(f->held_list), free(f->x), free(f->young), free(f->poisson);
}

static su_contact_rows detect(const fork_mesh *f, const double *x, su_contact_kind kind, int threads)
{
    su_contact_rows contact;
    su_contact_settings settings = {.kind = kind, .tolerance = 0.02, .depth = 0.1, .apart = 0.6};
    assert_int_equal(su_contact_detect(&(su_contact_flesh){f->box.n, f->box.vertices, x, f->b, f->surface, f->held},
                                       &settings, threads, &contact, NULL),
                     SU_OK);
    return contact;
}

/* Inner faces of the prongs touch where they are closed, and nowhere else; nothing touches at the neutral pose. */
static void test_detection(void **unused)
{
    (void)unused;
    const double gaps[] = {0.01, -0.04, 0.03};
    for (int g = 0; g < 3; g++) {
        fork_mesh f = make(2, gaps[g]);
        su_contact_rows none = detect(&f, f.box.vertices, SU_CONTACT_PAIRS, 1),
                        found = detect(&f, f.x, SU_CONTACT_PAIRS, 1);
        su_contact_rows again = detect(&f, f.x, SU_CONTACT_PAIRS, 2);
        assert_int_equal(none.rows, 0);
        int64_t expected = 0;
        for (int64_t v = 0; v < f.box.n; v++) {
            const double *X = f.box.vertices + 3 * v;
            expected += X[0] > 2.5 - 1e-9 && (fabs(X[1] - 1) < 1e-9 || fabs(X[1] - 1.5) < 1e-9);
        }
        printf("# gap %+.2f: %d contacts, %d inside, %d vertices closed\n", gaps[g], (int)found.contacts,
               (int)found.penetrating, (int)expected);
        if (g == 2) {
            assert_int_equal(found.rows, 0); /* wider than the tolerance */
        } else {
            assert_true(found.contacts >= expected * 6 / 10 && found.contacts <= expected + 40);
            assert_true((found.penetrating > 0) == (gaps[g] < 0));
        }
        for (int64_t r = 0; r < found.rows; r++) {
            double norm = 0;
            for (int64_t k = found.offsets[r]; k < found.offsets[r + 1]; k++) {
                const double *X = f.box.vertices + 3 * found.vertices[k];
                assert_true(X[0] > 2 && X[1] > 1 - 1e-9 && X[1] < 1.5 + 1e-9);
                norm += su_dot3(found.coefficients + 3 * k, found.coefficients + 3 * k);
            }
            assert_true(fabs(norm - 1) < 1e-12);
        }
        assert_int_equal(found.rows, again.rows);
        if (found.rows)
            assert_memory_equal(found.coefficients, again.coefficients, 3 * (size_t)found.entries * sizeof(double));
        su_contact_free(&none), su_contact_free(&found), su_contact_free(&again);
        fork_free(&f);
    }
}

static double *solve(const fork_mesh *f, const su_contact_rows *contact, int64_t linear, int64_t r, double *values,
                     su_mode_report *report)
{
    su_mode_problem problem = {.elastic = &f->elastic, .x = f->x, .contact = contact};
    double *modes = malloc(3 * (size_t)(r * f->box.n) * sizeof *modes);
    su_error err = {0};
    su_status status = su_modes_solve(&problem, linear, r, values, modes, report, 1, &err);
    if (status != SU_OK) printf("# %s\n", err.text);
    assert_int_equal(status, SU_OK);
    return modes;
}

static void check_rows(const fork_mesh *f, const su_contact_rows *contact, int64_t r, const double *modes)
{
    for (int64_t k = 0; k < r; k++) {
        double largest = 0;
        const double *u = modes + 3 * k * f->box.n;
        for (int64_t i = 0; i < 3 * f->box.n; i++) largest = fmax(largest, fabs(u[i]));
        for (int64_t row = 0; row < contact->rows; row++) {
            double sum = 0;
            for (int64_t e = contact->offsets[row]; e < contact->offsets[row + 1]; e++)
                sum += su_dot3(contact->coefficients + 3 * e, u + 3 * (int64_t)contact->vertices[e]);
            assert_true(fabs(sum) < 1e-9 * largest);
        }
    }
}

/* Eigenvalues of (Z'KZ, Z'MZ) with Z from a dense QR factorization of C', for all kinds of rows; redundant rows added.
 */
static void test_null_space_reference(void **unused)
{
    (void)unused;
    for (int kind = 0; kind < 4; kind++) {
        fork_mesh f = make(1, -0.02);
        su_contact_rows contact = detect(&f, f.x, (su_contact_kind)kind, 1);
        assert_true(contact.rows > 3);
        int64_t size = f.elastic.pattern.size, rows = contact.rows;
        su_sparse K;
        double *dense = calloc((size_t)(size * size), sizeof *dense), *C = calloc((size_t)(size * rows), sizeof *C);
        double *tau = malloc((size_t)rows * sizeof *tau), *S = malloc((size_t)(size * size) * sizeof *S);
        double *w = malloc((size_t)size * sizeof *w);
        assert_int_equal(su_sparse_clone_pattern(&f.elastic.pattern, &K, NULL), SU_OK);
        su_elastic_stiffness(&f.elastic, f.x, false, &K, 1);
        for (int64_t j = 0; j < size; j++)
            for (int64_t e = K.start[j]; e < K.start[j + 1]; e++) {
                /* in the variables M^1/2 u */
                double scale = sqrt(f.elastic.mass[f.elastic.free_vertex[j / 3]] *
                                    f.elastic.mass[f.elastic.free_vertex[K.row[e] / 3]]);
                dense[j * size + K.row[e]] = dense[K.row[e] * size + j] = K.value[e] / scale;
            }
        for (int64_t r = 0; r < rows; r++)
            for (int64_t e = contact.offsets[r]; e < contact.offsets[r + 1]; e++)
                for (int i = 0; i < 3; i++) {
                    int64_t v = contact.vertices[e];
                    C[r * size + 3 * f.elastic.free_index[v] + i] +=
                        contact.coefficients[3 * e + i] / sqrt(f.elastic.mass[v]);
                }
        /* projector on the null space: I - Q Q' over the columns of full rank (column-pivoted QR) */
        lapack_int *pivot = calloc((size_t)rows, sizeof *pivot);
        assert_int_equal(LAPACKE_dgeqp3(LAPACK_COL_MAJOR, (int)size, (int)rows, C, (int)size, pivot, tau), 0);
        int rank = 0;
        while (rank < rows && fabs(C[rank * size + rank]) > 1e-8 * fabs(C[0])) rank++;
        /* S = (I - QQ') K (I - QQ') + huge QQ' */
        memcpy(S, dense, (size_t)(size * size) * sizeof *S);
        assert_int_equal(
            LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'T', (int)size, (int)size, rank, C, (int)size, tau, S, (int)size), 0);
        assert_int_equal(
            LAPACKE_dormqr(LAPACK_COL_MAJOR, 'R', 'N', (int)size, (int)size, rank, C, (int)size, tau, S, (int)size), 0);
        int64_t rest = size - rank;
        for (int64_t j = 0; j < rest; j++)
            memmove(dense + j * rest, S + (j + rank) * size + rank, (size_t)rest * sizeof *S);
        assert_int_equal(LAPACKE_dsyev(LAPACK_COL_MAJOR, 'N', 'L', (int)rest, dense, (int)rest, w), 0);
        double values[10], free_values[10];
        su_mode_report report;
        double *modes = solve(&f, &contact, 10, 24, values, &report),
               *unconstrained = solve(&f, NULL, 10, 10, free_values, NULL);
        assert_int_equal(report.constraints, rank);
        assert_true(report.residual < 1e-8);
        for (int k = 0; k < 10; k++) assert_true(fabs(values[k] / w[k] - 1) < 1e-8);
        assert_true(values[0] > 1.05 * free_values[0]);
        check_rows(&f, &contact, 24, modes);
        free(modes), free(unconstrained), free(dense), free(C), free(tau), free(S), free(w), free(pivot);
        su_sparse_free(&K);
        su_contact_free(&contact);
        fork_free(&f);
    }
}

/* Rows given twice, and rows that differ from others by 1e-6 or 1e-11 of their norm: SPQR's rank at 1e-8 keeps the
 * second and drops the third, modes obey all that are kept, and dropping loses nothing that can be seen. */
static void test_redundant_rows(void **unused)
{
    (void)unused;
    fork_mesh f = make(2, -0.02);
    su_contact_rows contact = detect(&f, f.x, SU_CONTACT_PAIRS, 1);
    double values[2][6];
    su_mode_report report[2];
    int64_t rows = contact.rows;
    double *modes = solve(&f, &contact, 6, 6, values[0], &report[0]);
    free(modes);
    assert_int_equal(su_contact_reserve(&contact, 3, 12, NULL), SU_OK);
    const double off[3] = {0, 1e-6, 1e-11};
    for (int k = 0; k < 3; k++) {
        int64_t from = contact.offsets[10 * k];
        int count = contact.offsets[10 * k + 1] - (int)from;
        double row[12];
        memcpy(row, contact.coefficients + 3 * from, 3 * (size_t)count * sizeof *row);
        row[0] += off[k];
        su_contact_append(&contact, count, contact.vertices + from, row, f.held);
    }
    assert_int_equal(contact.rows, rows + 3);
    modes = solve(&f, &contact, 6, 6, values[1], &report[1]);
    assert_int_equal(report[1].constraints, report[0].constraints + 1);
    assert_true(report[0].residual < 1e-8 && report[1].residual < 1e-8);
    printf("# %d rows, %d of them independent; three more: %d\n", (int)rows, (int)report[0].constraints,
           (int)report[1].constraints);
    for (int k = 0; k < 6; k++) assert_true(values[1][k] > values[0][k] * (1 - 1e-9));
    check_rows(&f, &contact, 6, modes);
    free(modes);
    su_contact_free(&contact);
    fork_free(&f);
}

/* The two prongs as they are at y: tets and inner faces of each. */
typedef struct prongs {
    int64_t tet_count[2], face_count[2];
    int32_t *tets[2], *faces[2];
} prongs;

static int side_of(const fork_mesh *f, int32_t v) /* -1: the root, which belongs to both */
{
    const double *X = f->box.vertices + 3 * v;
    return X[0] < 1 + 1e-9 ? -1 : X[1] > 1.25;
}

static prongs split(const fork_mesh *f)
{
    prongs p = {0};
    for (int s = 0; s < 2; s++) {
        p.tets[s] = malloc(4 * (size_t)f->box.t * sizeof(int32_t)),
        p.faces[s] = malloc(3 * (size_t)f->b * sizeof(int32_t));
        for (int64_t e = 0; e < f->box.t; e++) {
            bool out = false;
            for (int a = 0; a < 4; a++) out |= side_of(f, f->box.tets[4 * e + a]) == !s;
            if (!out) memcpy(p.tets[s] + 4 * p.tet_count[s]++, f->box.tets + 4 * e, 4 * sizeof(int32_t));
        }
        for (int64_t k = 0; k < f->b; k++) {
            bool out = false; /* inner faces only: the contact is between them */
            for (int a = 0; a < 3; a++) {
                int32_t v = f->surface[3 * k + a];
                out |= side_of(f, v) != s || fabs(f->box.vertices[3 * v + 1] - (s ? 1.5 : 1)) > 1e-9;
            }
            if (!out) memcpy(p.faces[s] + 3 * p.face_count[s]++, f->surface + 3 * k, 3 * sizeof(int32_t));
        }
    }
    return p;
}

typedef struct probe {
    const double *y, *at;
    const int32_t *tets;
    bool inside;
} probe;

static bool look_inside(void *context, int32_t item)
{
    probe *p = context;
    double bary[4];
    su_tet_barycentric(p->y, p->tets + 4 * (int64_t)item, p->at, bary);
    p->inside = bary[0] > -1e-9 && bary[1] > -1e-9 && bary[2] > -1e-9 && bary[3] > -1e-9; /* rims count */
    return !p->inside;
}

/* depth (n): how far each vertex of a prong's inner face lies inside the other prong, by its distance from that one's
 * face. */
static void depths(const fork_mesh *f, const prongs *p, const double *y, double *depth)
{
    for (int64_t v = 0; v < f->box.n; v++) depth[v] = 0;
    for (int s = 0; s < 2; s++) {
        su_boxtree tets, faces;
        assert_int_equal(su_boxtree_of_tets(y, p->tet_count[!s], p->tets[!s], &tets, NULL), SU_OK);
        assert_int_equal(su_boxtree_of_triangles(y, p->face_count[!s], p->faces[!s], &faces, NULL), SU_OK);
        for (int64_t k = 0; k < 3 * p->face_count[s]; k++) {
            int64_t v = p->faces[s][k];
            int32_t triangle;
            probe look = {y, y + 3 * v, p->tets[!s], false};
            su_boxtree_overlap(&tets, y + 3 * v, y + 3 * v, look_inside, &look);
            if (look.inside) depth[v] = su_closest_point(&faces, y, p->faces[!s], y + 3 * v, INFINITY, &triangle, NULL);
        }
        su_boxtree_free(&tets), su_boxtree_free(&faces);
    }
}

/* Random coordinates q (count,20) as in cubature sampling (docs/formats.md, convention 13): with (l, V) of (U'KU,
 * U'MU), q = V z, z_k normal with deviation a/l_k, a so that the root mean square of the largest vertex motion is 0.05
 * of the diagonal. motion (count): that of each sample. */
static void sample(const fork_mesh *f, const double *modes, int count, double *q, double *motion)
{
    enum { R = 20 };
    const su_elastic *e = &f->elastic;
    int64_t n = f->box.n, size = e->pattern.size;
    double *U = malloc(R * (size_t)size * sizeof *U), *KU = malloc(R * (size_t)size * sizeof *KU), A[R * R], B[R * R],
           l[R];
    double square = 0;
    uint64_t seed = 5;
    su_sparse K;
    assert_int_equal(su_sparse_clone_pattern(&e->pattern, &K, NULL), SU_OK);
    su_elastic_stiffness(e, f->x, false, &K, 1);
    for (int k = 0; k < R; k++) {
        for (int64_t i = 0; i < size; i++) U[k * size + i] = modes[3 * (k * n + e->free_vertex[i / 3]) + i % 3];
        su_sparse_multiply(&K, U + k * size, KU + k * size);
    }
    for (int i = 0; i < R; i++)
        for (int j = 0; j < R; j++) {
            A[R * i + j] = B[R * i + j] = 0;
            for (int64_t k = 0; k < size; k++) {
                A[R * i + j] += U[i * size + k] * KU[j * size + k];
                B[R * i + j] += U[i * size + k] * e->mass[e->free_vertex[k / 3]] * U[j * size + k];
            }
        }
    assert_int_equal(LAPACKE_dsygvd(LAPACK_COL_MAJOR, 1, 'V', 'L', R, A, R, B, R, l), 0);
    for (int s = 0; s < count; s++) {
        double largest = 0;
        for (int j = 0; j < R; j++) q[R * s + j] = 0;
        for (int k = 0; k < R; k++) {
            double normal = 0;
            for (int i = 0; i < 12; i++) normal += box_random(&seed) / 2; /* nearly */
            for (int j = 0; j < R; j++) q[R * s + j] += A[R * k + j] * normal / l[k];
        }
        for (int64_t v = 0; v < n; v++) {
            double u[3] = {0};
            for (int j = 0; j < R; j++)
                for (int i = 0; i < 3; i++) u[i] += q[R * s + j] * modes[3 * (j * n + v) + i];
            largest = fmax(largest, su_norm3(u));
        }
        motion[s] = largest, square += largest * largest / count;
    }
    double scale = 0.05 * sqrt(4 * 4 + 2.5 * 2.5 + 1.5 * 1.5) / sqrt(square);
    for (int i = 0; i < R * count; i++) q[i] *= scale;
    for (int s = 0; s < count; s++) motion[s] *= scale;
    su_sparse_free(&K);
    free(U), free(KU);
}

/* The most that a vertex goes deeper into the other prong, over the motion, in so many samples whose amplitude is
 * `part` of that. */
static double deepening(const fork_mesh *f, const prongs *sides, const double *modes, int samples, double part)
{
    double *q = malloc(20 * (size_t)samples * sizeof *q), *motion = malloc((size_t)samples * sizeof *motion), worst = 0;
    double *y = malloc(3 * (size_t)f->box.n * sizeof *y);
    double *before = malloc((size_t)f->box.n * sizeof *before), *after = malloc((size_t)f->box.n * sizeof *after);
    depths(f, sides, f->x, before);
    sample(f, modes, samples, q, motion);
    for (int k = 0; k < samples; k++) {
        memcpy(y, f->x, 3 * (size_t)f->box.n * sizeof *y);
        for (int j = 0; j < 20; j++)
            for (int64_t i = 0; i < 3 * f->box.n; i++) y[i] += part * q[20 * k + j] * modes[3 * j * f->box.n + i];
        depths(f, sides, y, after);
        for (int64_t v = 0; v < f->box.n; v++) worst = fmax(worst, (after[v] - before[v]) / (part * motion[k]));
    }
    free(y), free(before), free(after), free(q), free(motion);
    return worst;
}

/* The largest |slip| of a contact along its surface, over the motion, in the same samples: what tying takes away. */
static double slipping(const fork_mesh *f, const su_contact_rows *tied, const double *modes)
{
    enum { SAMPLES = 40 };
    double q[20 * SAMPLES], motion[SAMPLES], worst = 0;
    sample(f, modes, SAMPLES, q, motion);
    for (int k = 0; k < SAMPLES; k++)
        for (int64_t r = 0; r + 2 < tied->rows; r += 3) {
            double apart[3] = {0};
            for (int i = 0; i < 3; i++) { /* vertex less triangle: the row over its first coefficient */
                double weight = tied->coefficients[3 * tied->offsets[r + i] + i];
                for (int64_t e = tied->offsets[r + i]; e < tied->offsets[r + i + 1]; e++)
                    for (int j = 0; j < 20; j++)
                        apart[i] += q[20 * k + j] * tied->coefficients[3 * e + i] / weight *
                                    modes[3 * (j * f->box.n + tied->vertices[e]) + i];
            }
            apart[1] = 0; /* the prongs touch along y */
            worst = fmax(worst, su_norm3(apart) / motion[k]);
        }
    return worst;
}

/* PSSD Fig. 5: random motions of the basis, amplitudes as in cubature sampling, judged by the geometry of the moved
 * surfaces. Tied surfaces stay together in any motion. Pairs hold to first order: where they slip by s and turn by
 * theta they meet by s theta, whatever is asked of the normal motion; the share falls with the motion. Anchors hold
 * their vertices, and what moves around them may fold. */
static void test_figure_5(void **unused)
{
    (void)unused;
    static const char *const names[] = {"pairs", "sliding", "fixed", "tied"};
    const double gaps[2] = {0, -0.04};
    for (int g = 0; g < 2; g++) {
        fork_mesh f = make(2, gaps[g]);
        prongs sides = split(&f);
        double values[8], free_values[8], *modes = solve(&f, NULL, 8, 20, free_values, NULL),
                                          free_ratio = deepening(&f, &sides, modes, 40, 1);
        su_contact_rows three = detect(&f, f.x, SU_CONTACT_TIED, 1);
        printf("# gap %+.2f: deepest new penetration, over the motion: %.4f without contact (slip %.2f)", gaps[g],
               free_ratio, slipping(&f, &three, modes));
        assert_true(free_ratio > 0.1);
        free(modes);
        for (int kind = 0; kind < 4; kind++) {
            su_contact_rows contact = detect(&f, f.x, (su_contact_kind)kind, 2);
            modes = solve(&f, &contact, 8, 20, values, NULL);
            double ratio = deepening(&f, &sides, modes, 40, 1), tenth = deepening(&f, &sides, modes, 40, 0.1),
                   slip = slipping(&f, &three, modes);
            printf(", %s %.4f (a tenth of the motion: %.4f; slip %.2f; frequencies 1 to 3 times %.2f %.2f %.2f)",
                   names[kind], ratio, tenth, slip, sqrt(values[0] / free_values[0]), sqrt(values[1] / free_values[1]),
                   sqrt(values[2] / free_values[2]));
            assert_true(ratio < 0.5 * free_ratio);
            if (kind == SU_CONTACT_TIED) assert_true(ratio < 0.01 && tenth < 0.01 && slip < 1e-6);
            if (kind == SU_CONTACT_PAIRS) assert_true(ratio < 0.15 * free_ratio && tenth < 0.15 * ratio && slip > 0.05);
            free(modes);
            su_contact_free(&contact);
        }
        printf("\n");
        su_contact_free(&three);
        for (int s = 0; s < 2; s++) free(sides.tets[s]), free(sides.faces[s]);
        fork_free(&f);
    }
}

/* The same with prongs whose meshes do not match, where vertices of the side that is not tied may bulge between the
 * tied ones, by the square of the cells' size. Tying changes frequencies no more than where they match, and takes one
 * side's vertices. */
static void test_unlike_sides(void **unused)
{
    (void)unused;
    const double gaps[2] = {0, -0.04};
    for (int g = 0; g < 2; g++) {
        double values[2][8];
        fork_mesh f = make_unlike(3, gaps[g], 0.3);
        prongs sides = split(&f);
        su_contact_rows contact = detect(&f, f.x, SU_CONTACT_TIED, 1);
        su_mode_report report;
        double *modes = solve(&f, &contact, 8, 20, values[0], &report), ratio = deepening(&f, &sides, modes, 100, 1);
        check_rows(&f, &contact, 20, modes);
        fork_mesh like = make(3, gaps[g]);
        su_contact_rows other = detect(&like, like.x, SU_CONTACT_TIED, 1);
        double *others = solve(&like, &other, 8, 20, values[1], NULL), stiffer = 0;
        for (int k = 0; k < 3; k++) stiffer = fmax(stiffer, fabs(sqrt(values[0][k] / values[1][k]) - 1));
        printf("# gap %+.2f: %d contacts, %d rows, deepest new penetration %.4f of the motion, residual %.0e, first "
               "three frequencies within %.3f\n",
               gaps[g], (int)contact.contacts, (int)contact.rows, ratio, report.residual, stiffer);
        assert_true(ratio < 0.01);
        assert_true(contact.rows < 3 * contact.contacts * 6 / 10 && report.constraints == contact.rows);
        assert_true(report.residual < 1e-8 && stiffer < 0.03);
        for (int s = 0; s < 2; s++) free(sides.tets[s]), free(sides.faces[s]);
        su_contact_free(&contact), su_contact_free(&other);
        free(modes), free(others);
        fork_free(&f), fork_free(&like);
    }
}

/* Localized modes and their derivatives are tied like others (PSSD eq. 34-35): rows hold across a region's border,
 * where some of their vertices have no weight, and modes stay 0 outside. */
static void test_localized(void **unused)
{
    (void)unused;
    fork_mesh f = make_unlike(2, -0.04, 0.3);
    su_contact_rows contact = detect(&f, f.x, SU_CONTACT_TIED, 1);
    int64_t n = f.box.n, linear[2] = {6, 6}, r[2] = {18, 18}, outside = 0;
    double *weights = malloc(2 * (size_t)n * sizeof *weights), *modes = malloc(3 * 36 * (size_t)n * sizeof *modes),
           values[12];
    su_mode_report report;
    su_error err = {0};
    for (int64_t v = 0; v < n; v++) { /* towards the tips, from the middle; the other side of that line, overlapping */
        weights[v] = fmax(0, (f.box.vertices[3 * v] - 1.8) / 2.2),
        weights[n + v] = fmax(0, 1 - f.box.vertices[3 * v] / 3);
        if (f.held[v]) weights[v] = weights[n + v] = 0;
        outside += weights[v] == 0 && !f.held[v];
    }
    const su_mode_setup setup = {.n = n,
                                 .t = f.box.t,
                                 .held_count = f.held_count,
                                 .vertices = f.box.vertices,
                                 .tets = f.box.tets,
                                 .held = f.held_list,
                                 .density = f.young,
                                 .material = SU_NEOHOOKEAN,
                                 .d = 2,
                                 .weights = weights,
                                 .linear = linear,
                                 .r = r};
    if (su_pose_modes(&setup, &(su_pose_flesh){f.x, f.young, f.poisson, &contact}, values, modes, &report, 1, NULL,
                      &err) != SU_OK)
        fail_msg("%s", err.text);
    printf("# two regions: %d constraints of %d rows, residual %.0e\n", (int)report.constraints, (int)contact.rows,
           report.residual);
    assert_true(outside > 100 && report.residual < 1e-8 && report.constraints > contact.rows);
    check_rows(&f, &contact, 36, modes);
    for (int64_t k = 0; k < 36; k++)
        for (int64_t v = 0; v < n; v++)
            if (weights[k / 18 * n + v] == 0)
                for (int i = 0; i < 3; i++) assert_true(modes[3 * (k * n + v) + i] == 0);
    free(weights), free(modes);
    su_contact_free(&contact);
    fork_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detection),      cmocka_unit_test(test_null_space_reference),
        cmocka_unit_test(test_redundant_rows), cmocka_unit_test(test_figure_5),
        cmocka_unit_test(test_unlike_sides),   cmocka_unit_test(test_localized)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
