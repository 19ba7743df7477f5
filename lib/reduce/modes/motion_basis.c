#include "reduce/modes/motion_basis.h"

#include "core/memory.h"
#include "core/order.h"
#include "geometry/tetmesh.h"
#include "geometry/vector.h"
#include "linalg/cholesky.h"
#include "linalg/dense.h"
#include "linalg/principal.h"
#include "reduce/align/align.h"
#include "reduce/modes/modes.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* factor (count): what each frame is multiplied by. sizes (count): mass norms. Errors are relative to the size of a
 * frame's own motion: frames are divided by it and a part of the median size, below which motion is too small to be
 * seen; then all shots are made equally large, and motions together as large as known shots together. */
static su_status weigh_frames(const su_play *play, const su_played_shots *shapes, const double *sizes, double *factor,
                              su_error *err)
{
    int shot_count = play->count, known = play->motions;
    double *sorted = NULL, *energy = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("states", err, SU_WANT(sorted, shapes->count), SU_WANT(energy, shot_count)));
    memcpy(sorted, sizes, (size_t)shapes->count * sizeof *sorted);
    su_sort(sorted, (size_t)shapes->count, sizeof *sorted, su_order_doubles);
    double least = play->plan->least_motion * sorted[shapes->count / 2];
    for (int64_t k = 0; k < shapes->count; k++) {
        factor[k] = sizes[k] > 0 ? 1 / (sizes[k] + least) : 0;
        energy[shapes->shot[k]] += factor[k] * factor[k] * sizes[k] * sizes[k];
    }
    for (int64_t k = 0; k < shapes->count; k++) {
        int shot = shapes->shot[k];
        double share = shot < known ? known : shot_count - known;
        if (energy[shot] > 0) factor[k] /= sqrt(energy[shot] * share);
    }
done:
    free(sorted), free(energy);
    return status;
}

/* Fields on the free vertices, numbered as the elasticity numbers them, and what stands there. */
typedef struct free_part {
    const su_elastic *elastic; /* borrowed */
    int64_t size;              /* 3 times the free vertices */
    double *mass;              /* (size) */
    su_sparse stiffness;       /* (size,size) of the neutral pose */
} free_part;

static void free_part_free(free_part *part)
{
    free(part->mass);
    su_sparse_free(&part->stiffness);
}

static su_status free_part_create(const su_elastic *elastic, const double *neutral, int threads, free_part *out,
                                  su_error *err)
{
    out->elastic = elastic, out->size = 3 * elastic->free_count;
    SU_TRY(SU_ALLOC(&out->mass, out->size, "states", err));
    for (int64_t i = 0; i < out->size; i++) out->mass[i] = elastic->mass[elastic->free_vertex[i / 3]];
    SU_TRY(su_sparse_clone_pattern(&elastic->pattern, &out->stiffness, err));
    su_elastic_stiffness(elastic, neutral, true, &out->stiffness, threads);
    return SU_OK;
}

/* parts (count,size) of fields (count,n,3), or back */
static void take_parts(const free_part *part, int64_t count, const double *fields, double *out)
{
    for (int64_t k = 0; k < count; k++)
        su_elastic_gather(part->elastic, fields + 3 * k * part->elastic->n, out + k * part->size);
}

static void put_parts(const free_part *part, int64_t count, const double *in, double *fields)
{
    for (int64_t k = 0; k < count; k++)
        su_elastic_scatter(part->elastic, in + k * part->size, fields + 3 * k * part->elastic->n);
}

/* The first modes of basis (r,n,3): the principal directions in M of how the flesh at rest in the neutral pose gives
 * way to the forces of contact of each frame (Teng, Otaduy and Kim 2014, section 5.1), all frames alike. *got: how
 * many. */
static su_status contact_modes(const su_play *play, const su_played_shots *played, const free_part *part, int64_t r,
                               double *basis, int64_t *got, su_error *err)
{
    int64_t n = play->tet->n, columns = 0, most = play->contact_modes < r ? play->contact_modes : r;
    double *force = NULL, *answers = NULL, *modes = NULL;
    su_cholesky *factor = NULL;
    su_status status;
    *got = 0;
    if (!played->contact || most == 0) return SU_OK;
    SU_GO(SU_ALLOC_ALL("forces of contact", err, SU_WANT(force, part->size),
                       SU_WANT(answers, played->count * part->size), SU_WANT(modes, most * part->size)));
    SU_GO(su_cholesky_create(&part->stiffness, play->threads, &factor, err));
    if (su_cholesky_factorize(factor, &part->stiffness, NULL) != SU_OK)
        SU_GO(su_fail(err, SU_INPUT, "flesh that nothing holds does not answer forces of contact at rest"));
    for (int64_t k = 0; k < played->count; k++) {
        double *answer = answers + columns * part->size;
        take_parts(part, 1, played->contact + 3 * k * n, force);
        if (cblas_dnrm2((int)part->size, force, 1) == 0) continue;
        SU_GO(su_cholesky_solve(factor, 1, force, answer, err));
        cblas_dscal((int)part->size, 1 / sqrt(su_weighted_dot(part->size, part->mass, answer, answer)), answer, 1);
        columns++;
    }
    if (columns == 0) goto done; /* nothing touches */
    const su_pca pca = {.size = part->size,
                        .wanted = most,
                        .candidate_count = columns,
                        .mass = part->mass,
                        .vectors = modes,
                        .candidates = answers,
                        .shortest = play->plan->shortest_direction};
    SU_GO(su_mass_pca(&pca, got, err));
    put_parts(part, *got, modes, basis);
done:
    su_cholesky_free(factor);
    free(force), free(answers), free(modes);
    return status;
}

/* Takes what the first `front` modes of basis (n,3 each) hold off the `linear` ones behind them, which then span the
 * same beside them. */
static su_status part_from_front(const free_part *part, int64_t front, int64_t linear, double *basis, su_error *err)
{
    double *modes = NULL, *columns = NULL, *behind = basis + 3 * front * part->elastic->n;
    su_status status;
    if (front == 0 || linear == 0) return SU_OK;
    SU_GO(SU_ALLOC_ALL("modes", err, SU_WANT(modes, (front + linear) * part->size),
                       SU_WANT(columns, linear * part->size)));
    take_parts(part, front, basis, modes);
    take_parts(part, linear, behind, columns);
    const su_pca pca = {.size = part->size,
                        .known = front,
                        .wanted = linear,
                        .candidate_count = linear,
                        .mass = part->mass,
                        .vectors = modes,
                        .candidates = columns};
    SU_GO(su_mass_pca(&pca, NULL, err));
    put_parts(part, linear, modes + front * part->size, behind);
done:
    free(modes), free(columns);
    return status;
}

/* Behind the `linear` modes that basis (r,n,3) holds: the principal directions of what these leave of the shapes, in
 * mass and stiffness alike. *got: modes in all. */
static su_status principal_modes(const su_play *play, const su_played_shots *shapes, const free_part *part,
                                 int64_t linear, int64_t r, double *basis, int64_t *got, su_error *err)
{
    int64_t n = play->tet->n, count = shapes->count;
    double *columns = NULL, *modes = NULL, *sizes = NULL, *factor = NULL;
    su_status status;
    SU_GO(SU_ALLOC_ALL("states", err, SU_WANT(columns, count * part->size), SU_WANT(modes, r * part->size),
                       SU_WANT(sizes, count), SU_WANT(factor, count)));
    take_parts(part, count, shapes->shapes, columns);
    for (int64_t k = 0; k < count; k++) {
        const double *column = columns + k * part->size;
        sizes[k] = sqrt(su_weighted_dot(part->size, part->mass, column, column));
    }
    SU_GO(weigh_frames(play, shapes, sizes, factor, err));
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < part->size; i++) columns[k * part->size + i] *= factor[k];
    take_parts(part, linear, basis, modes);
    const su_sparse *K = &part->stiffness;
    su_balance balance = {.stiffness = K, .rounds = play->plan->balance_rounds, .threads = play->threads};
    const su_pca pca = {.size = part->size,
                        .known = linear,
                        .wanted = r - linear,
                        .candidate_count = count,
                        .mass = part->mass,
                        .vectors = modes,
                        .candidates = columns,
                        .shortest = play->plan->shortest_direction,
                        .balance = &balance};
    SU_GO(su_mass_pca(&pca, got, err));
    *got += linear;
    put_parts(part, *got - linear, modes + linear * part->size, basis + 3 * linear * n);
done:
    free(columns), free(modes), free(sizes), free(factor);
    return status;
}

/* The lowest modes (linear,n,3) of the neutral pose with its materials. */
static su_status linear_modes(const su_play *play, const su_elastic *elastic, int64_t linear, double *modes,
                              su_progress *progress, su_error *err)
{
    double *values;
    SU_TRY(SU_ALLOC(&values, linear, "modes", err));
    su_mode_problem problem = {.elastic = elastic, .x = play->tet->vertices, .progress = progress};
    su_status status = su_modes_solve(&problem, linear, linear, values, modes, NULL, play->threads, err);
    free(values);
    return status;
}

/* A part of r, and of what an eigensolver can give. */
static int64_t linear_count(const su_play *play, int64_t r)
{
    const double whole = 1e-9; /* so that a third of 60 is 20 */
    int64_t most = 3 * (play->tet->n - play->tet->fixed_count) / 4,
            wanted = (int64_t)(play->plan->linear_share * (double)r + whole);
    if (wanted > r) wanted = r;
    return wanted < most ? wanted : most;
}

/* All of the file but modes, Gram matrix and states. */
static su_status prepare(const su_play *play, int64_t r, su_basis *basis, su_error *err)
{
    const su_tet *tet = play->tet;
    const su_fit *fit = play->fit;
    su_file *file = &basis->file;
    int64_t n = tet->n;
    basis->m = 1, basis->r = r, basis->n = n, basis->d = 1, basis->s = fit->s;
    SU_TRY(SU_FILE_ALLOC_ALL(file, err, SU_WANT(basis->basis, 3 * r * n), SU_WANT(basis->rotations, 4 * n),
                             SU_WANT(basis->gram, r * r), SU_WANT(basis->parent, 1), SU_WANT(basis->angles, r),
                             SU_WANT(basis->param_scale, basis->s), SU_WANT(basis->mode_region, r),
                             SU_WANT(basis->region_weights, n)));
    for (int64_t v = 0; v < n; v++) basis->rotations[4 * v] = 1, basis->region_weights[v] = 1;
    for (int64_t k = 0; k < tet->fixed_count; k++) basis->region_weights[tet->fixed[k]] = 0;
    basis->parent[0] = -1;
    memcpy(basis->param_scale, fit->param_scale, (size_t)basis->s * sizeof *basis->param_scale);
    return SU_OK;
}

/* state_q = basis' M shapes, state_force = basis' forces, and where each state stands. modes (r,n,3) with r >=
 * basis->r: beyond, 0. */
static su_status add_states(const su_played_shots *played, const double *mass, const double *modes, int64_t r,
                            su_basis *basis, su_error *err)
{
    int64_t n = basis->n, f = played->count, size = 3 * n;
    double *weighted = NULL, *q = NULL;
    su_status status;
    basis->f = f;
    SU_GO(SU_ALLOC_ALL("states", err, SU_WANT(q, f * r), SU_WANT(weighted, size * f)));
    SU_GO(SU_FILE_ALLOC_ALL(&basis->file, err, SU_WANT(basis->state_q, f * basis->r),
                            SU_WANT(basis->state_force, f * basis->r), SU_WANT(basis->state_shot, f),
                            SU_WANT(basis->state_frame, f), SU_WANT(basis->state_start, f)));
    for (int64_t i = 0; i < size * f; i++) weighted[i] = played->shapes[i] * mass[i / 3 % n];
    su_multiply_transposed(f, r, size, weighted, modes, q);
    su_multiply_transposed(f, basis->r, size, played->forces, modes, basis->state_force);
    if (played->contact) {
        SU_GO(SU_FILE_ALLOC(&basis->file, &basis->state_contact, f * basis->r, err));
        su_multiply_transposed(f, basis->r, size, played->contact, modes, basis->state_contact);
    }
    for (int64_t k = 0; k < f; k++) {
        memcpy(basis->state_q + k * basis->r, q + k * r, (size_t)basis->r * sizeof *q);
        basis->state_shot[k] = played->shot[k], basis->state_frame[k] = (int32_t)played->frame[k],
        basis->state_start[k] = (int32_t)played->start[k];
    }
done:
    free(weighted), free(q);
    return status;
}

su_status su_motion_basis_create(const su_play *play, const su_played_shots *played, su_material material,
                                 int64_t wanted, su_basis *basis, su_progress *progress, su_error *err)
{
    const su_tet *tet = play->tet;
    int64_t n = tet->n, f = played->count, r = wanted < f ? wanted : f, front = 0, linear, got = 0;
    su_elastic elastic = {0};
    free_part part = {0};
    double *modes = NULL;
    su_status status;
    SU_GO(su_elastic_of_fit(&elastic, tet, play->fit, material, err));
    const double *mass = elastic.mass;
    SU_GO(SU_ALLOC(&modes, 3 * r * n, "modes", err));
    SU_GO(free_part_create(&elastic, tet->vertices, play->threads, &part, err));
    SU_GO(contact_modes(play, played, &part, r, modes, &front, err));
    linear = linear_count(play, r - front);
    if (linear > 0) SU_GO(linear_modes(play, &elastic, linear, modes + 3 * front * n, progress, err));
    SU_GO(part_from_front(&part, front, linear, modes, err));
    SU_GO(principal_modes(play, played, &part, front + linear, r, modes, &got, err));
    if (got == front + linear && front + linear < r)
        SU_GO(su_fail(err, SU_INPUT, "the flesh does not move in the motion"));
    SU_GO(prepare(play, got, basis, err));
    memcpy(basis->basis, modes, (size_t)(3 * got * n) * sizeof *modes);
    SU_GO(add_states(played, mass, modes, r, basis, err));
    SU_GO(su_gram(1, got, n, mass, basis->basis, basis->gram, play->threads, err));
done:
    free(modes);
    free_part_free(&part);
    su_elastic_free(&elastic);
    return status;
}
