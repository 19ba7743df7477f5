/* supple modes --motion: one basis for all poses. */
#include "modes.h"

#include "core/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "io/stage/anim.h"
#include "io/stage/basis.h"
#include "reduce/align/align.h"
#include "reduce/modes/modes.h"
#include "reduce/modes/motion_basis.h"
#include "reduce/modes/played_shots.h"

#include <stdlib.h>
#include <string.h>

/* Frames played on end: runs are spread over the threads, but the same whatever their number. Each begins with the
 * rig's motion, and what the flesh has to swing into is run in for a third of a second. Of the motion's stretches one
 * in four is exact enough for cubature to judge a model by, and one in four is played softly. */
enum { LONGEST = 75, RUN_IN = 10, EXACT = 4, SOFT = 4 };

typedef struct motions {
    int count, known; /* known: from here on shots that will be baked */
    const char **paths;
    su_anim *anims;
} motions;

static su_status load_motions(job *j, motions *m)
{
    const settings *set = j->set;
    su_error *err = &j->tool->err;
    int total = set->motion.count + set->shots.count;
    SU_TRY(SU_ALLOC(&m->paths, total, "shots", err));
    SU_TRY(SU_ALLOC(&m->anims, total, "shots", err));
    m->known = set->motion.count;
    for (; m->count < total; m->count++) {
        int k = m->count;
        m->paths[k] = k < m->known ? set->motion.items[k] : set->shots.items[k - m->known];
        SU_TRY(su_anim_load(m->paths[k], &m->anims[k], err));
        if (m->anims[k].nbar != j->tet.nbar)
            return su_fail(err, SU_INPUT, "%s: has %lld skin vertices, the flesh carries %lld", m->paths[k],
                           (long long)m->anims[k].nbar, (long long)j->tet.nbar);
    }
    return SU_OK;
}

static void free_motions(motions *m)
{
    for (int k = 0; k < m->count; k++) su_anim_free(&m->anims[k]);
    free(m->anims), free(m->paths);
}

/* All that does not depend on the motion. */
static su_status prepare(job *j, su_basis *basis, int64_t r)
{
    su_error *err = &j->tool->err;
    su_file *file = &basis->file;
    int64_t n = j->tet.n;
    basis->m = 1, basis->r = r, basis->n = n, basis->d = 1, basis->s = j->fit.s;
    SU_TRY(SU_FILE_ALLOC(file, &basis->basis, 3 * r * n, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->rotations, 4 * n, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->gram, r * r, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->parent, 1, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->angles, r, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->param_scale, basis->s, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->mode_region, r, err));
    SU_TRY(SU_FILE_ALLOC(file, &basis->region_weights, n, err));
    for (int64_t v = 0; v < n; v++) basis->rotations[4 * v] = 1, basis->region_weights[v] = 1;
    for (int64_t k = 0; k < j->tet.fixed_count; k++) basis->region_weights[j->tet.fixed[k]] = 0;
    basis->parent[0] = -1;
    memcpy(basis->param_scale, j->fit.param_scale, (size_t)basis->s * sizeof *basis->param_scale);
    return SU_OK;
}

static su_status make_meta(job *j, const motions *m, su_basis *basis)
{
    su_tool *tool = j->tool;
    const char **paths;
    SU_TRY(SU_ALLOC(&paths, 2 + m->count, "file names", &tool->err));
    for (int k = 0; k < 2; k++) paths[k] = tool->inputs.items[k];
    for (int k = 0; k < m->count; k++) paths[2 + k] = m->paths[k];
    json_t *meta = su_tool_meta(tool, "supple.basis", 2, paths, 2 + m->count), *shots = json_array();
    free(paths);
    basis->file.meta = meta;
    if (!meta || !shots) {
        json_decref(shots);
        return meta ? su_fail(&tool->err, SU_AGAIN, "out of memory") : tool->err.status;
    }
    for (int k = 0; k < m->count; k++) json_array_append_new(shots, json_string(su_base_name(m->paths[k])));
    json_object_set_new(meta, "shots", shots);
    json_object_set_new(meta, "motions", json_integer(m->known));
    json_object_set_new(meta, "interpolation", json_string("corotated"));
    json_object_set_new(meta, "subspace", json_string("one"));
    json_object_set_new(meta, "material", json_string(su_material_name(j->setup.material)));
    return su_sim_gravity_meta(&j->set->sim, meta, &tool->err);
}

/* Of the modes, this part is the lowest linear ones of the neutral pose, unless --linear says otherwise: small swings
 * about the rig's motion are theirs, whatever trained the others, which lock them where they know folds only
 * (docs/reduction.md, eq. 16). */
enum { LINEAR_PART = 3 };

/* modes (linear,n,3), of the neutral pose with its materials. */
static su_status linear_modes(job *j, int64_t linear, double *modes)
{
    const su_tet *tet = &j->tet;
    su_error *err = &j->tool->err;
    su_elastic elastic = {0};
    double *values = NULL;
    su_status status;
    SU_GO(su_elastic_create(&elastic, tet->n, tet->vertices, tet->t, tet->tets, tet->fixed_count, tet->fixed,
                            j->setup.material, j->fit.young, j->fit.poisson, j->fit.density, err));
    SU_GO(SU_ALLOC(&values, linear, "modes", err));
    su_mode_problem problem = {.elastic = &elastic, .x = tet->vertices};
    SU_GO(su_modes_solve(&problem, linear, linear, values, modes, NULL, j->tool->threads, &j->tool->progress, err));
done:
    free(values);
    su_elastic_free(&elastic);
    return status;
}

static int64_t linear_count(const job *j, int64_t r)
{
    int64_t most = 3 * (j->tet.n - j->tet.fixed_count) / 4,
            wanted = j->set->linear > 0 ? j->set->linear : r / LINEAR_PART;
    if (wanted > r) wanted = r;
    return wanted < most ? wanted : most;
}

/* The basis of what was played, and the states it was made from; fewer modes than wanted where the motion has fewer
 * directions. */
static su_status make_basis(job *j, const motions *m, const su_played_shots *played, su_basis *basis)
{
    su_tool *tool = j->tool;
    su_error *err = &tool->err;
    int64_t n = j->tet.n, f = played->count, r = j->set->r < f ? j->set->r : f, linear = linear_count(j, r), got = 0;
    double *mass = NULL, *modes = NULL, *q = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&mass, n, "masses", err));
    SU_GO(SU_ALLOC(&modes, 3 * r * n, "modes", err));
    SU_GO(SU_ALLOC(&q, f * r, "states", err));
    su_lumped_mass(n, j->tet.vertices, j->tet.t, j->tet.tets, j->fit.density, mass);
    if (linear > 0) SU_GO(linear_modes(j, linear, modes));
    SU_GO(su_motion_basis_create(&j->tet, mass, played, m->count, m->known, linear, r, modes, q, &got, err));
    if (got == linear && linear < r) {
        status = su_fail(err, SU_INPUT, "the flesh does not move in the motion");
        goto done;
    }
    if (got < j->set->r)
        su_warn(tool, "the motion has %lld directions: so many modes are made instead of %d", (long long)got,
                j->set->r);
    SU_GO(prepare(j, basis, got));
    memcpy(basis->basis, modes, (size_t)(3 * got * n) * sizeof *modes);
    basis->f = f;
    SU_GO(SU_FILE_ALLOC(&basis->file, &basis->state_q, f * got, err));
    SU_GO(SU_FILE_ALLOC(&basis->file, &basis->state_shot, f, err));
    SU_GO(SU_FILE_ALLOC(&basis->file, &basis->state_frame, f, err));
    SU_GO(SU_FILE_ALLOC(&basis->file, &basis->state_start, f, err));
    for (int64_t k = 0; k < f; k++) {
        memcpy(basis->state_q + k * got, q + k * r, (size_t)got * sizeof *q);
        basis->state_shot[k] = played->shot[k], basis->state_frame[k] = (int32_t)played->frame[k],
        basis->state_start[k] = (int32_t)played->start[k];
    }
    SU_GO(su_gram(1, got, n, mass, basis->basis, basis->gram, tool->threads, err));
done:
    free(mass), free(modes), free(q);
    return status;
}

su_status motion_run(job *j)
{
    su_tool *tool = j->tool;
    motions m = {0};
    su_played_shots played = {0};
    su_basis basis = {0};
    su_play_plan plan = {.longest = LONGEST,
                         .run_in = RUN_IN,
                         .stretch = LONGEST,
                         .exact = EXACT,
                         .soft = SOFT,
                         .settings = &j->set->sim};
    su_status status;
    double started = su_seconds();
    SU_GO(load_motions(j, &m));
    plan.motions = m.known;
    if (tool->dry_run) goto done;
    SU_GO(su_shots_play(&j->tet, &j->fit, m.count, m.paths, m.anims, &plan, &played, tool->threads, &tool->progress,
                        &tool->err));
    su_stats_stage(tool, "play", su_seconds() - started), started = su_seconds();
    if (played.count == 0) {
        status = su_fail(&tool->err, SU_INPUT,
                         "nothing could be played: every frame of the motion failed or there is only one");
        goto done;
    }
    SU_GO(make_basis(j, &m, &played, &basis));
    su_stats_stage(tool, "pca", su_seconds() - started);
    su_stats_integer(tool, "modes", basis.r);
    su_stats_integer(tool, "states", basis.f);
    su_note(tool, "one basis of %lld modes from %lld frames, %.0f MB at most", (long long)basis.r, (long long)basis.f,
            (double)su_peak_memory() / 1e6);
    SU_GO(make_meta(j, &m, &basis));
    SU_GO(su_basis_save(tool->output, &basis, &tool->err));
    su_progress_finish(&tool->progress);
done:
    su_basis_free(&basis);
    su_played_shots_free(&played);
    free_motions(&m);
    return status;
}
