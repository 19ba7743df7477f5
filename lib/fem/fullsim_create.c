#include "fem/fullsim_internal.h"

#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

void su_embedded_neutral(const su_tet *tet, double *neutral)
{
    for (int64_t k = 0; k < tet->nbar; k++)
        for (int c = 0; c < 3; c++) {
            neutral[3 * k + c] = 0.0;
            for (int j = 0; j < 4; j++)
                neutral[3 * k + c] += tet->embed_bary[4 * k + j] *
                                      tet->vertices[3 * (int64_t)tet->tets[4 * (int64_t)tet->embed_tet[k] + j] + c];
        }
}

su_status su_check_whole_fit(const su_tet *tet, const su_fit *fit, su_error *err)
{
    if (fit->n != tet->n || fit->t != tet->t)
        return su_fail(err, SU_INPUT,
                       "the fit has %lld vertices and %lld tets, the flesh %lld and %lld: made for another mesh",
                       (long long)fit->n, (long long)fit->t, (long long)tet->n, (long long)tet->t);
    if (fit->k != fit->m)
        return su_fail(err, SU_INPUT, "the fit holds %lld of %lld example poses: fit the others first",
                       (long long)fit->k, (long long)fit->m);
    for (int64_t i = 0; i < fit->k; i++)
        if (fit->pose[i] != i) return su_fail(err, SU_INPUT, "the poses of the fit are not in order");
    return SU_OK;
}

static bool allocate_instant(su_fullsim *s, su_instant *at)
{
    at->x = su_arena_alloc(&s->arena, 3 * s->body.n, sizeof(double));
    at->turn = su_arena_alloc(&s->arena, 4 * s->body.n, sizeof(double));
    at->tet_turn = su_arena_alloc(&s->arena, 9 * s->body.t, sizeof(double));
    at->w = su_arena_alloc(&s->arena, s->fit->m, sizeof(double));
    return at->x && at->turn && at->tet_turn && at->w;
}

static su_status allocate(su_fullsim *s, int64_t nbar, su_error *err)
{
    int64_t n3 = 3 * s->body.n;
    double **arrays[] = {&s->u, &s->u_next,   &s->carried, &s->inertial, &s->gravity,
                         &s->y, &s->y_before, &s->touched, &s->from};
    bool good = allocate_instant(s, &s->now) && allocate_instant(s, &s->next);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        good &= (*arrays[i] = su_arena_alloc(&s->arena, n3, sizeof(double))) != NULL;
    for (int i = 0; i < 2 && s->options.leader.displacement; i++)
        good &= (*(i ? &s->leads : &s->led) = su_arena_alloc(&s->arena, n3, sizeof(double))) != NULL;
    s->led_at = INT64_MIN;
    good &= (s->contact_k = su_arena_alloc(&s->arena, s->body.n, sizeof(double))) != NULL;
    good &= (s->neutral = su_arena_alloc(&s->arena, 3 * nbar, sizeof(double))) != NULL;
    good &= (s->skin = su_arena_alloc(&s->arena, 3 * nbar, sizeof(double))) != NULL;
    good &= (s->p = su_arena_alloc(&s->arena, s->fit->s + 1, sizeof(double))) != NULL;
    good &= (s->positive = su_arena_alloc(&s->arena, s->fit->m, sizeof(double))) != NULL;
    good &= (s->young = su_arena_alloc(&s->arena, s->fit->t, sizeof(double))) != NULL;
    good &= (s->poisson = su_arena_alloc(&s->arena, s->fit->t, sizeof(double))) != NULL;
    return good ? SU_OK : su_fail(err, SU_AGAIN, "no memory for %lld flesh vertices", (long long)s->body.n);
}

static su_status constrain(su_fullsim *s, const su_skinning *of, su_error *err)
{
    s->options.complementary = NULL;
    if (!of) return SU_OK;
    if (of->n != s->body.n)
        return su_fail(err, SU_INPUT, "rows of %lld flesh vertices on a flesh of %lld: made for another mesh",
                       (long long)of->n, (long long)s->body.n);
    if (of->rows + of->shapes == 0) return SU_OK;
    SU_TRY(su_complement_create(&s->body, of->rows, of->rig_rows, of->shapes, of->rig_shapes, &s->complement, err));
    su_implicit_constrain(s->implicit, s->complement);
    return SU_OK;
}

su_status su_fullsim_create(const su_tet *tet, const su_fit *fit, const su_shot *shot, const su_sim_settings *settings,
                            const su_fullsim_options *options, su_fullsim **out, su_error *err)
{
    *out = NULL;
    SU_TRY(su_check_whole_fit(tet, fit, err));
    const char *name = fit->file.meta ? json_string_value(json_object_get(fit->file.meta, "material")) : NULL;
    int material = name ? su_material_from_name(name) : SU_NEOHOOKEAN;
    if (material < 0) return su_fail(err, SU_INPUT, "the fit names an unknown material '%s'", name);
    bool arap = options->material && strcmp(options->material, "arap") == 0;
    if (options->material) material = arap ? SU_COROTATIONAL : su_material_from_name(options->material);
    if (material < 0) return su_fail(err, SU_USAGE, "no material is called '%s'", options->material);
    su_status status = SU_OK;
    su_fullsim *s = calloc(1, sizeof *s);
    if (!s) return su_fail(err, SU_AGAIN, "no memory");
    s->tet = tet, s->fit = fit, s->rig = su_rig_of_fit(fit), s->shot = shot, s->settings = *settings,
    s->options = *options, s->shear_only = arap;
    s->settings.teleports = NULL;
    if (options->placed) s->settings.placed = true, s->settings.preroll_steps = 0;
    s->driver = su_shot_driver_of(&su_fullsim_stepper, s, &s->settings);
    SU_GO(su_elastic_create(&s->body,
                            &(su_elastic_body){.mesh = {tet->n, tet->t, tet->vertices, tet->tets},
                                               .held_count = options->loose ? 0 : tet->fixed_count,
                                               .held = options->loose ? NULL : tet->fixed,
                                               .material = (su_material)material,
                                               .young = fit->young,
                                               .poisson = fit->poisson,
                                               .density = fit->density},
                            err));
    SU_GO(allocate(s, tet->nbar, err));
    SU_GO(su_implicit_create(&s->body, options->threads, &s->implicit, err));
    SU_GO(su_transport_create(&s->body, options->threads, &s->transport, err));
    SU_GO(constrain(s, options->complementary, err));
    if (options->self_contact != SU_SELF_CONTACT_NONE)
        SU_GO(su_self_contact_create(&s->body, tet->vertices, options->threads, &s->contact, err));
    s->smoothing = su_fit_smoothing(fit);
    SU_GO(su_rotation_field_create(&(su_tet_mesh){tet->n, tet->t, tet->vertices, tet->tets}, &s->smoothing, 0, NULL,
                                   &s->field, err));
    s->rest = (su_rest_shape){
        tet->n,          fit->m, tet->ties, tet->vertices, s->neutral, tet->shepard_index, tet->shepard_weight,
        fit->corrections};
    su_embedded_neutral(tet, s->neutral);
    for (int64_t e = fit->t; e < fit->m * fit->t && !s->blend_materials; e++)
        s->blend_materials = fit->young[e] != fit->young[e - fit->t] || fit->poisson[e] != fit->poisson[e - fit->t];
    su_fullsim_set_stiffness(s, settings->stiffness);
    if (settings->external)
        SU_GO(su_loads_create(settings->external, tet->embed_tet, tet->embed_bary, tet->tets, &s->loads, err));
    SU_GO(su_shot_begin(&s->driver, false, err));
    su_fullsim_finish_record(s);
    SU_GO(su_fullsim_measure_contact(s, err));
    *out = s;
done:
    if (status != SU_OK) su_fullsim_free(s);
    return status;
}

void su_fullsim_free(su_fullsim *s)
{
    if (!s) return;
    su_implicit_free(s->implicit);
    su_transport_free(s->transport);
    su_complement_free(s->complement);
    su_self_contact_free(s->contact);
    su_loads_free(&s->loads);
    su_rotation_field_free(s->field);
    su_elastic_free(&s->body);
    su_arena_free(&s->arena);
    free(s);
}
