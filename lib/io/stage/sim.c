#include "io/stage/sim.h"

#include "core/file.h"
#include "io/stage/field.h"

#include <string.h>

#define DIM(count) SU_DIM(su_sim, count)
#define REAL(field, ...) SU_REAL(su_sim, field, __VA_ARGS__)
#define INDEX(field, ...) SU_INDEX(su_sim, field, __VA_ARGS__)

static const size_t counts[] = {
    offsetof(su_sim, F), offsetof(su_sim, r), offsetof(su_sim, m), offsetof(su_sim, n), offsetof(su_sim, full),
};
static const char *const count_names[] = {"F", "r", "m", "n", "K"};

static const su_field fields[] = {
    REAL(times, SU_F64, 0, "s", "time of each frame on the clip's own clock, uniform", DIM(F)),
    REAL(q, SU_F64, SU_FIELD_OPTIONAL, "kg^1/2 m", "reduced coordinates", DIM(F), DIM(r)),
    REAL(qdot, SU_F64, SU_FIELD_OPTIONAL, "kg^1/2 m/s", "their rate over the last substep, 0 at the first frame",
         DIM(F), DIM(r)),
    REAL(weights, SU_F64, 0, "1", "weights w of the example poses", DIM(F), DIM(m)),
    REAL(basis_weights, SU_F64, SU_FIELD_OPTIONAL, "1", "weights b that blend the bases", DIM(F), DIM(m)),
    REAL(energy, SU_F64, 0, "J", "kinetic, elastic (0 at rest) and gravitational energy", DIM(F), 3),
    INDEX(iterations, SU_I32, 0, 0, 0, 0, "Newton iterations of the frame", DIM(F)),
    INDEX(status, SU_I32, 0, 0, 4, 0, "0 ok, 1 a step was halved, 2 damped, 3 failed", DIM(F)),
    REAL(error_estimate, SU_F64, SU_FIELD_OPTIONAL, "m",
         "RMS over the flesh vertices of the difference of U(p) q from the full space", DIM(F)),
    INDEX(contacts, SU_I32, SU_FIELD_OPTIONAL, 0, 0, 0, "contact pairs of the flesh with itself that press", DIM(F)),
    REAL(contact_depth, SU_F64, SU_FIELD_OPTIONAL, "m",
         "deepest of them, beyond what the rig's own shape has overlapping where that is allowed", DIM(F)),
    REAL(rig_depth, SU_F64, SU_FIELD_OPTIONAL, "m", "how deep the rest shape x(p) lies in itself", DIM(F)),
    REAL(u, SU_F64, SU_FIELD_OPTIONAL, "m", "displacement of a full-space bake from the rest shape, root frame", DIM(F),
         DIM(n), 3),
    INDEX(full_frame, SU_I32, SU_FIELD_OPTIONAL, 0, DIM(F), 0,
          "frames of a reduced bake whose displacement is the full space's, ascending", DIM(full)),
    REAL(full_u, SU_F32, SU_FIELD_OPTIONAL, "m", "displacement at these frames, in place of U(p) q", DIM(full), DIM(n),
         3),
};

static su_status check_sim(const void *object, const char *path, su_error *err)
{
    const su_sim *sim = object;
    SU_TRY(su_check_at_least(sim->F, 1, "frames", path, err));
    SU_TRY(su_check_times(sim->times, sim->F, path, err));
    if (!sim->q == !sim->u)
        return su_fail(err, SU_INPUT, "%s: either 'q' (reduced) or 'u' (full space) is wanted, not both or none", path);
    if (sim->m) SU_TRY(su_check_row_sums(sim->weights, sim->F, sim->m, 1, "weights", path, err));
    if (sim->basis_weights && sim->m)
        SU_TRY(su_check_row_sums(sim->basis_weights, sim->F, sim->m, 1, "basis_weights", path, err));
    if (!sim->full_frame != !sim->full_u || (sim->full_frame && !sim->q))
        return su_fail(err, SU_INPUT, "%s: 'full_frame' and 'full_u' stand together, beside 'q'", path);
    for (int64_t k = 1; k < sim->full; k++)
        if (sim->full_frame[k] <= sim->full_frame[k - 1])
            return su_fail(err, SU_INPUT, "%s: 'full_frame' does not ascend at %lld", path, (long long)k);
    return SU_OK;
}

const su_schema su_sim_schema = {
    "supple.sim", 1, sizeof(su_sim), fields, SU_COUNT_OF(fields), counts, count_names, SU_COUNT_OF(counts), check_sim,
};

su_status su_sim_take_full(su_sim *sim, const char *output, int64_t F, int64_t m, int64_t n, const double *times,
                           su_error *err)
{
    sim->F = F, sim->m = m, sim->n = n;
    SU_TRY(SU_FILE_ALLOC(&sim->file, &sim->times, F, err));
    SU_TRY(SU_FILE_ALLOC(&sim->file, &sim->weights, F * m, err));
    SU_TRY(SU_FILE_ALLOC(&sim->file, &sim->energy, F * 3, err));
    SU_TRY(SU_FILE_ALLOC(&sim->file, &sim->iterations, F, err));
    SU_TRY(SU_FILE_ALLOC(&sim->file, &sim->status, F, err));
    SU_TRY(su_scratch_map(&sim->file.arena, output, F * 3 * n * (int64_t)sizeof *sim->u, &sim->u, err));
    memcpy(sim->times, times, (size_t)F * sizeof *times);
    return SU_OK;
}

su_status su_sim_load(const char *path, su_sim *sim, su_error *err)
{
    return su_schema_load(&su_sim_schema, path, sim, err);
}

su_status su_sim_save(const char *path, const su_sim *sim, su_error *err)
{
    return su_schema_save(&su_sim_schema, path, sim, err);
}

void su_sim_free(su_sim *sim) { su_schema_free(&su_sim_schema, sim); }
