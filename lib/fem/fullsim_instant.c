#include "fem/fullsim_internal.h"

#include "core/threads.h"
#include "geometry/mat3.h"
#include "geometry/rotation.h"
#include "geometry/rotation_lanes.h"
#include "rig/rbf.h"

#include <string.h>

void su_fullsim_evaluate(su_fullsim *s, int64_t frame, double fraction, su_instant *at)
{
    double start = su_seconds();
    su_shot_sample(s->shot, frame, fraction, s->p, at->Q, at->c);
    su_shot_sample_skin(s->shot, frame, fraction, 0, NULL, s->options.threads, s->skin);
    su_rig_weights(&s->rig, s->p, at->w);
    su_rest_shape_evaluate_all(&s->rest, s->skin, at->w, s->options.threads, at->x);
    su_rotation_field_evaluate(s->field, at->x, at->turn, s->options.threads);
    su_tet_rotations(s->body.t, s->body.tets, at->turn, s->options.threads, at->tet_turn);
    s->driver.counts.pose_seconds += su_seconds() - start;
}

void su_fullsim_world(const su_instant *at, const double *x, double *y)
{
    su_mulv3(at->Q, x, y);
    for (int c = 0; c < 3; c++) y[c] += at->c[c];
}

void su_fullsim_set_material(su_fullsim *s, const double *poisson)
{
    su_elastic_set_material(&s->body, s->young, poisson);
    if (s->shear_only) memset(s->body.lambda, 0, (size_t)s->body.t * sizeof *s->body.lambda);
    if (!s->contact) return;
    double factor = s->options.contact_stiffness > 0 ? s->options.contact_stiffness : 1;
    su_contact_stiffness(su_self_contact_body(s->contact), s->young, poisson, s->contact_k);
    for (int64_t v = 0; v < s->body.n; v++) s->contact_k[v] *= factor;
    su_self_contact_set_stiffness(s->contact, s->contact_k);
}

void su_fullsim_set_body(su_fullsim *s, const su_instant *at)
{
    double start = su_seconds();
    const su_fit *fit = s->fit;
    if (s->blend_materials) {
        su_positive_weights(fit->m, at->w, s->positive);
        for (int64_t e = 0; e < fit->t; e++) {
            double young = 0.0, poisson = 0.0;
            for (int64_t i = 0; i < fit->m; i++) {
                young += s->positive[i] * fit->young[i * fit->t + e];
                poisson += s->positive[i] * fit->poisson[i * fit->t + e];
            }
            s->young[e] = s->settings.stiffness * young;
            s->poisson[e] = poisson;
        }
        su_fullsim_set_material(s, s->poisson);
    }
    /* A neutral rest shape is that of the body from its creation on. */
    if (!s->options.neutral && s->smoothing.nodes > 0)
        su_elastic_set_turned_rest(&s->body, at->x, at->tet_turn, s->options.threads);
    else if (!s->options.neutral)
        su_elastic_set_rest(&s->body, at->x, NULL, s->options.threads);
    if (s->body.collapsed > s->driver.counts.collapsed) s->driver.counts.collapsed = s->body.collapsed;
    s->driver.counts.pose_seconds += su_seconds() - start;
}

void su_fullsim_turn_along(const su_fullsim *s, const su_instant *from, const su_instant *to, const double *u,
                           double *out)
{
    su_turn_back_vectors(s->body.n, from->turn, u, out);
    su_turn_vectors(s->body.n, to->turn, out, out);
    for (int64_t v = 0; v < s->body.n; v++)
        if (s->body.free_index[v] < 0) memset(out + 3 * v, 0, 3 * sizeof *out);
}

/* ---- forces from outside ---- */

static void displacement_at(const su_fullsim *s, int64_t k, const double *u, double a[3])
{
    for (int c = 0; c < 3; c++) a[c] = 0.0;
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 3; c++) a[c] += s->loads.bary[4 * k + i] * u[3 * (int64_t)s->loads.corner[4 * k + i] + c];
}

void su_fullsim_set_loads(su_fullsim *s, const su_instant *at, double h)
{
    su_loads *loads = &s->loads;
    loads->t = s->time, loads->h = h;
    memcpy(loads->Q, at->Q, sizeof loads->Q);
    memcpy(loads->c, at->c, sizeof loads->c);
    for (int64_t k = 0; k < loads->external->points; k++)
        memcpy(loads->skin + 3 * k, s->skin + 3 * (int64_t)loads->external->vertex[k], 3 * sizeof(double));
}

void su_fullsim_prepare_loads(su_fullsim *s, const su_instant *at, double h, const double *u, su_implicit_step *step)
{
    if (!s->loads.external) return;
    su_fullsim_set_loads(s, at, h);
    for (int64_t k = 0; k < s->loads.external->points; k++) {
        double a[3], y[3];
        displacement_at(s, k, u, a);
        su_loads_place(&s->loads, k, a, y);
        su_loads_prepare(&s->loads, k, y);
    }
    step->loads = &s->loads;
}

void su_fullsim_keep_loads(su_fullsim *s, const double *u)
{
    for (int64_t k = 0; s->loads.external && k < s->loads.external->points; k++) {
        double a[3];
        displacement_at(s, k, u, a);
        su_loads_place(&s->loads, k, a, s->loads.now + 3 * k);
    }
}

/* ---- contact of the flesh with itself ---- */

su_status su_fullsim_begin_contact(su_fullsim *s, const su_instant *at, double h, const double *u, const double *before,
                                   su_implicit_step *step, su_error *err)
{
    if (!s->contact) return SU_OK;
    for (int64_t v = 0; v < s->body.n && before; v++) {
        double d[3];
        su_sub3(before + 3 * v, at->c, d);
        su_tmulv3(at->Q, d, s->from + 3 * v);
    }
    su_self_contact_begin(s->contact, s->options.self_contact == SU_SELF_CONTACT_NEW ? at->x : NULL,
                          before ? s->from : NULL);
    step->contact = s->contact;
    if (!before) return SU_OK;
    for (int64_t i = 0; i < 3 * s->body.n; i++) s->touched[i] = at->x[i] + u[i];
    return su_self_contact_grip(s->contact, s->options.friction, h, s->touched, before, err);
}

/* Contact as the rest shape of s->now allows it, and in s->touched (n,3) where the flesh is. */
static su_status look_now(su_fullsim *s, su_error *err)
{
    su_implicit_step unused = {0};
    SU_TRY(su_fullsim_begin_contact(s, &s->now, 0, NULL, NULL, &unused, err));
    for (int64_t i = 0; i < 3 * s->body.n; i++) s->touched[i] = s->now.x[i] + s->u[i];
    return SU_OK;
}

su_status su_fullsim_contact_force(su_fullsim *s, double *force, su_error *err)
{
    int64_t met, n3 = 3 * s->body.n;
    memset(force, 0, (size_t)n3 * sizeof *force);
    if (!s->contact) return SU_OK;
    SU_TRY(look_now(s, err));
    SU_TRY(su_self_contact_meet(s->contact, s->touched, &met, err));
    su_self_contact_force(s->contact, s->touched, force);
    for (int64_t i = 0; i < n3; i++) force[i] = -force[i];
    return SU_OK;
}

/* The rig's own shape last: the flesh is where a step has just looked for contacts. */
su_status su_fullsim_measure_contact(su_fullsim *s, su_error *err)
{
    if (!s->contact) return SU_OK;
    su_contact_depths rig;
    SU_TRY(look_now(s, err));
    SU_TRY(su_self_contact_depths(s->contact, s->touched, &s->record.contact, err));
    su_self_contact_begin(s->contact, NULL, NULL);
    SU_TRY(su_self_contact_depths(s->contact, s->now.x, &rig, err));
    s->record.rig_depth = rig.deepest;
    return SU_OK;
}
