#include "linalg/cholesky_half.h"

#include "core/memory.h"
#include "linalg/half_panels.h"

#include <cblas.h>
#include <cholmod.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* L by supernodes: the rows of one, its own columns first, are the same in all its columns. Of a supernode [L1; L2] is
 * kept [L1^-1; L2 L1^-1] in bfloat16, so that a step of a solve is one product (half_panels.h): as a preconditioner
 * three digits cost one iteration in four hundred and save half of what a solve reads
 * (docs/notes/2026-11-25-full-step.md).
 * The tree of supernodes is cut into branches, which know nothing of each other, and the crown above them: the last
 * branch here. Columns are numbered branch by branch. Rows are numbered within a branch: its own columns, then those of
 * the crown that any of it reaches, which are the rows of its topmost supernode. */
struct su_cholesky_half {
    const su_half_panels *panels;
    int64_t size, supernodes, branches; /* with the crown */
    int32_t *permutation;               /* (size) */
    int32_t *super;                     /* (supernodes) which one of the factor each is */
    int32_t *first;                     /* (supernodes + 1) columns */
    int64_t *rows_at;                   /* (supernodes + 1) in row */
    int64_t *values_at;                 /* (supernodes + 1) in value */
    int64_t *branch_at;                 /* (branches + 1) supernodes */
    int64_t *beyond_at;                 /* (branches + 1) in beyond */
    int32_t *beyond;                    /* rows of the crown that branches reach */
    int32_t *row;
    uint32_t *value;
    int tallest;   /* rows of a supernode, in whole tiles */
    double *panel; /* the largest, while entries are copied */
};

/* A branch has at most this share of all entries, where its supernodes can be parted so far: what eight threads can
 * share well, while the crown, which one of them solves, stays small. */
static const double LARGEST_BRANCH = 1.0 / 16;

/* out = [L1^-1; L2 L1^-1] of L = [L1; L2] (height, width), columns one after the other; so is panel, scratch. */
static void invert_panel(int width, int height, const double *L, double *panel, uint32_t *out)
{
    for (int c = 0; c < width; c++)
        for (int r = 0; r < height; r++) panel[c * height + r] = r < c ? 0 : r < width ? r == c : L[c * height + r];
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, height, width, 1, L, height, panel,
                height);
    su_half_pack(width, height, panel, out);
}

/* ---- branches ---- */

/* The tree of supernodes while it is cut. */
typedef struct tree {
    int64_t supernodes;
    const SuiteSparse_long *super, *pi, *row;
    int32_t *owner;  /* (columns) supernode */
    int32_t *parent; /* (supernodes), -1: none */
    int32_t *branch; /* (supernodes) its number; -1: in the crown */
    double *entries; /* (supernodes) of it and all below it */
    int32_t *root;   /* (supernodes) of branches, heaviest first; as many as there are */
    int64_t roots;
} tree;

static void tree_free(tree *t) { free(t->owner), free(t->parent), free(t->branch), free(t->entries), free(t->root); }

static int64_t width_of(const tree *t, int64_t k) { return t->super[k + 1] - t->super[k]; }
static int64_t height_of(const tree *t, int64_t k) { return t->pi[k + 1] - t->pi[k]; }

static void add_root(tree *t, int32_t k)
{
    int64_t at = t->roots++;
    for (; at > 0 && t->entries[t->root[at - 1]] < t->entries[k]; at--) t->root[at] = t->root[at - 1];
    t->root[at] = k;
}

/* The heaviest branch gives its topmost supernode to the crown, until the heaviest is light enough. */
static void cut_branches(tree *t)
{
    double all = 0;
    for (int64_t k = 0; k < t->supernodes; k++)
        if (t->parent[k] < 0) add_root(t, (int32_t)k), all += t->entries[k];
    while (t->roots > 0 && t->entries[t->root[0]] > LARGEST_BRANCH * all) {
        int32_t top = t->root[0];
        memmove(t->root, t->root + 1, (size_t)(--t->roots) * sizeof *t->root);
        t->branch[top] = -1;
        for (int64_t k = 0; k < top; k++)
            if (t->parent[k] == top) add_root(t, (int32_t)k);
    }
    for (int64_t b = 0; b < t->roots; b++) t->branch[t->root[b]] = (int32_t)b;
    for (int64_t k = t->supernodes - 1; k >= 0; k--) /* parents stand behind children */
        if (t->parent[k] >= 0 && t->branch[t->parent[k]] >= 0) t->branch[k] = t->branch[t->parent[k]];
}

static su_status make_tree(const cholmod_factor *L, tree *t, su_error *err)
{
    su_status status;
    t->supernodes = (int64_t)L->nsuper, t->super = L->super, t->pi = L->pi, t->row = L->s;
    SU_GO(SU_ALLOC_ALL("Cholesky factor", err, SU_WANT(t->owner, (int64_t)L->n), SU_WANT(t->parent, t->supernodes),
                       SU_WANT(t->branch, t->supernodes), SU_WANT(t->entries, t->supernodes),
                       SU_WANT(t->root, t->supernodes)));
    for (int64_t k = 0; k < t->supernodes; k++)
        for (int64_t c = t->super[k]; c < t->super[k + 1]; c++) t->owner[c] = (int32_t)k;
    for (int64_t k = 0; k < t->supernodes; k++) {
        int64_t width = width_of(t, k), height = height_of(t, k);
        t->entries[k] += (double)(width * height);
        t->parent[k] = height > width ? t->owner[t->row[t->pi[k] + width]] : -1;
        if (t->parent[k] >= 0) t->entries[t->parent[k]] += t->entries[k];
    }
    cut_branches(t);
done:
    return status;
}

/* Supernodes and columns branch by branch. number (columns): the new one of each. */
static void number_columns(su_cholesky_half *s, const tree *t, const SuiteSparse_long *permutation, int32_t *number)
{
    int64_t at = 0, column = 0;
    for (int64_t b = 0; b < s->branches; b++) {
        int64_t which = b < t->roots ? b : -1;
        s->branch_at[b] = at;
        for (int64_t k = 0; k < t->supernodes; k++) {
            if (t->branch[k] != which) continue;
            s->super[at] = (int32_t)k, s->first[at] = (int32_t)column;
            s->rows_at[at + 1] = s->rows_at[at] + height_of(t, k);
            at++;
            for (int64_t c = t->super[k]; c < t->super[k + 1]; c++, column++)
                number[c] = (int32_t)column, s->permutation[column] = (int32_t)permutation[c];
        }
    }
    s->branch_at[s->branches] = at, s->first[at] = (int32_t)column;
}

/* Rows of branch b in its own numbers. */
static void number_rows(su_cholesky_half *s, const tree *t, int64_t b, const int32_t *number)
{
    int64_t from = s->branch_at[b], to = s->branch_at[b + 1];
    int32_t begin = s->first[from], own = s->first[to] - begin;
    const int32_t *beyond = s->beyond + s->beyond_at[b];
    for (int64_t k = from; k < to; k++) {
        const SuiteSparse_long *row = t->row + t->pi[s->super[k]];
        int64_t count = s->rows_at[k + 1] - s->rows_at[k], at = 0;
        for (int64_t i = 0; i < count; i++) {
            int32_t here = number[row[i]] - begin;
            if (here >= own) { /* both lists ascend */
                while (begin + here != s->first[s->branch_at[s->branches - 1]] + beyond[at]) at++;
                here = own + (int32_t)at;
            }
            s->row[s->rows_at[k] + i] = here;
        }
    }
}

/* The rows of its topmost supernode below its own columns, which are all in the crown: by columns of that. */
static void list_beyond(su_cholesky_half *s, const tree *t, const int32_t *number)
{
    int64_t count = 0;
    for (int64_t b = 0; b < s->branches; b++) {
        s->beyond_at[b] = count;
        if (b == t->roots) break;
        int64_t top = t->root[b], width = width_of(t, top);
        for (int64_t i = width; i < height_of(t, top); i++)
            s->beyond[count++] = number[t->row[t->pi[top] + i]] - s->first[s->branch_at[t->roots]];
    }
    s->beyond_at[s->branches] = count;
}

su_status su_cholesky_half_create(const su_cholesky *factor, su_cholesky_half **out, su_error *err)
{
    const cholmod_factor *L = su_cholesky_supernodes(factor);
    su_status status;
    su_cholesky_half *s = NULL;
    tree t = {0};
    int32_t *number = NULL;
    *out = NULL;
    if (!L) return su_fail(err, SU_NUMERICS, "a copy of a factorization that is not there");
    SU_GO(make_tree(L, &t, err));
    SU_GO(SU_ALLOC(&s, 1, "Cholesky factor", err));
    s->panels = SU_OF_SET_HERE(su_half_panels);
    s->size = (int64_t)L->n, s->supernodes = t.supernodes, s->branches = t.roots + 1;
    int64_t reach = 0, largest = 0;
    for (int64_t b = 0; b < t.roots; b++) reach += height_of(&t, t.root[b]) - width_of(&t, t.root[b]);
    SU_GO(SU_ALLOC_ALL("Cholesky factor", err, SU_WANT(number, s->size), SU_WANT(s->permutation, s->size),
                       SU_WANT(s->super, s->supernodes), SU_WANT(s->first, s->supernodes + 1),
                       SU_WANT(s->rows_at, s->supernodes + 1), SU_WANT(s->values_at, s->supernodes + 1),
                       SU_WANT(s->branch_at, s->branches + 1), SU_WANT(s->beyond_at, s->branches + 1),
                       SU_WANT(s->beyond, reach), SU_WANT(s->row, (int64_t)L->ssize)));
    number_columns(s, &t, L->Perm, number);
    list_beyond(s, &t, number);
    for (int64_t b = 0; b < s->branches; b++) number_rows(s, &t, b, number);
    for (int64_t k = 0; k < s->supernodes; k++) {
        int64_t width = s->first[k + 1] - s->first[k], height = s->rows_at[k + 1] - s->rows_at[k];
        int tall = SU_HALF_ROWS * su_half_tiles((int)height);
        s->values_at[k + 1] = s->values_at[k] + su_half_words((int)width, (int)height);
        if (width * height > largest) largest = width * height;
        if (tall > s->tallest) s->tallest = tall;
    }
    SU_GO(SU_ALLOC(&s->value, s->values_at[s->supernodes], "Cholesky factor", err));
    SU_GO(SU_ALLOC(&s->panel, largest, "Cholesky factor", err));
    su_cholesky_half_copy(s, factor);
    *out = s;
    s = NULL;
done:
    tree_free(&t), free(number);
    su_cholesky_half_free(s);
    return status;
}

void su_cholesky_half_copy(su_cholesky_half *s, const su_cholesky *factor)
{
    const cholmod_factor *L = su_cholesky_supernodes(factor);
    const SuiteSparse_long *px = L->px;
    const double *value = L->x;
    for (int64_t k = 0; k < s->supernodes; k++)
        invert_panel(s->first[k + 1] - s->first[k], (int)(s->rows_at[k + 1] - s->rows_at[k]), value + px[s->super[k]],
                     s->panel, s->value + s->values_at[k]);
}

/* ---- solves ---- */

/* y = L^-1 y of a branch, in its numbers. panel (tallest): scratch. */
static void solve_down(const su_cholesky_half *s, int64_t branch, float *y, float *panel)
{
    int64_t from = s->branch_at[branch], to = s->branch_at[branch + 1];
    for (int64_t k = from; k < to; k++) {
        int width = s->first[k + 1] - s->first[k], height = (int)(s->rows_at[k + 1] - s->rows_at[k]);
        const int32_t *row = s->row + s->rows_at[k];
        float *own = y + (s->first[k] - s->first[from]);
        s->panels->multiply(width, su_half_tiles(height), s->value + s->values_at[k], own, panel);
        memcpy(own, panel, (size_t)width * sizeof *y);
        for (int i = width; i < height; i++) y[row[i]] -= panel[i];
    }
}

/* y = L'^-1 y of a branch. */
static void solve_up(const su_cholesky_half *s, int64_t branch, float *y, float *panel)
{
    int64_t from = s->branch_at[branch];
    for (int64_t k = s->branch_at[branch + 1] - 1; k >= from; k--) {
        int width = s->first[k + 1] - s->first[k], height = (int)(s->rows_at[k + 1] - s->rows_at[k]);
        int tiles = su_half_tiles(height);
        const int32_t *row = s->row + s->rows_at[k];
        float *own = y + (s->first[k] - s->first[from]);
        memcpy(panel, own, (size_t)width * sizeof *y);
        for (int i = width; i < height; i++) panel[i] = -y[row[i]];
        for (int i = height; i < SU_HALF_ROWS * tiles; i++) panel[i] = 0;
        s->panels->multiply_transposed(width, tiles, s->value + s->values_at[k], panel, own);
    }
}

int64_t su_cholesky_half_room(const su_cholesky_half *s, int threads)
{
    return s->size + s->beyond_at[s->branches] + (int64_t)threads * s->tallest;
}

/* Columns of a branch are c[0] to c[1]; its numbers, those beyond them included, begin at work. */
typedef struct piece {
    int64_t c[2], beyond;
    float *y;
} piece;

static piece piece_of(const su_cholesky_half *s, int64_t branch, float *work)
{
    piece p = {{s->first[s->branch_at[branch]], s->first[s->branch_at[branch + 1]]}, s->beyond_at[branch], NULL};
    p.y = work + p.c[0] + p.beyond;
    return p;
}

static void load(const su_cholesky_half *s, const piece *p, const double *b)
{
    for (int64_t i = p->c[0]; i < p->c[1]; i++) p->y[i - p->c[0]] = (float)b[s->permutation[i]];
}

static void store(const su_cholesky_half *s, const piece *p, double *x)
{
    for (int64_t i = p->c[0]; i < p->c[1]; i++) x[s->permutation[i]] = (double)p->y[i - p->c[0]];
}

static void solve_crown(const su_cholesky_half *s, const double *b, double *x, float *work, float *panel)
{
    int64_t crown = s->branches - 1;
    piece p = piece_of(s, crown, work);
    load(s, &p, b);
    for (int64_t branch = 0; branch < crown; branch++) {
        piece q = piece_of(s, branch, work);
        const float *sum = q.y + (q.c[1] - q.c[0]);
        for (int64_t i = q.beyond; i < s->beyond_at[branch + 1]; i++) p.y[s->beyond[i]] += *sum++;
    }
    solve_down(s, crown, p.y, panel);
    solve_up(s, crown, p.y, panel);
    store(s, &p, x);
}

void su_cholesky_half_solve(const su_cholesky_half *s, int threads, const double *b, double *x, float *work)
{
    int64_t crown = s->branches - 1;
    float *panels = work + s->size + s->beyond_at[s->branches];
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        float *panel = panels + (int64_t)omp_get_thread_num() * s->tallest;
#pragma omp for schedule(dynamic)
        for (int64_t branch = 0; branch < crown; branch++) {
            piece p = piece_of(s, branch, work);
            load(s, &p, b);
            memset(p.y + (p.c[1] - p.c[0]), 0, (size_t)(s->beyond_at[branch + 1] - p.beyond) * sizeof *p.y);
            solve_down(s, branch, p.y, panel);
        }
#pragma omp single
        solve_crown(s, b, x, work, panel);
#pragma omp for schedule(dynamic)
        for (int64_t branch = 0; branch < crown; branch++) {
            piece p = piece_of(s, branch, work), top = piece_of(s, crown, work);
            float *beyond = p.y + (p.c[1] - p.c[0]);
            for (int64_t i = p.beyond; i < s->beyond_at[branch + 1]; i++) *beyond++ = top.y[s->beyond[i]];
            solve_up(s, branch, p.y, panel);
            store(s, &p, x);
        }
    }
}

void su_cholesky_half_free(su_cholesky_half *s)
{
    if (!s) return;
    free(s->permutation), free(s->super), free(s->first), free(s->rows_at), free(s->values_at);
    free(s->branch_at), free(s->beyond_at), free(s->beyond), free(s->row), free(s->value), free(s->panel);
    free(s);
}
