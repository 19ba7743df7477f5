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
/* Arrays of up to so many doubles stay doubles: weights are solutions of small systems that cancel. */
enum { SMALL = 4096 };
/* Of the diagonal: what rounding the basis, and the corrections, moves a point at most where the coordinates are as
 * large as the shot has them. */
static const double MODEL_ERROR = 2.5e-6;
/* Of the diagonal: what a mode that the shot leaves alone may come to by a pull. */
static const double LEAST_SWING = 1e-3;

/* What only training, or a motion without parameters, reads. */
static bool left_out(const char *name)
{
    static const char *const names[] = {"param_mean", "param_basis", "rotations"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* A field of the flesh: a mode, or the corrections of a pose. */
typedef struct flesh_row {
    int64_t count;           /* of vertices */
    const int32_t *vertices; /* (count); NULL: all in their order */
    double error;            /* of a value at most */
} flesh_row;

/* (n) 1 where forces are summed: stiff flesh turns the error of a vertex there into one of the motion that is many
 * times as large. */
static su_status mark_points(const su_model *model, uint8_t **out, su_error *err)
{
    uint8_t *mark;
    SU_TRY(SU_ALLOC(&mark, model->n, "the page", err));
    for (int64_t e = 0; e < model->c; e++)
        for (int k = 0; k < 4; k++) mark[model->tets[4 * (int64_t)model->cubature_tets[e] + k]] = 1;
    for (int64_t k = 0; k < model->ci; k++) mark[model->inertia_vertices[k]] = 1;
    *out = mark;
    return SU_OK;
}

/* values (rows,count,3) as multiples of a quantum a row (NAME, NAME.rows, NAME.quanta); those of the vertices that
 * forces are summed at are floats (NAME.exact at the entries NAME.at). */
static su_status add_rows(const report_data *d, su_page *page, const char *name, int64_t count, const flesh_row *rows,
                          const double *values, su_error *err)
{
    int64_t total = 0, exact = 0;
    uint8_t *mark = NULL;
    int32_t *out = NULL, *at = NULL, *lengths = NULL;
    float *is = NULL;
    double *quanta = NULL;
    char part[96];
    su_status status;
    for (int64_t k = 0; k < count; k++) total += 3 * rows[k].count;
    SU_GO(mark_points(d->model, &mark, err));
    SU_GO(SU_ALLOC(&out, total, "the page", err));
    SU_GO(SU_ALLOC(&at, total, "the page", err));
    SU_GO(SU_ALLOC(&is, total, "the page", err));
    SU_GO(SU_ALLOC(&lengths, count, "the page", err));
    SU_GO(SU_ALLOC(&quanta, count, "the page", err));
    for (int64_t k = 0, first = 0; k < count; first += lengths[k++]) {
        const flesh_row *row = rows + k;
        double largest = 0;
        lengths[k] = (int32_t)(3 * row->count);
        for (int64_t i = 0; i < lengths[k]; i++) largest = fmax(largest, fabs(values[first + i]));
        quanta[k] = fmax(fmax(2 * row->error, largest / (1 << 30)), 1e-300); /* no integer overflows */
        for (int64_t i = 0; i < lengths[k]; i++) {
            if (mark[row->vertices ? row->vertices[i / 3] : i / 3])
                at[exact] = (int32_t)(first + i), is[exact++] = (float)values[first + i];
            else
                out[first + i] = (int32_t)lrint(values[first + i] / quanta[k]);
        }
    }
    SU_GO(su_page_add_motion(page, name, SU_PAGE_I32, 1, total, out, err));
    snprintf(part, sizeof part, "%s.rows", name);
    SU_GO(su_page_add(page, part, SU_PAGE_I32, count, lengths, err));
    snprintf(part, sizeof part, "%s.quanta", name);
    SU_GO(su_page_add(page, part, SU_PAGE_F64, count, quanta, err));
    snprintf(part, sizeof part, "%s.exact", name);
    SU_GO(su_page_add(page, part, SU_PAGE_F32, exact, is, err));
    snprintf(part, sizeof part, "%s.at", name);
    SU_GO(su_page_add_motion(page, part, SU_PAGE_I32, exact, 1, at, err));
done:
    free(mark), free(out), free(at), free(is), free(lengths), free(quanta);
    return status;
}

/* Every mode has its own quantum: a share of the error each, so that their sum is not above it. */
static su_status add_basis(const report_data *d, su_page *page, const char *name, su_error *err)
{
    const su_model *model = d->model;
    double diagonal = su_box_diagonal(model->nbar, model->neutral), *wide = NULL;
    int64_t count = 0, at = 0;
    flesh_row *rows = NULL;
    su_status status;
    SU_GO(SU_ALLOC(&wide, model->block_size, "the page", err));
    SU_GO(SU_ALLOC(&rows, model->bases * model->r, "the page", err));
    for (int64_t i = 0; i < model->block_size; i++) wide[i] = (double)model->basis_blocks[i];
    for (int64_t g = 0, first = 0, end = 0; g + 1 < model->d1; g++, first = end) {
        const int32_t *vertices = model->region_vertices + model->region_vertex_offsets[g];
        int64_t vertex_count = model->region_vertex_offsets[g + 1] - model->region_vertex_offsets[g];
        while (end < model->r && model->mode_region[end] == g) end++;
        for (int64_t k = 0; k < model->bases * (end - first); k++) {
            double swing = 0, largest = 0;
            for (int64_t f = 0; f < d->sim->F; f++)
                swing = fmax(swing, fabs(d->sim->q[f * model->r + first + k % (end - first)]));
            for (int64_t i = 0; i < 3 * vertex_count; i++) largest = fmax(largest, fabs(wide[at++]));
            if (largest > 0) swing = fmax(swing, LEAST_SWING * diagonal / largest);
            rows[count++] = (flesh_row){vertex_count, vertices,
                                        swing > 0 ? MODEL_ERROR * diagonal / ((double)model->r * swing) : 0};
        }
    }
    SU_GO(add_rows(d, page, name, count, rows, wide, err));
done:
    free(wide), free(rows);
    return status;
}

static su_status add_corrections(const report_data *d, su_page *page, const char *name, su_error *err)
{
    const su_model *model = d->model;
    double most = 1;
    flesh_row *rows;
    SU_TRY(SU_ALLOC(&rows, model->m, "the page", err));
    for (int64_t f = 0; f < d->sim->F; f++) {
        double sum = 0;
        for (int64_t i = 0; i < model->m; i++) sum += fabs(d->sim->weights[f * model->m + i]);
        most = fmax(most, sum);
    }
    for (int64_t i = 0; i < model->m; i++)
        rows[i] = (flesh_row){model->n, NULL, MODEL_ERROR * su_box_diagonal(model->nbar, model->neutral) / most};
    su_status status = add_rows(d, page, name, model->m, rows, model->corrections, err);
    free(rows);
    return status;
}

static su_status add_array(const report_data *d, su_page *page, json_t *list, const su_field *field, su_error *err)
{
    static const su_page_type types[] = {[SU_F32] = SU_PAGE_F32,
                                         [SU_F64] = SU_PAGE_F64,
                                         [SU_I32] = SU_PAGE_I32,
                                         [SU_I64] = SU_PAGE_I64,
                                         [SU_U8] = SU_PAGE_U8};
    const su_model *model = d->model;
    const void *data;
    memcpy(&data, (const char *)model + field->offset, sizeof data);
    if (!data || left_out(field->name)) return SU_OK;
    char name[80];
    snprintf(name, sizeof name, "model.%s", field->name);
    json_t *shape = json_array();
    int64_t count = 1;
    for (int k = 0; k < field->dimensions; k++) {
        int64_t size = field->shape[k];
        if (size < 0) memcpy(&size, (const char *)model + (-field->shape[k] - 1), sizeof size);
        json_array_append_new(shape, json_integer(size));
        count *= size;
    }
    if (json_object_set_new(list, field->name, shape)) return su_fail(err, SU_AGAIN, "out of memory for a page");
    if (strcmp(field->name, "basis_blocks") == 0) return add_basis(d, page, name, err);
    if (strcmp(field->name, "corrections") == 0) return add_corrections(d, page, name, err);
    if (field->type == SU_F64 && count > SMALL) return su_page_add_doubles(page, name, count, data, err);
    return su_page_add(page, name, types[field->type], count, data, err);
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
    for (int k = 0; k < su_model_schema.count; k++) SU_TRY(add_array(d, page, list, su_model_schema.fields + k, err));
    SU_TRY(report_pack_skin(d, page, live, err));
    double *p;
    SU_TRY(SU_ALLOC(&p, anim->F * model->s, "parameters", err));
    for (int64_t f = 0; f < anim->F; f++) su_shot_sample(d->shot, f, 0, p + f * model->s, NULL, NULL);
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
