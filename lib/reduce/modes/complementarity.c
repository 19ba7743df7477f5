#include "reduce/modes/complementarity.h"

#include "core/lapack.h"
#include "core/memory.h"
#include "fem/conjugate_gradients.h"
#include "geometry/tetmesh.h"
#include "geometry/vector.h"
#include "reduce/modes/weight_stiffness.h"

#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Monomials of second degree, in this order: 1, x, y, z, then products; the first four are those of first degree. */
enum { MONOMIALS = 10, AFFINE = 4 };
/* A row whose square is this part of what it was, after all before it are taken out, depends on them. Rounding leaves
 * 1e-15; weights in single precision that depend on each other 1e-14. */
#define DEPENDENT 1e-12
/* A bone or shape whose rows are shorter than this part of the longest is noise of the ties. */
#define NOTHING 1e-7
/* The diffusion is solved to this part of the first error, a single-precision number of a field from 0 to 1, or so many
 * steps of conjugate gradients. */
#define LEAK_TOLERANCE 1e-7
enum { LEAK_STEPS = 2000 };
/* Vertices that two panels share are multiplied in blocks of this many. */
enum { SHARED = 256 };

/* ---- the rig ---- */

void su_rig_motions_free(su_rig_motions *rig)
{
    free(rig->start), free(rig->vertex), free(rig->weight), free(rig->shape);
    *rig = (su_rig_motions){0};
}

/* w (n,bones) of the flesh */
static void carry_weights(const su_skin_ties *ties, int64_t bones, const float *weights, double *w)
{
    for (int64_t v = 0; v < ties->n; v++)
        for (int64_t k = 0; k < ties->ties; k++) {
            double s = ties->weight[v * ties->ties + k];
            const float *from = weights + ties->index[v * ties->ties + k] * bones;
            if (s == 0) continue;
            for (int64_t b = 0; b < bones; b++) w[v * bones + b] += s * (double)from[b];
        }
}

static su_status compress(int64_t bones, const double *w, su_rig_motions *out, su_error *err)
{
    int64_t entries = 0;
    for (int64_t k = 0; k < out->n * bones; k++) entries += w[k] != 0;
    SU_TRY(SU_ALLOC_ALL("skinning weights", err, SU_WANT(out->start, bones + 1), SU_WANT(out->vertex, entries),
                        SU_WANT(out->weight, entries)));
    for (int64_t b = 0, at = 0; b < bones; b++) {
        for (int64_t v = 0; v < out->n; v++)
            if (w[v * bones + b] != 0) out->vertex[at] = (int32_t)v, out->weight[at++] = w[v * bones + b];
        out->start[b + 1] = at;
    }
    out->bones = bones;
    return SU_OK;
}

static su_status carry_shapes(const su_skin_ties *ties, int64_t shapes, const double *skin, su_rig_motions *out,
                              su_error *err)
{
    SU_TRY(SU_ALLOC(&out->shape, 3 * shapes * ties->n, "shapes of the rig", err));
    for (int64_t s = 0; s < shapes; s++)
        for (int64_t v = 0; v < ties->n; v++)
            for (int64_t k = 0; k < ties->ties; k++)
                for (int i = 0; i < 3; i++)
                    out->shape[3 * (s * ties->n + v) + i] +=
                        ties->weight[v * ties->ties + k] *
                        skin[3 * (s * ties->nbar + ties->index[v * ties->ties + k]) + i];
    out->shapes = shapes;
    return SU_OK;
}

su_status su_rig_motions_create(const su_skin_ties *ties, int64_t bones, const float *weights, int64_t shapes,
                                const double *skin_shapes, su_rig_motions *out, su_error *err)
{
    double *w = NULL;
    su_status status;
    *out = (su_rig_motions){.n = ties->n};
    SU_GO(SU_ALLOC(&w, ties->n * bones, "skinning weights", err));
    carry_weights(ties, bones, weights, w);
    SU_GO(compress(bones, w, out, err));
    SU_GO(carry_shapes(ties, shapes, skin_shapes, out, err));
done:
    free(w);
    if (status != SU_OK) su_rig_motions_free(out);
    return status;
}

su_status su_rig_motions_rigid(int64_t n, su_rig_motions *out, su_error *err)
{
    double *ones = NULL;
    su_status status;
    *out = (su_rig_motions){.n = n};
    SU_GO(SU_ALLOC(&ones, n, "skinning weights", err));
    for (int64_t v = 0; v < n; v++) ones[v] = 1;
    SU_GO(compress(1, ones, out, err));
done:
    free(ones);
    if (status != SU_OK) su_rig_motions_free(out);
    return status;
}

/* ---- the leak ---- */

/* z = r over the diagonal of a matrix whose rows begin with theirs. */
static bool divide_by_diagonal(void *context, double *r, double *z)
{
    const su_sparse *A = context;
    for (int64_t i = 0; i < A->size; i++) z[i] = r[i] / A->value[A->start[i]];
    return true;
}

su_status su_leak_diffuse(const su_tet_mesh *mesh, int64_t b, const int32_t *surface, double length, double *leak,
                          su_error *err)
{
    int64_t n = mesh->n;
    su_weight_stiffness L = {0};
    uint8_t *skin;
    double *ones, *volume, *deep, largest = 0;
    su_arena arena = {0};
    su_cg_work work = {0};
    su_status status;
    SU_GO(SU_TAKE_ALL(&arena, "leak", err, SU_WANT(skin, n), SU_WANT(ones, mesh->t), SU_WANT(volume, n),
                      SU_WANT(deep, n)));
    for (int64_t k = 0; k < 3 * b; k++) skin[surface[k]] = 1;
    for (int64_t e = 0; e < mesh->t; e++) ones[e] = 1;
    SU_GO(su_weight_stiffness_create(mesh, skin, ones, &L, err));
    for (int64_t v = 0; v < n; v++) leak[v] = L.free_count ? 0 : 1;
    if (L.free_count == 0) goto done;
    if (!su_cg_take(&work, &arena, L.free_count)) SU_GO(su_fail(err, SU_AGAIN, "not enough memory for the leak"));
    su_lumped_mass(n, mesh->x, mesh->t, mesh->tets, ones, volume);
    for (int64_t f = 0; f < L.free_count; f++) volume[f] = volume[L.free_vertex[f]]; /* which ascend */
    for (int64_t k = 0; k < L.matrix.entries; k++) L.matrix.value[k] *= length * length;
    for (int64_t f = 0; f < L.free_count; f++) L.matrix.value[L.matrix.start[f]] += volume[f];
    if (su_conjugate_gradients(&L.matrix, NULL, (su_preconditioner){divide_by_diagonal, &L.matrix}, &work,
                               LEAK_TOLERANCE, LEAK_STEPS, volume, deep) != SU_CG_SOLVED)
        SU_GO(su_fail(err, SU_NUMERICS, "the diffusion of the surface into the flesh did not converge"));
    for (int64_t f = 0; f < L.free_count; f++) largest = fmax(largest, deep[f]);
    for (int64_t f = 0; f < L.free_count; f++) leak[L.free_vertex[f]] = fmax(deep[f] / largest, 0);
done:
    su_weight_stiffness_free(&L);
    su_arena_free(&arena);
    return status;
}

/* ---- rows ---- */

void su_complementarity_free(su_complementarity *c)
{
    for (int64_t p = 0; c->panels && p < c->panel_count; p++) free(c->panels[p].vertex), free(c->panels[p].value);
    free(c->panels), free(c->gram), free(c->rig_rows), free(c->rig_shapes);
    *c = (su_complementarity){0};
}

/* Orthonormal polynomials of a weight: combinations C (count,count) of the first `count` monomials of (x - origin) /
 * radius, lower triangular, by their moments; rows that depend on those before are 0. */
typedef struct polynomials {
    int count, independent, affine; /* of `independent` so many are of first degree */
    double origin[3], radius, C[MONOMIALS][MONOMIALS];
    bool there[MONOMIALS];
} polynomials;

static void monomials(const polynomials *q, const double *x, double p[MONOMIALS])
{
    double y[3];
    for (int i = 0; i < 3; i++) y[i] = (x[i] - q->origin[i]) / q->radius;
    p[0] = 1, p[1] = y[0], p[2] = y[1], p[3] = y[2];
    if (q->count == AFFINE) return;
    for (int i = 0; i < 3; i++) p[AFFINE + i] = y[i] * y[i], p[AFFINE + 3 + i] = y[i] * y[(i + 1) % 3];
}

static void evaluate(const polynomials *q, const double *x, double factor, double *out)
{
    double p[MONOMIALS];
    monomials(q, x, p);
    for (int j = 0; j < q->count; j++) {
        if (!q->there[j]) continue;
        double sum = 0;
        for (int i = 0; i <= j; i++) sum += q->C[j][i] * p[i];
        *out++ = factor * sum;
    }
}

/* Gram-Schmidt on moments G (count,count). */
static void orthonormalize(const double G[MONOMIALS][MONOMIALS], polynomials *q)
{
    for (int j = 0; j < q->count; j++) {
        double c[MONOMIALS] = {0};
        c[j] = 1;
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < j; k++) {
                double dot = 0;
                for (int a = 0; a <= k && q->there[k]; a++)
                    for (int b = 0; b <= j; b++) dot += q->C[k][a] * G[a][b] * c[b];
                for (int a = 0; a <= k && q->there[k]; a++) c[a] -= dot * q->C[k][a];
            }
        double square = 0;
        for (int a = 0; a <= j; a++)
            for (int b = 0; b <= j; b++) square += c[a] * G[a][b] * c[b];
        q->there[j] = G[j][j] > 0 && square > DEPENDENT * G[j][j];
        if (!q->there[j]) continue;
        for (int a = 0; a <= j; a++) q->C[j][a] = c[a] / sqrt(square);
        q->independent++, q->affine += j < AFFINE;
    }
}

/* a (count): what multiplies the monomials at the vertices, over the square root of mass. */
static polynomials orthonormal_polynomials(int64_t count, const int32_t *vertex, const double *a,
                                           const double *vertices, int degree_count)
{
    polynomials q = {.count = degree_count, .radius = 1};
    double sum = 0, spread = 0, G[MONOMIALS][MONOMIALS] = {{0}};
    for (int64_t k = 0; k < count; k++) {
        sum += a[k] * a[k];
        for (int i = 0; i < 3; i++) q.origin[i] += a[k] * a[k] * vertices[3 * (int64_t)vertex[k] + i];
    }
    if (!(sum > 0)) return q;
    for (int i = 0; i < 3; i++) q.origin[i] /= sum;
    for (int64_t k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) {
            double d = vertices[3 * (int64_t)vertex[k] + i] - q.origin[i];
            spread += a[k] * a[k] * d * d;
        }
    if (spread > 0) q.radius = sqrt(spread / sum);
    for (int64_t k = 0; k < count; k++) {
        double p[MONOMIALS];
        monomials(&q, vertices + 3 * (int64_t)vertex[k], p);
        for (int i = 0; i < q.count; i++)
            for (int j = 0; j <= i; j++) G[i][j] += a[k] * a[k] * p[i] * p[j];
    }
    for (int i = 0; i < q.count; i++)
        for (int j = 0; j < i; j++) G[j][i] = G[i][j];
    orthonormalize(G, &q);
    return q;
}

typedef struct builder {
    const su_rig_motions *rig;
    const double *vertices, *mass, *leak;
    const uint8_t *held;
    su_complementarity *out;
    int *affine; /* (panels) rows that are motions of the rig themselves */
} builder;

/* D sqrt(m), 0 where held */
static double weigh(const builder *b, int64_t v) { return b->held && b->held[v] ? 0 : b->leak[v] * sqrt(b->mass[v]); }

/* Entries a of one field that are not 0, and where they are; their number. Fields are the bones' weights, then the
 * components of the shapes. */
static int64_t field_of(const builder *b, int64_t field, int32_t *vertex, double *a)
{
    const su_rig_motions *rig = b->rig;
    const bool bone = field < rig->bones;
    int64_t from = bone ? rig->start[field] : 0, to = bone ? rig->start[field + 1] : rig->n, count = 0;
    int64_t component = field - rig->bones;
    const double *shape = bone ? NULL : rig->shape + component / 3 * 3 * rig->n + component % 3;
    for (int64_t k = from; k < to; k++) {
        int32_t v = bone ? rig->vertex[k] : (int32_t)k;
        double value = weigh(b, v) * (bone ? rig->weight[k] : shape[3 * k]);
        if (value != 0) vertex[count] = v, a[count++] = value;
    }
    return count;
}

/* A panel for each field that is not noise: it times orthonormal polynomials, those of first degree first. */
static su_status make_panels(builder *b, su_error *err)
{
    su_complementarity *out = b->out;
    int64_t bones = b->rig->bones, n = b->rig->n, fields = bones + 3 * b->rig->shapes;
    double *a = NULL, *square = NULL, longest[2] = {0};
    int32_t *vertex = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("rows of the rig", err, SU_WANT(out->panels, fields), SU_WANT(b->affine, fields), SU_WANT(a, n),
                       SU_WANT(vertex, n), SU_WANT(square, fields)));
    for (int64_t f = 0; f < fields; f++) {
        square[f] = su_dot(field_of(b, f, vertex, a), a, a);
        longest[f < bones] = fmax(longest[f < bones], square[f]);
    }
    for (int64_t f = 0; f < fields; f++) {
        if (square[f] <= NOTHING * NOTHING * longest[f < bones]) continue;
        int64_t count = field_of(b, f, vertex, a);
        polynomials q = orthonormal_polynomials(count, vertex, a, b->vertices, f < bones ? MONOMIALS : AFFINE);
        su_row_panel *panel = &out->panels[out->panel_count];
        b->affine[out->panel_count++] = f < bones ? q.affine : 0;
        *panel = (su_row_panel){.rows = q.independent, .count = count};
        out->rows += panel->rows;
        SU_GO(SU_ALLOC_ALL("rows of the rig", err, SU_WANT(panel->vertex, count),
                           SU_WANT(panel->value, panel->rows * count)));
        memcpy(panel->vertex, vertex, (size_t)count * sizeof *vertex);
        for (int64_t k = 0; k < count; k++)
            evaluate(&q, b->vertices + 3 * (int64_t)vertex[k], a[k], panel->value + k * panel->rows);
    }
done:
    free(a), free(square), free(vertex);
    return status;
}

/* C (p.rows,q.rows), rows `stride` apart, = products of two panels over the vertices they share; place (n): where a
 * vertex is in p, -1. */
static void panel_products(const su_row_panel *p, const su_row_panel *q, const int32_t *place, double *left,
                           double *right, double *C, int64_t stride)
{
    int64_t shared = 0;
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < q->rows; j++) C[i * stride + j] = 0;
    for (int64_t k = 0; k <= q->count; k++) {
        if (k < q->count && place[q->vertex[k]] >= 0) {
            memcpy(left + shared * p->rows, p->value + place[q->vertex[k]] * p->rows, (size_t)p->rows * sizeof *left);
            memcpy(right + shared * q->rows, q->value + k * q->rows, (size_t)q->rows * sizeof *right);
            shared++;
        }
        if (shared == 0 || (shared < SHARED && k < q->count)) continue;
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)p->rows, (int)q->rows, (int)shared, 1, left,
                    (int)p->rows, right, (int)q->rows, 1, C, (int)stride);
        shared = 0;
    }
}

static su_status make_gram(const su_complementarity *c, int64_t n, double *gram, su_error *err)
{
    int32_t *place = NULL;
    double *left = NULL, *right = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("rows of the rig", err, SU_WANT(place, n), SU_WANT(left, SHARED * MONOMIALS),
                       SU_WANT(right, SHARED * MONOMIALS)));
    for (int64_t v = 0; v < n; v++) place[v] = -1;
    for (int64_t p = 0, row = 0; p < c->panel_count; row += c->panels[p++].rows) {
        const su_row_panel *panel = &c->panels[p];
        for (int64_t k = 0; k < panel->count; k++) place[panel->vertex[k]] = (int32_t)k;
        for (int64_t q = p, column = row; q < c->panel_count; column += c->panels[q++].rows)
            if (panel->rows && c->panels[q].rows)
                panel_products(panel, &c->panels[q], place, left, right, gram + row * c->rows + column, c->rows);
        for (int64_t k = 0; k < panel->count; k++) place[panel->vertex[k]] = -1;
    }
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j < i; j++) gram[i * c->rows + j] = gram[j * c->rows + i];
done:
    free(place), free(left), free(right);
    return status;
}

/* keep (size) is 1 for rows of the Gram matrix (size,size; overwritten) that are independent, the longest first. */
static su_status independent_rows(int64_t size, double *gram, uint8_t *keep, int64_t *kept, su_error *err)
{
    lapack_int *pivot, rank = 0;
    double longest = 0;
    int info = 0;
    memset(keep, 0, (size_t)size);
    SU_TRY(SU_ALLOC(&pivot, size, "rows of the rig", err));
    for (int64_t i = 0; i < size; i++) longest = fmax(longest, gram[i * size + i]);
    if (longest > 0)
        info = LAPACKE_dpstrf(LAPACK_COL_MAJOR, 'L', (lapack_int)size, gram, (lapack_int)size, pivot, &rank,
                              DEPENDENT * longest);
    for (lapack_int k = 0; k < rank; k++) keep[pivot[k] - 1] = 1;
    *kept = rank;
    free(pivot);
    if (info < 0) /* above 0 it says that some rows depend on others */
        return su_fail(err, su_lapack_status(info, SU_NUMERICS), "the rows of the rig cannot be told apart");
    return SU_OK;
}

/* Out of a matrix (size,size), in place, rows and columns that keep has. */
static void shrink(int64_t size, const uint8_t *keep, double *matrix)
{
    double *to = matrix;
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < size; j++)
            if (keep[i] && keep[j]) *to++ = matrix[i * size + j];
}

static su_status drop_rows(su_complementarity *c, su_error *err)
{
    uint8_t *keep = NULL;
    double *scratch = NULL;
    int64_t kept, size = c->rows;
    su_status status;
    SU_GO(SU_ALLOC_ALL("rows of the rig", err, SU_WANT(keep, size), SU_WANT(scratch, size * size)));
    memcpy(scratch, c->gram, (size_t)(size * size) * sizeof *scratch);
    SU_GO(independent_rows(size, scratch, keep, &kept, err));
    shrink(size, keep, c->gram);
    for (int64_t p = 0, row = 0; p < c->panel_count; p++) {
        su_row_panel *panel = &c->panels[p];
        double *to = panel->value;
        int64_t rows = panel->rows, left = 0;
        for (int64_t k = 0; k < panel->count; k++)
            for (int64_t r = 0; r < rows; r++)
                if (keep[row + r]) *to++ = panel->value[k * rows + r];
        for (int64_t r = 0; r < rows; r++) left += keep[row + r];
        panel->rows = left, row += rows;
    }
    c->rows = kept;
done:
    free(keep), free(scratch);
    return status;
}

/* ---- the rig's motions of the full space ---- */

/* Rows of first degree of the bones, before any is dropped from the panels: independent ones of norm 1 over u. On
 * return gram (motions,motions) is that of their like over the square root of mass, rig_rows still divided by it. */
static su_status bone_rows(const builder *b, double **gram, su_error *err)
{
    su_complementarity *c = b->out;
    int64_t n = b->rig->n, all = 0, row = 0, at = 0;
    uint8_t *wanted = NULL, *keep = NULL;
    double *scratch = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&wanted, c->rows, "rows of the rig", err));
    for (int64_t p = 0; p < c->panel_count; row += c->panels[p++].rows)
        for (int r = 0; r < b->affine[p]; r++) wanted[row + r] = 1, all++;
    SU_GO(SU_ALLOC_ALL("rows of the rig", err, SU_WANT(*gram, c->rows * c->rows), SU_WANT(scratch, all * all),
                       SU_WANT(keep, all)));
    memcpy(*gram, c->gram, (size_t)(c->rows * c->rows) * sizeof **gram);
    shrink(c->rows, wanted, *gram);
    memcpy(scratch, *gram, (size_t)(all * all) * sizeof *scratch);
    SU_GO(independent_rows(all, scratch, keep, &c->motions, err));
    shrink(all, keep, *gram);
    SU_GO(SU_ALLOC(&c->rig_rows, c->motions * n, "rows of the rig", err));
    all = 0;
    for (int64_t p = 0; p < c->panel_count; p++)
        for (int r = 0; r < b->affine[p]; r++) {
            if (!keep[all++]) continue;
            for (int64_t k = 0; k < c->panels[p].count; k++)
                c->rig_rows[at * n + c->panels[p].vertex[k]] = c->panels[p].value[k * c->panels[p].rows + r];
            at++;
        }
done:
    free(wanted), free(keep), free(scratch);
    return status;
}

/* The shapes, less what the bones' rows (gram G, cross products C) say already: their Gram matrix S - C' G^-1 C, summed
 * over the components. */
static su_status shape_gram(const builder *b, double *gram_of_bones, const double *a, double *S, su_error *err)
{
    const su_complementarity *c = b->out;
    int64_t n = b->rig->n, shapes = b->rig->shapes, motions = c->motions;
    double *C;
    SU_TRY(SU_ALLOC(&C, motions * shapes, "rows of the rig", err));
    su_status status = SU_OK;
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)shapes, (int)shapes, (int)(3 * n), 1, a, (int)(3 * n), a,
                (int)(3 * n), 0, S, (int)shapes);
    if (motions && LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', (lapack_int)motions, gram_of_bones, (lapack_int)motions) != 0)
        status = su_fail(err, SU_NUMERICS, "the rows of the bones depend on each other");
    for (int axis = 0; axis < 3 && motions && status == SU_OK; axis++) {
        for (int64_t s = 0; s < shapes; s++)
            for (int64_t k = 0; k < motions; k++)
                C[s * motions + k] = cblas_ddot((int)n, c->rig_rows + k * n, 1, a + 3 * s * n + axis, 3);
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)motions, (int)shapes, 1,
                    gram_of_bones, (int)motions, C, (int)motions);
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)shapes, (int)shapes, (int)motions, -1, C,
                    (int)motions, C, (int)motions, 1, S, (int)shapes);
    }
    free(C);
    return status;
}

static su_status shape_rows(const builder *b, double *gram_of_bones, su_error *err)
{
    su_complementarity *c = b->out;
    int64_t n = b->rig->n, shapes = b->rig->shapes, at = 0;
    double *a = NULL, *S = NULL;
    uint8_t *keep = NULL;
    su_status status;
    if (shapes == 0) return SU_OK;
    SU_GO(SU_ALLOC_ALL("rows of the rig", err, SU_WANT(a, 3 * shapes * n), SU_WANT(S, shapes * shapes),
                       SU_WANT(keep, shapes)));
    for (int64_t s = 0; s < shapes; s++) {
        for (int64_t k = 0; k < 3 * n; k++) a[3 * s * n + k] = weigh(b, k / 3) * b->rig->shape[3 * s * n + k];
        double norm = cblas_dnrm2((int)(3 * n), a + 3 * s * n, 1);
        if (norm > 0) cblas_dscal((int)(3 * n), 1 / norm, a + 3 * s * n, 1);
    }
    SU_GO(shape_gram(b, gram_of_bones, a, S, err));
    SU_GO(independent_rows(shapes, S, keep, &c->shapes, err));
    SU_GO(SU_ALLOC(&c->rig_shapes, 3 * c->shapes * n, "rows of the rig", err));
    for (int64_t s = 0; s < shapes; s++)
        if (keep[s]) memcpy(c->rig_shapes + 3 * n * at++, a + 3 * s * n, (size_t)(3 * n) * sizeof *a);
done:
    free(a), free(S), free(keep);
    return status;
}

/* Rows (count; width numbers a vertex) times the square root of mass, of norm 1. */
static void finish_rows(int64_t count, int64_t n, int width, const double *mass, double *rows)
{
    for (int64_t r = 0; r < count; r++) {
        double *row = rows + r * n * width;
        for (int64_t k = 0; k < n * width; k++) row[k] *= sqrt(mass[k / width]);
        cblas_dscal((int)(n * width), 1 / cblas_dnrm2((int)(n * width), row, 1), row, 1);
    }
}

su_status su_complementarity_create(const su_rig_motions *rig, const double *vertices, const double *mass,
                                    const double *leak, const uint8_t *held, su_complementarity *out, su_error *err)
{
    *out = (su_complementarity){0};
    builder b = {rig, vertices, mass, leak, held, out, NULL};
    double *gram_of_bones = NULL;
    su_status status;
    SU_GO(make_panels(&b, err));
    SU_GO(SU_ALLOC(&out->gram, out->rows * out->rows, "rows of the rig", err));
    SU_GO(make_gram(out, rig->n, out->gram, err));
    SU_GO(bone_rows(&b, &gram_of_bones, err));
    SU_GO(shape_rows(&b, gram_of_bones, err));
    finish_rows(out->motions, rig->n, 1, mass, out->rig_rows);
    finish_rows(out->shapes, rig->n, 3, mass, out->rig_shapes);
    SU_GO(drop_rows(out, err));
done:
    free(b.affine), free(gram_of_bones);
    if (status != SU_OK) su_complementarity_free(out);
    return status;
}
