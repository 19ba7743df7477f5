#include "scene.h"

#include "rig/rbf_train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *take(scene *s, int64_t count, size_t size)
{
    void *p = su_arena_alloc(&s->arena, count, size);
    if (!p) abort();
    return p;
}
#define TAKE(s, pointer, count) ((pointer) = take(s, count, sizeof *(pointer)))

static void make_tet(scene *s)
{
    beam *b = &s->mesh;
    su_tet *tet = &s->tet;
    *tet = (su_tet){.n = b->n, .t = b->t, .fixed_count = b->held_count, .nbar = b->n};
    tet->vertices = b->vertices, tet->tets = b->tets, tet->fixed = b->held;
    TAKE(s, tet->embed_tet, b->n);
    TAKE(s, tet->embed_bary, 4 * b->n);
    tet->ties = 4;
    TAKE(s, tet->shepard_index, 4 * b->n);
    TAKE(s, tet->shepard_weight, 4 * b->n);
    for (int64_t e = 0; e < b->t; e++)
        for (int j = 0; j < 4; j++) {
            int32_t v = b->tets[4 * e + j];
            tet->embed_tet[v] = (int32_t)e;
            for (int k = 0; k < 4; k++) tet->embed_bary[4 * (int64_t)v + k] = k == j;
        }
    for (int32_t v = 0; v < b->n; v++) {
        for (int j = 0; j < 4; j++) tet->shepard_index[4 * (int64_t)v + j] = v;
        tet->shepard_weight[4 * (int64_t)v] = 1.0;
    }
}

static void make_fit(scene *s, int m, const double *angles)
{
    beam *b = &s->mesh;
    su_fit *fit = &s->fit;
    *fit = (su_fit){.k = m, .n = b->n, .t = b->t, .m = m, .s = 1};
    TAKE(s, fit->pose, m);
    TAKE(s, fit->shapes, 3 * m * b->n);
    TAKE(s, fit->corrections, 3 * m * b->n);
    TAKE(s, fit->params, m);
    TAKE(s, fit->param_scale, 1);
    TAKE(s, fit->rbf, m * m);
    TAKE(s, fit->young, m * b->t);
    TAKE(s, fit->poisson, m * b->t);
    fit->density = b->density;
    fit->param_scale[0] = 1.0;
    for (int i = 0; i < m; i++) {
        fit->pose[i] = i, fit->params[i] = angles[i];
        beam_bend(b, angles[i], fit->shapes + 3 * i * b->n);
        memcpy(fit->young + i * b->t, b->young, (size_t)b->t * sizeof(double));
        memcpy(fit->poisson + i * b->t, b->poisson, (size_t)b->t * sizeof(double));
    }
    if (su_rbf_train(m, 1, fit->params, fit->param_scale, fit->rbf, NULL) != SU_OK) abort();
}

static void make_anim(scene *s, int F, double fps, scene_rig *rig)
{
    beam *b = &s->mesh;
    su_anim *anim = &s->anim;
    *anim = (su_anim){.F = F, .nbar = b->n, .s = 1};
    TAKE(s, anim->points, 3 * F * b->n);
    TAKE(s, anim->root, 16 * F);
    TAKE(s, anim->times, F);
    TAKE(s, anim->params, F);
    anim->neutral = b->vertices;
    double *skin = take(s, 3 * b->n, sizeof *skin);
    for (int k = 0; k < F; k++) {
        double *root = anim->root + 16 * k;
        for (int i = 0; i < 4; i++) root[5 * i] = 1.0;
        anim->times[k] = k / fps;
        rig(anim->times[k], anim->params + k, root);
        beam_bend(b, anim->params[k], skin);
        for (int64_t i = 0; i < 3 * b->n; i++) anim->points[3 * k * b->n + i] = (float)skin[i];
    }
}

void scene_create(scene *s, int nx, int ny, int nz, int m, const double *angles, int F, double fps, scene_rig *rig,
                  int teleport_count, const int *teleports)
{
    *s = (scene){.mesh = beam_create(nx, ny, nz, 1.0, 0.25, 0.25)};
    for (int64_t e = 0; e < s->mesh.t; e++) s->mesh.young[e] = 4e6; /* bends at a few Hz */
    make_tet(s);
    make_fit(s, m, angles);
    make_anim(s, F, fps, rig);
    su_shot_target target = {.rig = su_rig_of_fit(&s->fit), .nbar = s->tet.nbar, .neutral = s->mesh.vertices};
    su_error err = {0};
    if (su_shot_create(&s->anim, "scene", &target, teleport_count, teleports, &s->shot, NULL, &err) != SU_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

void scene_free(scene *s)
{
    su_shot_free(s->shot);
    su_smooth_weights_free(&s->smooth);
    su_arena_free(&s->arena);
    beam_free(&s->mesh);
    *s = (scene){0};
}

void scene_turn_rest(scene *s, double length)
{
    su_smooth_weights *w = &s->smooth;
    su_fit *fit = &s->fit;
    if (su_smooth_weights_create(&(su_tet_mesh){fit->n, fit->t, s->mesh.vertices, s->mesh.tets}, length, length, 1, w,
                                 NULL) != SU_OK)
        abort();
    fit->n1 = fit->n + 1, fit->z = w->entries;
    fit->turn_start = w->start, fit->turn_node = w->node, fit->turn_weight = w->weight;
}

/* ---- rigs ---- */

void scene_turn(double angle, double *root)
{
    root[0] = root[5] = cos(angle), root[1] = -sin(angle), root[4] = sin(angle);
}

void scene_swing(double t, double *bend, double *root)
{
    *bend = 0.5 * sin(9.0 * t);
    scene_turn(0.4 * sin(6.0 * t), root);
    root[3] = 0.3 * sin(7.0 * t), root[11] = 0.2 * t * t;
}

const double scene_other_axis[9] = {0.36, 0.48, -0.8, -0.8, 0.6, 0.0, 0.48, 0.64, 0.6};

void scene_swing_elsewhere(double t, double *bend, double *root)
{
    double here[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    scene_swing(t, bend, here);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            root[4 * i + j] = 0.0;
            for (int k = 0; k < 3; k++) root[4 * i + j] += scene_other_axis[3 * i + k] * here[4 * k + j];
        }
    root[3] += 30.0, root[7] -= 20.0;
}

/* ---- the full simulation ---- */

static void must(su_status status, const su_error *err)
{
    if (status == SU_OK) return;
    fprintf(stderr, "%s\n", err->text);
    abort();
}

double *scene_full_run(scene *s, const su_sim_settings *settings, double tolerance, double *energy, int *status,
                       su_shot_counts *counts)
{
    return scene_full_run_with(s, settings, &(su_fullsim_options){.tolerance = tolerance, .threads = 1}, energy, status,
                               counts);
}

double *scene_full_run_with(scene *s, const su_sim_settings *settings, const su_fullsim_options *options,
                            double *energy, int *status, su_shot_counts *counts)
{
    su_sim_settings resolved = *settings;
    su_fullsim *sim;
    su_error err = {0};
    must(su_sim_settings_resolve(&resolved, 4.0, s->anim.F, s->anim.times, 0.0, &err), &err);
    must(su_fullsim_create(&s->tet, &s->fit, s->shot, &resolved, options, &sim, &err), &err);
    int64_t n3 = 3 * s->tet.n;
    double *u = calloc((size_t)(s->anim.F * n3), sizeof *u);
    if (!u) abort();
    for (int64_t k = 0; k < s->anim.F; k++) {
        su_fullsim_frame frame;
        if (k > 0) must(su_fullsim_advance(sim, &err), &err);
        su_fullsim_state(sim, &frame);
        memcpy(u + k * n3, frame.u, (size_t)n3 * sizeof *u);
        if (energy) memcpy(energy + 3 * k, frame.energy, sizeof frame.energy);
        if (status) status[k] = frame.status;
    }
    if (counts) *counts = *su_fullsim_totals(sim);
    su_fullsim_free(sim);
    return u;
}

/* ---- files ---- */

static int same_face(const int32_t *a, const int32_t *b)
{
    int shared = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) shared += a[i] == b[j];
    return shared == 3;
}

/* Faces that belong to one tet only, outward. */
static void make_surface(scene *s)
{
    static const int faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};
    int64_t count = 4 * s->mesh.t;
    int32_t *face = take(s, 3 * count, sizeof *face);
    for (int64_t k = 0; k < count; k++)
        for (int i = 0; i < 3; i++) face[3 * k + i] = s->mesh.tets[k / 4 * 4 + faces[k % 4][i]];
    TAKE(s, s->tet.surface, 3 * count);
    s->tet.b = 0;
    for (int64_t k = 0; k < count; k++) {
        int owners = 0;
        for (int64_t j = 0; j < count; j++) owners += same_face(face + 3 * k, face + 3 * j);
        if (owners == 1) memcpy(s->tet.surface + 3 * s->tet.b++, face + 3 * k, 3 * sizeof *face);
    }
}

void scene_save(scene *s, const char *folder)
{
    char path[400];
    su_error err = {0};
    su_anim *anim = &s->anim;
    make_surface(s);
    anim->T = anim->P = s->tet.b, anim->corners = 3 * anim->T, anim->N = anim->nbar;
    anim->triangles = anim->face_indices = s->tet.surface;
    TAKE(s, anim->face_counts, anim->P);
    TAKE(s, anim->source_vertex, anim->N);
    for (int64_t k = 0; k < anim->P; k++) anim->face_counts[k] = 3;
    for (int32_t v = 0; v < anim->N; v++) anim->source_vertex[v] = v;
    anim->file.meta = json_pack("{s:s, s:f, s:[s]}", "clip", "scene", "fps", 1 / anim->times[1], "param_names", "bend");
    s->fit.file.meta =
        json_pack("{s:s, s:f, s:[s]}", "material", "neohookean", "frequency", 4.0, "param_names", "bend");
    snprintf(path, sizeof path, "%s/s.tet.npz", folder);
    must(su_tet_save(path, &s->tet, &err), &err);
    snprintf(path, sizeof path, "%s/s.fit.npz", folder);
    must(su_fit_save(path, &s->fit, &err), &err);
    snprintf(path, sizeof path, "%s/s.anim.npz", folder);
    must(su_anim_save(path, anim, &err), &err);
    json_decref(anim->file.meta);
    json_decref(s->fit.file.meta);
    anim->file.meta = s->fit.file.meta = NULL;
}
