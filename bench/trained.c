#include "trained.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(su_status status, const su_error *err)
{
    if (status == SU_OK) return;
    fprintf(stderr, "%s\n", err->text);
    abort();
}

/* Runs bench/train; its last line is the folder. */
static void train(const trained_sizes *s, char *folder, int room)
{
    char command[200], line[600];
    snprintf(command, sizeof command, "bench/train %d %d %d %d %d %d", s->skin, s->tets, s->m, s->r, s->regions,
             s->per_cent);
    FILE *pipe = popen(command, "r");
    if (!pipe) abort();
    folder[0] = 0;
    while (fgets(line, sizeof line, pipe)) {
        line[strcspn(line, "\n")] = 0;
        snprintf(folder, (size_t)room, "%s", line);
    }
    if (pclose(pipe) == 0 && folder[0]) return;
    fprintf(stderr, "failed: %s\n", command);
    abort();
}

void trained_load(trained *t, const trained_sizes *sizes)
{
    char folder[600], path[700];
    su_error err = {0};
    memset(t, 0, sizeof *t);
    train(sizes, folder, sizeof folder);
    snprintf(path, sizeof path, "%s/flesh.tet.npz", folder);
    must(su_tet_load(path, &t->tet, &err), &err);
    snprintf(path, sizeof path, "%s/flesh.fit.npz", folder);
    must(su_fit_load(path, &t->fit, &err), &err);
    snprintf(path, sizeof path, "%s/%d-%d-%d.model.npz", folder, sizes->r, sizes->regions, sizes->per_cent);
    must(su_model_load(path, &t->model, &err), &err);
    snprintf(path, sizeof path, "%s/Stop.anim.npz", folder);
    must(su_anim_load(path, &t->anim, &err), &err);
    const su_model *m = &t->model;
    su_shot_target target = {.rig = su_rig_of_model(m), .nbar = m->nbar, .neutral = m->neutral};
    must(su_shot_create(&t->anim, path, &target, 0, NULL, &t->shot, NULL, &err), &err);
    double frame = t->anim.times[1] - t->anim.times[0];
    t->substeps = (int)ceil(90 * frame - 1e-9);
    t->instants = t->substeps * (t->anim.F - 1);
    t->h = frame / t->substeps;
}

void trained_free(trained *t)
{
    su_shot_free(t->shot);
    su_anim_free(&t->anim);
    su_model_free(&t->model);
    su_fit_free(&t->fit);
    su_tet_free(&t->tet);
    memset(t, 0, sizeof *t);
}
