#include "runtime/subspace/reduced_basis.h"

#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/tetmesh.h"

#include <math.h>
#include <string.h>

/* PSSD eq. 15 divides by a column's mass norm; where interpolated columns nearly cancel that would blow up noise. */
#define SMALLEST_NORM 0.1

void su_reduced_basis_free(su_reduced_basis *basis)
{
    su_arena_free(&basis->arena);
    memset(basis, 0, sizeof *basis);
}

/* What memory is wanted for. */
static const char purpose[] = "the reduced basis";

/* Blocks with every vertex turned to its example pose: R_i U^_i, the paper's bases. */
static su_status turn_blocks(const su_model *model, su_reduced_basis *basis, su_error *err)
{
    if (!model->rotations)
        return su_fail(err, SU_INPUT, "the model stores no rotations, which linear interpolation needs: make it again");
    for (int64_t g = 0; g < basis->d; g++) {
        int64_t modes = su_region_modes(basis, g), count = basis->vertex_count[g];
        float *turned;
        SU_TRY(SU_TAKE_ALL(&basis->arena, purpose, err, SU_WANT(turned, basis->m * modes * count * 3)));
        for (int64_t i = 0; i < basis->m; i++)
            for (int64_t v = 0; v < count; v++) {
                double R[9];
                su_quaternion_matrix(model->rotations + 4 * (i * model->n + basis->vertices[g][v]), R);
                for (int64_t k = 0; k < modes; k++) {
                    int64_t at = ((i * modes + k) * count + v) * 3;
                    double u[3] = {basis->blocks[g][at], basis->blocks[g][at + 1], basis->blocks[g][at + 2]};
                    su_mulv3(R, u, u);
                    for (int c = 0; c < 3; c++) turned[at + c] = (float)u[c];
                }
            }
        basis->blocks[g] = turned;
    }
    return SU_OK;
}

/* Gram matrices sum_v m_v U_i,v' U_j,v of the blocks as they stand, for all pairs of poses. */
static su_status compute_gram(su_reduced_basis *basis, su_error *err)
{
    int64_t m = basis->m, r = basis->r, n = basis->n;
    double *gram;
    int32_t *where;
    SU_TRY(SU_TAKE_ALL(&basis->arena, purpose, err, SU_WANT(gram, m * m * r * r), SU_WANT(where, n)));
    for (int64_t g = 0; g < basis->d; g++)
        for (int64_t h = g; h < basis->d; h++) {
            int64_t a0 = basis->first_mode[g], a1 = basis->first_mode[g + 1], na = basis->vertex_count[g];
            int64_t b0 = basis->first_mode[h], b1 = basis->first_mode[h + 1], nb = basis->vertex_count[h];
            for (int64_t v = 0; v < n; v++) where[v] = -1;
            for (int64_t v = 0; v < nb; v++) where[basis->vertices[h][v]] = (int32_t)v;
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < m; j++)
                    for (int64_t a = a0; a < a1; a++)
                        for (int64_t b = b0; b < b1; b++) {
                            const float *ua = basis->blocks[g] + (i * (a1 - a0) + a - a0) * na * 3;
                            const float *ub = basis->blocks[h] + (j * (b1 - b0) + b - b0) * nb * 3;
                            double sum = 0;
                            for (int64_t v = 0; v < na; v++) {
                                int32_t global = basis->vertices[g][v], other = where[global];
                                if (other < 0) continue;
                                const float *x = ua + 3 * v, *y = ub + 3 * other;
                                sum += basis->mass[global] *
                                       ((double)x[0] * y[0] + (double)x[1] * y[1] + (double)x[2] * y[2]);
                            }
                            gram[((i * m + j) * r + a) * r + b] = sum;
                            gram[((j * m + i) * r + b) * r + a] = sum;
                        }
        }
    basis->gram = gram;
    return SU_OK;
}

su_status su_reduced_basis_create(const su_model *model, su_interpolation interpolation, su_reduced_basis *basis,
                                  su_error *err)
{
    if (interpolation == SU_LINEAR && model->bases != model->m)
        return su_fail(err, SU_INPUT, "linear interpolation needs a basis for each pose; the model has one for all");
    *basis = (su_reduced_basis){
        .m = model->bases, .r = model->r, .d = model->d, .n = model->n, .interpolation = interpolation};
    su_status status;
    SU_GO(SU_TAKE_ALL(&basis->arena, purpose, err, SU_WANT(basis->first_mode, model->d + 1),
                      SU_WANT(basis->vertices, model->d), SU_WANT(basis->vertex_count, model->d),
                      SU_WANT(basis->blocks, model->d), SU_WANT(basis->mass, model->n),
                      SU_WANT(basis->norms, basis->m * basis->m * model->r)));
    for (int64_t k = 0; k < model->r; k++) basis->first_mode[model->mode_region[k] + 1]++;
    for (int64_t g = 0; g < model->d; g++) {
        basis->first_mode[g + 1] += basis->first_mode[g];
        basis->vertices[g] = model->region_vertices + model->region_vertex_offsets[g];
        basis->vertex_count[g] = model->region_vertex_offsets[g + 1] - model->region_vertex_offsets[g];
        basis->blocks[g] = model->basis_blocks + model->basis_block_offsets[g];
    }
    su_lumped_mass(model->n, model->vertices, model->t, model->tets, model->density, basis->mass);
    if (interpolation == SU_LINEAR) SU_GO(turn_blocks(model, basis, err));
    basis->gram = model->gram;
    if (interpolation == SU_LINEAR || !model->gram) SU_GO(compute_gram(basis, err));
    for (int64_t k = 0; k < basis->m * basis->m; k++)
        for (int64_t a = 0; a < model->r; a++)
            basis->norms[k * model->r + a] = basis->gram[(k * model->r + a) * model->r + a];
done:
    if (status != SU_OK) su_reduced_basis_free(basis);
    return status;
}

void su_reduced_basis_scale(const su_reduced_basis *basis, const double *b, double *scale)
{
    int64_t m = basis->m, r = basis->r;
    memset(scale, 0, (size_t)r * sizeof *scale);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = i; j < m; j++) { /* the norms of i and j are those of j and i */
            double bb = m == 1 ? 1 : (j > i ? 2 : 1) * b[i] * b[j];
            if (bb == 0.0) continue;
            const double *norms = basis->norms + (i * m + j) * r;
            for (int64_t k = 0; k < r; k++) scale[k] += bb * norms[k];
        }
    for (int64_t k = 0; k < r; k++) scale[k] = 1.0 / fmax(sqrt(fmax(scale[k], 0.0)), SMALLEST_NORM);
}
