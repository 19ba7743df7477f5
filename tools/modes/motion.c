/* supple modes --motion: one basis for all poses. */
#include "modes.h"

#include "core/choice.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/threads.h"
#include "io/stage/anim.h"
#include "io/stage/basis.h"
#include "reduce/modes/motion_basis.h"
#include "../sim_options.h"

#include <stdlib.h>

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
    json_object_set_new(meta, "material", su_choice_json(SU_MATERIAL_NAMES, (int)j->setup.material));
    if (j->set->self_contact)
        json_object_set_new(meta, "self_contact", su_choice_json(SU_SELF_CONTACT_NAMES, j->set->self_contact));
    return su_sim_gravity_meta(&j->set->sim, meta, &tool->err);
}

/* Does the flesh press on itself anywhere in what was played? */
static bool touches(const su_played_shots *played, int64_t n)
{
    for (int64_t i = 0; i < 3 * n * played->count; i++)
        if (played->contact[i] != 0) return true;
    return false;
}

su_status motion_run(job *j)
{
    su_tool *tool = j->tool;
    su_error *err = &tool->err;
    motions m = {0};
    su_played_shots played = {0};
    su_basis basis = {0};
    su_status status;
    double started = su_seconds();
    SU_GO(load_motions(j, &m));
    j->plan =
        su_training_plan_make(&(su_training_case){.one_basis = true, .modes = j->set->r, .region_modes = j->set->r});
    if (j->set->linear > 0) /* of the modes that do not answer contact */
        j->plan.linear_share = (double)j->set->linear / (j->set->r - j->set->contact_forces);
    json_object_set_new(tool->stats, "plan", su_training_plan_json(&j->plan));
    const su_play play = {.tet = &j->tet,
                          .fit = &j->fit,
                          .plan = &j->plan,
                          .settings = &j->set->sim,
                          .count = m.count,
                          .motions = m.known,
                          .paths = m.paths,
                          .anims = m.anims,
                          .self_contact = j->set->self_contact,
                          .forces = true,
                          .contact_modes = j->set->contact_forces,
                          .threads = tool->threads,
                          .progress = &tool->progress};
    if (tool->dry_run) goto done;
    SU_GO(su_shots_play(&play, &played, err));
    su_stats_stage(tool, "play", su_seconds() - started), started = su_seconds();
    if (played.count == 0) {
        status =
            su_fail(err, SU_INPUT, "nothing could be played: every frame of the motion failed or there is only one");
        goto done;
    }
    if (j->set->contact_forces > 0 && !touches(&played, j->tet.n))
        su_warn(tool, "nothing touches in the motion: no modes answer forces of contact");
    SU_GO(su_motion_basis_create(&play, &played, j->setup.material, j->set->r, &basis, &tool->progress, err));
    if (basis.r < j->set->r)
        su_warn(tool, "the motion has %lld directions: so many modes are made instead of %d", (long long)basis.r,
                j->set->r);
    su_stats_stage(tool, "pca", su_seconds() - started);
    su_stats_integer(tool, "modes", basis.r);
    su_stats_integer(tool, "states", basis.f);
    su_note(tool, "one basis of %lld modes from %lld frames, %.0f MB at most", (long long)basis.r, (long long)basis.f,
            (double)su_peak_memory() / 1e6);
    SU_GO(make_meta(j, &m, &basis));
    SU_GO(su_basis_save(tool->output, &basis, err));
    su_progress_finish(&tool->progress);
done:
    su_basis_free(&basis);
    su_played_shots_free(&played);
    free_motions(&m);
    return status;
}
