/* The run time in a page: a model and a shot that the page's script puts into memory, stepped on the shot's own
 * instants as supple sim does, with the settings of the page's controls. Compiled to WebAssembly with
 * libsupple-runtime's sources
 * (`make viewer`); tools/report/web/live.js is its other half. One character a module: state is static, the module's
 * memory goes as a whole. */
#include "core/memory.h"
#include "core/threads.h"
#include "geometry/mat3.h"
#include "io/stage/anim.h"
#include "io/stage/model.h"
#include "physics/external.h"
#include "physics/settings.h"
#include "rig/shot.h"
#include "runtime/supple_runtime.h"

#include "meta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name), used))

/* A ball and a plane; the page has no more. */
enum { COLLIDERS = 2 };

static su_model model;
static su_anim anim;
static su_shot *shot;
static supple_runtime *flesh;
static su_error err;
static su_sim_settings settings;
static su_shot_target target;
static int64_t needed, contacts, place, pull_point = -1;
static int32_t substep;
static const int32_t *needed_list;
static double *points, *p, *positions, *contact_now;        /* points (needed,3) and p (s) of the instant at hand: */
static double *all_points, *all_p, roots[SUPPLE_AHEAD][16]; /* (SUPPLE_AHEAD, ...) among those of the next ones */
static int64_t ahead, foreseen;                             /* instants, and how many of them are behind */
static float *shown;
static double *root = roots[0];
static double pull_to[3], pull_stiffness; /* m, N/m */
static double force[3];                   /* N */

/* core/threads.c's needs a clock, which the module does without: the page times whole steps. */
double su_seconds(void) { return 0; }

EXPORT(room) void *room(int32_t bytes) { return su_calloc(bytes > 0 ? bytes : 1, 1); }
EXPORT(message) const char *message(void) { return err.text; }

/* ---- the model ---- */

EXPORT(tell) void tell(const char *key, const char *text, double number) { meta_tell(key, text, number); }

/* An array of the model by its name in docs/formats.md, of the shape d0, d1, ...; floats are doubles stored short.
 * Returns 0 where there is no such array. */
EXPORT(add)
int32_t add(const char *name, const void *data, int32_t floats, int32_t d0, int32_t d1, int32_t d2, int32_t d3)
{
    const int32_t shape[] = {d0, d1, d2, d3};
    const su_schema *schema = &su_model_schema;
    for (int k = 0; k < schema->count; k++) {
        const su_field *field = schema->fields + k;
        if (strcmp(field->name, name) != 0) continue;
        int64_t count = 1;
        for (int d = 0; d < field->dimensions; d++) {
            count *= shape[d];
            if (field->shape[d] < 0) *(int64_t *)((char *)&model + (-field->shape[d] - 1)) = shape[d];
        }
        if (floats && field->type == SU_F64) {
            double *wide = su_calloc(count, sizeof *wide);
            for (int64_t i = 0; wide && i < count; i++) wide[i] = (double)((const float *)data)[i];
            free((void *)data);
            data = wide;
        }
        memcpy((char *)&model + field->offset, &data, sizeof data);
        return data != NULL;
    }
    return 0;
}

/* ---- the shot ---- */

static void *take(int64_t count, size_t size) { return su_calloc(count, size); }

/* times (F), params (F,s), roots (F,16), skin (F,nbar,3); all become the module's. */
EXPORT(frames)
int32_t frames(int32_t F, int32_t s, double *times, double *params, double *roots, float *skin, int32_t corrected,
               int32_t teleport_count, const int32_t *teleports)
{
    anim =
        (su_anim){.F = F, .nbar = model.nbar, .s = s, .times = times, .params = params, .root = roots, .points = skin};
    if (corrected) meta_tell("corrected", NULL, 1);
    anim.file.meta = meta_object();
    target = (su_shot_target){.rig = su_rig_of_model(&model), .nbar = model.nbar};
    /* the page's parameters are the model's own */
    target.rig.param_names = NULL, target.rig.param_basis = NULL, target.rig.param_mean = NULL;
    return su_shot_create(&anim, "the page", &target, teleport_count, teleports, &shot, NULL, &err) == SU_OK;
}

/* ---- opening ---- */

/* The settings of the run that the page shows; 0: done, else `message` says why not. */
EXPORT(open)
int32_t open_flesh(int32_t newton, int32_t contact_count, double contact_stiffness, double stiffness, double damping,
                   double gx, double gy, double gz, int32_t gravity_mode, int32_t substeps, int32_t start,
                   double preroll, int32_t triangle_count, const int32_t *triangles)
{
    settings = su_sim_defaults();
    settings.substeps = substeps, settings.start = start, settings.preroll = preroll;
    if (su_sim_settings_resolve(&settings, meta_number("frequency"), anim.F, anim.times, 24, &err) != SU_OK) return 1;
    /* the points and areas that a number of points means to supple sim: those of the skin */
    su_external spread = {0};
    if (contact_count > 0 &&
        su_external_spread(contact_count, &(su_load_skin){model.nbar, model.neutral, triangle_count, triangles},
                           &spread, &err) != SU_OK)
        return 1;
    const supple_options options = {.gravity = {gx, gy, gz},
                                    .gravity_mode = gravity_mode,
                                    .stiffness = stiffness,
                                    .damping = damping,
                                    .newton = newton,
                                    .corrected = 1, /* su_shot adds the sculpts */
                                    .contact_count = spread.points,
                                    .contacts = spread.vertex,
                                    .contact_stiffness = contact_stiffness,
                                    .collider_count = COLLIDERS};
    model.file.meta = meta_object(), model.d = model.d1 - 1;
    su_model taken = model; /* its arrays stay where they are: nothing of the module is freed */
    flesh = supple_open_model(&taken, NULL, &options, err.text, sizeof err.text);
    if (!flesh) return 1;
    if (spread.points > 0) supple_set_contact_areas(flesh, spread.area);
    su_external_free(&spread);
    const int32_t *list;
    needed = supple_needed(flesh, &needed_list);
    contacts = supple_contacts(flesh, &list);
    points = all_points = take(3 * SUPPLE_AHEAD * needed, sizeof *points);
    p = all_p = take(SUPPLE_AHEAD * model.s, sizeof *p);
    positions = take(3 * model.nbar, sizeof *positions), shown = take(3 * model.nbar, sizeof *shown);
    contact_now = take(3 * contacts, sizeof *contact_now);
    return points && p && positions && shown && contact_now ? 0 : su_fail(&err, SU_AGAIN, "not enough memory");
}

EXPORT(contact_count) int32_t contact_count(void) { return (int32_t)contacts; }
EXPORT(contact_vertices) const int32_t *contact_vertices(void)
{
    const int32_t *list;
    supple_contacts(flesh, &list);
    return list;
}
/* (contacts,3) world, after the last step. */
EXPORT(contact_positions) const double *contact_positions(void)
{
    supple_contact_positions(flesh, contact_now);
    return contact_now;
}
EXPORT(substeps) int32_t substeps(void) { return settings.substeps; }
EXPORT(step_seconds) double step_seconds(void) { return settings.step; }

/* ---- controls, from the next step on ---- */

EXPORT(set_flesh) void set_flesh(double stiffness, double damping) { supple_set_flesh(flesh, stiffness, damping); }
EXPORT(set_gravity) void set_gravity(double x, double y, double z, int32_t mode)
{
    supple_set_gravity(flesh, (double[]){x, y, z}, mode);
}
EXPORT(set_wind) void set_wind(double x, double y, double z, double drag)
{
    supple_set_wind(flesh, drag > 0 ? (double[]){x, y, z} : NULL, drag);
}
/* A plane with its normal up at height `floor` and a ball; either may be absent. */
EXPORT(set_colliders)
void set_colliders(int32_t plane, double height, double friction, int32_t ball, double x, double y, double z,
                   double radius)
{
    supple_collider list[COLLIDERS];
    int64_t count = 0;
    if (plane)
        list[count++] =
            (supple_collider){.shape = SUPPLE_PLANE, .a = {0, height, 0}, .b = {0, 1, 0}, .friction = friction};
    if (ball)
        list[count++] =
            (supple_collider){.shape = SUPPLE_SPHERE, .a = {x, y, z}, .radius = radius, .friction = friction};
    supple_set_colliders(flesh, count, list);
}
/* A spring from a contact point (-1: none) to a place in the world. */
EXPORT(set_pull) void set_pull(int32_t contact, double x, double y, double z, double stiffness)
{
    if (pull_point >= 0 && pull_point != contact) supple_set_force(flesh, pull_point, (double[]){0, 0, 0});
    pull_point = contact, pull_stiffness = stiffness;
    pull_to[0] = x, pull_to[1] = y, pull_to[2] = z;
}
EXPORT(set_force) void set_force(int32_t contact, double x, double y, double z)
{
    supple_set_force(flesh, contact, (double[]){x, y, z});
}
/* (3) N, of the spring in the last step. */
EXPORT(pull_force) const double *pull_force(void) { return force; }

/* ---- stepping ---- */

/* Into place k of those ahead. */
static void pose_at(int64_t frame, double fraction, int64_t k)
{
    double Q[9], c[3];
    points = all_points + 3 * k * needed, p = all_p + k * model.s, root = roots[k];
    su_shot_sample(shot, frame, fraction, p, Q, c);
    su_shot_sample_skin(shot, frame, fraction, needed, needed_list, 1, points);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) root[4 * i + j] = Q[3 * i + j];
        root[4 * i + 3] = c[i];
    }
    root[15] = 1;
}

static double behind(int32_t k) { return (double)k / settings.substeps; }

static void begin_at(int64_t frame)
{
    place = frame, substep = 0, foreseen = ahead = 0;
    pose_at(frame, 0, 0);
    supple_set_pose(flesh, p, points, root);
    for (int k = 0; frame == 0 && k < settings.preroll_steps; k++) {
        supple_set_pose(flesh, p, points, root);
        supple_step(flesh, settings.step);
    }
    if (settings.start != SU_START_MOVING || frame + 1 >= anim.F) return;
    pose_at(frame, behind(1), 0);
    supple_start_moving(flesh, p, points, root, settings.step);
    pose_at(frame, 0, 0);
}

/* The flesh starts anew at a frame. */
EXPORT(begin) void begin(int32_t frame)
{
    supple_restart(flesh);
    begin_at(frame);
}

/* The next instants, up to the end or a cut. */
static void look_ahead(void)
{
    int64_t frame = place;
    int32_t at = substep;
    for (foreseen = ahead = 0; ahead < SUPPLE_AHEAD; ahead++) {
        if (at == settings.substeps) frame++, at = 0;
        if (frame + 1 >= anim.F || (ahead > 0 && at == 0 && su_shot_cut(shot, frame + 1))) break;
        pose_at(frame, behind(++at), ahead);
    }
    if (supple_foresee(flesh, ahead, all_p, all_points, roots[0])) ahead = 1;
}

/* To a pose that was set: the spring pulls from where its point is now. */
static int32_t advance(void)
{
    if (pull_point >= 0) {
        supple_contact_positions(flesh, contact_now);
        for (int i = 0; i < 3; i++) force[i] = pull_stiffness * (pull_to[i] - contact_now[3 * pull_point + i]);
        supple_set_force(flesh, pull_point, force);
    }
    return supple_step(flesh, settings.step);
}

/* To the shot's next instant; after the last frame the first. Returns the step's status. */
EXPORT(step) int32_t step(void)
{
    if (substep == settings.substeps) place++, substep = 0;
    if (place + 1 >= anim.F || (substep == 0 && su_shot_cut(shot, place + 1))) {
        begin(place + 1 >= anim.F ? 0 : (int32_t)place + 1);
        return 0;
    }
    if (foreseen == ahead) look_ahead();
    points = all_points + 3 * foreseen * needed, p = all_p + foreseen * model.s, root = roots[foreseen];
    if (supple_next_pose(flesh)) supple_set_pose(flesh, p, points, root);
    foreseen++, substep++;
    return advance();
}

/* Time goes on, the rig stands. */
EXPORT(hold) int32_t hold(void)
{
    foreseen = ahead = 0;
    supple_set_pose(flesh, p, points, root);
    return advance();
}

/* Frames passed since the shot's first, with the share of the one at hand. */
EXPORT(at) double at(void) { return (double)place + behind(substep); }

/* (nbar,3) in the world, at the instant last stepped to; (nbar,3) of the rig there. */
EXPORT(skin) const float *skin(void)
{
    supple_positions(flesh, positions);
    for (int64_t v = 0; v < model.nbar; v++)
        for (int i = 0; i < 3; i++)
            shown[3 * v + i] =
                (float)(su_dot3((double[]){root[4 * i], root[4 * i + 1], root[4 * i + 2]}, positions + 3 * v) +
                        root[4 * i + 3]);
    return shown;
}
EXPORT(rig) const float *rig(void)
{
    for (int64_t k = 0; k < needed; k++)
        for (int i = 0; i < 3; i++)
            shown[3 * needed_list[k] + i] =
                (float)(su_dot3((double[]){root[4 * i], root[4 * i + 1], root[4 * i + 2]}, points + 3 * k) +
                        root[4 * i + 3]);
    return shown;
}
