/* What the page needs to simulate: the model's arrays, the shot's skin, parameters and roots, the run's settings. */
#include "pack.h"

#include "core/memory.h"
#include "core/tool.h"
#include "geometry/box.h"
#include "physics/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of skin in a page, before they are compressed. */
enum { LIVE_BYTES = 48 << 20 };
/* Of the neutral skin's diagonal: a point of the skin is half of it off at most. */
static const double SKIN_UNIT = 5e-6;
/* Arrays of up to so many doubles stay doubles: weights are solutions of small systems that cancel. */
enum { SMALL = 4096 };
/* Values of a basis, or of corrections, that share a scale: 16 bits are 1.5e-5 of the largest of them. */
enum { GROUP = 32 };

/* What only training, or a motion without parameters, reads. */
static bool left_out(const char *name)
{
    static const char *const names[] = {"param_mean", "param_basis", "rotations"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static su_status add_grouped(su_page *page, const char *name, int64_t count, const float *values, su_error *err)
{
    int64_t groups = (count + GROUP - 1) / GROUP;
    char scale_name[96];
    int16_t *out = NULL;
    float *scale = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&out, count, "the page", err));
    SU_GO(SU_ALLOC(&scale, groups, "the page", err));
    for (int64_t i = 0; i < count; i++) scale[i / GROUP] = fmaxf(scale[i / GROUP], fabsf(values[i]) / 32767.0f);
    for (int64_t i = 0; i < count; i++)
        out[i] = (int16_t)(scale[i / GROUP] > 0 ? lrintf(values[i] / scale[i / GROUP]) : 0);
    SU_GO(su_page_add(page, name, SU_PAGE_I16, count, out, err));
    snprintf(scale_name, sizeof scale_name, "%s.scale", name);
    SU_GO(su_page_add(page, scale_name, SU_PAGE_F32, groups, scale, err));
done:
    free(out), free(scale);
    return status;
}

static su_status add_array(su_page *page, json_t *list, const su_field *field, const su_model *model, su_error *err)
{
    static const su_page_type types[] = {[SU_F32] = SU_PAGE_F32,
                                         [SU_F64] = SU_PAGE_F64,
                                         [SU_I32] = SU_PAGE_I32,
                                         [SU_I64] = SU_PAGE_I64,
                                         [SU_U8] = SU_PAGE_U8};
    const void *data;
    memcpy(&data, (const char *)model + field->offset, sizeof data);
    if (!data || left_out(field->name)) return SU_OK;
    char name[80];
    snprintf(name, sizeof name, "model.%s", field->name);
    json_t *shape = json_array();
    int64_t count = 1;
    for (int d = 0; d < field->dimensions; d++) {
        int64_t size = field->shape[d];
        if (size < 0) memcpy(&size, (const char *)model + (-field->shape[d] - 1), sizeof size);
        json_array_append_new(shape, json_integer(size));
        count *= size;
    }
    if (json_object_set_new(list, field->name, shape)) return su_fail(err, SU_AGAIN, "out of memory for a page");
    if (field->type == SU_F64 && strcmp(field->name, "corrections") == 0) {
        float *narrow;
        SU_TRY(SU_ALLOC(&narrow, count, "the page", err));
        for (int64_t i = 0; i < count; i++) narrow[i] = (float)((const double *)data)[i];
        su_status status = add_grouped(page, name, count, narrow, err);
        free(narrow);
        return status;
    }
    if (field->type == SU_F64 && count > SMALL) return su_page_add_doubles(page, name, count, data, err);
    if (field->type == SU_F32) return add_grouped(page, name, count, data, err);
    return su_page_add(page, name, types[field->type], count, data, err);
}

static su_status add_skin(const report_data *d, su_page *page, json_t *live, su_error *err)
{
    const su_anim *anim = d->anim;
    int64_t width = 3 * anim->nbar, count = anim->F * width;
    double unit = SKIN_UNIT * su_box_diagonal(d->model->nbar, d->model->neutral);
    int32_t *out;
    SU_TRY(SU_ALLOC(&out, count, "the page", err));
    for (int64_t i = 0; i < count; i++) out[i] = (int32_t)lrint((double)anim->points[i] / unit);
    su_status status = su_page_add_motion(page, "live.skin", SU_PAGE_I32, anim->F, width, out, err);
    free(out);
    json_object_set_new(live, "unit", json_real(unit));
    return status;
}

/* The damping ratio that gives the run's beta: su_sim_beta turned round. */
static double damping_of(const su_sim *sim, double frequency, double stiffness, double h)
{
    double omega = 2.0 * M_PI * frequency * sqrt(stiffness);
    double none = su_sim_beta(&(su_sim_settings){.stiffness = stiffness, .damping = 0}, frequency, h);
    double beta = su_meta_number(sim->file.meta, "beta", none);
    double more = su_sim_beta(&(su_sim_settings){.stiffness = stiffness, .damping = 1}, frequency, h);
    return more > none && omega > 0 ? fmax((beta - none) / (more - none), 1e-6) : 0.1;
}

bool report_is_live(const report_data *d, const char **why_not)
{
    const json_t *meta = d->model->file.meta;
    const char *why = NULL;
    if (!d->sim->q)
        why = "this run is of the full space";
    else if (d->anim->F < 2)
        why = "one frame has no motion";
    else if (!(su_meta_number(meta, "frequency", 0) > 0))
        why = "the model does not tell its frequency";
    else if (strcmp(su_meta_text(meta, "interpolation", ""), "linear") == 0)
        why = "the model's bases are blended linearly";
    else if ((double)d->anim->F * (double)d->anim->nbar * 12.0 > LIVE_BYTES)
        why = "the shot is too long for a page";
    if (why_not) *why_not = why;
    return !why;
}

su_status report_pack_live(const report_data *d, su_page *page, json_t *info, su_error *err)
{
    const su_model *model = d->model;
    const su_anim *anim = d->anim;
    const json_t *meta = model->file.meta, *run = d->sim->file.meta;
    double frequency = su_meta_number(meta, "frequency", 0);
    const char *why;
    if (!report_is_live(d, &why)) {
        json_object_set_new(info, "not_live", json_string(why));
        return SU_OK;
    }
    json_t *live = json_object(), *list = json_object(), *texts = json_object();
    json_object_set_new(info, "live", live);
    json_object_set_new(live, "arrays", list);
    json_object_set_new(live, "texts", texts);
    static const char *const keys[] = {"material", "rest", "interpolation"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (*su_meta_text(meta, keys[i], ""))
            json_object_set_new(texts, keys[i], json_string(su_meta_text(meta, keys[i], "")));
    for (int k = 0; k < su_model_schema.count; k++)
        SU_TRY(add_array(page, list, su_model_schema.fields + k, model, err));
    SU_TRY(add_skin(d, page, live, err));
    double *p;
    SU_TRY(SU_ALLOC(&p, anim->F * model->s, "parameters", err));
    for (int64_t f = 0; f < anim->F; f++) su_shot_sample(d->shot, f, 0, 0, NULL, NULL, p + f * model->s, NULL, NULL);
    su_status status = su_page_add(page, "live.params", SU_PAGE_F64, anim->F * model->s, p, err);
    free(p);
    SU_TRY(status);
    SU_TRY(su_page_add(page, "live.roots", SU_PAGE_F64, 16 * anim->F, anim->root, err));
    SU_TRY(su_page_add(page, "live.times", SU_PAGE_F64, anim->F, anim->times, err));
    su_sim_settings settings = su_sim_defaults();
    su_sim_read_gravity(run, &settings);
    double seconds = su_sim_frame_seconds(anim->F, anim->times, 24);
    int substeps = (int)su_meta_number(run, "substeps", 0);
    if (substeps < 1) substeps = su_sim_substeps(seconds);
    double stiffness = su_meta_number(run, "stiffness", 1);
    const json_t *source = json_array_get(json_object_get(anim->file.meta, "inputs"), 0);
    if (json_is_object(source)) json_object_set(live, "source", json_object_get(source, "name"));
    json_object_set_new(live, "frequency", json_real(frequency));
    json_object_set_new(live, "corrected", json_boolean(json_is_true(json_object_get(anim->file.meta, "corrected"))));
    json_object_set_new(live, "substeps", json_integer(substeps));
    json_object_set_new(live, "stiffness", json_real(stiffness));
    json_object_set_new(live, "damping", json_real(damping_of(d->sim, frequency, stiffness, seconds / substeps)));
    json_object_set_new(live, "moving", json_boolean(strcmp(su_meta_text(run, "start", "moving"), "moving") == 0));
    json_object_set_new(live, "preroll", json_real(su_meta_number(run, "preroll", 0)));
    double solves = su_meta_number(run, "newton", su_meta_number(run, "iterations", 0));
    json_object_set_new(live, "newton", json_integer((json_int_t)solves));
    json_object_set_new(live, "gravity_mode", json_integer(settings.gravity_mode));
    json_object_set_new(live, "gravity",
                        json_pack("[f, f, f]", settings.gravity[0], settings.gravity[1], settings.gravity[2]));
    json_t *teleports = json_object_get(run, "teleports");
    if (teleports) json_object_set(live, "teleports", teleports);
    return SU_OK;
}
