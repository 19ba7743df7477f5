#include "beam_space.h"

#include "geometry/rotation_field.h"
#include "reduce/align/align.h"
#include "rig/rbf_train.h"

#include <stdlib.h>
#include <string.h>

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) != SU_OK) abort();                                                                                  \
    } while (0)

static void make_fit(beam_space *s, int m, const double *angles)
{
    beam *b = &s->shape;
    su_fit *fit = &s->fit;
    su_file *file = &fit->file;
    fit->k = fit->m = m, fit->n = b->n, fit->t = b->t, fit->s = 1;
    MUST(SU_FILE_ALLOC(file, &fit->pose, m, NULL));
    MUST(SU_FILE_ALLOC(file, &fit->shapes, 3 * m * b->n, NULL));
    MUST(SU_FILE_ALLOC(file, &fit->corrections, 3 * m * b->n, NULL));
    MUST(SU_FILE_ALLOC(file, &fit->params, m, NULL));
    MUST(SU_FILE_ALLOC(file, &fit->param_scale, 1, NULL));
    MUST(SU_FILE_ALLOC(file, &fit->rbf, m * m, NULL));
    MUST(SU_FILE_ALLOC(file, &fit->young, m * b->t, NULL));
    MUST(SU_FILE_ALLOC(file, &fit->poisson, m * b->t, NULL));
    MUST(SU_FILE_ALLOC(file, &fit->density, b->t, NULL));
    fit->param_scale[0] = 1;
    memcpy(fit->density, b->density, (size_t)b->t * sizeof(double));
    for (int i = 0; i < m; i++) {
        fit->pose[i] = i;
        fit->params[i] = angles[i];
        beam_bend(b, angles[i], fit->shapes + 3 * i * b->n);
        memcpy(fit->young + i * b->t, b->young, (size_t)b->t * sizeof(double));
        memcpy(fit->poisson + i * b->t, b->poisson, (size_t)b->t * sizeof(double));
    }
    MUST(su_rbf_train(m, 1, fit->params, fit->param_scale, fit->rbf, NULL));
}

static void make_basis(beam_space *s, int m, int r)
{
    beam *b = &s->shape;
    su_basis *basis = &s->basis;
    su_file *file = &basis->file;
    su_rotation_field *field;
    double *mass;
    int64_t size = 3 * r * b->n;
    basis->m = m, basis->r = r, basis->n = b->n, basis->d = 1, basis->s = 1;
    MUST(SU_FILE_ALLOC(file, &basis->basis, m * size, NULL));
    MUST(SU_FILE_ALLOC(file, &basis->rotations, 4 * m * b->n, NULL));
    MUST(SU_FILE_ALLOC(file, &basis->parent, m, NULL));
    MUST(SU_FILE_ALLOC(file, &basis->angles, m * r, NULL));
    MUST(SU_FILE_ALLOC(file, &basis->gram, m * m * r * r, NULL));
    MUST(SU_FILE_ALLOC(file, &basis->mode_region, r, NULL));
    MUST(SU_FILE_ALLOC(file, &basis->region_weights, b->n, NULL));
    MUST(SU_FILE_ALLOC(file, &basis->param_scale, 1, NULL));
    MUST(SU_FILE_ALLOC(file, &basis->basis_rbf, m * (m + 2), NULL));
    MUST(SU_FILE_ALLOC(file, &mass, b->n, NULL));
    basis->param_scale[0] = 1;
    for (int64_t v = 0; v < b->n; v++) basis->region_weights[v] = 1;
    beam_mass(b, mass);
    MUST(su_rotation_field_create(&(su_tet_mesh){b->n, b->t, b->vertices, b->tets}, NULL, 0, NULL, &field, NULL));
    for (int i = 0; i < m; i++) {
        const double *x = s->fit.shapes + 3 * i * b->n;
        su_rotation_field_evaluate(field, x, basis->rotations + 4 * i * b->n, 1);
        beam_modes(b, x, r, basis->basis + i * size, NULL);
    }
    su_rotation_field_free(field);
    su_alignment what = {m, r, b->n, 1, s->fit.params, s->fit.param_scale, mass, basis->rotations, basis->mode_region};
    MUST(su_align(&what, basis->basis, basis->parent, basis->angles, 1, NULL));
    MUST(su_gram(m, r, b->n, mass, basis->basis, basis->gram, 1, NULL));
    MUST(su_basis_rbf_train(m, 1, s->fit.params, s->fit.param_scale, &basis->columns, basis->basis_rbf, NULL));
    if (basis->columns == 0) basis->basis_rbf = NULL;
}

beam_space beam_space_create(beam shape, int m, const double *angles, int r)
{
    beam_space s = {.shape = shape};
    s.tet.n = shape.n, s.tet.t = shape.t, s.tet.fixed_count = shape.held_count;
    s.tet.vertices = s.shape.vertices, s.tet.tets = s.shape.tets, s.tet.fixed = s.shape.held;
    make_fit(&s, m, angles);
    make_basis(&s, m, r);
    return s;
}

void beam_space_free(beam_space *s)
{
    su_fit_free(&s->fit);
    su_basis_free(&s->basis);
    beam_free(&s->shape);
}
