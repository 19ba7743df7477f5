#include "materials.h"

#include "core/memory.h"
#include "fem/paint.h"

#include <stdlib.h>
#include <string.h>

void materials_free(materials *m)
{
    su_table_free(&m->young), su_table_free(&m->poisson), su_table_free(&m->density);
    free(m->painted_young), free(m->painted_poisson);
    memset(m, 0, sizeof *m);
}

/* (t) for all poses or (m,t), one value a tet; a column of t values counts as a row. */
static su_status read_tets(const char *path, const char *what, int64_t t, int64_t m, double low, double high,
                           su_table *out, su_error *err)
{
    if (!path) return SU_OK;
    SU_TRY(su_table_load(path, out, err));
    if (out->columns == 1 && out->rows == t) out->rows = 1, out->columns = t;
    if (out->columns != t || (out->rows != 1 && out->rows != m))
        return su_fail(
            err, SU_INPUT, "%s: %s has the shape (%lld,%lld); (%lld) or (%lld,%lld) is wanted: tets, or poses and tets",
            path, what, (long long)out->rows, (long long)out->columns, (long long)t, (long long)m, (long long)t);
    for (int64_t i = 0; i < out->rows * t; i++)
        if (!(out->values[i] > low && out->values[i] < high))
            return su_fail(err, SU_INPUT, "%s: %s of tet %lld is %g; it must lie between %g and %g", path, what,
                           (long long)(i % t), out->values[i], low, high);
    return SU_OK;
}

/* What is painted on the skin, (m,nbar), and between what it has to lie. */
typedef struct paint {
    const char *what;
    const double *painted;
    double low, high;
} paint;

static su_status spread(const su_tool *tool, const paint *of, const su_tet *tet, const su_poses *poses, int64_t k,
                        const int32_t *pose, double **out, su_error *err)
{
    const double *painted = of->painted;
    int64_t nbar = poses->nbar;
    double *values;
    for (int64_t i = 0; i < poses->m * nbar; i++)
        if (!(painted[i] > of->low && painted[i] < of->high))
            return su_fail(err, SU_INPUT,
                           "%s: painted %s of vertex %lld at pose %lld is %g; it must lie between %g and %g",
                           tool->inputs.items[1], of->what, (long long)(i % nbar), (long long)(i / nbar), painted[i],
                           of->low, of->high);
    SU_TRY(SU_ALLOC(out, (k + 1) * tet->t, "painted materials", err));
    SU_TRY(SU_ALLOC(&values, (k + 1) * nbar, "painted materials", err));
    for (int64_t row = 0; row <= k; row++)
        memcpy(values + row * nbar, painted + (row ? pose[row - 1] : 0) * nbar, (size_t)nbar * sizeof *values);
    su_status status =
        su_paint_spread(&(su_tet_mesh){tet->n, tet->t, tet->vertices, tet->tets},
                        &(su_paint_skin){nbar, tet->embed_tet, poses->rigid}, SU_PAINT_ZETA, k + 1, values, *out, err);
    free(values);
    return status;
}

su_status materials_load(su_tool *tool, const material_files *files, const su_tet *tet, const su_poses *poses,
                         int64_t k, const int32_t *pose, materials *out)
{
    su_error *err = &tool->err;
    SU_TRY(read_tets(files->young, "Young's modulus", tet->t, poses->m, 0, 1e15, &out->young, err));
    SU_TRY(read_tets(files->poisson, "Poisson's ratio", tet->t, poses->m, -1, 0.5, &out->poisson, err));
    SU_TRY(read_tets(files->density, "density", tet->t, 1, 0, 1e9, &out->density, err));
    if (poses->young && !out->young.rows)
        SU_TRY(spread(tool, &(paint){"Young's modulus", poses->young, 0, 1e15}, tet, poses, k, pose,
                      &out->painted_young, err));
    if (poses->poisson && !out->poisson.rows)
        SU_TRY(spread(tool, &(paint){"Poisson's ratio", poses->poisson, -1, 0.5}, tet, poses, k, pose,
                      &out->painted_poisson, err));
    return SU_OK;
}

static const double *values_of(const su_table *table, const double *painted, int64_t row, int32_t pose, int64_t t)
{
    if (table->rows) return table->values + (table->rows > 1 ? pose * t : 0);
    return painted ? painted + (row + 1) * t : NULL;
}

const double *materials_young(const materials *m, int64_t row, int32_t pose, int64_t t)
{
    return values_of(&m->young, m->painted_young, row, pose, t);
}

const double *materials_poisson(const materials *m, int64_t row, int32_t pose, int64_t t)
{
    return values_of(&m->poisson, m->painted_poisson, row, pose, t);
}

void materials_digest(const materials *m, const su_poses *poses, int32_t pose, int64_t t, su_digest *digest)
{
    const struct {
        const su_table *table;
        const double *painted;
    } sources[] = {{&m->young, m->painted_young ? poses->young : NULL},
                   {&m->poisson, m->painted_poisson ? poses->poisson : NULL}};
    for (int side = 0; side < 2; side++) /* the neutral pose sets the scale for all */
        for (int i = 0; i < 2; i++) {
            int32_t of = side ? pose : 0;
            if (sources[i].table->rows)
                su_digest_add(digest, values_of(sources[i].table, NULL, 0, of, t), (size_t)t * sizeof(double));
            else if (sources[i].painted)
                su_digest_add(digest, sources[i].painted + of * poses->nbar, (size_t)poses->nbar * sizeof(double));
        }
    if (m->density.rows) su_digest_add(digest, m->density.values, (size_t)t * sizeof(double));
}
